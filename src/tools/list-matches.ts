// What a glob matches, for List: a flat list in the order of paths. A folder is in it only where nothing
// below it is, since its name is part of the others. Not here: what a glob means (glob.ts).

import { dirname, sep } from "node:path";
import { nothingSkipped, type Skipped, walk, type WalkEntry } from "../host/walk.ts";
import { inTurns } from "../runtime/turns.ts";
import { globFilter } from "./glob.ts";
import type { Below } from "./list-rows.ts";
import { byName, First, type Scope } from "./list-tree.ts";

export interface Match extends Below {
  entry: WalkEntry;
}

export interface Matches {
  /** The first ones, at least one more than were asked for if there are. */
  first: Match[];
  files: number;
  folders: number;
  /** How many matches each folder holds. */
  within: Map<string, number>;
  skipped: Skipped;
  /** Everything was looked at. */
  complete: boolean;
}

/** Finds what matches all globs; entries below `depth` levels are not looked at. */
export async function matches(
  { base, root, signal, ms }: Scope,
  globs: readonly string[],
  depth: number,
  limit: number,
): Promise<Matches> {
  const filters = globs.map((glob) => globFilter(glob, base, root));
  const foldersToo = !globs.some((glob) => glob.startsWith("!"));
  const first = new First<Match>(limit + 1, (a, b) => byName(a.entry.relative, b.entry.relative));
  const found = { files: 0, folders: 0, within: new Map<string, number>() };
  const take = (match: Match) => {
    first.add(match);
    found[match.entry.kind === "dir" ? "folders" : "files"]++;
    const folder = dirname(match.entry.path);
    found.within.set(folder, (found.within.get(folder) ?? 0) + 1);
  };
  // A folder that matches, as long as nothing below it does.
  let held: Match | undefined;
  const end = performance.now() + ms;
  const skipped = nothingSkipped();
  const tree = walk({ base, root, maxDepth: depth, all: true }, skipped);
  const stopped = await inTurns(tree, signal, (entry) => {
    if (held && !entry.path.startsWith(held.entry.path + sep)) {
      take(held);
      held = undefined;
    }
    const isFolder = entry.kind === "dir";
    if ((!isFolder || foldersToo) && filters.every((passes) => passes(entry))) {
      const match = { entry, files: 0, folders: 0, counted: entry.depth < depth };
      held = isFolder ? match : undefined;
      if (!isFolder) take(match);
    } else if (held) {
      held[isFolder ? "folders" : "files"]++;
    }
    return performance.now() > end;
  });
  if (held) take(held);
  return { ...found, first: first.items(), skipped, complete: !stopped };
}
