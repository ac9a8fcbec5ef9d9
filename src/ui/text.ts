// Text as a terminal shows it: what may be written of untrusted text, how many columns it takes, and
// how it is cut and wrapped. Model, tool, file and MCP text passes `visible` (or `VisibleStream`)
// before a person sees it (spec/security, "Text shown to people"). Widths come from fast-string-width,
// one grapheme at a time, so that a cluster the terminal draws as one sign counts as one.
// Not here: colours (theme.ts), where text lands on the screen (terminal/).

import stringWidth from "fast-string-width";

const PLAIN = /^[\t\n\x20-\x7e]*$/;
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;

/** Emoji whose joiners, selectors and tags must stay: keycaps, flags made of tags, joined sequences. */
const EMOJI = "[0-9#*]\\ufe0f?\\u20e3" +
  "|\\u{1f3f4}[\\u{e0030}-\\u{e0039}\\u{e0061}-\\u{e007a}]{3,6}\\u{e007f}" +
  "|\\p{ExtPict}[\\ufe0e\\ufe0f]?\\p{EMod}?(?:\\u200d\\p{ExtPict}\\ufe0f?\\p{EMod}?)*" +
  "|\\p{Script=Han}[\\ufe00-\\ufe02\\u{e0100}-\\u{e01ef}]"; // chosen glyph forms of ideographs
/** Controls, lone surrogates, line separators, and everything that takes no room or turns the text. */
const HIDDEN =
  "[\\0-\\x08\\x0b-\\x1f\\x7f-\\x9f\\p{Cs}\\p{Zl}\\p{Zp}\\p{DI}\\p{Bidi_C}\\ufff9-\\ufffb]";
const EMOJI_OR_HIDDEN = new RegExp(`(?:${EMOJI})|(${HIDDEN})`, "gu");
const CONTROLS = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g;

/**
 * Untrusted text with everything invisible shown as an escape (`\x1b`, `\u202e`, `\u{e0041}`):
 * control characters but newline and tab, bidi and zero-width characters, lone surrogates. Joiners
 * and selectors inside emoji stay.
 */
export function visible(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(
    EMOJI_OR_HIDDEN,
    (whole, hidden: string | undefined) => hidden === undefined ? whole : escapeCharacter(hidden),
  );
}

/** Only control characters shown as escapes: for a pipe, where the text is also data. */
export function withoutControls(text: string): string {
  return text.replace(CONTROLS, escapeCharacter);
}

/** JSON text in which every invisible character is a `\uXXXX` escape; it parses to the same value. */
export function visibleJson(json: string): string {
  if (PLAIN.test(json)) return json;
  return json.replace(new RegExp(HIDDEN, "gu"), (found) => {
    let escaped = "";
    for (let i = 0; i < found.length; i++) {
      escaped += `\\u${found.charCodeAt(i).toString(16).padStart(4, "0")}`;
    }
    return escaped;
  });
}

function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (character === "\r") return "\\r";
  if (code <= 0xff) return `\\x${code.toString(16).padStart(2, "0")}`;
  if (code <= 0xffff) return `\\u${code.toString(16).padStart(4, "0")}`;
  return `\\u{${code.toString(16)}}`;
}

/** The longest end of a chunk that is held back because the next chunk may belong to it. */
const MAX_HELD = 64;
/** A sign that others may join, with all that has joined it. */
const UNFINISHED = new RegExp(
  "(?:(?:[0-9#*]|\\p{ExtPict}|\\p{Script=Han})" +
    "[\\ufe0e\\ufe0f\\u200d\\p{EMod}\\p{ExtPict}\\u{e0030}-\\u{e007f}]*)?[\\ud800-\\udbff]?$",
  "u",
);

/**
 * `visible` for text that arrives in chunks: an emoji or a surrogate pair split between two chunks
 * comes out whole.
 */
export class VisibleStream {
  #held = "";

  /** What can be shown now. */
  push(chunk: string): string {
    const text = this.#held + chunk;
    // Looking only at the end keeps this linear in the length of the stream.
    const tail = text.slice(-MAX_HELD).replace(/^[\udc00-\udfff]/, "");
    const found = UNFINISHED.exec(tail)?.[0] ?? "";
    const held = found.length < MAX_HELD - 1 ? found : "";
    this.#held = held;
    return visible(text.slice(0, text.length - held.length));
  }

