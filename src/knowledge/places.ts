// Where rules, skills and commands lie: the user's folder, the project, folders of plugins.
// Not here: reading any of them.

import { basename, join } from "node:path";
import type { Tier } from "./text-file.ts";

/** A plugin that is in use: a folder that may hold `skills`, `rules` and `commands`. */
export interface PluginFolder {
  /** Real path. */
  folder: string;
  tier: Tier;
  /** For people and the model; the folder's name where it is absent. */
  name?: string;
  /** Rules that its manifest names, relative to the folder. */
  rules?: readonly { path: string; globs?: readonly string[] }[];
  /** What of it is used, as the config files say; absent: all. */
  only?: { skills?: readonly string[] | undefined; rules?: readonly string[] | undefined };
}

export interface Places {
  /** nanocode's own folder, with what is the user's. Links may lead out of it, not out of `root`. */
  home: string;
  /** Real path of the workspace. */
  root: string;
  /** Real path. */
  cwd: string;
  /**
   * What of the project counts: `own` all of it; `shared`: its `.nanocode` is the user's folder, so only
   * what lies outside of that; `none`: nothing (`--no-project-text`).
   */
  project: "own" | "shared" | "none";
  folders: readonly PluginFolder[];
}

/** A folder that holds things of one kind. `within`: no link may lead out of it. */
export interface Place {
  folder: string;
  tier: Tier;
  within: string | null;
  /** Name of the plugin that it belongs to. */
  plugin?: string;
  /** Names that are used; absent: all. */
  only?: readonly string[] | undefined;
}

export function pluginName({ name, folder }: PluginFolder): string {
  return name ?? basename(folder);
}

/** The folders that hold things of a kind, those that win first: project, user, and plugins of each behind them. */
export function placesOf(
  { home, root, project, folders }: Places,
  kind: "skills" | "commands",
): Place[] {
  const plugins = (tier: Tier) =>
    folders.filter((plugin) => plugin.tier === tier).map((plugin): Place => ({
      folder: join(plugin.folder, kind),
      tier,
      // A fetched plugin of the project lies outside of it.
      within: tier === "project" ? plugin.folder : null,
      plugin: pluginName(plugin),
      ...(kind === "skills" ? { only: plugin.only?.skills } : {}),
    }));
  const inProject = (folder: string): Place => ({ folder, tier: "project", within: root });
  return [
    ...(project === "own" ? [inProject(join(root, ".nanocode", kind))] : []),
    ...(project !== "none" && kind === "skills" ? [inProject(join(root, ".agents", kind))] : []),
    ...(project === "none" ? [] : plugins("project")),
    { folder: join(home, kind), tier: "user", within: null },
    ...plugins("user"),
    ...plugins("built-in"),
  ];
}
