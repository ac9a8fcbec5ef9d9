// `nanocode config`: every effective setting, its value, and where it came from.

import { leaves, loadConfig, type PluginEntry } from "../config/config.ts";
import type { Options } from "./args.ts";
import { findWorkspace } from "./workspace.ts";

export async function configCommand(
  options: Options,
  print: (text: string) => Promise<number>,
): Promise<number> {
  const { home, root } = findWorkspace(options.cwd);
  const { config, origins, warnings, plugins } = await loadConfig({
    home,
    root,
    ...(options.config === undefined ? {} : { file: options.config }),
  });
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);
  const rows = [
    ...leaves(config).map(([key, value]) => [
      key,
      shown(key, value),
      origins.get(key) ?? "built-in",
    ]),
    ...plugins.map((entry) => [`plugins.${entry.name}`, pluginShown(entry), entry.file]),
  ];
  const widths = [0, 1].map((column) =>
    Math.max(...rows.map((row) => Math.min(row[column]?.length ?? 0, 60)))
  );
  return await print(
    rows.map(([key = "", value = "", origin = ""]) =>
      `${key.padEnd(widths[0] ?? 0)}  ${value.padEnd(widths[1] ?? 0)}  ${origin}\n`
    ).join(""),
  );
}

/** A value as JSON; a key that stands in the file itself is not shown. */
function shown(key: string, value: unknown): string {
  if (!key.startsWith("providers.")) return JSON.stringify(value);
  const { key: secret, ...rest } = value as { key?: unknown };
  return JSON.stringify(typeof secret === "string" ? { ...rest, key: "(set)" } : value);
}

/** Which settings are secret says the manifest, so of none more is shown than that it is set. */
function pluginShown({ source, enabled, config, only }: PluginEntry): string {
  const names = Object.keys(config ?? {});
  const hidden = Object.fromEntries(names.map((name) => [name, "(set)"]));
  const value = { source, enabled, ...(config === undefined ? {} : { config: hidden }), only };
  return JSON.stringify(enabled === undefined && !config && !only ? source : value) ?? "{}";
}
