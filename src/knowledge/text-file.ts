// Reads the text that a person wrote for a model (rules, skills, commands): within bounds, decoded,
// without what a person does not see. A file that cannot be used is a line for the person, never a failure,
// for any repository may hold one. Not here: what the text means.

import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
} from "node:fs";
import { join } from "node:path";
import { hostError } from "../host/files.ts";
import { isInside } from "../permission/paths.ts";

/** Whose text it is; who reads it should know. */
export type Tier = "built-in" | "user" | "project";

/** Files of one folder that are looked at. */
const MAX_FILES = 200;

/**
 * What a person does not see in an editor but a model reads: controls, marks of direction, zero-width
 * characters, tags. Joiners and variation selectors stay where scripts and emoji need them.
 */
const HIDDEN =
  /[\x01-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e0fff}]/gu;

/** A file that stands where such files are looked for. */
export interface Candidate {
  path: string;
  tier: Tier;
  /** As the model would write its path, one line. */
  shown: string;
  /** Real path of the folder out of which no link may lead; null: any link is the user's own. */
  within: string | null;
  /** Name of the plugin that it belongs to. */
  plugin?: string | undefined;
}

export interface TextFile {
  /** Real path. */
  path: string;
  /** May be empty. */
  text: string;
  /** Bytes of the file. */
  size: number;
  /** There is more than was read. */
  more: boolean;
  /** Lines for the person. */
  warnings: string[];
}

/** The text of a file of which at most `max` bytes are shown; `fault` says why it must not be used. */
export function readTextFile(
  { path, tier, shown, within, plugin }: Candidate,
  max: number,
): TextFile | { fault: string } {
  try {
    if (tier === "built-in") {
      const text = readFileSync(path, "utf8"); // it may lie inside the binary
      return { path, text, size: Buffer.byteLength(text), more: false, warnings: [] };
    }
    const real = realpathSync(path);
    if (within !== null && !isInside(within, real)) {
      const place = plugin === undefined ? "the workspace" : `the plugin ${plugin}`;
      return { fault: `${shown} is a link out of ${place}, to ${oneLine(real)}` };
    }
    return readReal(real, shown, max);
  } catch (error) {
    return { fault: hostError(error, "read", shown).message };
  }
}

/** @throws what the system says */
function readReal(path: string, shown: string, max: number): TextFile | { fault: string } {
  // The cap, twice for UTF-16, and one to see that there is more.
  const most = 2 * max + 1;
  // Opening a pipe must not wait for who writes into it.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) {
      return { fault: `${shown} ${stats.isDirectory() ? "is a folder" : "is not a file"}` };
    }
    const bytes = new Uint8Array(Math.min(stats.size, most));
    let n = 0;
    while (n < bytes.length) {
      const got = readSync(file, bytes, n, bytes.length - n, n);
      if (got === 0) break;
      n += got;
    }
    const more = stats.size > most;
    const { text, isValid } = decoded(bytes.subarray(0, n), more);
    if (text.includes("\0")) return { fault: `${shown} is not text` };
    const warnings: string[] = [];
    if (!isValid) {
      warnings.push(
        `${shown} is not valid UTF-8: what could not be read became \ufffd; save it anew`,
      );
    }
    const lines = text.replaceAll(/\r\n?|[\u2028\u2029]/g, "\n").trimEnd();
    const clean = withoutHidden(lines).trimEnd();
    if (clean.length < lines.length) {
      warnings.push(`${shown}: control or invisible characters were left out`);
    }
    return { path, text: clean, size: stats.size, more, warnings };
  } finally {
    closeSync(file);
  }
}

/** By the byte order mark, else UTF-8. @param part The bytes may end within a character. */
function decoded(bytes: Uint8Array, part: boolean): { text: string; isValid: boolean } {
  const [first, second] = bytes;
  const name = first === 0xff && second === 0xfe
    ? "utf-16le"
    : first === 0xfe && second === 0xff
    ? "utf-16be"
    : "utf-8";
  const text = (fatal: boolean) => new TextDecoder(name, { fatal }).decode(bytes, { stream: part });
  try {
    return { text: text(true), isValid: true };
  } catch {
    return { text: text(false), isValid: false };
  }
}

/** As much of the text as there is room for (bytes), in whole lines where one fits, and what is said of the rest. */
export function cut(
  { text, size, more }: Pick<TextFile, "text" | "size" | "more">,
  room: number,
): { text: string; note?: string } {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= room && !more) return { text };
  const rest = `of a file of ${size} bytes; Read shows the rest`;
  const fits = new TextDecoder().decode(bytes.subarray(0, room), { stream: true });
  const end = fits.lastIndexOf("\n");
  if (fits.trim() === "") return { text: "", note: "left out; Read shows it" };
  if (end === -1) return { text: fits, note: `cut in line 1 ${rest}` };
  const kept = fits.slice(0, end);
  return { text: kept, note: `cut after line ${kept.split("\n").length} ${rest}` };
}

export function withoutHidden(text: string): string {
  return text.replaceAll(HIDDEN, "");
}

/** Nothing in a name can look like a line of its own. */
export function oneLine(path: string): string {
  return path.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "?");
}

/** Also a link that leads nowhere is there: the person should hear of it. */
export function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** Names in a folder, sorted, `also` fulfilled; none where there is no folder. */
export function namesIn(folder: string, also: (name: string) => boolean): string[] {
  try {
    return readdirSync(folder).filter(also).sort().slice(0, MAX_FILES);
  } catch {
    return [];
  }
}

/** Markdown files of a folder, sorted by name. */
export function markdownIn(folder: string): string[] {
  return namesIn(folder, (name) => /\.md$/i.test(name) && !name.startsWith(".")).map((name) =>
    join(folder, name)
  );
}
