// A file as lines, without loss: each line is its text and its own ending, and a document that nobody
// changed encodes to the very bytes it came from. Only LF and CRLF end a line; a lone CR, VT, FF,
// U+0085 or U+2028 is an ordinary character. Not here: encodings themselves (encodings.ts), editing.

import { type Codec, decode, encode, legacyOf, sameBytes, unicodeOf } from "./encodings.ts";
import { UTF8 } from "./encodings.ts";
import { codePoint } from "./lines.ts";

/** How a line ends; "" only for a last line without a newline. */
export type Eol = "" | "\n" | "\r\n";

/** A text by its lines, numbered from 1. Nothing is copied until somebody asks for a line. */
export class Lines {
  readonly text: string;
  readonly #starts: number[] = [];

  /** "" has no lines, "\n" has one empty line. */
  constructor(text: string) {
    this.text = text;
    for (let at = 0; at < text.length; at = text.indexOf("\n", at) + 1 || text.length) {
      this.#starts.push(at);
    }
  }

  get length(): number {
    return this.#starts.length;
  }

  /** A line without its ending. */
  line(n: number): string {
    return this.text.slice(this.start(n), this.start(n + 1) - this.eol(n).length);
  }

  eol(n: number): Eol {
    const [start, end] = [this.start(n), this.start(n + 1)];
    if (end === start || this.text[end - 1] !== "\n") return "";
    return end - start > 1 && this.text[end - 2] === "\r" ? "\r\n" : "\n";
  }

  map<T>(make: (line: { text: string }) => T): T[] {
    return this.#starts.map((_, i) => make({ text: this.line(i + 1) }));
  }

  /** Lines `from` to `to` as one text, line ends included. */
  slice(from: number, to: number): string {
    return this.text.slice(this.start(from), this.start(to + 1));
  }

  /** Where line `n` begins, or would begin behind the last. */
  start(n: number): number {
    return this.#starts[n - 1] ?? this.text.length;
  }

  /** Where all of them begin, and the end: index n is line n. */
  starts(): number[] {
    return [0, ...this.#starts, this.text.length];
  }

  /** The number of the line that holds the character at `offset`, or the number of lines + 1. */
  at(offset: number): number {
    let [low, high] = [0, this.#starts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.start(middle + 2) > offset) high = middle;
      else low = middle + 1;
    }
    return low + 1;
  }
}

/** A text file in memory. */
export interface TextDocument {
  readonly lines: Lines;
  readonly codec: Codec;
}

/** What bytes turned out to be. `type` names the kind of binary for people, e.g. "PDF document". */
export type Opened = { kind: "text"; document: TextDocument } | { kind: "binary"; type: string };

/** Bytes looked at to tell binary from text. */
const SNIFF = 8192;

/** An absent or empty file, as a document: no lines, UTF-8. */
export const EMPTY: TextDocument = { lines: new Lines(""), codec: UTF8 };

/** Reads bytes as a document, or says what kind of binary they are. Never throws. */
export function openDocument(bytes: Uint8Array): Opened {
  const unicode = unicodeOf(bytes);
  const type = binaryType(bytes, unicode);
  if (type !== null) return { kind: "binary", type };
  const codec = unicode ?? legacyOf(bytes);
  const text = decode(bytes.subarray(codec.bom.length), codec) ?? "";
  return { kind: "text", document: { lines: new Lines(text), codec } };
}

/**
 * Why the file must not be edited, or null. The UTFs are bijections once decoded strictly; any other
 * encoding has to prove on these very bytes that the way back leads to them.
 */
export async function whyReadOnly(
  { lines, codec }: TextDocument,
  bytes: Uint8Array,
): Promise<string | null> {
  if (codec.name.startsWith("utf-")) return null;
  const back = await encode(lines.text, codec);
  if (back && sameBytes(back, bytes)) return null;
  return `it was read as ${codec.name}, and writing it back in that encoding would change bytes ` +
    "that nobody edited";
}

/** What is in a text that the encoding does not have: the first such character, and its line. */
export async function whyNotEncodable(text: string, codec: Codec): Promise<string> {
  let [fits, fails] = [0, text.length];
  while (fails - fits > 1) {
    let middle = (fits + fails) >> 1;
    if (/[\ud800-\udbff][\udc00-\udfff]/.test(text.slice(middle - 1, middle + 1))) middle++;
    if (middle === fails) break; // one character of two units is left
    if (await encode(text.slice(0, middle), codec) === null) fails = middle;
    else fits = middle;
  }
  const character = text.slice(fits, fails);
  const what = character.isWellFormed()
    ? `${character} (${
      codePoint(character)
    }), which the file's encoding ${codec.name} does not have`
    : `half of a character (${codePoint(character)})`;
  return `line ${text.slice(0, fits).split("\n").length} of the result would hold ${what}`;
}

/** The ending most lines of a text have; LF when there is a tie or none. */
export function usualEol(text: string): "\n" | "\r\n" {
  let balance = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) {
    balance += text[at - 1] === "\r" ? 1 : -1;
  }
  return balance > 0 ? "\r\n" : "\n";
}

