// Finds the lines of one file that a pattern hits. A line counts when the pattern matches within it; many
// lines are given to the engine at once only to find candidates, because calling it for each line takes
// several times as long.

import { isAscii } from "node:buffer";
import { ByteText } from "./search-bytes.ts";
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

/** How U+2028 and U+2029 begin in UTF-8. */
const SEPARATORS = Buffer.from([0xe2, 0x80]);

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
export type Matchable = Pick<Content, "bytes" | "utf16" | "text" | "isUtf8">;

/** What a pattern hits in a file. */
export interface Hits {
  /** Lines with a match; for a pattern across lines, matches. */
  count: number;
  /** Each line that hits, in order; `at`: where the match begins, in UTF-16 units. */
  lines: { line: number; at: number }[];
}

/** Finds lines that may hit. */
interface Candidates {
  expression: RegExp;
  /** They do hit, in a text whose only separators of lines are "\n". */
  exact: boolean;
  /** Finding one may itself take the engine too long. */
  guarded: boolean;
}

export class FileMatcher {
  #pattern: Pattern;
  /** A text that a file with a match must hold; null where looking for it is no help. */
  #required: ByteText | null;
  /** Null where only trying each line is sure to be quick. */
  #candidates: Candidates | null;
  #all: RegExp;
  #one: RegExp;

  constructor(pattern: Pattern) {
    const { source, flags } = pattern;
    this.#pattern = pattern;
    this.#all = new RegExp(source, `gm${flags}`);
    this.#one = new RegExp(source, flags);
    this.#required = requiredOf(pattern);
    this.#candidates = candidatesOf(pattern);
  }

  /**
   * @param counting Only the number of hits is wanted; `lines` stays empty.
   * @throws {ExpensivePattern}
   */
  find(content: Matchable, counting = false): Hits {
    const { bytes, utf16 } = content;
    // ASCII is the same bytes in every encoding here but UTF-16.
    const required = utf16 ? null : this.#required;
    const searched = required?.in(bytes);
    if (searched === null) return { count: 0, lines: [] };
    if (this.#pattern.acrossLines) {
      return this.#acrossLines(content.text().replaceAll("\r\n", "\n"));
    }
    if (counting && required && searched && content.isUtf8()) {
      return { count: this.#linesInBytes(required, bytes, searched), lines: [] };
    }
    return this.#withinLines(content, counting);
  }

  /** Number of lines that hit; only those that hold the required text become strings. */
  #linesInBytes(required: ByteText, bytes: Buffer, searched: Buffer): number {
    if (this.#pattern.plain) return required.linesIn(bytes, searched);
    return required.linesIn(bytes, searched, (at, end) => {
      const start = bytes.lastIndexOf(10, at) + 1;
      const cr = bytes[end] === 10 && bytes[end - 1] === 13;
      const line = bytes.toString("utf8", start, cr ? end - 1 : end);
      const text = start === 0 ? line.replace(/^\ufeff/, "") : line;
      return this.#attempt(this.#one, text) !== null;
    });
  }

  #withinLines(content: Matchable, counting: boolean): Hits {
    const text = content.text();
    const hits: Hits = { count: 0, lines: [] };
    const { plain } = this.#pattern;
    const exact = plain || (this.#candidates?.exact === true && hasPlainLines(content));
    for (let from = 0, line = 1; from < text.length;) {
      const end = plain ? text.length : windowEnd(text, from);
      const part = from === 0 && end === text.length ? text : text.slice(from, end);
      const count = counting && exact ? this.#count(part) : null;
      if (count !== null) hits.count += count;
      else this.#window(part, line, exact, hits);
      if (!counting && end < text.length) line += newlines(part, 0, part.length);
      from = end;
    }
    return hits;
  }

  /** Number of lines that hit, where candidates are hits; null where that took suspiciously long. */
  #count(text: string): number | null {
    if (this.#candidates === null) return null;
    const { expression, guarded } = this.#candidates;
    const begin = performance.now();
    const count = linesOf(expression, text);
    return guarded && performance.now() - begin > MAX_WINDOW_MS ? null : count;
  }

  /** Adds the hits in `text`, whose first line has the number `line`. */
  #window(text: string, line: number, exact: boolean, hits: Hits): void {
    let candidates = this.#candidates;
    let counted = 0;
    for (let from = 0; from < text.length;) {
      let start = from;
      let found = from;
      if (candidates !== null) {
        const { expression, guarded } = candidates;
        const begin = guarded ? performance.now() : 0;
        expression.lastIndex = from;
        const match = expression.exec(text);
        if (guarded && performance.now() - begin > MAX_WINDOW_MS) {
          candidates = null;
          continue;
        }
        if (match === null) return;
        found = match.index;
        start = lineStart(text, found);
        if (start >= text.length) return; // behind the final newline stands no line
      }
      const at = text.indexOf("\n", found);
      const end = at === -1 ? text.length : at;
      const column = exact && candidates ? found - start : this.#column(text, start, end);
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

/** Does nothing but "\n" end a line, not even for the engine's `^` and `$`? */
function hasPlainLines(content: Matchable): boolean {
  const { bytes } = content;
  if (bytes.includes(13)) return false;
  if (isAscii(bytes) || (content.isUtf8() && !bytes.includes(SEPARATORS))) return true;
  const text = content.text();
  return !text.includes("\r") && !text.includes("\u2028") && !text.includes("\u2029");
}

function requiredOf({ required, flags, plain }: Pattern): ByteText | null {
  if (required === null || (required.length < MIN_REQUIRED && !plain)) return null;
  return new ByteText(required, flags.includes("i"));
}

function candidatesOf(pattern: Pattern): Candidates | null {
  const { source, flags, required, plain, mayBacktrack } = pattern;
  const text = required === null ? "" : escapeRegExp(required);
  // The engine itself looks first for a text that the expression begins with.
  const isHelp = required !== null && required.length >= MIN_REQUIRED && !source.startsWith(text);
  if (plain || isHelp) {
    const expression = new RegExp(text, flags.includes("i") ? "gi" : "g");
    return { expression, exact: plain, guarded: false };
  }
  const bound = withinLine(pattern);
  if (bound !== null) {
    return { expression: new RegExp(bound, `gm${flags}`), exact: true, guarded: mayBacktrack };
  }
  if (mayBacktrack) return null;
  return { expression: new RegExp(source, `gm${flags}`), exact: false, guarded: false };
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
