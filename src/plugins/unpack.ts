// A tarball of a stranger → files in an empty folder. Only plain files and folders with portable names come
// out of it: no links, devices, `..`, absolute names, names that clash, more files or bytes than a plugin may
// have. Nothing of it is run. Not here: whether it is the right tarball (fetch-npm.ts, sources.ts).

import { chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { extract, type Header } from "tar-stream";
import { UserError } from "../runtime/errors.ts";
import { MANIFEST_FILE } from "./manifest.ts";
import { PortableNames, TREE_LIMITS, type TreeLimits } from "./tree-hash.ts";

/**
 * Unpacks a `.tgz` and gives the plugin's folder in it: the top, or the one folder that everything lies in,
 * as tarballs of packages and repositories have it.
 *
 * @param what Where the bytes came from, for messages.
 * @param target An existing empty folder.
 * @throws {UserError} for what no plugin may hold; what was written by then stays, for the caller to remove.
 */
export async function unpack(
  bytes: Uint8Array,
  target: string,
  what: string,
  limits: TreeLimits = TREE_LIMITS,
): Promise<string> {
  const names = new PortableNames();
  const folders = new Set<string>();
  const tar = extract();
  const reading = pipeline(
    Readable.from([bytes]),
    createGunzip(),
    (data) => bounded(data, limits.bytes, what),
    tar,
  );
  reading.catch(() => {}); // its failure is asked for below
  try {
    for await (const entry of tar) {
      const path = checked(entry.header, names, folders, limits.files, what);
      if (path === null) {
        entry.resume();
        continue;
      }
      if (entry.header.type === "directory") {
        await mkdir(join(target, path), { recursive: true });
        entry.resume();
        continue;
      }
      const chunks: Uint8Array[] = [];
      for await (const chunk of entry as AsyncIterable<Uint8Array>) chunks.push(chunk);
      const file = join(target, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, Buffer.concat(chunks), { flag: "wx" });
      await chmod(file, ((entry.header.mode ?? 0) & 0o111) === 0 ? 0o644 : 0o755);
    }
    await reading;
  } catch (error) {
    tar.destroy();
    const cause = await reading.then(() => error, (first: unknown) => first);
    if (error instanceof UserError) throw error;
    if (cause instanceof UserError) throw cause;
    throw refused(what, `is no tarball that can be unpacked (${(error as Error).message})`);
  }
  return await topOf(target, what);
}

/** Counts what comes out of gunzip, padding and headers too: a few bytes can become very many. */
async function* bounded(
  data: AsyncIterable<Uint8Array>,
  limit: number,
  what: string,
): AsyncGenerator<Uint8Array> {
  let total = 0;
  for await (const chunk of data) {
    total += chunk.length;
    if (total > limit) {
      throw refused(what, `unpacks to more than ${limit / 1024 / 1024} MB`);
    }
    yield chunk;
  }
}

/** The path of an entry; null for the top itself. Parents that have no entry of their own count as folders. */
function checked(
  { name, type }: Header,
  names: PortableNames,
  folders: Set<string>,
  maxFiles: number,
  what: string,
): string | null {
  const shown = JSON.stringify(name).slice(0, 200);
  if (type !== "file" && type !== "directory") {
    throw refused(what, `holds ${shown}, which is a ${type ?? "device"}`);
  }
  if (name.startsWith("/") || /^[A-Za-z]:/.test(name)) {
    throw refused(what, `holds the absolute name ${shown}`);
  }
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) throw refused(what, `holds ${shown}, which leads out of its folder`);
  if (parts.some((part) => part.toLowerCase() === ".git")) {
    throw refused(what, `holds ${shown}; a .git folder is no part of a plugin`);
  }
  if (parts.length === 0) return null;
  for (let i = 1; i <= parts.length; i++) {
    const path = parts.slice(0, i).join("/");
    const isFolder = i < parts.length || type === "directory";
    if (folders.has(path) && isFolder) continue;
    const fault = names.add(path);
    if (fault !== null) throw refused(what, `holds ${shown}, which ${fault}`);
    if (names.count > maxFiles) throw refused(what, `holds more than ${maxFiles} files`);
    if (isFolder) folders.add(path);
  }
  return parts.join("/");
}

async function topOf(target: string, what: string): Promise<string> {
  if (existsSync(join(target, MANIFEST_FILE))) return target;
  const [only, ...others] = await readdir(target);
  if (only !== undefined && others.length === 0 && existsSync(join(target, only, MANIFEST_FILE))) {
    return join(target, only);
  }
  throw refused(what, `holds no ${MANIFEST_FILE}: it is no plugin of nanocode`);
}

function refused(what: string, why: string): UserError {
  return new UserError(`${what} ${why}`, "Nothing of it was kept.");
}
