// FILE STATE: what is true now of the files that the model has seen, so that it need not infer it from
// old results. Computed from the records and the view of the disk at every request, never kept, never
// scraped from text. Here: which facts are said, in which order, within which budget.

import type { Observation, SessionRecord } from "../session/records.ts";
import { type Board, focusOf } from "./board.ts";
import { block, contentOf, MAX_FILES } from "./file-content.ts";
import {
  checkLines,
  editLines,
  errorLines,
  eventLines,
  factsOf,
  type FileFacts,
  whoChanged,
} from "./file-facts.ts";
import type { History } from "./history.ts";
import { estimateTokens } from "./tokens.ts";

/** `inline`: content stays at the result that showed it; `tail`: all of it stands in FILE STATE. */
export type FilesPlacement = "inline" | "tail";

/** A file and what of it the model was shown, newest first. */
export interface ShownFile {
  path: string;
  shown: readonly Observation[];
}

/** Lines, 1-based inclusive. `shift`: the number now less the number shown. */
export interface Range {
  from: number;
  to: number;
  shift: number;
}

/** A file that the model has seen, as it is now. */
export interface FileNow {
  /** Real path. */
  path: string;
  /** As the model knows it. */
  shown: string;
  /** `unwatched`: unreadable, not text any more, or too large to be compared. */
  state: "text" | "gone" | "unwatched";
  /** sha-256 of the bytes. */
  version: string;
  total: number;
  mtimeMs: number;
  /** Lines that are as shown, by their number now. */
  known: readonly Range[];
  /** Lines in place of shown ones, by their number now; `to` < `from`: shown lines are missing in front of `from`. */
  changed: readonly Range[];
  /** Numbers under which something was shown, but never what stands there now, if anything does. */
  unseen: readonly Range[];
  /** Rows with anchors. */
  rows(from: number, to: number): string[];
  /** Texts for an observation; the bytes they are of are kept. */
  texts(from: number, to: number): string[];
}

/** Tokens of everything but Content. */
const STATE_TOKENS = 600;
/** Ranges that are named of a file. */
const MAX_RANGES = 8;
/** The files that are to be looked at, the one shown last first. */
export function shownFiles(
  records: readonly SessionRecord[],
  history: History,
  placement: FilesPlacement,
): ShownFile[] {
  const files = new Map<string, Observation[]>();
  const add = (observations: readonly Observation[] = []) => {
    for (let i = observations.length - 1; i >= 0; i--) {
      const observation = observations[i] as Observation;
      if (observation.kind === "search" || observation.kind === "state") continue;
      const shown = files.get(observation.path);
      if (shown) shown.push(observation);
      else files.set(observation.path, [observation]);
    }
  };
  // In the tail stands what was shown at any time; inline only what the model still sees somewhere.
  const from = placement === "tail" ? 0 : history.from;
  for (let i = records.length - 1; i >= from; i--) {
    const record = records[i];
    if (record?.type !== "result") continue;
    if (placement === "inline" && history.folded.has(record.tr)) continue;
    add(record.observations);
  }
  if (placement === "inline") add(history.compact?.observations);
  return [...files].map(([path, shown]) => ({ path, shown }));
}

/** FILE STATE as the model sees it, "" when there is nothing to say, and the lines that it shows. */
export function fileState(
  history: History,
  board: Board,
  { files, placement, window }: {
    files: readonly FileNow[];
    placement: FilesPlacement;
    window: number | null;
  },
): { text: string; shown: Observation[] } {
  const facts = factsOf(history);
  const content = contentOf(files, placement, window, history.records);
  const focus = focusOf(board);
  const names = new Map(files.map(({ path, shown }) => [path, shown]));
  const edits = editLines(facts, (path) => names.get(path) ?? path);
  // In the order in which they are given up where there is no room.
  const blocks = {
    events: block("Recent file events:", eventLines(facts, history)),
    edits: block("Recent edits:", edits),
    files: filesBlock(files, placement, facts),
    focus: focus === null ? "" : `Current focus: ${focus}`,
    check: block("Check status:", checkLines(facts)),
    errors: block("Recent tool errors:", errorLines(facts)),
  };
  for (const name of ["events", "edits", "files", "focus", "check"] as const) {
    while (tokensOf(blocks) > STATE_TOKENS && blocks[name] !== "") {
      blocks[name] = shorter(blocks[name], name === "files" ? UNNAMED : "more");
    }
  }
  const parts = [
    blocks.focus,
    blocks.files,
    blocks.events,
    blocks.edits,
    blocks.check,
    blocks.errors,
    content.text,
  ].filter(Boolean);
  if (parts.length === 0) return { text: "", shown: [] };
  return { text: [INTRO, ...parts].join("\n\n"), shown: content.shown };
}

