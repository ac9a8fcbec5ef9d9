// A lock file that keeps nanocode processes off one session, or off one file while one of them replaces
// it. It names its holder by pid and start time, so that a lock left by a killed process, or by a pid
// used again, is seen as stale and taken over. Other programs know nothing of it.

import { closeSync, openSync, readFileSync, statSync, unlinkSync, writeSync } from "node:fs";
import { codeOf } from "./system-error.ts";

/** A lock without content is a crash between two system calls once it is this old (milliseconds). */
const EMPTY_STALE_MS = 2_000;

export interface FileLock {
  release(): void;
}

/** Who holds a lock. `note` is what was given to `tryLock`. */
export interface Holder {
  pid: number;
  /** Start time in the system's ticks; "" where it cannot be known. */
  start: string;
  note: string;
}

/**
 * Takes the lock, or gives null when somebody else has it.
 *
 * @param note One word for whoever takes the lock over if this process dies.
 * @param onDead Called with the note of a dead holder before its lock is removed.
 * @throws The system's error when the lock file cannot be made.
 */
export function tryLock(
  path: string,
  note = "",
  onDead: (note: string) => void = () => {},
): FileLock | null {
  for (let attempt = 0; attempt < 3; attempt++) {
    if (create(path, note)) return { release: () => removeQuietly(path) };
    if (!isStale(path)) return null;
    // Removing needs a lock of its own: of two processes that both saw the dead holder, the slower one
    // would else remove the new lock of the faster one.
    const guard = tryLock(`${path}.take`);
    if (guard === null) return null;
    try {
      if (!isStale(path)) continue;
      onDead(holderOf(path)?.note ?? "");
      removeQuietly(path);
    } finally {
      guard.release();
    }
  }
  return null;
}

/** Who holds the lock; null when nobody does, or its file is not written yet. */
export function holderOf(path: string): Holder | null {
  try {
    const [pid, start = "", note = ""] = readFileSync(path, "utf8").trimEnd().split(" ");
    return Number(pid) > 0 ? { pid: Number(pid), start, note } : null;
  } catch {
    return null;
  }
}

function create(path: string, note: string): boolean {
  let fd: number;
  try {
    fd = openSync(path, "wx", 0o600);
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
  try {
    writeSync(fd, `${process.pid} ${startOf(process.pid)} ${note}\n`);
    return true;
  } catch (error) {
    removeQuietly(path);
    throw error;
  } finally {
    closeSync(fd);
  }
}

function isStale(path: string): boolean {
  const holder = holderOf(path);
  if (holder === null) return ageOf(path) > EMPTY_STALE_MS;
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    return codeOf(error) === "ESRCH"; // EPERM: alive, but another user's
  }
  const now = startOf(holder.pid);
  return holder.start !== "" && now !== "" && now !== holder.start;
}

/** Milliseconds since the lock was made; 0 when it is gone. */
function ageOf(path: string): number {
  try {
    return Date.now() - statSync(path).mtimeMs;
  } catch {
    return 0;
  }
}

/** Start time of a process in clock ticks since boot (field 22 of /proc/PID/stat); "" elsewhere. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  } catch {
    return "";
  }
}

function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Already gone.
  }
}
