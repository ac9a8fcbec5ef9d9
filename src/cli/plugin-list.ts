// `nanocode plugin list`: every plugin, where it comes from, and why it is off.

import { bundled } from "../plugins/bundled.ts";
import { openPlugins } from "../plugins/open.ts";
import { NO_SETTINGS, type Settings } from "../plugins/settings.ts";
import { TrustStore } from "../plugins/trust.ts";
import { visible, visibleJson } from "../ui/text.ts";
import { configuredPlugins } from "./configured.ts";
import type { Program } from "./run.ts";
import { projectRoot, type Workspace } from "./workspace.ts";

export async function listPlugins(
  program: Program,
  workspace: Workspace,
  json: boolean,
): Promise<string> {
  const { home, cwd } = workspace;
  const { plugins } = await bundled(program.assets, program.bundled);
  const folders = { home, root: projectRoot(workspace), flags: [], cwd };
  const configured = await configuredPlugins(workspace)();
  const { states } = await openPlugins(plugins, folders, new TrustStore(home), { configured });
  if (json) {
    const rows = states.map(({ name, tier, version, folder, why, settings = NO_SETTINGS }) => ({
      name,
      state: why === null ? "on" : "off",
      tier,
      version,
      folder,
      why,
      /** Names of what the config files set, never the values. */
      settings: Object.keys(settings.values),
      only: settings.only,
      /** What is used in its place. */
      shadowedBy: why === null
        ? null
        : states.find((other) => other.name === name && other.why === null)?.folder ?? null,
    }));
    return `${visibleJson(JSON.stringify(rows, null, 2))}\n`;
  }
  const width = (field: "name" | "version") =>
    Math.max(...states.map((state) => state[field].length));
  const [names, versions] = [width("name"), width("version")];
  return states.map(({ name, tier, version, why, settings }) =>
    visible(
      `${name.padEnd(names)}  ${tier.padEnd(8)}  ${version.padEnd(versions)}  ${
        why === null ? ["on", ...settingLines(settings)].join("; ") : `off: ${why}`
      }`,
    ) + "\n"
  ).join("");
}

/** What the config files set, in a few words; of values nothing is shown. */
function settingLines({ values, only }: Settings = NO_SETTINGS): string[] {
  const names = Object.keys(values);
  return [
    ...Object.entries(only).map(([kind, list = []]) =>
      `only the ${kind} ${list.join(", ") || "(none)"}`
    ),
    ...(names.length === 0 ? [] : [`set: ${names.join(", ")}`]),
  ];
}
