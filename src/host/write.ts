// Replaces a file in one step: whoever reads it, at any moment and after any crash, sees all of the old
// bytes or all of the new. Hard links are split by this, extended attributes are not carried over
// (docs/decisions.md). A lock in the user's private folder keeps nanocode processes apart; what keeps the
// changes of other programs is the comparison of bytes just before.

import { randomName, sha256 } from "../runtime/hash.ts";
import { constants, rmSync, type Stats } from "node:fs";
import {
  type FileHandle,
  link,
  lstat,
  mkdir,
  open,
  readFile,
  rename,
  unlink,
} from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type FileLock, holderOf, tryLock } from "../runtime/lock.ts";
import { codeOf } from "../runtime/system-error.ts";
import { hostError, realPath } from "./files.ts";
import { HostError } from "./host.ts";

/** How long a writer waits for another process, in milliseconds. */
const WAIT_MS = 5_000;
/** Temp files: a name that no build tool takes for source. Nothing else is removed for a dead writer. */
export const TEMP_NAME = /^\.nanocode-[0-9a-f]{16}\.tmp$/;
/** File systems that know no hard links answer `link` with one of these. */
const NO_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EXDEV"]);

/**
 * Writes `bytes` to `target`, keeping mode bits and (where permitted) owner of an existing file; a new
 * one gets 0666 less the umask. Parent folders are made.
 *
 * @param locks Folder of the lock files.
 * @param target A real path, as permission was given for it. A link on the way to it is a change: it
 * would lead to another file.
 * @param expected What the file must hold just before; null: it must not exist.
 * @throws {HostError} ECHANGED when it does not hold `expected`; the system's code otherwise. The file
 * is then as it was and no temp file is left.
 */
export async function writeFile(
  locks: string,
  target: string,
  bytes: Uint8Array,
  expected: Uint8Array | null,
): Promise<void> {
  await checkReal(target);
  const temp = join(dirname(target), `.nanocode-${randomName()}.tmp`);
  try {
    await mkdir(dirname(target), { recursive: true });
    const lock = await lockFor(locks, target, temp);
    try {
      await replace(target, temp, bytes, expected);
    } finally {
      lock.release();
    }
  } catch (error) {
    const failure = hostError(error, "write", target);
    // The folder's own error would name the file and puzzle its reader.
    if (failure.code === "EEXIST") {
      throw new HostError("ENOTDIR", `cannot write ${target}: ${dirname(target)} is not a folder`);
    }
    throw failure;
  }
}

/** Waits for the lock of `target`. The temp file of a writer that died is removed. */
async function lockFor(folder: string, target: string, temp: string): Promise<FileLock> {
  const path = join(folder, sha256(target));
  const removeTemp = (name: string) => {
    if (TEMP_NAME.test(name)) rmSync(join(dirname(target), name), { force: true });
  };
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    for (const end = performance.now() + WAIT_MS; performance.now() < end;) {
      const lock = tryLock(path, basename(temp), removeTemp);
      if (lock !== null) return lock;
      await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 20));
    }
  } catch (error) {
    throw hostError(error, "make the lock", path);
  }
  const holder = holderOf(path);
  const who = holder === null ? "another process" : `process ${holder.pid}`;
  throw new HostError(
    "ELOCKED",
    `cannot write ${target}: ${who} of nanocode has held its lock for 5 s; ` +
      `nothing was written. Try again when it is done (lock file: ${path})`,
  );
}

async function replace(
  target: string,
  temp: string,
  bytes: Uint8Array,
  expected: Uint8Array | null,
): Promise<void> {
  const old = await existing(target);
  checkStats(target, old, expected);
  try {
    await writeTemp(target, temp, bytes, old);
    // The last look: after it only the rename itself is left to other programs' writes.
    await checkReal(target);
    await checkUnchanged(target, await existing(target), expected);
    if (expected === null) await putNew(temp, target);
    else await rename(temp, target);
  } catch (error) {
    await unlink(temp).catch(() => {});
    throw error;
  }
  await syncFolder(dirname(target));
}

