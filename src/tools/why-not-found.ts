// Why a literal text is not in a file: the nearest thing that is, and how it differs. Only for the
// words of an error; nothing is ever replaced by a tolerant match (FE-11, FE-12).

import { codePoint } from "./lines.ts";

/** Requests longer than this get no explanation: the tolerant pattern would be too costly. */
const MAX_OLD = 4000;
/** Nor is a file with more characters compared line by line. */
const MAX_COMPARED = 500_000;
/** Characters that are taken for each other, by people and models. */
const ALIKE = [/['\u2018\u2019\u02bc]/g, /["\u201c\u201d]/g, /[-\u2010-\u2015\u2212]/g];

/**
 * What is near, as words that continue "old does not occur in the file" (empty when nothing is), and the
 * lines to look at (1-based).
 *
 * @param text With "\n" line ends, as `old`, which is known not to occur in it.
 */
export function whyNotFound(
  text: string,
  old: string,
): [words: string, from?: number, to?: number] {
  const core = old.trim();
  const [anchor] = /^\s*\d+:[a-z]{3}\|/m.exec(core) ?? [];
  if (anchor !== undefined) {
    const bare = core.replace(/^\s*\d+:[a-z]{3}\|/gm, "");
    const line = text.includes(bare) ? lineAt(text, text.indexOf(bare)) : undefined;
    return [
      `: it holds an anchor (${anchor.trim()}); send the text alone, without LINE:HASH|`,
      line,
      line && line + breaksIn(bare),
    ];
  }
  if (old.length > MAX_OLD || core === "") return [""];
  const near = tolerant(core).exec(text);
  if (near) {
    const [found, at] = difference(text, near.index, old);
    const line = lineAt(text, found + at);
    const words = `the file has ${named(text.slice(found + at))} where old has ${
      named(old.slice(at))
    }`;
    return [`. Line ${line} is near: ${words}`, line];
  }
  const first = core.split("\n", 1)[0]?.trim() ?? "";
  const at = core.includes("\n") ? text.indexOf(first) : -1;
  if (at !== -1) {
    const line = lineAt(text, at);
    const words = `. Its first line occurs at line ${line}, but what follows differs`;
    return [words, line, line + breaksIn(core)];
  }
  const line = mostAlike(text, core);
  if (line === 0) return [""];
  return [`. The line most like it is line ${line}`, line, line + breaksIn(core)];
}

function lineAt(text: string, offset: number): number {
  return breaksIn(text.slice(0, offset)) + 1;
}

function breaksIn(text: string): number {
  return text.split("\n").length - 1;
}

/** The line with most pairs of characters in common with `old`'s first line; 0 where none has half of them. */
function mostAlike(text: string, old: string): number {
  if (text.length > MAX_COMPARED) return 0;
  const wanted = pairsOf(old.split("\n", 1)[0] ?? "");
  let [best, most] = [0, 0.5];
  for (const [i, line] of text.split("\n").entries()) {
    const pairs = pairsOf(line);
    const alike = 2 * pairs.intersection(wanted).size / (pairs.size + wanted.size);
    if (alike > most) [best, most] = [i + 1, alike];
  }
  return best;
}

function pairsOf(line: string): Set<string> {
  const text = line.trim();
  return new Set(Array.from({ length: text.length - 1 }, (_, i) => text.slice(i, i + 2)));
}

/** A pattern that also matches other blanks (and line ends in their place), quotes and dashes. */
function tolerant(text: string): RegExp {
  let source = text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&").replace(/\s+/g, "\\s+");
  for (const set of ALIKE) source = source.replace(set, set.source);
  return new RegExp(source, "u");
}

/**
 * Where in `text` the match with `old` begins, blanks in front included, and after how many characters
 * the two differ; blanks are compared as whole runs.
 */
function difference(text: string, index: number, old: string): [start: number, at: number] {
  let breaks = old.slice(0, old.search(/\S/)).split("\n").length - 1;
  let start = index;
  while (
    /^\s/.test(old) && (isBlank(text[start - 1]) || (text[start - 1] === "\n" && breaks-- > 0))
  ) {
    start--;
  }
  let at = 0;
  while (at < old.length && text[start + at] === old[at]) at++;
  while (at > 0 && isBlank(old[at - 1]) && (isBlank(text[start + at]) || isBlank(old[at]))) at--;
  return [start, at];
}

function isBlank(character: string | undefined): boolean {
  return character !== undefined && /[^\S\n]/.test(character);
}

/** The first thing of a text in words: `a TAB`, `4 spaces`, `“ (U+201C)`. */
function named(text: string): string {
  const blanks = /^[^\S\n]*/.exec(text)?.[0] ?? "";
  const { length } = blanks;
  if (/^\t+$/.test(blanks)) return length === 1 ? "a TAB" : `${length} TABs`;
  if (/^ +$/.test(blanks)) return length === 1 ? "1 space" : `${length} spaces`;
  if (blanks !== "") return `blanks (${[...blanks].map(codePoint).join(" ")})`;
  if (text === "") return "nothing";
  if (text.startsWith("\n")) return "the line end";
  const character = String.fromCodePoint(text.codePointAt(0) ?? 0);
  return /[\x21-\x7e]/.test(character) ? character : `${character} (${codePoint(character)})`;
}
