// Reading the disk, and the system's errors put into words. Every path that comes in is absolute; links
// are followed as the kernel does. Not here: writing (write.ts), which files to look at (walk.ts).

import {
  constants,
  lstatSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { open, readdir, readFile } from "node:fs/promises";
import { dirname, join, parse, sep } from "node:path";
import { codeOf } from "../runtime/system-error.ts";
import { type DirEntry, type FileInfo, HostError } from "./host.ts";

/** Links followed for one path before it counts as a loop (Linux has the same limit). */
const MAX_LINKS = 40;
/** Files up to this size are read at once: handing them to a thread costs more than reading them. */
const SMALL = 1 << 20;
/** Largest file read whole: past this neither runtime gives one buffer. */
const MAX_READ = 2 ** 31 - 1;

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EBUSY: "it is in use or a mount point",
  EDQUOT: "the disk quota is used up",
  EEXIST: "it already exists",
  EFBIG: "it would exceed the allowed file size (ulimit -f)",
  EINVAL: "the name is not a valid path",
  EIO: "the disk reports an input/output error",
  EISDIR: "it is a directory",
  ELOOP: "its symbolic links form a loop",
  EMFILE: "too many open files",
  ENAMETOOLONG: "the name is too long",
  ENOENT: "no such file or directory",
  ENOSPC: "no space is left on the disk",
  ENOTDIR: "a part of the path is not a directory",
  ENOTEMPTY: "the directory is not empty",
  EPERM: "the system does not permit it",
  EROFS: "the file system is read-only",
};

/** Words for an error of the system: `cannot read /x: permission denied (EACCES)`. */
export function hostError(error: unknown, doing: string, path: string): HostError {
  if (error instanceof HostError) return error;
  const code = codeOf(error) ?? "EUNKNOWN";
  const reason = REASONS[code] ?? (error instanceof Error ? error.message : String(error));
  return new HostError(code, `cannot ${doing} ${path}: ${reason} (${code})`);
}

/**
 * Real path of the deepest existing ancestor plus the rest. A dangling link gives the path it points
 * to, so that permission is asked for the file that a write would create (PM-05).
 *
 * @throws {HostError} ELOOP for a loop of links, ENOTDIR where a file stands in the way, EACCES.
 */
export async function realPath(path: string): Promise<string> {
  try {
    return realpathSync.native(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw hostError(error, "resolve", path);
  }
  try {
    return resolveLinks(path);
  } catch (error) {
    throw hostError(error, "resolve", path);
  }
}

/** Walks a path that does not exist in full, component by component, as the kernel would. */
function resolveLinks(path: string): string {
  const { root } = parse(path);
  const todo = path.slice(root.length).split(sep).reverse();
  let at = root;
  let links = 0;
  while (todo.length > 0) {
    const name = todo.pop();
    if (name === undefined || name === "" || name === ".") continue;
    if (name === "..") {
      at = dirname(at);
      continue;
    }
    const next = join(at, name);
    const target = linkTarget(next);
    if (target === null) {
      at = next;
      continue;
    }
    if (++links > MAX_LINKS) throw Object.assign(new Error("loop"), { code: "ELOOP" });
    const top = parse(target).root;
    if (top !== "") at = top;
    todo.push(...target.slice(top.length).split(sep).reverse());
  }
  return at;
}

function linkTarget(path: string): string | null {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

/** What a path is, links followed; null when nothing is there. @throws {HostError} */
export async function statPath(path: string): Promise<FileInfo | null> {
  try {
    return infoOf(statSync(path));
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw hostError(error, "look at", path);
  }
}

function infoOf(stats: Stats): FileInfo {
  return {
    kind: stats.isFile() ? "file" : stats.isDirectory() ? "dir" : "other",
    size: stats.size,
    mtimeMs: stats.mtimeMs,
    mode: stats.mode & 0o7777,
  };
}

/** Entries of a folder sorted by name (UTF-16 order: the same everywhere). @throws {HostError} */
export async function readFolder(path: string): Promise<DirEntry[]> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    return entries
      .map((e): DirEntry => ({
        name: e.name,
        kind: e.isFile() ? "file" : e.isDirectory() ? "dir" : e.isSymbolicLink() ? "link" : "other",
      }))
      .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  } catch (error) {
    throw hostError(error, "list", path);
  }
}

/** The whole file. Pipes and devices are refused: reading one may never end. @throws {HostError} */
export async function readWhole(path: string): Promise<Uint8Array> {
  try {
    const { size } = readable(path);
    if (size <= SMALL) return readFileSync(path);
    if (size <= MAX_READ) return await readFile(path);
    throw new HostError("EFBIG", `cannot read ${path} whole: it has ${size} bytes`);
  } catch (error) {
    throw hostError(error, "read", path);
  }
}

/** Bytes `start` (inclusive) to `end` (exclusive), clipped to the file. @throws {HostError} */
export async function readSlice(path: string, start: number, end: number): Promise<Uint8Array> {
  try {
    const { size } = readable(path);
    const from = Math.max(0, start);
    const bytes = new Uint8Array(Math.max(0, Math.min(end, size) - from));
    const file = await open(path, constants.O_RDONLY);
    try {
      let filled = 0;
      while (filled < bytes.length) {
        const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, from + filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      return bytes.subarray(0, filled);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw hostError(error, "read", path);
  }
}

function readable(path: string): FileInfo {
  const info = infoOf(statSync(path));
  if (info.kind === "file") return info;
  throw info.kind === "dir"
    ? new HostError("EISDIR", `cannot read ${path}: it is a directory (EISDIR)`)
    : new HostError(
      "EINVAL",
      `cannot read ${path}: it is a device, pipe or socket, not a file (EINVAL)`,
    );
}
