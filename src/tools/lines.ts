// How lines are shown to the model and what is remembered of having shown them. Read, Edit and others
// that print `LINE:HASH|text` use this, so that every line shown can be edited by its anchor.

import type { Observation } from "../session/records.ts";
import { sha256 } from "../runtime/hash.ts";
import type { LineHash } from "./anchor.ts";

/** Lines of a file: 1-based, inclusive. */
export type Span = readonly [from: number, to: number];

/** Characters (code points) of a line that are shown; the rest is asked for by columns. */
export const MAX_SHOWN = 2000;

/**
 * Files up to this size (bytes) are kept in the session's store when lines of them were shown: with all
 * of the old text a line is found again, whatever was changed around it.
 */
export const MAX_KEPT = 4 * 1024 * 1024;

/** Was the line too long to be shown whole? */
export function isLong(text: string): boolean {
  return text.length > MAX_SHOWN && characters(text) > MAX_SHOWN;
}

/** Number of characters (code points). */
export function characters(text: string): number {
  let n = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0xdc00 && code <= 0xdfff) n--;
  }
  return n;
}

/** Characters `from` to `to` (1-based, inclusive); never half of a surrogate pair. */
export function slice(text: string, from: number, to: number): string {
  let start = text.length;
  let at = 0;
  for (let n = 1; n <= to && at < text.length; n++) {
    if (n === from) start = at;
    at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  }
  return text.slice(start, at);
}

/** The first characters of a text, as many as stay within `limit` UTF-16 units. */
export function clip(text: string, limit: number): string {
  return text.length <= limit ? text : text.slice(0, limit).replace(/[\ud800-\udbff]$/, "");
}

/** `U+1F525`: a character for people. */
export function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/**
 * A line as the model sees it: `12:abc|text`; a long one cut, with a second row that says so.
 *
 * @param columns Characters to show instead of the first 2,000.
 */
export function row(n: number, text: string, hash: LineHash, columns?: Span): string {
  const anchor = `${n}:${hash(text)}|`;
  if (!columns && !isLong(text)) return anchor + text;
  const total = characters(text);
  const [from, last] = columns ?? [1, MAX_SHOWN];
  const to = Math.min(last, total);
  if (columns && from === 1 && to === total) return anchor + text;
  const next = Math.min(total, 2 * to - from + 1);
  const more = to < total ? `; for more: "columns": [${to + 1}, ${next}]` : "";
  const part = from > total ? "nothing" : `characters ${from}-${to}`;
  return `${anchor}${slice(text, from, to)}\n[line ${n} cut: ${part} of ${total}${more}]`;
}

/** `line 3` or `lines 3-5`. */
export function span(from: number, to: number): string {
  return from === to ? `line ${from}` : `lines ${from}-${to}`;
}

/** `1 line`, `2 lines`. */
export function count(n: number, word: string): string {
  return `${n} ${word}${n === 1 ? "" : "s"}`;
}

/** Spans in order and within 1 to `total`, overlapping and touching ones joined. */
export function mergeSpans(spans: readonly Span[], total: number): [number, number][] {
  const out: [number, number][] = [];
  for (const [start, end] of spans.toSorted(([a], [b]) => a - b)) {
    const from = Math.max(1, start);
    const to = Math.min(end, total);
    const last = out.at(-1);
    if (from > to) continue;
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else out.push([from, to]);
  }
  return out;
}

/**
 * What an observation holds of a line: its text, or for a long one (and one that would read like it) a
 * digest, so that a minified file does not fill the session's log. Compare it with `===`.
 */
export function recorded(text: string, hash: LineHash): string {
  if (text.length <= MAX_SHOWN && text.charCodeAt(0) !== 0) return text;
  return `\0${text.length}:${sha256(text)}:${hash(text)}`;
}

/** The hash of the line that a recorded text stands for. */
export function hashOfRecorded(text: string, hash: LineHash): string {
  return text.charCodeAt(0) === 0 ? text.slice(-3) : hash(text);
}

/** Lines of one file on their way to the model: their rows, within a bound, and the record of them. */
export class Shown {
  /** Bytes that further rows may have. */
  left: number;
  #texts = new Map<number, string>();
  #hash: LineHash;

  constructor(hash: LineHash, left = Infinity) {
    this.#hash = hash;
    this.left = left;
  }

  /** Remembers a line as shown; what was shown twice counts once. */
  add(n: number, text: string): void {
    this.#texts.set(n, recorded(text, this.#hash));
  }

  /**
   * The rows of the lines from `from` on, up to `to` or as many as there is room for.
   *
   * @param force Shows one line even where there is no room.
   * @returns `next`: the first line that is not among them.
   */
  range(
    [from, to]: Span,
    textOf: (n: number) => string | undefined,
    { columns, force = false }: { columns?: Span | undefined; force?: boolean } = {},
  ): { rows: string[]; next: number } {
    const rows: string[] = [];
    let n = from;
    for (; n <= to; n++) {
      const text = textOf(n);
      if (text === undefined) break;
      const line = row(n, text, this.#hash, columns);
      const cost = Buffer.byteLength(line) + 1;
      if (cost > this.left && !(force && n === from)) break;
      this.left -= cost;
      rows.push(line);
      this.add(n, text);
    }
    if (rows.length === 0) return { rows, next: n };
    this.left -= 50; // the tags
    return { rows: [`<range start="${from}" end="${n - 1}">`, ...rows, "</range>"], next: n };
  }

  /** The observation for the records; null when no line was shown and the file has some. */
  observation(
    path: string,
    version: string,
    kind: Observation["kind"],
    total: number,
  ): Observation | null {
    if (this.#texts.size === 0 && total > 0) return null;
    const ranges: [number, number][] = [];
    const texts: string[][] = [];
    for (const [n, text] of [...this.#texts].sort(([a], [b]) => a - b)) {
      const range = ranges.at(-1);
      if (range?.[1] === n - 1) {
        range[1] = n;
        texts.at(-1)?.push(text);
      } else {
        ranges.push([n, n]);
        texts.push([text]);
      }
    }
    return { path, version, kind, total, ranges, texts };
  }
}
