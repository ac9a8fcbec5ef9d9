// What changed between two texts of a file, as hunks and as the unified diff that people approve and the
// model reads back. Only the places that an edit touched are compared. Not here: where a line of an older
// version is now (line-map.ts), which has to be certain; a diff only has to be readable.

import type { Lines } from "./document.ts";
import { characters, clip } from "./lines.ts";

/** Lines `from` up to `to` (0-based, exclusive) became those from `at` up to `end`. */
export interface Change {
  from: number;
  to: number;
  at: number;
  end: number;
}

/** Changed lines with their context; `lines` as in a diff, starts are 1-based. */
export interface Hunk {
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
  lines: string[];
}

/** Lines of unchanged text shown around a change. */
const CONTEXT = 2;
/** Where more lines differ, or more have to be compared, all are one hunk: finer takes too long. */
const MAX_EDITS = 600;
const MAX_LINES = 20_000;
/** Characters of a line in a diff. */
const MAX_LINE = 400;

/** The hunks between two files, in order. Line ends are not compared, but a missing last one is. */
export async function hunksBetween(
  before: Lines,
  after: Lines,
  changes: readonly Change[],
): Promise<Hunk[]> {
  const { structuredPatch } = await import("diff");
  const options = { context: CONTEXT, maxEditLength: MAX_EDITS };
  return windows(before, after, changes).flatMap(({ from, to, at, end }) => {
    const [old, now] = [textOf(before, from, to), textOf(after, at, end)];
    if (old === now) return [];
    const patch = end - at + to - from > MAX_LINES
      ? undefined
      : structuredPatch("", "", old, now, "", "", options);
    return (patch?.hunks ?? [whole(old, now)]).map((hunk) => ({
      ...hunk,
      oldStart: hunk.oldStart + from,
      newStart: hunk.newStart + at,
    }));
  });
}

/** The changes with the lines around them, joined where these meet. */
function windows(
  before: Lines,
  after: Lines,
  changes: readonly Change[],
): Change[] {
  const out: Change[] = [];
  for (const change of changes) {
    const above = Math.min(CONTEXT, change.from);
    const to = Math.min(before.length, change.to + CONTEXT);
    const end = Math.min(after.length, change.end + CONTEXT);
    const last = out.at(-1);
    if (last && change.from - above <= last.to) Object.assign(last, { to, end });
    else out.push({ from: change.from - above, to, at: change.at - above, end });
  }
  return out;
}

function textOf(lines: Lines, from: number, to: number): string {
  return lines.slice(from + 1, to).replaceAll("\r\n", "\n");
}

/** All of it went, all of it came. */
function whole(old: string, now: string): Hunk {
  const rows = (text: string, sign: string) => {
    const lines = text.split("\n").map((line) => sign + line);
    return lines.at(-1) === sign ? lines.slice(0, -1) : [...lines, "\\ No newline at end of file"];
  };
  const [gone, come] = [rows(old, "-"), rows(now, "+")];
  const count = (lines: string[]) => lines.filter((line) => !line.startsWith("\\")).length;
  const [oldLines, newLines] = [count(gone), count(come)];
  return { oldStart: 1, oldLines, newStart: 1, newLines, lines: gone.concat(come) };
}

/**
 * A unified diff without a newline at its end.
 *
 * @param created There was no file.
 * @param bytes What it may have; a longer one is cut at a line end, and says so.
 */
export function unifiedDiff(
  path: string,
  created: boolean,
  hunks: readonly Hunk[],
  bytes = Infinity,
): string {
  const rows = hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) =>
    [`@@ -${part(oldStart, oldLines)} +${part(newStart, newLines)} @@`].concat(lines)
  );
  const out = [`--- ${created ? "/dev/null" : path}`, `+++ ${path}`];
  let left = bytes - Buffer.byteLength(out.join("\n"));
  for (const [i, row] of rows.entries()) {
    const long = row.length > MAX_LINE + 1;
    const text = long ? `${clip(row, MAX_LINE + 1)}… [${characters(row) - 1} characters]` : row;
    left -= Buffer.byteLength(text) + 1;
    if (left < 0) return [...out, `[diff cut here: ${rows.length - i} more lines]`].join("\n");
    out.push(text);
  }
  return out.join("\n");
}

/** `start,count` of a hunk header; an empty part names the line before it. */
function part(start: number, count: number): string {
  return `${count === 0 ? start - 1 : start},${count}`;
}

/** `+3 -1`: lines added and removed. */
export function diffStat(hunks: readonly Hunk[]): string {
  const count = (sign: string) =>
    hunks.reduce((n, { lines }) => n + lines.filter((line) => line.startsWith(sign)).length, 0);
  return `+${count("+")} -${count("-")}`;
}
