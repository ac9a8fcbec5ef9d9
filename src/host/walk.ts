// Walks a tree for Search and List: every file and folder in order of path, without what ignore files
// leave out and without `.git`; hidden ones included. Links to folders are not followed, so that no loop
// and no way out of the tree exists (SR-05). It never throws: what it could not or should not look at is
// counted. Synchronous and lazy: whoever iterates decides when the event loop gets its turn and when to
// stop.

import { type Dirent, readdirSync, realpathSync, statSync } from "node:fs";
import { sep } from "node:path";
import { concernsIn, type IgnoreRules, isIgnored, rulesAbove, rulesIn } from "./ignore-rules.ts";
import { TEMP_NAME } from "./write.ts";

export interface WalkEntry {
  /** Absolute path below the base. */
  path: string;
  /** Path from the base, with `/`. */
  relative: string;
  /** `link` and `other` (pipes, sockets, devices) only where they were asked for. */
  kind: "file" | "dir" | "link" | "other";
  /** 1 for entries of the base. */
  depth: number;
  /** Real path, when the entry is a link to a file. */
  target?: string;
  /** Of a folder: the rules that hold around it, to go on from there with another walk. */
  rules?: IgnoreRules | null;
}

/** What a walk left out, and why. */
export interface Skipped {
  ignoredFiles: number;
  /** Folders that were not entered. */
  ignoredFolders: number;
  /** Links to folders, broken ones, and those that lead out of the tree. */
  links: number;
  /** Pipes, sockets, devices. */
  special: number;
  /** Folders that cannot be read. */
  unreadable: number;
}

export function nothingSkipped(): Skipped {
  return { ignoredFiles: 0, ignoredFolders: 0, links: 0, special: 0, unreadable: 0 };
}

export interface WalkOptions {
  /** Real path of the folder to walk. Named by somebody: it is walked even if ignored. */
  base: string;
  /** Real path of the workspace: links may lead to files inside it. */
  root: string;
  /** Entries deeper than this are not visited; 1 lists only the base. */
  maxDepth?: number;
  /** Give links and special files as what they are; else such are left out, or links followed to files. */
  all?: boolean;
  /** The rules around `base`, where they are known. */
  rules?: IgnoreRules | null;
}

interface Level {
  entries: Dirent[];
  at: number;
  path: string;
  relative: string;
  rules: IgnoreRules | null;
  /** May an entry of this name be ignored? */
  concerns(name: string): boolean;
}

/** Entries of the tree, each folder before what it holds; `skipped` is filled on the way. */
export function* walk(options: WalkOptions, skipped: Skipped): Generator<WalkEntry> {
  const { base, root, maxDepth = Infinity, all = false } = options;
  const above = options.rules === undefined ? rulesAbove(base, root) : options.rules;
  const levels: Level[] = [];
  const enter = (path: string, relative: string, rules: IgnoreRules | null) => {
    let entries: Dirent[];
    try {
      entries = readdirSync(path, { withFileTypes: true });
    } catch {
      skipped.unreadable++;
      return;
    }
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    const own = rulesIn(path, entries.map((entry) => entry.name), rules);
    levels.push({ entries, at: 0, path, relative, rules: own, concerns: concernsIn(own, path) });
  };
  enter(base, "", above);
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    const entry = level.entries[level.at++];
    if (entry === undefined) {
      levels.pop();
      continue;
    }
    const { name } = entry;
    if (TEMP_NAME.test(name)) continue; // a write under way, or what a killed one left
    if (name === ".git") {
      if (all) skipped.ignoredFolders++;
      continue;
    }
    const path = level.path.endsWith(sep) ? level.path + name : level.path + sep + name;
    const relative = level.relative === "" ? name : `${level.relative}/${name}`;
    const isFolder = entry.isDirectory();
    if (level.concerns(name) && isIgnored(level.rules, path, isFolder)) {
      if (isFolder) skipped.ignoredFolders++;
      else skipped.ignoredFiles++;
      continue;
    }
    const depth = levels.length;
    if (isFolder) {
      yield { path, relative, kind: "dir", depth, rules: level.rules };
      if (depth < maxDepth) enter(path, relative, level.rules);
    } else if (entry.isFile()) {
      yield { path, relative, kind: "file", depth };
    } else if (all) {
      yield { path, relative, kind: entry.isSymbolicLink() ? "link" : "other", depth };
    } else if (entry.isSymbolicLink()) {
      const target = linkedFile(path, base, root);
      if (target === null) skipped.links++;
      else yield { path, relative, kind: "file", depth, target };
    } else {
      skipped.special++;
    }
  }
}

/** Real path of a link to a file inside the tree or the workspace; null for any other link. */
function linkedFile(path: string, base: string, root: string): string | null {
  try {
    const target = realpathSync(path);
    const inside = [base, root].some((top) =>
      target.startsWith(top.endsWith(sep) ? top : top + sep)
    );
    return inside && statSync(target).isFile() ? target : null;
  } catch {
    return null;
  }
}
