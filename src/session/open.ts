// Opening a session's log: a new one, an old one to go on with, or, when another nanocode holds that
// one, a fork of it. One process writes a file; the lock says which.

import { copyFileSync, linkSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type FileLock, tryLock } from "../runtime/lock.ts";
import { BlobStore } from "./blobs.ts";
import { readLog, SessionLog } from "./log.ts";
import type { HeaderRecord } from "./records.ts";
import { blobFolder, newSessionPath } from "./store.ts";

export interface OpenLog {
  log: SessionLog;
  blobs: BlobStore;
  /** Set when the session asked for was held by another process and this is a fork of it. */
  forkedFrom?: string;
  close(): void;
}

/** What a new session's header holds. */
export type NewHeader = Pick<HeaderRecord, "root" | "cwd" | "version" | "environment">;

export function createLog(folder: string, header: NewHeader): OpenLog {
  const { id, path } = newSessionPath(folder);
  const open = lockAndOpen(path, () => SessionLog.create(path));
  open.log.append({ type: "header", turn: 0, step: 0, session: id, ...header });
  return open;
}

/** Opens an existing log, or forks it when it is in use. */
export function reopenLog(path: string, folder: string): OpenLog {
  const lock = tryLock(`${path}.lock`);
  if (lock) return opened(SessionLog.open(path), path, lock);
  return forkLog(path, folder);
}

function forkLog(parentPath: string, folder: string): OpenLog {
  const parent = readLog(parentPath).loaded;
  const header = parent.records.find((record): record is HeaderRecord => record.type === "header");
  const { id, path } = newSessionPath(folder);
  const open = lockAndOpen(path, () => SessionLog.create(path));
  shareBlobs(blobFolder(parentPath), blobFolder(path));
  for (const record of parent.records) {
    const copy = record === header
      ? {
        ...record,
        session: id,
        parent: { session: record.session, record: parent.records.at(-1)?.id ?? "" },
      }
      : record;
    open.log.append(copy);
  }
  return { ...open, forkedFrom: header?.session ?? parentPath };
}

/** Blobs never change, so both sessions may hold the same file. */
function shareBlobs(from: string, to: string): void {
  let names: string[];
  try {
    names = readdirSync(from).filter((name) => !name.startsWith("."));
  } catch {
    return;
  }
  mkdirSync(to, { recursive: true, mode: 0o700 });
  for (const name of names) {
    try {
      linkSync(join(from, name), join(to, name));
    } catch {
      copyFileSync(join(from, name), join(to, name));
    }
  }
}

function lockAndOpen(path: string, open: () => SessionLog): OpenLog {
  const log = open();
  return opened(log, path, tryLock(`${path}.lock`));
}

function opened(log: SessionLog, path: string, lock: FileLock | null): OpenLog {
  return {
    log,
    blobs: new BlobStore(blobFolder(path)),
    close() {
      log.close();
      lock?.release();
    },
  };
}
