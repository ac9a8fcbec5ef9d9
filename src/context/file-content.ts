// Content of FILE STATE: which lines of files stand in the tail, within which budget, and which are only
// named. Inline, what changed since it was shown; in the tail, all that was shown.

import type { Observation, SessionRecord } from "../session/records.ts";
import type { FileNow, FilesPlacement, Range } from "./files.ts";
import { estimateTokens, USUAL_WINDOW } from "./tokens.ts";

/** Tokens of Content: inline, and as a share of the window in the tail. */
const INLINE_TOKENS = 1500;
const TAIL_SHARE = 0.25;

/** Files that a block names. */
export const MAX_FILES = 20;
/** Requests in which Content shows a region that changed. */
const MAX_SHOWINGS = 3;

/** The blocks Content and Omitted, and the lines that they show. `window`: tokens that fit. */
export function contentOf(
  files: readonly FileNow[],
  placement: FilesPlacement,
  window: number | null,
  records: readonly SessionRecord[],
): { text: string; shown: Observation[] } {
  const isInline = placement === "inline";
  const { rows, omitted, shown } = isInline
    ? fitting(files, ({ changed }) => changed, INLINE_TOKENS, "state", oldShowings(files, records))
    : fitting(files, joined, Math.floor((window ?? USUAL_WINDOW) * TAIL_SHARE), "state");
  const title = isInline
    ? "Content: what changed since you were shown it (LINE:HASH|text, anchors for Edit)"
    : "Content (LINE:HASH|text, anchors for Edit)";
  const leftOut = [...omitted].map(([name, ranges]) => `${name} ${ranges.join(", ")}`);
  const more = leftOut.length - MAX_FILES;
  const parts = [
    rows.length === 0 ? "" : [title, ...rows].join("\n"),
    block(
      isInline
        ? "Omitted, changed too; Read before you rely on them:"
        : "Omitted content; Read shows it:",
      [...leftOut.slice(0, MAX_FILES), ...(more > 0 ? [`… ${more} more`] : [])],
    ),
  ];
  return { text: parts.filter(Boolean).join("\n\n"), shown };
}

/** Lines of files under titles that name them. */
export interface Fitting {
  rows: string[];
  /** Ranges that are not among them, by file. */
  omitted: Map<string, string[]>;
  shown: Observation[];
}

/** The ranges of files for which there is room, in order; one that is too large leaves it to the next. */
export function fitting(
  files: readonly FileNow[],
  rangesOf: (file: FileNow) => readonly Range[],
  tokens: number,
  kind: Observation["kind"],
  isLeftOut: (file: FileNow, from: number, to: number) => boolean = () => false,
): Fitting {
  const out: Fitting = { rows: [], omitted: new Map(), shown: [] };
  let left = tokens;
  for (const file of files) {
    const kept: [number, number][] = [];
    for (const { from, to } of rangesOf(file).filter(({ from, to }) => to >= from)) {
      const title = `@@ ${file.shown} ${from}:${to}`;
      const hasRoom = to - from < left && !isLeftOut(file, from, to); // a row is more than a token
      const part = hasRoom ? [title, ...file.rows(from, to)] : [];
      const cost = hasRoom ? estimateTokens(part.join("\n")) : Infinity;
      if (cost > left) {
        out.omitted.set(file.shown, [...out.omitted.get(file.shown) ?? [], `${from}:${to}`]);
        continue;
      }
      left -= cost;
      out.rows.push(...part);
      kept.push([from, to]);
    }
    if (kept.length === 0) continue;
    const { path, version, total } = file;
    const texts = kept.map(([from, to]) => file.texts(from, to));
    out.shown.push({ path, version, kind, total, ranges: kept, texts });
  }
  return out;
}

/**
 * Tells the regions that Content showed in enough requests: each costs its full price every time, and
 * after a few a Read, which stays in the history, is the cheaper way for a model that needs it.
 */
function oldShowings(
  files: readonly FileNow[],
  records: readonly SessionRecord[],
): (file: FileNow, from: number, to: number) => boolean {
  const requests = new Map<string, number>();
  const key = (version: string, from: number, to: number) => `${from}:${to} ${version}`;
  const versions = new Set(files.flatMap(({ changed, version }) => changed.length ? version : []));
  let n = 0;
  for (let i = records.length - 1; i >= 0 && versions.size > 0; i--) {
    const record = records[i];
    if (record?.type !== "request") continue;
    n++;
    for (const { version, ranges } of record.observations ?? []) {
      if (!versions.has(version)) continue;
      for (const [from, to] of ranges) requests.set(key(version, from, to), n);
    }
  }
  return ({ version }, from, to) => (requests.get(key(version, from, to)) ?? 0) >= MAX_SHOWINGS;
}

/** All that is to be shown of a file in the tail: known and changed lines, touching ranges as one. */
function joined({ known, changed }: FileNow): Range[] {
  const out: Range[] = [];
  for (const range of [...known, ...changed].sort((a, b) => a.from - b.from)) {
    const last = out.at(-1);
    if (last && range.from <= last.to + 1) last.to = Math.max(last.to, range.to);
    else out.push({ ...range });
  }
  return out;
}

/** A block of FILE STATE; "" when it has no lines. */
export function block(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? "" : [title, ...lines.map((line) => `- ${line}`)].join("\n");
}
