// Finds the lines of one file that a pattern hits. A line counts when the pattern matches within it; many
// lines are given to the engine at once only to find candidates, because calling it for each line takes
// several times as long.

import type { Content } from "./search-file.ts";
import { escapeRegExp, type Pattern, withinLine } from "./search-pattern.ts";

/** One attempt of the engine that takes longer ends the search (milliseconds; spec/tools, Search). */
export const MAX_ATTEMPT_MS = 250;
/** Characters given to the engine at once to find candidates, rounded up to a line. */
const WINDOW = 64 * 1024;
/**
 * An engine that gives up on many lines does so by its own count of steps, after several times this time
 * (milliseconds), which honest work on a window rarely takes. Then each line is tried alone.
 */
const MAX_WINDOW_MS = 4;
/** Shorter text occurs so often that looking for it first is no help. */
const MIN_REQUIRED = 3;

/** Engines may give up silently on such a pattern and report no match, so time is what tells. */
export class ExpensivePattern extends Error {
  override name = "ExpensivePattern";
  /** Index of the query; null when the engine never came back, so that nobody can say which. */
  query: number | null;
  /** The file it happened in, or close to it. */
  path: string;
  constructor(query: number | null = null, path = "") {
    super();
    this.query = query;
    this.path = path;
  }
}

/** What is matched: a file, or a piece of a text. */
export type Matchable = Pick<Content, "bytes" | "utf16" | "text" | "latin1" | "isUtf8">;

/** What a pattern hits in a file. */
export interface Hits {
  /** Lines with a match; for a pattern across lines, matches. */
  count: number;
  /** Each line that hits, in order; `at`: where the match begins, in UTF-16 units. */
  lines: { line: number; at: number }[];
}

export class FileMatcher {
  #pattern: Pattern;
  /** A text that a file with a match must hold, in any case of letters where the pattern ignores it. */
  #required: Buffer | RegExp | null;
  /** Finds lines that may hit; null where only trying each line is sure to be quick. */
  #candidate: RegExp | null;
  /** Finding a candidate may itself take the engine too long. */
  #guarded = false;
  /** A candidate is a hit, in a text whose only separators of lines are "\n". */
  #exact = false;
  #all: RegExp;
  #one: RegExp;

  constructor(pattern: Pattern) {
    const { source, flags, required, mayBacktrack } = pattern;
    this.#pattern = pattern;
    this.#all = new RegExp(source, `gm${flags}`);
    this.#one = new RegExp(source, flags);
    const ignoreCase = flags.includes("i");
    const text = required === null ? "" : escapeRegExp(required);
    this.#required = required === null
      ? null
      : ignoreCase
      ? new RegExp(text, "i")
      : Buffer.from(required);
    const bound = withinLine(pattern);
    if (pattern.plain) {
      this.#candidate = new RegExp(text, ignoreCase ? "gi" : "g");
      this.#exact = true;
    } else if (required !== null && required.length >= MIN_REQUIRED && !source.startsWith(text)) {
      this.#candidate = new RegExp(text, ignoreCase ? "gi" : "g");
    } else if (bound !== null) {
      this.#candidate = new RegExp(bound, `gm${flags}`);
      this.#exact = true;
      this.#guarded = mayBacktrack;
    } else {
      this.#candidate = mayBacktrack ? null : this.#all;
    }
  }

