// What a plugin writes down for whoever looks after it: one line each in `plugin-data/NAME/log.txt`, in a file of
// bounded size with one older one beside it. Not here: what the session records (session/log.ts).

import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../runtime/system-error.ts";

/** Bytes; beyond it the file becomes the older one. */
export const LOG_BYTES = 1024 * 1024;
/** Characters of a line's text. */
const LINE = 8_000;

export interface LogPlace {
  session: string;
  turn: number;
  call: string;
}

/** Appends a line. @throws what the system says */
export function logLine(folder: string, text: string, { session, turn, call }: LogPlace): void {
  const path = join(folder, "log.txt");
  const shown = text.length <= LINE ? text : `${text.slice(0, LINE)}… (${text.length} characters)`;
  const line = [new Date().toISOString(), session, turn, escaped(call), escaped(shown)].join(" ");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (sizeOf(path) + Buffer.byteLength(line) >= LOG_BYTES) {
    renameSync(path, join(folder, "log.old.txt"));
  }
  appendFileSync(path, `${line}\n`, { mode: 0o600 });
}

/** Nothing in it can begin another line or steer a terminal. */
function escaped(text: string): string {
  return text.replaceAll(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (sign) => sign === "\n" ? "\\n" : `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return 0;
    throw error;
  }
}
