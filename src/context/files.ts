// FILE STATE: what is true now of the files that the model has seen, so that it need not infer it from
// old results. Computed from the records and the view of the disk at every request, never kept, never
// scraped from text. Here: which facts are said, in which order, within which budget.

import type { NoteRecord, Observation, ResultRecord, SessionRecord } from "../session/records.ts";
import type { Board } from "./board.ts";
import { focusOf } from "./board.ts";
import { type History, visible } from "./history.ts";
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
  /** Rows with anchors. */
  rows(from: number, to: number): string[];
  /** Texts for an observation; the bytes they are of are kept. */
  texts(from: number, to: number): string[];
}

/** Tokens of everything but Content. */
const STATE_TOKENS = 600;
/** Tokens of Content: inline, and as a share of the window in the tail. */
const INLINE_TOKENS = 1500;
const TAIL_SHARE = 0.25;
const USUAL_WINDOW = 128_000;
const MAX_FILES = 20;
const MAX_EVENTS = 10;
const MAX_EDITS = 8;
const MAX_ERRORS = 5;
const MAX_CHECKS = 3;
/** Files of prose: an edit of them demands no check. */
const PROSE =
  /\.(?:md|mdx|markdown|txt|rst|adoc|tex|org|log)$|(?:^|\/)(?:LICENSE|NOTICE|AUTHORS|CHANGELOG)[^/]*$/i;

/** The files that are to be looked at, the one shown last first. */
export function shownFiles(
  records: readonly SessionRecord[],
  history: History,
  placement: FilesPlacement,
): ShownFile[] {
  const files = new Map<string, Observation[]>();
  const add = (observation: Observation) => {
    if (observation.kind === "search" || observation.kind === "state") return;
    const shown = files.get(observation.path) ?? [];
    shown.unshift(observation);
    files.delete(observation.path); // the order is that of the last showing
    files.set(observation.path, shown);
  };
  // In the tail stands what was shown at any time; inline only what the model still sees somewhere.
  const from = placement === "tail" ? 0 : history.from;
  if (placement === "inline") history.compact?.observations?.forEach(add);
  for (let i = from; i < records.length; i++) {
    const record = records[i];
    if (record?.type !== "result") continue;
    if (placement === "inline" && history.folded.has(record.tr)) continue;
    record.observations?.forEach(add);
  }
  return [...files].reverse().map(([path, shown]) => ({ path, shown }));
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
  const facts = factsOf(history, placement);
  const budget = placement === "inline"
    ? INLINE_TOKENS
    : Math.floor((window ?? USUAL_WINDOW) * TAIL_SHARE);
  const content = contentOf(files, placement, budget);
  const focus = focusOf(board);
  // In the order in which they are given up where there is no room.
  const blocks = {
    events: block("Recent file events:", facts.events.slice(-MAX_EVENTS)),
    edits: block("Recent edits:", facts.edits.slice(-MAX_EDITS).map(({ line }) => line)),
    files: block("Files:", fileLines(files, facts)),
    focus: focus === null ? "" : `Current focus: ${focus}`,
    check: block("Check status:", checkLines(facts)),
    errors: block("Recent tool errors:", facts.errors.slice(-MAX_ERRORS)),
  };
  for (const name of ["events", "edits", "files", "focus", "check"] as const) {
    while (tokensOf(blocks) > STATE_TOKENS && blocks[name] !== "") {
      blocks[name] = shorter(blocks[name]);
    }
  }
  const { focus: first, files: known, events, edits, check, errors } = blocks;
  const parts = [first, known, events, edits, check, errors, content.text].filter(Boolean);
  if (parts.length === 0) return { text: "", shown: [] };
  return { text: [INTRO, ...parts].join("\n\n"), shown: content.shown };
}

const INTRO =
  "--- FILE STATE ---\nTrue now of the files you have seen; where older results differ, this holds.";

function block(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? "" : [title, ...lines.map((line) => `- ${line}`)].join("\n");
}

function tokensOf(blocks: Record<string, string>): number {
  return Object.values(blocks).reduce((sum, text) => sum + estimateTokens(text), 0);
}

/** Without its last line, or with how many more there are; "" when only the title is left. */
function shorter(text: string): string {
  const lines = text.split("\n");
  const [, n = "0"] = /^- … (\d+) more$/.exec(lines.at(-1) ?? "") ?? [];
  const left = n === "0" ? lines.slice(0, -1) : lines.slice(0, -2);
  if (left.length <= 1) return "";
  return [...left, `- … ${Number(n) + 1} more`].join("\n");
}

/** What the records say beside the content of files. */
interface Facts {
  events: string[];
  edits: { line: string; path: string; isProse: boolean }[];
  errors: string[];
  /** Commands that ran, with when. */
  ran: { line: string; tr: string; from: number; to: number }[];
  /** Index into `ran` as it was when code was edited last; -1: no code was edited. */
  lastEdit: number;
  /** The newest Note(check) behind the last edit of code. */
  check: string;
  /** Versions that edits of ours made. */
  ours: ReadonlySet<string>;
}