async function existing(target: string): Promise<Stats | null> {
  let stats: Stats;
  try {
    stats = await lstat(target);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
  if (stats.isDirectory()) {
    throw new HostError("EISDIR", `cannot write ${target}: it is a directory (EISDIR)`);
  }
  if (stats.isSymbolicLink()) {
    throw new HostError("ECHANGED", `${target} changed on disk: it has just become a link`);
  }
  if (!stats.isFile()) {
    throw new HostError("EINVAL", `cannot write ${target}: it is not a regular file (EINVAL)`);
  }
  // A rename needs no write permission on the file, so the refusal is ours; root may open anything.
  if ((stats.mode & 0o222) === 0 || !(await isWritable(target))) {
    const mode = (stats.mode & 0o7777).toString(8).padStart(4, "0");
    throw new HostError("EACCES", `cannot write ${target}: it is read-only (mode ${mode}, EACCES)`);
  }
  return stats;
}

/** Asks the kernel by opening: Deno's `access` only looks at the mode bits. */
async function isWritable(target: string): Promise<boolean> {
  try {
    await (await open(target, constants.O_WRONLY | constants.O_NOFOLLOW)).close();
    return true;
  } catch (error) {
    if (codeOf(error) === "ETXTBSY") return true; // a running program can be replaced
    if (codeOf(error) === "EACCES" || codeOf(error) === "EPERM") return false;
    throw error;
  }
}

async function checkReal(target: string): Promise<void> {
  const real = await realPath(target);
  if (real !== target) throw changed(target, `a link leads from there to ${real} now`);
}

/** What can be told without reading the file. */
function checkStats(target: string, now: Stats | null, expected: Uint8Array | null): void {
  if (expected === null && now !== null) throw changed(target, "it exists now");
  if (expected !== null && now === null) throw changed(target, "it no longer exists");
  if (now && expected && now.size !== expected.length) throw changed(target, OTHER_CONTENT);
}

async function checkUnchanged(
  target: string,
  now: Stats | null,
  expected: Uint8Array | null,
): Promise<void> {
  checkStats(target, now, expected);
  if (expected !== null && !(await readFile(target)).equals(expected)) {
    throw changed(target, OTHER_CONTENT);
  }
}

const OTHER_CONTENT = "its content is not what was expected";

function changed(target: string, how: string): HostError {
  return new HostError("ECHANGED", `${target} changed on disk: ${how}; nothing was written`);
}

async function writeTemp(
  target: string,
  temp: string,
  bytes: Uint8Array,
  old: Stats | null,
): Promise<void> {
  const flags = constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW | constants.O_WRONLY;
  let file: FileHandle;
  try {
    // The umask applies to 0666; a copy of an existing file stays private until it has its mode.
    file = await open(temp, flags, old ? 0o600 : 0o666);
  } catch (error) {
    const failure = hostError(error, "write", target);
    throw new HostError(
      failure.code,
      `cannot write ${target}: no file can be created in ${dirname(target)}: ` +
        failure.message.slice(failure.message.lastIndexOf(": ") + 2),
    );
  }
  try {
    let written = 0;
    while (written < bytes.length) {
      const { bytesWritten } = await file.write(bytes, written, bytes.length - written);
      if (bytesWritten === 0) throw Object.assign(new Error("short write"), { code: "ENOSPC" });
      written += bytesWritten;
    }
    if (old) await keepOwnerAndMode(file, old);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function keepOwnerAndMode(file: FileHandle, old: Stats): Promise<void> {
  const now = await file.stat();
  if (now.uid !== old.uid || now.gid !== old.gid) {
    await file.chown(old.uid, old.gid).catch(() => file.chown(now.uid, old.gid)).catch(() => {});
  }
  try {
    await file.chmod(old.mode & 0o7777); // after chown, which clears the set-id bits
  } catch (error) {
    if (codeOf(error) !== "EPERM" && codeOf(error) !== "ENOTSUP") throw error;
  }
}

/** A hard link fails where the name exists, a rename would overwrite: so a new file is linked in. */
async function putNew(temp: string, target: string): Promise<void> {
  try {
    await link(temp, target);
  } catch (error) {
    const code = codeOf(error) ?? "";
    if (code === "EEXIST") throw changed(target, "it exists now");
    if (!NO_LINKS.has(code)) throw error;
    await rename(temp, target);
    return;
  }
  await unlink(temp);
}

/** Makes the new name durable; file systems that cannot sync a folder keep it anyway. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY).catch(() => null);
  if (handle === null) return;
  try {
    await handle.sync();
  } catch {
    // The bytes are already synced; only the folder entry may come late after a power cut.
  } finally {
    await handle.close();
  }
}