  /**
   * @param counting Only the number of hits is wanted; `lines` stays empty.
   * @throws {ExpensivePattern}
   */
  find(content: Matchable, counting = false): Hits {
    if (!this.#mayHit(content)) return { count: 0, lines: [] };
    if (this.#pattern.acrossLines) {
      return this.#acrossLines(content.text().replaceAll("\r\n", "\n"));
    }
    if (counting && this.#pattern.plain && this.#required instanceof Buffer && content.isUtf8()) {
      return { count: linesWith(this.#required, content.bytes), lines: [] };
    }
    return this.#withinLines(content.text(), counting);
  }

  /** False only where no match can be. ASCII is the same bytes in every encoding here but UTF-16. */
  #mayHit(content: Matchable): boolean {
    if (this.#required === null || content.utf16) return true;
    if (this.#required instanceof RegExp) return this.#required.test(content.latin1());
    return content.bytes.includes(this.#required);
  }

  #withinLines(text: string, counting: boolean): Hits {
    const hits: Hits = { count: 0, lines: [] };
    const { plain } = this.#pattern;
    const exact = this.#exact &&
      (plain || !["\r", "\u2028", "\u2029"].some((c) => text.includes(c)));
    for (let from = 0, line = 1; from < text.length;) {
      const end = plain ? text.length : windowEnd(text, from);
      const part = from === 0 && end === text.length ? text : text.slice(from, end);
      const count = counting && exact ? this.#count(part) : null;
      if (count !== null) hits.count += count;
      else this.#window(part, line, exact, hits);
      if (end < text.length) line += newlines(part, 0, part.length);
      from = end;
    }
    return hits;
  }

  /** Number of lines that hit, where candidates are hits; null where that took suspiciously long. */
  #count(text: string): number | null {
    if (this.#candidate === null) return null;
    const begin = performance.now();
    const count = linesOf(this.#candidate, text);
    return this.#guarded && performance.now() - begin > MAX_WINDOW_MS ? null : count;
  }

  /** Adds the hits in `text`, whose first line has the number `line`. */
  #window(text: string, line: number, exact: boolean, hits: Hits): void {
    let candidate = this.#candidate;
    let counted = 0;
    for (let from = 0; from < text.length;) {
      let start = from;
      let found = from;
      if (candidate !== null) {
        const begin = this.#guarded ? performance.now() : 0;
        candidate.lastIndex = from;
        const match = candidate.exec(text);
        if (this.#guarded && performance.now() - begin > MAX_WINDOW_MS) {
          candidate = null;
          continue;
        }
        if (match === null) return;
        found = match.index;
        start = lineStart(text, found);
        if (start >= text.length) return; // behind the final newline stands no line
      }
      const at = text.indexOf("\n", found);
      const end = at === -1 ? text.length : at;
      const column = exact && candidate ? found - start : this.#column(text, start, end);
      from = end + 1;
      if (column === -1) continue;
      hits.count++;
      line += newlines(text, counted, start);
      counted = start;
      hits.lines.push({ line, at: column });
    }
  }

  /** Where the first match within a line begins, or -1. */
  #column(text: string, start: number, end: number): number {
    const cr = end > start && text.charCodeAt(end - 1) === 13 && text.charCodeAt(end) === 10;
    return this.#attempt(this.#one, text.slice(start, cr ? end - 1 : end))?.index ?? -1;
  }

  #acrossLines(text: string): Hits {
    const hits: Hits = { count: 0, lines: [] };
    let line = 1;
    let counted = 0;
    this.#all.lastIndex = 0;
    for (let match = this.#attempt(this.#all, text); match !== null;) {
      hits.count++;
      line += newlines(text, counted, match.index);
      counted = match.index;
      const last = match[0].endsWith("\n") ? match[0].length - 1 : match[0].length;
      const span = newlines(match[0], 0, last);
      for (let n = 0; n <= span; n++) {
        const at = n === 0 ? match.index - lineStart(text, match.index) : 0;
        if (hits.lines.at(-1)?.line !== line + n) hits.lines.push({ line: line + n, at });
      }
      if (match[0] === "") this.#all.lastIndex++;
      if (this.#all.lastIndex > text.length) break;
      match = this.#attempt(this.#all, text);
    }
    return hits;
  }

  #attempt(engine: RegExp, text: string): RegExpExecArray | null {
    if (!this.#pattern.mayBacktrack) return engine.exec(text);
    const from = engine.lastIndex;
    const begin = performance.now();
    const match = engine.exec(text);
    if (performance.now() - begin <= MAX_ATTEMPT_MS) return match;
    // On a busy machine the time may have gone to others: what counts is ours.
    const before = process.cpuUsage();
    engine.lastIndex = from;
    const again = engine.exec(text);
    if (process.cpuUsage(before).user > MAX_ATTEMPT_MS * 1000) throw new ExpensivePattern();
    return again;
  }
}

/** Number of lines that hold the text. */
function linesWith(text: Buffer, bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(text); at !== -1; at = bytes.indexOf(text, at)) {
    count++;
    at = bytes.indexOf(10, at);
    if (at === -1) break;
  }
  return count;
}

/** Number of lines in which an expression matches whose matches end within their line. */
function linesOf(expression: RegExp, text: string): number {
  const end = text.endsWith("\n") ? text.length - 1 : text.length;
  let count = 0;
  for (let from = 0; from <= end; from++) {
    expression.lastIndex = from;
    if (!expression.test(text) || expression.lastIndex > end) break;
    count++;
    from = text.indexOf("\n", expression.lastIndex);
    if (from === -1) break;
  }
  return count;
}

/** The end of the line in which a window that begins at `from` is full. */
function windowEnd(text: string, from: number): number {
  if (text.length - from <= WINDOW) return text.length;
  return text.indexOf("\n", from + WINDOW) + 1 || text.length;
}

function lineStart(text: string, at: number): number {
  // lastIndexOf would take -1 for 0 and find a newline there.
  return at === 0 ? 0 : text.lastIndexOf("\n", at - 1) + 1;
}

/** Number of `\n` from `from` up to `to`. */
export function newlines(text: string, from: number, to: number): number {
  let count = 0;
  for (let i = text.indexOf("\n", from); i !== -1 && i < to; i = text.indexOf("\n", i + 1)) count++;
  return count;
}
