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
export function walk(options: WalkOptions, skipped: Skipped): IterableIterator<WalkEntry> {
  return new Walk(options, skipped);
}

/** No generator: engines take long to optimise those, and a large tree is walked in less time. */
class Walk implements IterableIterator<WalkEntry> {
  readonly #options: WalkOptions;
  readonly #skipped: Skipped;
  readonly #levels: Level[] = [];
  /** A folder that was given and is still to be entered. */
  #folder: WalkEntry | null = null;
  #begun = false;

  constructor(options: WalkOptions, skipped: Skipped) {
    this.#options = options;
    this.#skipped = skipped;
  }

  [Symbol.iterator](): this {
    return this;
  }

  next(): IteratorResult<WalkEntry> {
    if (!this.#begun) this.#begin();
    if (this.#folder !== null) this.#enterFolder(this.#folder);
    for (let level = this.#levels.at(-1); level !== undefined;) {
      const entry = level.entries[level.at++];
      if (entry === undefined) {
        this.#levels.pop();
        level = this.#levels.at(-1);
        continue;
      }
      const value = this.#visit(level, entry);
      if (value === null) continue;
      if (value.kind === "dir") this.#folder = value;
      return { done: false, value };
    }
    return { done: true, value: undefined };
  }

  #begin(): void {
    const { base, root, rules } = this.#options;
    this.#begun = true;
    this.#enter(base, "", rules === undefined ? rulesAbove(base, root) : rules);
  }

  #enterFolder({ path, relative, depth, rules = null }: WalkEntry): void {
    this.#folder = null;
    if (depth < (this.#options.maxDepth ?? Infinity)) this.#enter(path, relative, rules);
  }

  #enter(path: string, relative: string, rules: IgnoreRules | null): void {
    let entries: Dirent[];
    try {
      entries = readdirSync(path, { withFileTypes: true });
    } catch {
      this.#skipped.unreadable++;
      return;
    }
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    const own = rulesIn(path, entries.map((entry) => entry.name), rules);
    const concerns = concernsIn(own, path);
    this.#levels.push({ entries, at: 0, path, relative, rules: own, concerns });
  }

  /** What is given of an entry, or null. */
  #visit(level: Level, entry: Dirent): WalkEntry | null {
    const { name } = entry;
    if (TEMP_NAME.test(name)) return null; // a write under way, or what a killed one left
    if (name === ".git") {
      if (this.#options.all) this.#skipped.ignoredFolders++;
      return null;
    }
    const path = level.path.endsWith(sep) ? level.path + name : level.path + sep + name;
    const relative = level.relative === "" ? name : `${level.relative}/${name}`;
    const isFolder = entry.isDirectory();
    if (level.concerns(name) && isIgnored(level.rules, path, isFolder)) {
      if (isFolder) this.#skipped.ignoredFolders++;
      else this.#skipped.ignoredFiles++;
      return null;
    }
    const depth = this.#levels.length;
    if (isFolder) return { path, relative, kind: "dir", depth, rules: level.rules };
    if (entry.isFile()) return { path, relative, kind: "file", depth };
    return this.#special(entry, { path, relative, depth });
  }

  #special(entry: Dirent, where: Omit<WalkEntry, "kind">): WalkEntry | null {
    const { base, root, all } = this.#options;
    const isLink = entry.isSymbolicLink();
    if (all) return { ...where, kind: isLink ? "link" : "other" };
    const target = isLink ? linkedFile(where.path, base, root) : null;
    if (target !== null) return { ...where, kind: "file", target };
    if (isLink) this.#skipped.links++;
    else this.#skipped.special++;
    return null;
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
