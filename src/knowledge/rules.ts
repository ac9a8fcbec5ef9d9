// Rules: the AGENTS.md of the user and of every folder from the workspace root down to where the user
// works. Read within bounds, once, when a session begins; a file that cannot be used is a warning, never
// a failure, for any repository may hold one. Not here: how they look to the model
// (context/environment.ts).

import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  realpathSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import type { RuleText } from "../context/environment.ts";
import { hostError } from "../host/files.ts";
import { isInside } from "../permission/paths.ts";

/** Bytes (UTF-8) that rules may have, a file and in all: about 8,000 tokens. The nearest come first. */
export const RULE_BYTES = { file: 24_000, all: 32_000 };

const NAME = "AGENTS.md";
/** Bytes read of a file: the cap, twice for UTF-16, and one to see that there is more. */
const MAX_READ = 2 * RULE_BYTES.file + 1;
const WHY = `rules may have ${RULE_BYTES.file} bytes a file and ${RULE_BYTES.all} in all`;
/**
 * What a person does not see in an editor but a model reads: controls, marks of direction, zero-width
 * characters, tags. Joiners and variation selectors stay where scripts and emoji need them.
 */
const HIDDEN =
  /[\x01-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e0fff}]/gu;

/** A file of rules as it is shown to the model. */
export interface RuleFile extends RuleText {
  /** Real path. */
  path: string;
}

export interface FoundRules {
  /** The most general one first, the nearest last. */
  files: RuleFile[];
  /** Lines for the person. */
  warnings: string[];
}

/** A file that stands where rules are looked for. */
interface Candidate {
  path: string;
  tier: RuleText["tier"];
  shown: string;
}

/**
 * The rules for work in `cwd`; all paths are real ones, but for `home`.
 *
 * @param home nanocode's own folder, with the user's rules. Links may lead out of it, not out of `root`.
 */
export function findRules(
  { home, root, cwd }: { home: string; root: string; cwd: string },
): FoundRules {
  const found: FoundRules = { files: [], warnings: [] };
  const texts = new Set<string>();
  let left = RULE_BYTES.all;
  // From the nearest on, because that one is wanted most where there is no room for all.
  for (const candidate of candidates(home, root, cwd)) {
    const { shown, tier } = candidate;
    try {
      const file = read(candidate, root, found.warnings);
      if (file === null || texts.has(file.text)) continue;
      texts.add(file.text);
      const { text, note } = cut(file, Math.min(left, RULE_BYTES.file));
      left -= Buffer.byteLength(text);
      if (note !== undefined) found.warnings.push(`${shown} is ${note.split(";")[0]}: ${WHY}`);
      found.files.unshift({
        path: file.path,
        tier,
        shown,
        text,
        ...(note === undefined ? {} : { note }),
      });
    } catch (error) {
      found.warnings.push(`rules left out: ${hostError(error, "read", shown).message}`);
    }
  }
  return found;
}

/** The files that there are, the nearest first. */
function candidates(home: string, root: string, cwd: string): Candidate[] {
  const out: Candidate[] = [];
  for (let folder = cwd;; folder = dirname(folder)) {
    const path = join(folder, NAME);
    if (isThere(path)) out.push({ path, tier: "project", shown: oneLine(relative(cwd, path)) });
    if (folder === root || folder === dirname(folder)) break;
  }
  const own = join(home, NAME);
  if (isThere(own)) out.push({ path: own, tier: "user", shown: oneLine(own) });
  return out;
}

/** Also a link that leads nowhere is there: the person should hear of it. */
function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** Nothing in the name of a folder can look like a line of its own. */
function oneLine(path: string): string {
  return path.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "?");
}

interface Raw {
  path: string;
  text: string;
  /** Bytes of the file. */
  size: number;
  /** There is more than was read. */
  more: boolean;
}

/** The text of a file, or null where it has none or must not be used. @throws what the system says */
function read({ path, tier, shown }: Candidate, root: string, warnings: string[]): Raw | null {
  const leftOut = (why: string) => {
    warnings.push(`rules left out: ${shown} ${why}`);
    return null;
  };
  const real = realpathSync(path);
  if (tier === "project" && !isInside(root, real)) {
    return leftOut(`is a link out of the workspace, to ${oneLine(real)}`);
  }
  // Opening a pipe must not wait for who writes into it.
  const file = openSync(real, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) return leftOut(stats.isDirectory() ? "is a folder" : "is not a file");
    const bytes = new Uint8Array(Math.min(stats.size, MAX_READ));
    let n = 0;
    while (n < bytes.length) {
      const got = readSync(file, bytes, n, bytes.length - n, n);
      if (got === 0) break;
      n += got;
    }
    const more = stats.size > MAX_READ;
    const { text, isValid } = decoded(bytes.subarray(0, n), more);
    if (text.includes("\0")) return leftOut("is not text");
    if (!isValid) {
      warnings.push(
        `${shown} is not valid UTF-8: what could not be read became \ufffd; save it anew`,
      );
    }
    const lines = text.replaceAll(/\r\n?|[\u2028\u2029]/g, "\n");
    const clean = lines.replaceAll(HIDDEN, "").trimEnd();
    const hidden = lines.trimEnd().length - clean.length;
    if (hidden > 0) warnings.push(`${shown}: control or invisible characters were left out`);
    return clean.trim() === "" ? null : { path: real, text: clean, size: stats.size, more };
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

/** As much of the text as there is room for, in whole lines where one fits, and what is said of the rest. */
function cut({ text, size, more }: Raw, room: number): { text: string; note?: string } {
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
