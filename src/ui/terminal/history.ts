// The file of earlier inputs (~/.nanocode/history): one JSON string a line, so that inputs of several
// lines fit; readable by its owner only, because prompts hold what people would not publish. Several
// sessions may append at once. Not here: moving through the history (editor.ts).

import { appendFileSync, chmodSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { replaceFile } from "../../runtime/replace-file.ts";

/** Entries kept in memory. */
const KEEP = 1000;
/** A larger file is shortened to its newest half of this. */
const MAX_BYTES = 2 * 1024 * 1024;
/** A longer input (a pasted log) is remembered in this session only. */
const MAX_ENTRY = 16 * 1024;

/** The newest entries, oldest first; none where there is no file. Lines that are no entries are left out. */
export function loadHistory(path: string): string[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return []; // not there yet, or not readable: appending says so if it matters
  }
  const entries: string[] = [];
  for (const line of text.split("\n").slice(-KEEP - 1)) {
    const entry = parseEntry(line);
    if (entry !== null && entries.at(-1) !== entry) entries.push(entry);
  }
  return entries;
}

function parseEntry(line: string): string | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "string" && value !== "" ? value : null;
  } catch {
    return null;
  }
}

/** Appends an entry. Throws an Error in words for the user when it cannot. */
export function appendHistory(path: string, entry: string): void {
  if (entry.length > MAX_ENTRY || entry.trim() === "") return;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    appendFileSync(path, `${JSON.stringify(entry)}\n`, { mode: 0o600 });
    const { mode, size } = statSync(path);
    if ((mode & 0o077) !== 0) chmodSync(path, 0o600);
    if (size > MAX_BYTES) shorten(path);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`Inputs of this session are not remembered: ${why}`);
  }
}

function shorten(path: string): void {
  const lines = loadHistory(path).map((entry) => `${JSON.stringify(entry)}\n`);
  let bytes = 0;
  const kept = lines.reverse().filter((line) => (bytes += line.length) < MAX_BYTES / 2).reverse();
  replaceFile(path, kept.join(""), 0o600);
}
