// The tree hash: sha-256 over every file of a plugin's folder (exec bit, sha-256 of the bytes, path), sorted.
// It names what was trusted or pinned, whatever carried it here. What could make a tree mean different
// things in different places is refused: links, odd names, names that differ only in case.

import {
  closeSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  type Stats,
} from "node:fs";
import { join } from "node:path";
import { newSha256, randomName } from "../runtime/hash.ts";
import { UserError } from "../runtime/errors.ts";
import { codeOf } from "../runtime/system-error.ts";

/** A plugin's folder is at most this large: it is hashed before its code runs. */
export const TREE_LIMITS: TreeLimits = { files: 20_000, bytes: 256 * 1024 * 1024 };

export interface TreeLimits {
  /** Folders count, too. */
  files: number;
  bytes: number;
}

export interface TreeFile {
  /** Relative, with `/`. */
  path: string;
  sha256: string;
  isExecutable: boolean;
}

export interface Tree {
  /** `t1-` and 64 hex digits. */
  hash: string;
  /** Sorted by path. */
  files: TreeFile[];
}

/** A file's data as it is found, not yet read. */
export interface FoundFile {
  path: string;
  stats: Stats;
}

/**
 * The files of a folder; `.git` in its top is no part of it.
 *
 * @throws {UserError} for what no plugin may hold, and for what cannot be looked at.
 */
export function filesOf(folder: string, limits: TreeLimits = TREE_LIMITS): FoundFile[] {
  const files: FoundFile[] = [];
  const names = new PortableNames();
  let bytes = 0;
  const visit = (below: string) => {
    for (const name of attempt(folder, below, () => readdirSync(join(folder, below))).sort()) {
      if (below === "" && name === ".git") continue;
      const path = below === "" ? name : `${below}/${name}`;
      const fault = names.add(path);
      if (fault !== null) throw refused(folder, path, fault);
      const stats = attempt(folder, path, () => lstatSync(join(folder, path)));
      if (!stats.isDirectory() && !stats.isFile()) {
        throw refused(folder, path, "is a link or no regular file");
      }
      if (stats.isFile()) bytes += stats.size;
      if (names.count > limits.files || bytes > limits.bytes) {
        throw new UserError(
          `the plugin ${folder} is larger than ${limits.files} files or ${
            limits.bytes / 1024 / 1024
          } MB`,
          "Bundle it, or leave out what it does not need.",
        );
      }
      if (stats.isDirectory()) visit(path);
      else files.push({ path, stats });
    }
  };
  visit("");
  return files;
}

/**
 * Size, times and inode of every file, a line each: another one means that something may have changed. The
 * time of the inode's change is in it: unlike the other one, nobody can set it back. A folder that holds what
 * no tree may hold (a user's own plugin with links) never has the same one twice.
 */
export function snapshotOf(folder: string): string {
  let files: FoundFile[];
  try {
    files = filesOf(folder);
  } catch (error) {
    if (error instanceof UserError) return randomName();
    throw error;
  }
  return files.map(({ path, stats: { size, mtimeMs, ctimeMs, ino, mode } }) =>
    `${size} ${mtimeMs} ${ctimeMs} ${ino} ${mode} ${path}\n`
  ).join("");
}

/** Is a file of the folder newer (milliseconds since 1970)? True also for what no tree may hold. */
export function changedSince(folder: string, time: number): boolean {
  try {
    return filesOf(folder).some(({ stats }) => stats.ctimeMs > time);
  } catch (error) {
    if (error instanceof UserError) return true;
    throw error;
  }
}

/** Hashes a folder. @throws {UserError} as `filesOf`. */
export function treeOf(folder: string): Tree {
  const files = filesOf(folder).map(({ path, stats }): TreeFile => ({
    path,
    sha256: attempt(folder, path, () => hashFile(join(folder, path))),
    isExecutable: (stats.mode & 0o111) !== 0,
  }));
  // By bytes, not by UTF-16 units: the order of every other program.
  files.sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
  const hash = newSha256();
  for (const { path, sha256, isExecutable } of files) {
    hash.update(`${isExecutable ? "x" : "-"} ${sha256} ${path}\n`);
  }
  return { hash: `t1-${hash.digest("hex")}`, files };
}

/** Names that mean the same on every disk: what a second look at a name could read as another one is refused. */
export class PortableNames {
  readonly #folded = new Map<string, string>();

  get count(): number {
    return this.#folded.size;
  }

  /** Takes a path whose parents were taken before; gives what is wrong with it, or null. */
  add(path: string): string | null {
    if (/[\\\0-\x1f\x7f\ufffd]/.test(path)) return "has a name that is not portable";
    const folded = path.normalize("NFC").toLowerCase();
    const same = this.#folded.get(folded);
    if (same !== undefined) {
      return same === path ? "is there twice" : `differs from ${same} only in case`;
    }
    this.#folded.set(folded, path);
    return null;
  }
}

/** The system's errors, told with the plugin and the path. */
function attempt<T>(folder: string, path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw refused(folder, path || ".", `cannot be read (${codeOf(error) ?? String(error)})`);
  }
}

function refused(folder: string, path: string, why: string): UserError {
  return new UserError(
    `the plugin ${folder} cannot be used: ${path} ${why}`,
    "Remove it, rename it or make it readable.",
  );
}

function hashFile(path: string): string {
  const fd = openSync(path, "r");
  try {
    const hash = newSha256();
    const buffer = new Uint8Array(Math.min(1 << 20, Math.max(1, fstatSync(fd).size)));
    for (let n = readSync(fd, buffer); n > 0; n = readSync(fd, buffer)) {
      hash.update(buffer.subarray(0, n));
    }
    return hash.digest("hex");
  } finally {
    closeSync(fd);
  }
}
