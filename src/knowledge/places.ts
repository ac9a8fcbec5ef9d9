// Where rules, skills and commands lie: the user's folder, the project, folders of plugins.
// Not here: reading any of them.

import { join } from "node:path";
import type { Tier } from "./text-file.ts";

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
  /** Plugins that are in use: folders that may hold `skills`, `rules` and `commands`. */
  folders: readonly { folder: string; tier: Tier }[];
}

/** A folder that holds things of one kind. `within`: no link may lead out of it. */
export interface Place {
  folder: string;
  tier: Tier;
  within: string | null;
}

/** The folders that hold things of a kind, those that win first: project, user, and plugins of each behind them. */
export function placesOf(
  { home, root, project, folders }: Places,
  kind: "skills" | "commands",
): Place[] {
  const plugins = (tier: Tier, within: string | null) =>
    folders.filter((plugin) => plugin.tier === tier)
      .map(({ folder }) => ({ folder: join(folder, kind), tier, within }));
  const inProject = (folder: string): Place => ({ folder, tier: "project", within: root });
  return [
    ...(project === "own" ? [inProject(join(root, ".nanocode", kind))] : []),
    ...(project !== "none" && kind === "skills" ? [inProject(join(root, ".agents", kind))] : []),
    ...(project === "none" ? [] : plugins("project", root)),
    { folder: join(home, kind), tier: "user", within: null },
    ...plugins("user", null),
    ...plugins("built-in", null),
  ];
}
