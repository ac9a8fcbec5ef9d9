// The tree hash: sha-256 over every file of a plugin's folder (exec bit, sha-256 of the bytes, path), sorted.
// It names what was trusted or pinned, whatever carried it here. What could make a tree mean different
// things in different places is refused: links, odd names, names that differ only in case.

import { closeSync, fstatSync, lstatSync, openSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";
import { newSha256 } from "../runtime/hash.ts";
import { UserError } from "../runtime/errors.ts";

/** A plugin's folder is at most this large: it is hashed before its code runs. */
const MAX_FILES = 20_000;
const MAX_BYTES = 256 * 1024 * 1024;

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

/** Hashes a folder; `.git` in its top is no part of it. @throws {UserError} for what no plugin may hold. */
export function treeOf(folder: string): Tree {
  const files: TreeFile[] = [];
  const folded = new Map<string, string>();
  let bytes = 0;
  const visit = (below: string) => {
    for (const name of readdirSync(join(folder, below)).sort()) {
      if (below === "" && name === ".git") continue;
      const path = below === "" ? name : `${below}/${name}`;
      if (/[\\\0-\x1f\x7f]/.test(name)) {
        throw refused(folder, path, "has a name that is not portable");
      }
      const same = folded.get(path.normalize("NFC").toLowerCase());
      if (same !== undefined) throw refused(folder, path, `differs from ${same} only in case`);
      folded.set(path.normalize("NFC").toLowerCase(), path);
      const info = lstatSync(join(folder, path));
      if (info.isDirectory()) {
        visit(path);
        continue;
      }
      if (!info.isFile()) throw refused(folder, path, "is a link or no regular file");
      bytes += info.size;
      if (files.length >= MAX_FILES || bytes > MAX_BYTES) {
        throw new UserError(
          `the plugin ${folder} is larger than ${MAX_FILES} files or ${MAX_BYTES / 1024 / 1024} MB`,
          "Bundle it, or leave out what it does not need.",
        );
      }
      files.push({
        path,
        sha256: hashFile(join(folder, path)),
        isExecutable: (info.mode & 0o111) !== 0,
      });
    }
  };
  visit("");
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  const hash = newSha256();
  for (const { path, sha256, isExecutable } of files) {
    hash.update(`${isExecutable ? "x" : "-"} ${sha256} ${path}\n`);
  }
  return { hash: `t1-${hash.digest("hex")}`, files };
}

function refused(folder: string, path: string, why: string): UserError {
  return new UserError(
    `the plugin ${folder} cannot be used: ${path} ${why}`,
    "Remove or rename it.",
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
