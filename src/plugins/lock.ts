// `.nanocode/plugins.lock.json` (`~/.nanocode/plugins.lock.json` for the user's own): what each configured
// plugin was resolved to. Committed, so its text comes from a repository and is checked field by field. Keys
// are sorted and each plugin is one block, so that a diff of it can be read.

import { readFileSync } from "node:fs";
import { writeFile } from "../host/write.ts";
import { UserError } from "../runtime/errors.ts";
import { codeOf } from "../runtime/system-error.ts";
import { TREE } from "./cache.ts";

export const LOCK_FILE = "plugins.lock.json";

export interface LockEntry {
  /** As asked for; another one in the config is drift. */
  source: string;
  /** Where it was found: an address, for people. */
  resolved: string;
  version: string | null;
  /** Commit, 40 hex digits. */
  rev: string | null;
  /** Hash of the file that was downloaded, as `integrity` attributes have it. */
  artifact: string | null;
  /** What is checked at each start. */
  tree: string;
  apiVersion: number;
  grants: string[];
}

export interface Lock {
  lockfileVersion: 1;
  plugins: Record<string, LockEntry>;
}

const isText = (value: unknown) => typeof value === "string";
const FIELDS: Readonly<Record<keyof LockEntry, (value: unknown) => boolean>> = {
  source: isText,
  resolved: isText,
  version: (value) => value === null || isText(value),
  rev: (value) => value === null || (typeof value === "string" && /^[0-9a-f]{40}$/.test(value)),
  artifact: (value) => value === null || isText(value),
  tree: (value) => typeof value === "string" && TREE.test(value),
  apiVersion: Number.isInteger,
  grants: (value) => Array.isArray(value) && value.every(isText),
};

/** Reads a lock; an absent one is empty. @throws {UserError} for one that cannot be understood. */
export function readLock(path: string): Lock {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") {
      return { lockfileVersion: 1, plugins: {} };
    }
    throw new UserError(`cannot read ${path}: ${(error as Error).message}`);
  }
  const fault = (what: string) =>
    new UserError(`${path} ${what}`, "Repair it, or remove it and run: nanocode plugin sync");
  let value: Partial<Lock> | null;
  try {
    value = JSON.parse(text) as Partial<Lock> | null;
  } catch (error) {
    const isMerge = /^(?:<{7}|={7}|>{7})/m.test(text);
    throw fault(
      isMerge ? "has marks of a merge in it" : `is not valid JSON: ${(error as Error).message}`,
    );
  }
  if (value?.lockfileVersion !== 1 || typeof value.plugins !== "object" || value.plugins === null) {
    throw fault(`is no lock of version 1`);
  }
  const plugins: Record<string, LockEntry> = {};
  for (const [name, entry] of Object.entries(value.plugins)) {
    const fields = (entry ?? {}) as unknown as Record<string, unknown>;
    for (const [field, isRight] of Object.entries(FIELDS)) {
      if (!isRight(fields[field])) {
        throw fault(
          `has a wrong ${field} for ${name}: ${
            JSON.stringify(fields[field])?.slice(0, 80) ?? "missing"
          }`,
        );
      }
    }
    Object.defineProperty(plugins, name, {
      value: entry,
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return { lockfileVersion: 1, plugins };
}

/** The lock as text: the same for the same content, whoever writes it. */
export function lockText({ plugins }: Lock): string {
  const order = Object.keys(FIELDS) as (keyof LockEntry)[];
  const sorted = Object.keys(plugins).sort().map((name) => {
    const entry = plugins[name] as LockEntry;
    return [name, Object.fromEntries(order.map((field) => [field, entry[field]]))];
  });
  return `${
    JSON.stringify({ lockfileVersion: 1, plugins: Object.fromEntries(sorted) }, null, 2)
  }\n`;
}

/**
 * Changes the lock in one step. What another process wrote meanwhile is a fault, not overwritten.
 *
 * @param locks Folder of nanocode's lock files (`~/.nanocode/locks`).
 * @throws {UserError}
 */
export async function changeLock(
  path: string,
  locks: string,
  change: (plugins: Record<string, LockEntry>) => void,
): Promise<void> {
  const before = bytesOf(path);
  const lock = readLock(path);
  change(lock.plugins);
  const text = lockText(lock);
  if (before !== null && before.toString() === text) return;
  if (before === null && Object.keys(lock.plugins).length === 0) return;
  try {
    await writeFile(locks, path, new TextEncoder().encode(text), before);
  } catch (error) {
    throw new UserError((error as Error).message);
  }
}

function bytesOf(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return null;
    throw new UserError(`cannot read ${path}: ${(error as Error).message}`);
  }
}