const INTRO =
  "--- FILE STATE ---\nTrue now of the files you have seen; where older results differ, this holds.";
/** Files that there was no room for: what is not named must not pass for what it was. */
const UNNAMED = "more that differ; Read before you rely on them";

function tokensOf(blocks: Record<string, string>): number {
  return Object.values(blocks).reduce((sum, text) => sum + estimateTokens(text), 0);
}

/** Without its last line, but with how many there are without it; "" when even that is all of it. */
function shorter(text: string, more: string): string {
  const lines = text.split("\n");
  const [, n = "0"] = /^- … (\d+) more/.exec(lines.at(-1) ?? "") ?? [];
  const left = n === "0" ? lines.slice(0, -1) : lines.slice(0, -2);
  if (left.length < 1 || (left.length === 1 && more !== UNNAMED)) return "";
  return [...left, `- … ${Number(n) + 1} ${more}`].join("\n");
}

/**
 * Ranges and their state. Inline, only what is not as it was shown: all else stands in the results, and
 * naming it anew in each request would cost more than it tells.
 */
function filesBlock(
  files: readonly FileNow[],
  placement: FilesPlacement,
  facts: FileFacts,
): string {
  const isInline = placement === "inline";
  const listed = isInline ? files.filter((file) => !isAsShown(file)) : files;
  if (listed.length === 0) return files.length === 0 ? "" : "Files: all as they were shown.";
  // What differs most stands first: the last lines are the first to be given up.
  const rank = ({ state, changed }: FileNow) => state !== "text" ? 0 : changed.length > 0 ? 1 : 2;
  const sorted = isInline ? listed.toSorted((a, b) => rank(a) - rank(b)) : listed;
  const lines = sorted.slice(0, MAX_FILES).map((file) =>
    `${file.shown} ${rangesOf(file, placement, facts)}`
  );
  const more = listed.length - lines.length;
  if (more > 0) lines.push(`… ${more} ${UNNAMED}`);
  return block(isInline ? "Files (what is not named is as it was shown):" : "Files:", lines);
}

/** Does each number hold the line that it was last shown with, and is nothing missing? */
function isAsShown({ state, known, changed, unseen }: FileNow): boolean {
  return state === "text" && changed.length === 0 && unseen.length === 0 &&
    known.every(({ shift }) => shift === 0);
}

/** `1:19 current, 20:24 changed by tr.7, 25:82 moved +2`; inline without those that are current. */
function rangesOf(file: FileNow, placement: FilesPlacement, facts: FileFacts): string {
  const { state, total, known, changed, unseen } = file;
  if (state === "gone") return "gone";
  if (state === "unwatched") return "not compared (too large, or no text any more)";
  if (total === 0) return "empty";
  const isInline = placement === "inline";
  const by = changed.length === 0 ? "" : ` by ${whoChanged(file, facts)}`;
  const parts = [
    ...movedAsOne(known).filter(({ shifts: [least] }) => !isInline || least !== 0).map((
      { from, to, shifts: [least, most] },
    ) => ({
      from,
      text: `${from}:${to} ${
        least === 0
          ? "current"
          : `moved ${signed(least)}${least === most ? "" : ` to ${signed(most)}`}`
      }`,
    })),
    ...changed.map(({ from, to }) => ({
      from,
      text: to < from ? `lines before ${from} removed${by}` : `${from}:${to} changed${by}`,
    })),
    ...unseen.filter(({ from }) => isInline && from <= total).map(({ from, to }) => ({
      from,
      text: `${from}:${to} not seen yet`,
    })),
  ].sort((a, b) => a.from - b.from).map(({ text }) => text);
  const more = parts.length - MAX_RANGES;
  return [
    ...parts.slice(0, MAX_RANGES),
    ...(more > 0 ? [`… ${more} more ranges`] : []),
    ...(unseen.some(({ to }) => to > total) ? [`ends at ${total}`] : []),
  ].join(", ") || "nothing of what was shown";
}

/** Known ranges, those that moved and touch as one: by how much each moved matters little. */
function movedAsOne(known: readonly Range[]) {
  const out: { from: number; to: number; shifts: [least: number, most: number] }[] = [];
  for (const { from, to, shift } of known) {
    const last = out.at(-1);
    const isOne = last?.to === from - 1 && (last.shifts[0] === 0) === (shift === 0);
    if (last && isOne) {
      last.to = to;
      last.shifts = [Math.min(last.shifts[0], shift), Math.max(last.shifts[1], shift)];
    } else out.push({ from, to, shifts: [shift, shift] });
  }
  return out;
}

function signed(n: number): string {
  return n > 0 ? `+${n}` : `${n}`;
}