  /** The rest, when nothing more comes. */
  end(): string {
    const rest = visible(this.#held);
    this.#held = "";
    return rest;
  }
}

let segmenter: Intl.Segmenter | undefined;

/** The user-perceived characters of a text. */
export function* graphemes(text: string): Generator<string> {
  if (PRINTABLE_ASCII.test(text)) return yield* text;
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  for (const { segment } of segmenter.segment(text)) yield segment;
}

/** The boundary between graphemes at an index or next after it. Looks only around the index. */
export function boundaryAt(text: string, at: number): number {
  if (at <= 0) return 0;
  if (at >= text.length) return text.length;
  let end = Math.max(0, at - 64);
  for (const grapheme of graphemes(text.slice(end, at + 64))) {
    end += grapheme.length;
    if (end >= at) return end;
  }
  return at;
}

const widths = new Map<string, number>();

/** Columns of one grapheme: 0, 1 or 2. */
export function graphemeWidth(grapheme: string): number {
  if (grapheme.length === 1 && grapheme >= " " && grapheme <= "~") return 1;
  let columns = widths.get(grapheme);
  if (columns === undefined) {
    // A cluster is drawn as one sign, at most two columns wide; conjoining jamo are such a case.
    columns = Math.min(
      2,
      stringWidth(grapheme.replace(/\p{DI}/gu, (c) => c === "\ufe0f" ? c : "")),
    );
    if (widths.size > 4096) widths.clear();
    widths.set(grapheme, columns);
  }
  return columns;
}

/** Distance of tab stops, as terminals have it. */
const TAB = 8;

/** Columns a line takes from column 0. Lines of a text with newlines are added up. */
export function width(text: string): number {
  if (PRINTABLE_ASCII.test(text)) return text.length;
  let columns = 0;
  for (const grapheme of graphemes(text)) {
    columns += grapheme === "\t" ? TAB - columns % TAB : graphemeWidth(grapheme);
  }
  return columns;
}

/** The first line of a text, cut to `columns` with `…` where something is missing. */
export function cut(text: string, columns: number): string {
  const end = text.indexOf("\n");
  const line = (end === -1 ? text : text.slice(0, end)).replaceAll("\t", "  ");
  const more = end !== -1 && text.slice(end).trim() !== "";
  // No more than this can fit; a megabyte of one line is not measured whole.
  const candidate = line.slice(0, columns * 16 + 64);
  if (!more && candidate.length === line.length && width(line) <= columns) return line;
  if (columns < 1) return "";
  let kept = "";
  let used = 0;
  for (const grapheme of graphemes(candidate)) {
    const next = graphemeWidth(grapheme);
    if (used + next > columns - 1) break;
    kept += grapheme;
    used += next;
  }
  return `${kept}…`;
}

/**
 * The rows a text takes on a screen of `columns`, broken between graphemes as a terminal does it.
 * Tabs become spaces. A row holds at least one grapheme, also where that is wider than the screen.
 */
export function wrap(text: string, columns: number): string[] {
  const limit = Math.max(1, Math.floor(columns) || 1);
  return text.split("\n").flatMap((line) => wrapLine(line, limit));
}

function wrapLine(line: string, columns: number): string[] {
  if (PRINTABLE_ASCII.test(line)) {
    if (line.length <= columns) return [line];
    const rows: string[] = [];
    for (let i = 0; i < line.length; i += columns) rows.push(line.slice(i, i + columns));
    return rows;
  }
  const rows: string[] = [];
  let row = "";
  let used = 0;
  for (const grapheme of graphemes(line)) {
    const tab = grapheme === "\t";
    const next = tab
      ? Math.min(TAB - used % TAB, Math.max(1, columns - used))
      : graphemeWidth(grapheme);
    if (row !== "" && used + next > columns) {
      rows.push(row);
      row = "";
      used = 0;
    }
    row += tab ? " ".repeat(next) : grapheme;
    used += next;
  }
  rows.push(row);
  return rows;
}
