// Finds the lines of stored texts of any size that match. Runs in the process that search-process.ts
// can kill, in bounded memory: a text is matched in pieces that end with a line. Not here: what the
// result looks like (recall-matches.ts).

import { isUtf8 } from "node:buffer";
import { closeSync, openSync, readSync } from "node:fs";
import { characters, clip, type Span } from "./lines.ts";
import { FileMatcher, type Matchable, newlines } from "./search-match.ts";
import type { Pattern } from "./search-pattern.ts";
import type { ScanRow } from "./search-scan.ts";

/** Bytes matched at a time. */
const PIECE = 1024 * 1024;
/** A line of more bytes is matched in parts; a match across their ends is not seen. */
const MAX_LINE = 32 * 1024 * 1024;
/** Longer lines are shown in part, around the match (UTF-16 units). */
const MAX_SHOWN = 400;
const AROUND = 150;

/** Plain data: it crosses to another process. */
export interface GrepJob {
  /** Each a text, or the path of its file. */
  texts: ({ text: string } | { file: string })[];
  pattern: Pattern;
  /** Only lines within these count, in order. */
  spans: Span[];
  /** Rows of a text after which hits are only counted. */
  maxRows: number;
}

/** What was found in one text. */
export interface GrepResult {
  /** Lines that hit. */
  count: number;
  /** The first of them. */
  rows: ScanRow[];
  /** Lines that the text has. */
  total: number;
}

/** Finds the hits of a job's pattern in its texts. */
export class Grepper {
  readonly #job: GrepJob;

  constructor(job: GrepJob) {
    this.#job = job;
  }

  /**
   * Scans the text with this index. Yields a sign of life before each piece of it.
   *
   * @throws {ExpensivePattern}
   */
  *scan(index: number): Generator<string, GrepResult> {
    const source = this.#job.texts[index] ?? { text: "" };
    if ("text" in source) return yield* hitsIn([Buffer.from(source.text)], this.#job);
    const fd = openSync(source.file, "r");
    try {
      return yield* hitsIn(pieces(fd, this.#job.pattern.acrossLines), this.#job);
    } finally {
      closeSync(fd);
    }
  }
}

function* hitsIn(
  pieces: Iterable<Buffer>,
  { pattern, spans, maxRows }: GrepJob,
): Generator<string, GrepResult> {
  const matcher = new FileMatcher(pattern);
  const rows: ScanRow[] = [];
  let count = 0;
  let line = 1; // in which the piece begins
  let before = 0; // characters of that line in earlier pieces
  let last = 0; // line of the newest hit
  let isOpen = false; // the last line has no end yet
  for (const bytes of pieces) {
    yield "text";
    const text = bytes.toString("utf8");
    let [number, start] = [line, 0];
    for (const hit of matcher.find(pieceOf(bytes, text)).lines) {
      const n = line + hit.line - 1;
      if (n === last || !spans.some(([from, to]) => from <= n && n <= to)) continue;
      last = n;
      count++;
      if (rows.length >= maxRows) continue;
      for (; number < n; number++) start = text.indexOf("\n", start) + 1;
      const end = text.indexOf("\n", start);
      const whole = text.slice(start, end === -1 ? text.length : end);
      rows.push(rowOf(n, whole, hit.at, n === line ? before : 0));
    }
    line += newlines(text, 0, text.length);
    const tail = text.slice(text.lastIndexOf("\n") + 1);
    before = characters(tail) + (tail === text ? before : 0);
    isOpen = tail !== "";
  }
  return { count, rows, total: isOpen ? line : line - 1 };
}

function pieceOf(bytes: Buffer, text: string): Matchable {
  return {
    bytes,
    utf16: false,
    text: () => text,
    isUtf8: () => isUtf8(bytes),
  };
}

/** A hit; of a long line the part around the match. */
function rowOf(line: number, whole: string, at: number, before: number): ScanRow {
  if (whole.length <= MAX_SHOWN && before === 0) return { line, text: whole, hit: true, at };
  const start = Math.max(0, at - AROUND);
  const text = clip(whole.slice(start).replace(/^[\udc00-\udfff]/, ""), MAX_SHOWN);
  const from = before + characters(whole.slice(0, start)) + 1;
  return { line, text, hit: true, at, part: { from } };
}

/** The bytes of a file in pieces that end with a line; `whole`: all of them in one. */
function* pieces(fd: number, whole: boolean): Generator<Buffer> {
  let buffer = Buffer.allocUnsafe(PIECE);
  let length = 0;
  for (let read = -1; read !== 0;) {
    read = readSync(fd, buffer, length, buffer.length - length, null);
    length += read;
    const isLast = read === 0;
    let cut = isLast ? length : whole ? 0 : buffer.subarray(0, length).lastIndexOf(10) + 1;
    if (cut === 0 && length === buffer.length) {
      if (whole || length < MAX_LINE) {
        buffer = Buffer.concat([buffer], 2 * length);
        continue;
      }
      cut = length - 4;
      while (((buffer[cut] ?? 0) & 0xc0) === 0x80) cut--;
    }
    if (cut === 0) continue;
    yield buffer.subarray(0, cut);
    buffer.copyWithin(0, cut, length);
    length -= cut;
  }
}