function factsOf(history: History, placement: FilesPlacement): Facts {
  const facts: Facts = {
    events: [],
    edits: [],
    errors: [],
    ran: [],
    lastEdit: -1,
    check: "",
    ours: new Set(),
  };
  const ours = facts.ours as Set<string>;
  let turn = 0;
  for (const record of placement === "tail" ? history.records : visible(history)) {
    if (record.type === "user") turn = record.turn;
    if (record.type === "note") noteCheck(record, facts);
    if (record.type === "change" && record.after !== null) ours.add(record.after);
    if (record.type === "result") resultFacts(record, facts);
  }
  if (turn > 0) {
    const current = [...visible(history)].filter((record): record is ResultRecord =>
      record.type === "result" && record.turn === turn && record.status === "error"
    );
    facts.errors = current.map(({ tr, header, text }) => oneLine(`${tr} ${header}: ${text}`, 200));
  }
  return facts;
}

function noteCheck({ check }: NoteRecord, facts: Facts): void {
  if (check !== undefined) facts.check = check;
}

function resultFacts(
  { tr, header, status, observations = [], ran, t, ms }: ResultRecord,
  facts: Facts,
): void {
  if (ran) {
    const to = Date.parse(t);
    const how = ran.exit === null ? "ended by a signal" : `exit ${ran.exit}`;
    const line = oneLine(`${tr} ${ran.command}`, 120) + `: ${how} at ${t.slice(11, 19)}Z`;
    facts.ran.push({ line, tr, from: to - ms, to });
  }
  if (status !== "ok") return;
  const edited = observations.filter(({ kind }) => kind === "edit");
  for (const { path } of edited) {
    const isProse = PROSE.test(path);
    facts.edits.push({ line: oneLine(`${tr} ${header}`, 160), path, isProse });
    if (isProse) continue;
    facts.lastEdit = facts.ran.length;
    facts.check = "";
  }
  if (edited.length === 0 && observations.some(({ kind }) => kind === "read")) {
    facts.events.push(oneLine(`${tr} ${header}`, 160));
  }
}

/** Whether code was checked since it was edited last, and what speaks for it. */
function checkLines({ lastEdit, check, ran }: Facts): string[] {
  if (lastEdit === -1) return [];
  const evidence = ran.slice(lastEdit).slice(-MAX_CHECKS).map(({ line }) => `ran since: ${line}`);
  return [
    check === ""
      ? "Code changed since the last check. Run one or say in the final answer that none was run."
      : `Noted: ${check}`,
    ...evidence,
  ];
}

/** `src/a.ts 1:19 current, 20:24 changed by tr.7, 25:82 moved +2`. */
function fileLines(files: readonly FileNow[], facts: Facts): string[] {
  const lines = files.slice(0, MAX_FILES).map((file) => {
    const { shown, state, known, changed } = file;
    if (state === "gone") return `${shown} gone`;
    if (state === "unwatched") return `${shown} not compared (too large, or no text any more)`;
    const by = changed.length === 0 ? "" : ` by ${whoChanged(file, facts)}`;
    const parts = [
      ...known.map(({ from, to, shift }) => ({
        from,
        text: `${from}:${to} ${shift === 0 ? "current" : `moved ${shift > 0 ? "+" : ""}${shift}`}`,
      })),
      ...changed.map(({ from, to }) => ({
        from,
        text: to < from ? `lines before ${from} removed${by}` : `${from}:${to} changed${by}`,
      })),
    ].sort((a, b) => a.from - b.from).map(({ text }) => text);
    const more = parts.length > 8 ? `, … ${parts.length - 8} more ranges` : "";
    return `${shown} ${parts.slice(0, 8).join(", ")}${more}` +
      (state === "text" && parts.length === 0 ? "empty" : "");
  });
  const more = files.length - lines.length;
  return more > 0 ? [...lines, `… ${more} more`] : lines;
}

/** A command is named when the file was last written while it ran. */
function whoChanged({ version, mtimeMs }: FileNow, { ours, ran }: Facts): string {
  if (ours.has(version)) return "an edit of yours";
  const command = ran.findLast(({ from, to }) => mtimeMs >= from - 50 && mtimeMs <= to + 50);
  return command ? command.tr : "someone else";
}

function contentOf(
  files: readonly FileNow[],
  placement: FilesPlacement,
  budget: number,
): { text: string; shown: Observation[] } {
  const rows: string[] = [];
  const omitted: string[] = [];
  const shown: Observation[] = [];
  let left = budget;
  for (const file of files) {
    const ranges = placement === "inline" ? file.changed : joined(file);
    const kept: [number, number][] = [];
    for (const { from, to } of ranges.filter(({ from, to }) => to >= from)) {
      const part = file.rows(from, to);
      const title = `@@ ${file.shown} ${from}:${to}`;
      const cost = estimateTokens([title, ...part].join("\n"));
      if (cost > left) {
        omitted.push(`${file.shown} ${from}:${to}`);
        continue;
      }
      left -= cost;
      rows.push(title, ...part);
      kept.push([from, to]);
    }
    if (kept.length === 0) continue;
    const { path, version, total } = file;
    const texts = kept.map(([from, to]) => file.texts(from, to));
    shown.push({ path, version, kind: "state", total, ranges: kept, texts });
  }
  const title = placement === "inline"
    ? "Content: what changed since you were shown it (LINE:HASH|text, anchors for Edit)"
    : "Content (LINE:HASH|text, anchors for Edit)";
  const parts = [
    rows.length === 0 ? "" : [title, ...rows].join("\n"),
    block(
      placement === "inline"
        ? "Omitted, changed too; Read before you rely on them:"
        : "Omitted content; Read shows it:",
      omitted.slice(0, MAX_FILES),
    ),
  ];
  return { text: parts.filter(Boolean).join("\n\n"), shown };
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

function oneLine(text: string, limit: number): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= limit
    ? line
    : `${line.slice(0, limit - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
