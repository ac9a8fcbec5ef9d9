// The plugins inside the binary. scripts/compile.ts writes their list (manifests and lazy imports)
// into the compiled entry; run from source, the same list is read from plugins/. Nothing else tells
// them from a user's plugin.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { join } from "node:path";
import type { ToolSpec } from "../provider/provider.ts";
import type { Skill } from "../knowledge/skills.ts";
import { findSkills } from "../knowledge/skills.ts";
import { extensionOf, type Manifest, type Plugin, type PluginModule } from "./manifest.ts";

/** What scripts/compile.ts writes: a plugin without its folder, which the binary knows at run time. */
export interface BundledList {
  /** Specs of the core tools. */
  coreTools: ToolSpec[];
  plugins: { directory: string; manifest: Manifest; load(): Promise<PluginModule> }[];
  skills: { name: string; description: string; directory: string }[];
}

export interface Bundled {
  plugins: Plugin[];
  skills: Skill[];
}

/** Plugins and skills that ship with nanocode. `assets` is the folder of mod.ts or of the binary's root. */
export async function bundled(assets: URL, list: BundledList | null): Promise<Bundled> {
  const root = fileURLToPath(assets);
  if (list) {
    return {
      plugins: list.plugins.map(({ directory, manifest, load }) => ({
        manifest,
        tier: "built-in",
        folder: join(root, "plugins", directory),
        load,
      })),
      skills: list.skills.map(({ name, description, directory }) => ({
        name,
        description,
        folder: join(root, "skills", directory),
        tier: "built-in",
        within: null,
      })),
    };
  }
  return {
    plugins: readPlugins(join(root, "plugins")),
    skills: await ownSkills(join(root, "skills")),
  };
}

async function ownSkills(folder: string): Promise<Skill[]> {
  const { skills, warnings } = await findSkills(
    [{ folder, tier: "built-in", within: null }],
    folder,
  );
  if (warnings.length > 0) throw new Error(warnings.join("\n"));
  return skills;
}

function readPlugins(folder: string): Plugin[] {
  return readdirSync(folder).sort().filter((name) => existsSync(join(folder, name, "plugin.json")))
    .map((name) => {
      const path = join(folder, name);
      const manifest = JSON.parse(readFileSync(join(path, "plugin.json"), "utf8")) as Manifest;
      const plugin: Plugin = {
        manifest,
        tier: "built-in",
        folder: path,
        load: () => {
          const { entry } = extensionOf(plugin);
          if (!entry) {
            return Promise.reject(new Error(`plugin ${manifest.name} has no entry module`));
          }
          return import(pathToFileURL(join(path, entry)).href) as Promise<PluginModule>;
        },
      };
      return plugin;
    });
}
