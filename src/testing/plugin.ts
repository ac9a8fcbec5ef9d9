// A plugin as a test has it, a definition and perhaps its manifest, made into what a session has: entries of
// tools and hooks by the real registry, with the real checks of what was declared.

import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { readPlugin } from "../plugins/discover.ts";
import { EXTENSION, type Manifest, MANIFEST_FILE, type Plugin } from "../plugins/manifest.ts";
import { checkManifest } from "../plugins/manifest-schema.ts";
import { checkRegistered, LoadedPlugin, pluginTools } from "../plugins/registry.ts";
import type { PluginDefinition } from "../plugins/sdk.ts";
import { inputSchema } from "../tools/arguments.ts";
import type { ToolEntry } from "../tools/tool.ts";
import type { TemporaryWorkspace } from "./workspace.ts";

export type Settings = Readonly<Record<string, string | number | boolean>>;

/** A plugin that takes part in a session. */
export interface PluginUnderTest {
  /** The default export of its module. */
  plugin: PluginDefinition;
  /**
   * Its plugin.json or the folder of it: `new URL("./plugin.json", import.meta.url)`. Without one the plugin
   * has its tools and hooks and nothing else: no effects, no capabilities, no settings.
   */
  manifest?: string | URL;
  /** Settings as a user would set them. */
  config?: Settings;
}

/**
 * @throws {Error} for a manifest that would be off in a session, and for code that is not what it declares.
 */
export async function underTest(
  { plugin: definition, manifest }: PluginUnderTest,
  workspace: TemporaryWorkspace,
): Promise<LoadedPlugin> {
  const plugin = {
    ...manifest === undefined
      ? { manifest: bareManifest(definition), folder: workspace.path }
      : await manifestAt(manifest),
    // The only tier whose code is given, not imported.
    tier: "built-in" as const,
    load: () => Promise.resolve({ default: definition }),
  } satisfies Plugin;
  await checkRegistered(plugin, definition);
  return new LoadedPlugin(plugin);
}

async function manifestAt(place: string | URL): Promise<Pick<Plugin, "manifest" | "folder">> {
  const path = place instanceof URL || place.startsWith("file:") ? fileURLToPath(place) : place;
  const isFolder = (await stat(path).catch(() => null))?.isDirectory() ?? false;
  const folder = isFolder ? path : dirname(path);
  const found = await readPlugin({ tier: "built-in", folder, within: null });
  if (found.fault !== null) throw new Error(`${join(folder, MANIFEST_FILE)}: ${found.fault}`);
  return { manifest: found.manifest, folder: found.folder };
}

/** Its name says in errors why nothing is declared. Tools that no manifest can declare are refused. */
function bareManifest({ tools = [], hooks = [] }: PluginDefinition): Manifest {
  const manifest = {
    name: "without-manifest",
    extensions: {
      [EXTENSION]: {
        apiVersion: 1,
        entry: "./index.ts",
        contributes: {
          tools: tools.map((tool) => ({
            name: tool.name,
            description: tool.description,
            inputSchema: inputSchema(tool),
            concurrencySafe: "by-input",
          })),
          hooks: hooks.map(({ event }) => ({ event })),
        },
      },
    },
  };
  const checked = checkManifest(JSON.stringify(manifest));
  if (checked.ok) return checked.manifest;
  throw new Error(`what the code defines cannot stand in a manifest: ${checked.fault}`);
}

/** The tools of plugins by the names that the model uses; `settings` by the plugin's name. */
export function toolsOf(
  loaded: readonly LoadedPlugin[],
  settings: ReadonlyMap<string, Settings>,
  { home }: TemporaryWorkspace,
): Map<string, ToolEntry> {
  const { entries } = pluginTools(loaded, new Set(), (plugin) => ({
    plugin,
    settings: settings.get(plugin.manifest.name) ?? {},
    skills: () => [],
    data: join(home, "plugin-data", plugin.manifest.name),
  }));
  return new Map(entries.map((entry) => [entry.spec.name, entry]));
}
