// The session log: records appended to a JSONL file, one a line, written before the next step.
// A crash loses at most the step under way. Not here: what records mean (context/), where files
// lie and how one is chosen (store.ts).

import {
  appendFileSync,
  closeSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { writeAll } from "./blobs.ts";
import { newId, type NewRecord, RECORD_VERSION, type SessionRecord } from "./records.ts";

/** A session file that cannot be read or written; the message is for people. */
export class SessionError extends Error {
  override name = "SessionError";
}

export interface Loaded {
  records: SessionRecord[];
  /** What was wrong with the file, one line each, for people. */
  problems: string[];
  /** Lines that are no records, kept for the side file. */
  bad: Uint8Array[];
  /** Bytes of the file that hold whole lines; the rest is a half-written line. */
  sound: number;
  /** The last line is whole but lacks its newline. */
  unterminated: boolean;
}

const LF = 0x0a;

/**
 * Reads the bytes of a log. Only LF separates records (U+2028 and others are text). A line that is
 * no record is reported and left out; everything else is kept, unknown types too.
 */
export function parseLog(bytes: Uint8Array): Loaded {
  const out: Loaded = { records: [], problems: [], bad: [], sound: 0, unterminated: false };
  const decoder = new TextDecoder();
  let start = 0;
  let line = 0;
  while (start < bytes.length) {
    const lf = bytes.indexOf(LF, start);
    const end = lf === -1 ? bytes.length : lf;
    const raw = bytes.subarray(start, end);
    line++;
    const record = parseRecord(decoder.decode(raw));
    if (record) {
      out.records.push(record);
      out.sound = lf === -1 ? end : end + 1;
      out.unterminated = lf === -1;
    } else if (lf === -1) {
      out.problems.push(`line ${line} was half written (a crash?): dropped`);
      out.bad.push(raw);
    } else {
      if (raw.length > 0) {
        out.problems.push(`line ${line} is no record (${raw.length} bytes): left out`);
        out.bad.push(raw);
      }
      out.sound = end + 1;
    }
    start = end + 1;
  }
  return out;
}

function parseRecord(text: string): SessionRecord | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return null;
    const { type, id } = value as { type?: unknown; id?: unknown };
    return typeof type === "string" && typeof id === "string" ? value as SessionRecord : null;
  } catch {
    return null;
  }
}

export class SessionLog {
  readonly path: string;
  /** All records, in order. Never changed in place. */
  readonly records: SessionRecord[];
  /** What was wrong with the file when it was opened. */
  readonly problems: readonly string[];
  #fd: number;
  #size: number;

  private constructor(path: string, records: SessionRecord[], problems: string[]) {
    this.path = path;
    this.records = records;
    this.problems = problems;
    this.#fd = openSync(path, "a", 0o600);
    this.#size = fstatSync(this.#fd).size;
  }

  /** A new, empty log. Its folder is made. */
  static create(path: string): SessionLog {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return new SessionLog(path, [], []);
  }

  /**
   * Opens a log to go on with it: a half-written last line is cut off, and lines that are no
   * records are copied to `<path>.bad` first, so nothing is lost.
   */
  static open(path: string): SessionLog {
    const { bytes, loaded } = readLog(path);
    if (loaded.bad.length > 0) keepBadLines(path, loaded.bad);
    const log = new SessionLog(path, loaded.records, loaded.problems);
    if (loaded.sound < bytes.length) {
      ftruncateSync(log.#fd, loaded.sound);
      log.#size = loaded.sound;
    }
    if (loaded.unterminated) {
      writeAll(log.#fd, new Uint8Array([LF]));
      log.#size++;
    }
    return log;
  }

  /**
   * Stamps and writes one record. When the disk refuses, the file is cut back to its last whole
   * line and a SessionError says so.
   */
  append<R extends NewRecord>(record: R): SessionRecord & { type: R["type"] } {
    const stamped = {
      v: RECORD_VERSION,
      id: newId(), // a copied record keeps its own
      t: new Date().toISOString(),
      ...record,
    } as unknown as SessionRecord & { type: R["type"] };
    const bytes = new TextEncoder().encode(JSON.stringify(stamped) + "\n");
    try {
      writeAll(this.#fd, bytes);
    } catch (error) {
      try {
        ftruncateSync(this.#fd, this.#size);
      } catch { /* the next open cuts the half line */ }
      throw new SessionError(
        `cannot write the session file ${this.path}: ${(error as Error).message}`,
      );
    }
    this.#size += bytes.length;
    this.records.push(stamped);
    return stamped;
  }

  /** Forces what was written to the disk itself (power loss); called when a turn ends. */
  sync(): void {
    try {
      fdatasyncSync(this.#fd);
    } catch { /* not every file system can */ }
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/** Reads a log without touching it, e.g. one that another process writes. */
export function readLog(path: string): { bytes: Uint8Array; loaded: Loaded } {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw new SessionError(`cannot read the session ${path}: ${(error as Error).message}`);
  }
  return { bytes, loaded: parseLog(bytes) };
}

function keepBadLines(path: string, bad: Uint8Array[]): void {
  const side = `${path}.bad`;
  let known: Uint8Array = new Uint8Array();
  try {
    known = readFileSync(side);
  } catch { /* none yet */ }
  for (const line of bad) {
    if (!Buffer.from(known).includes(Buffer.from(line))) {
      appendFileSync(side, Buffer.concat([line, Buffer.from("\n")]), { mode: 0o600 });
    }
  }
}
