// Finds the lines of one file that a pattern hits. A line counts when the pattern matches within it; many
// lines are given to the engine at once only to find candidates, because calling it for each line takes
// several times as long.

import type { Content } from "./search-file.ts";
import { escapeRegExp, type Pattern } from "./search-pattern.ts";

/** One attempt of the engine that takes longer ends the search (milliseconds; spec/tools, Search). */
export const MAX_ATTEMPT_MS = 250;

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
export type Matchable = Pick<Content, "bytes" | "utf16" | "text">;

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
  #all: RegExp;
  #one: RegExp;

  constructor(pattern: Pattern) {
    const { source, flags, required, mayBacktrack } = pattern;
    this.#pattern = pattern;
    this.#all = new RegExp(source, `gm${flags}`);
    this.#one = new RegExp(source, flags);
    this.#required = null;
    this.#candidate = mayBacktrack ? null : this.#all;
    if (required === null) return;
    const ignoreCase = flags.includes("i");
    this.#candidate = new RegExp(escapeRegExp(required), ignoreCase ? "gi" : "g");
    this.#required = ignoreCase ? new RegExp(escapeRegExp(required), "i") : Buffer.from(required);
  }

  /** @throws {ExpensivePattern} */
  find(content: Matchable): Hits {
    if (!this.#mayHit(content)) return { count: 0, lines: [] };
    return this.#pattern.acrossLines
      ? this.#acrossLines(content.text().replaceAll("\r\n", "\n"))
      : this.#withinLines(content.text());
  }

  /** False only where no match can be. ASCII is the same bytes in every encoding here but UTF-16. */
  #mayHit({ bytes, utf16 }: Matchable): boolean {
    if (this.#required === null || utf16) return true;
    if (this.#required instanceof RegExp) return this.#required.test(bytes.toString("latin1"));
    return bytes.includes(this.#required);
  }

  #withinLines(text: string): Hits {
    const hits: Hits = { count: 0, lines: [] };
    let line = 1;
    let counted = 0;
    for (let from = 0; from < text.length;) {
      let start = from;
      if (this.#candidate !== null) {
        this.#candidate.lastIndex = from;
        const candidate = this.#candidate.exec(text);
        if (candidate === null) break;
        start = lineStart(text, candidate.index);
        if (start >= text.length) break; // behind the final newline stands no line
      }
      const at = text.indexOf("\n", start);
      const end = at === -1 ? text.length : at;
      line += newlines(text, counted, start);
      counted = start;
      const cr = end > start && text.charCodeAt(end - 1) === 13;
      const match = this.#attempt(this.#one, text.slice(start, cr ? end - 1 : end));
      if (match !== null) {
        hits.count++;
        hits.lines.push({ line, at: match.index });
      }
      from = end + 1;
    }
    return hits;
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
