// One file of a search: read, told text from binary, and decoded only when somebody asks for its text.
// Not here: which files (search-scan.ts), matching (search-match.ts).

import { isAscii, isUtf8 } from "node:buffer";
import { closeSync, constants, openSync, readSync } from "node:fs";
import { openDocument } from "./document.ts";

/** Files larger than this are skipped, unless named (bytes). */
export const MAX_FILE = 4 * 1024 * 1024;
/** A named file larger than this is not searched either. */
export const MAX_NAMED_FILE = 64 * 1024 * 1024;
/** Files that the system makes up as they are read; of others one read gives all that there is. */
const IN_PIECES = /^\/(?:proc|sys|dev)\//;
/** Looked at for a NUL, which makes a file binary. */
const SNIFF = 8192;

/**
 * Reads a file into `slab`, which is a byte longer than the largest file may be, and gives its content
 * or why it is skipped. The content is good until the slab is used again.
 */
export function readContent(
  slab: Buffer,
  path: string,
): Content | "binary" | "large" | "unreadable" {
  let fd: number;
  try {
    // Never waits for a pipe that took the file's place, never follows a link that did.
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch {
    return "unreadable";
  }
  let length = 0;
  try {
    const whole = !IN_PIECES.test(path);
    while (length < slab.length) {
      const more = readSync(fd, slab, length, slab.length - length, null);
      length += more;
      if (more === 0 || whole) break;
    }
  } catch {
    return "unreadable";
  } finally {
    closeSync(fd);
  }
  const content = new Content(slab.subarray(0, length));
  if (content.binary) return "binary";
  return length === slab.length ? "large" : content;
}

/** A file's bytes and, once somebody asks, its text. */
export class Content {
  readonly bytes: Buffer;
  readonly utf16: boolean;
  /** The bytes are no text: in part known only once the text was asked for. */
  binary: boolean;
  #text: string | undefined;
  #lines: string[] | undefined;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    const [first, second] = bytes;
    this.utf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
    const nul = this.utf16 ? -1 : bytes.indexOf(0);
    this.binary = nul !== -1 && nul < SNIFF;
  }

  /** Is it UTF-8? Then bytes can be counted in the place of text. */
  isUtf8(): boolean {
    return !this.utf16 && isUtf8(this.bytes);
  }

  /** Text without a BOM; of UTF-8 with the line ends as they are, else with LF. */
  text(): string {
    return this.#text ??= this.#decode();
  }

  #decode(): string {
    if (!this.isUtf8()) return this.lines().join("\n");
    if (isAscii(this.bytes)) return this.bytes.toString("latin1");
    return this.bytes.toString("utf8").replace(/^\ufeff/, "");
  }

  /** Lines as Read shows them; none for a binary file. */
  lines(): string[] {
    if (this.#lines === undefined) {
      const opened = openDocument(this.bytes);
      this.binary = opened.kind === "binary";
      this.#lines = opened.kind === "binary" ? [] : opened.document.lines.map(({ text }) => text);
    }
    return this.#lines;
  }
}
