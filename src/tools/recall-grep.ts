// Finds the lines of stored texts of any size that match. Runs in the process that search-process.ts
// can kill, in bounded memory: a text is matched in pieces that end with a line. Not here: what the
// result looks like (recall-matches.ts).

import { closeSync, openSync, readSync } from "node:fs";
import { nothingSkipped } from "../host/walk.ts";
import { characters, clip, type Span } from "./lines.ts";
import { FileMatcher, newlines } from "./search-match.ts";
import type { Pattern } from "./search-pattern.ts";
import type { ScanEvent, ScanRow } from "./search-scan.ts";

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

/**
 * Runs a job. A text's hits come in several `file` events, `query` is its index; the last of them has the
 * text's number of lines as `total`, those before 0.
 *
 * @throws {ExpensivePattern}
 */
export function* grep({ texts, ...how }: GrepJob): Generator<ScanEvent> {
  for (const [index, source] of texts.entries()) {
    if ("text" in source) {
      yield* hitsIn([Buffer.from(source.text)], index, how);
      continue;
    }
    const fd = openSync(source.file, "r");
    try {
      yield* hitsIn(pieces(fd, how.pattern.acrossLines), index, how);
    } finally {
      closeSync(fd);
    }
  }
  yield { type: "end", skipped: { ...nothingSkipped(), binary: 0, large: 0, secret: 0 } };
}

function* hitsIn(
  pieces: Iterable<Buffer>,
  query: number,
  { pattern, spans, maxRows }: Omit<GrepJob, "texts">,
): Generator<ScanEvent> {
  const matcher = new FileMatcher(pattern);
  const found = { type: "file", query, path: "text", realPath: "", version: "" } as const;
  let rowsLeft = maxRows;
  let line = 1; // in which the piece begins
  let before = 0; // characters of that line in earlier pieces
  let last = 0; // line of the newest hit
  let isOpen = false; // the last line has no end yet
  for (const bytes of pieces) {
    yield { type: "at", path: found.path };
    const text = bytes.toString("utf8");
    const rows: ScanRow[] = [];
    let [count, number, start] = [0, line, 0];
    for (const hit of matcher.find({ bytes, utf16: false, text: () => text }).lines) {
      const n = line + hit.line - 1;
      if (n === last || !spans.some(([from, to]) => from <= n && n <= to)) continue;
      last = n;
      count++;
      if (rowsLeft-- <= 0) continue;
      for (; number < n; number++) start = text.indexOf("\n", start) + 1;
      const end = text.indexOf("\n", start);
      const whole = text.slice(start, end === -1 ? text.length : end);
      rows.push(rowOf(n, whole, hit.at, n === line ? before : 0));
    }
    if (count > 0) yield { ...found, count, rows, total: 0 };
    line += newlines(text, 0, text.length);
    const tail = text.slice(text.lastIndexOf("\n") + 1);
    before = characters(tail) + (tail === text ? before : 0);
    isOpen = tail !== "";
  }
  yield { ...found, count: 0, rows: [], total: isOpen ? line : line - 1 };
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
