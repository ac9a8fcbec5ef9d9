// Trees of fetched plugins, each read-only in a folder that has its hash for a name, under
// `~/.nanocode/cache/plugins`. Beside each lies a list of size, times and inode of its files, so that a start
// need not read them all; whatever differs from the list is hashed again.

import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { join } from "node:path";
import { UserError } from "../runtime/errors.ts";
import { randomName } from "../runtime/hash.ts";
import { replaceFile } from "../runtime/replace-file.ts";
import { snapshotOf, treeOf } from "./tree-hash.ts";

export const TREE = /^t1-[0-9a-f]{64}$/;

export type CacheState = "ok" | "missing" | "mismatch";

export class PluginCache {
  readonly folder: string;

  /** @param home `~/.nanocode`. */
  constructor(home: string) {
    this.folder = join(home, "cache", "plugins");
  }

  /** Where the tree lies, whether or not it is there. @throws for what is no hash: it becomes a path. */
  pathOf(tree: string): string {
    if (!TREE.test(tree)) throw new Error(`${tree} is no tree hash`);
    return join(this.folder, tree);
  }

  /** Is the tree there as it was put there? @param thorough Hashes every file again. */
  check(tree: string, thorough = false): CacheState {
    const path = this.pathOf(tree);
    if (!existsSync(path)) return "missing";
    try {
      // Not in the hash, so it must not be there: code could be imported from it.
      if (existsSync(join(path, ".git"))) return "mismatch";
      if (!thorough && this.#listed(tree) === snapshotOf(path)) return "ok";
      if (treeOf(path).hash !== tree) return "mismatch";
      this.#remember(tree);
      return "ok";
    } catch (error) {
      if (error instanceof UserError) return "mismatch";
      throw error;
    }
  }

  /** A folder to fetch into, beside the trees, so that it can be renamed into place. */
  staging(): string {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    const path = join(this.folder, `.tmp-${randomName()}`);
    mkdirSync(path, { mode: 0o700 });
    return path;
  }

  /** Takes in a plugin's folder (inside `staging`) under its hash, read-only; gives the hash. */
  put(folder: string): string {
    const { hash } = treeOf(folder);
    const path = this.pathOf(hash);
    if (this.check(hash, true) === "ok") return hash;
    removeTree(path);
    setWritable(folder, false);
    // A renamed folder needs its own write bit where its parent changes.
    chmodSync(folder, 0o755);
    try {
      renameSync(folder, path);
    } catch (error) {
      // Another process was faster: what it put there has the same hash.
      if (this.check(hash, true) !== "ok") throw error;
      return hash;
    }
    chmodSync(path, 0o555);
    this.#remember(hash);
    return hash;
  }

  #listPath(tree: string): string {
    return join(this.folder, `${tree}.files`);
  }

  #listed(tree: string): string | null {
    try {
      return readFileSync(this.#listPath(tree), "utf8");
    } catch {
      return null;
    }
  }

  /** The list only saves time. */
  #remember(tree: string): void {
    try {
      replaceFile(this.#listPath(tree), snapshotOf(this.pathOf(tree)), 0o600);
    } catch { /* the next start hashes again */ }
  }
}

/** Removes a tree, read-only ones too. */
export function removeTree(path: string): void {
  if (!existsSync(path)) return;
  setWritable(path, true);
  rmSync(path, { recursive: true, force: true });
}

function setWritable(folder: string, isWritable: boolean): void {
  if (isWritable) chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) setWritable(path, isWritable);
    else if (entry.isFile() && !isWritable) {
      chmodSync(path, (lstatSync(path).mode & 0o111) === 0 ? 0o444 : 0o555);
    }
  }
  if (!isWritable) chmodSync(folder, 0o555);
}