/** The text, with an ending if it is not empty and has none. */
export function ended(text: string, eol: Eol): string {
  return text === "" || text.endsWith("\n") ? text : text + eol;
}

/** The ending of the line that goes on at `offset`. */
export function eolBehind(text: string, offset: number): Eol | undefined {
  const at = text.indexOf("\n", offset);
  if (at === -1) return undefined;
  return at > offset && text[at - 1] === "\r" ? "\r\n" : "\n";
}

/** A text with "\n" line ends only. `original`: ascending offsets in it → offsets in `given`. */
export function withLf(given: string): { text: string; original(offset: number): number } {
  let removed = 0;
  let next = given.indexOf("\r\n");
  const original = (offset: number) => {
    for (; next !== -1 && next - removed < offset; next = given.indexOf("\r\n", next + 1)) {
      removed++;
    }
    return offset + removed;
  };
  return { text: given.replaceAll("\r\n", "\n"), original };
}

/** First bytes of common formats in hex, so that a binary file can be named. */
const MAGIC: readonly [first: RegExp, type: string][] = [
  [/^89504e470d0a1a0a/, "image/png"],
  [/^ffd8ff/, "image/jpeg"],
  [/^47494638(?:37|39)61/, "image/gif"],
  [/^52494646.{8}57454250/, "image/webp"],
  [/^25504446/, "PDF document"],
  [/^504b0304/, "ZIP archive (also docx, xlsx, jar, …)"],
  [/^1f8b/, "gzip data"],
  [/^7f454c46/, "ELF program or library"],
  [/^0061736d/, "WebAssembly module"],
  [/^4d5a/, "Windows program or library"],
  [/^53514c69746520666f726d6174203300/, "SQLite database"],
  [/^(?:0000feff|fffe0000)/, "UTF-32 text"],
];

/**
 * What kind of binary the bytes are, or null for text. NUL in the first 8 KB means binary; control
 * bytes alone do not (terminal logs), invalid UTF-8 alone does not (Latin-1), both together do.
 *
 * @param unicode The UTF that the bytes are in, if any.
 */
export function binaryType(bytes: Uint8Array, unicode: Codec | null): string | null {
  const head = bytes.subarray(0, SNIFF);
  const hex = Buffer.from(head.subarray(0, 16)).toString("hex");
  const type = MAGIC.find(([first]) => first.test(hex))?.[1] ?? "data";
  if (unicode?.name.startsWith("utf-16") && type !== "UTF-32 text") return null;
  const odd = unicode === null && (/^(?:fffe|feff)/.test(hex) || head.some(isControl));
  return odd || head.includes(0) ? type : null;
}

/** A byte that no text encoding uses but as a control character (tab, line ends, ESC … aside). */
function isControl(byte: number): boolean {
  return byte < 8 || (byte > 13 && byte < 27 && byte !== 26) || (byte > 27 && byte < 32);
}
