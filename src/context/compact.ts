// Compaction: which records a summary can stand in for, what takes their place, and which results of a
// turn can be folded. Pure functions of records; the summary itself is summary.ts, who asks the model and
// appends the records is loop/compact.ts.

import { oneLine } from "../runtime/one-line.ts";
import type { CompactRecord, Observation, SessionRecord, UserRecord } from "../session/records.ts";
import { fitting } from "./file-content.ts";
import type { FileNow } from "./files.ts";
import {
  type History,
  historyOf,
  isUsersWord,
  loadedIn,
  resultHead,
  startOfTurn,
} from "./history.ts";
import { type LISTS, middleOut, type Summary } from "./summary.ts";
import { estimateTokens, USUAL_WINDOW } from "./tokens.ts";

/** Kept free for the answer. */
const RESERVE = 16_000;
/** Of what is left: where compaction sets in, and where folding stops. */
const FULL = 0.85;
const ROOMY = 0.6;
/** Shares of the window: the user's words, the newest finished turn, file content. */
const WORDS_SHARE = 0.2;
const LATEST_SHARE = 0.1;
const FILES_SHARE = 0.1;
/** Steps at the end of a turn that are never folded nor summarised. */
const LAST_STEPS = 8;
/** Tokens of a summary. */
const MAX_SUMMARY = 3000;
/** Tokens of the line that says what a middle left out. */
const MARKER = 20;
/** A user's message that is over the cap keeps this many characters. */
const MIN_WORDS = 300;

/** Where a request is too large, and how large it may be afterwards; estimated tokens. */
export function limitsOf(window: number | null): { full: number; roomy: number } {
  const all = window ?? USUAL_WINDOW;
  const room = all - Math.min(RESERVE, all / 4);
  return { full: room * FULL, roomy: room * ROOMY };
}

/** What a compaction would do. */
export interface Plan {
  /** Id of the last record that is summarised. */
  through: string;
  /** The records that the summary stands in for, without those an earlier one stands in for. */
  old: SessionRecord[];
  previous: CompactRecord | null;
  /** Everything the user said in them and before, in order. */
  words: UserRecord[];
  /** Rules and skills that were loaded in them and before, as they were shown. */
  loaded: string[];
  /** The turn under way, when a part of it is summarised too. */
  openTurn: number | null;
}

/**
 * What can be summarised: the finished turns, but the newest where it is small. Null when that is nothing.
 *
 * @param reach How far it may go: up to the newest finished turn, all finished turns, or also steps of
 * the turn under way (its last eight aside).
 */
export function planCompaction(
  records: readonly SessionRecord[],
  window: number | null,
  reach: "keep latest" | "finished" | "in turn",
): Plan | null {
  const history = historyOf(records);
  const isOpen = records.findLast(({ type }) => type === "user" || type === "end")?.type === "user";
  const current = isOpen ? startOfTurn(records) : records.length;
  let end = current;
  if (reach === "keep latest") end = latestTurn(history, current, window ?? USUAL_WINDOW);
  if (reach === "in turn" && isOpen) end = Math.max(end, startOfLastSteps(records, current));
  const old = records.slice(history.from, end).filter(({ type }) => type !== "header");
  const last = records[end - 1];
  if (!last || !old.some(({ type }) => type === "reply")) return null;
  return {
    through: last.id,
    old,
    previous: history.compact,
    words: records.slice(0, end).filter(isUsersWord),
    loaded: loadedTexts(records, end),
    openTurn: end > current ? records[current]?.turn ?? null : null,
  };
}

function loadedTexts(records: readonly SessionRecord[], end: number): string[] {
  const keys = loadedIn(records);
  return keys.size === 0 ? [] : records.slice(0, end).flatMap((record) => {
    if (record.type === "user" && keys.has(record.id)) return record.text;
    return record.type === "result" && keys.has(record.tr) ? `${record.tr} ${record.text}` : [];
  });
}

/** Where the newest finished turn begins, or `current` when it is too large to be kept. */
function latestTurn({ records, from }: History, current: number, window: number): number {
  const turn = records[current - 1]?.turn;
  let start = current;
  while (start > from && records[start - 1]?.turn === turn) start--;
  const tokens = records.slice(start, current).reduce((sum, record) => sum + tokensOf(record), 0);
  return tokens <= window * LATEST_SHARE ? start : current;
}

/** Index of the reply from which on the last steps of a turn stand. */
function startOfLastSteps(records: readonly SessionRecord[], current: number): number {
  let left = LAST_STEPS;
  for (let i = records.length - 1; i > current; i--) {
    if (records[i]?.type === "reply" && --left === 0) return i;
  }
  return current;
}

/**
 * Keys of results to be folded, oldest first, so that a request of `tokens` fits into `target`; results
 * of the last eight steps never are. Empty when nothing would be gained.
 */
export function planFolds(
  records: readonly SessionRecord[],
  tokens: number,
  target: number,
  ratio: number,
): string[] {
  const { from, folded } = historyOf(records);
  const until = startOfLastSteps(records, startOfTurn(records));
  const loaded = loadedIn(records);
  const keys: string[] = [];
  let left = tokens;
  for (let i = from; i < until && left > target; i++) {
    const record = records[i];
    if (record?.type !== "result" || folded.has(record.tr)) continue;
    if (loaded.has(record.tr)) continue;
    const gain = tokensOf(record) - estimateTokens(resultHead(record)) - 25;
    if (gain <= 25 || record.tr === "-") continue;
    keys.push(record.tr);
    left -= gain * ratio;
  }
  return keys;
}

function tokensOf(record: SessionRecord): number {
  switch (record.type) {
    case "user":
      return estimateTokens(record.text);
    case "reply":
      return estimateTokens(record.text + JSON.stringify(record.calls));
    case "result":
      return estimateTokens(record.text);
    default:
      return 0;
  }
}

/** The messages that take the place of the old history, and the lines of files in them. */
export function replacement(
  plan: Plan,
  summary: Summary,
  files: readonly FileNow[],
  records: readonly SessionRecord[],
  window: number | null,
): { texts: string[]; observations: Observation[] } {
  const all = window ?? USUAL_WINDOW;
  const { rows, shown } = fitting(files, ({ known }) => known, all * FILES_SHARE, "read");
  return {
    texts: [
      summaryText(summary, records),
      wordsText(plan, all * WORDS_SHARE),
      ...(plan.loaded.length === 0 ? [] : [[LOADED, ...plan.loaded].join("\n\n")]),
      ...(rows.length === 0 ? [] : [[FILES, ...rows].join("\n")]),
    ],
    observations: shown,
  };
}

const TITLES: [name: Exclude<typeof LISTS[number], "results">, title: string][] = [
  ["decisions", "Decisions:"],
  ["dead_ends", "Dead ends:"],
  ["constraints", "Constraints:"],
  ["files", "Files:"],
  ["open", "Open:"],
];

function summaryText(summary: Summary, records: readonly SessionRecord[]): string {
  const headers = new Map(
    records.flatMap((record): [string, string][] =>
      record.type === "result" ? [[record.tr, record.header]] : []
    ),
  );
  const parts = [
    middleOut(summary.summary, MAX_SUMMARY),
    ...TITLES.flatMap(([name, title]) =>
      summary[name].length === 0
        ? []
        : [title, middleOut(summary[name].map((item) => `- ${item}`).join("\n"), MAX_SUMMARY / 4)]
    ),
    ...(summary.results.length === 0 ? [] : [
      "Results that Recall shows:",
      ...summary.results.slice(0, 40).map((tr) => `- ${tr} ${oneLine(headers.get(tr) ?? "", 100)}`),
    ]),
  ];
  return ["--- Prior Summary ---", ...parts].join("\n");
}

/** The user's words, verbatim; over the cap the newest are shortened first: the task stands in the oldest. */
function wordsText({ words, openTurn }: Plan, tokens: number): string {
  const texts = words.map(({ text }) => text);
  const size = () => texts.reduce((sum, text) => sum + estimateTokens(text), 0);
  for (let i = texts.length - 1; i >= 0 && size() > tokens; i--) {
    const text = texts[i] as string;
    texts[i] = middleOut(
      text,
      Math.max(MIN_WORDS / 4, estimateTokens(text) - (size() - tokens) - MARKER),
    );
  }
  return [
    "--- The user's words ---",
    "Verbatim, oldest first. What is done is done: do not start it again.",
    ...words.map(({ turn }, i) =>
      `[turn ${turn}${turn === openTurn ? ", under way" : ", done"}] ${texts[i]}`
    ),
  ].join("\n");
}

const LOADED = "--- Loaded before ---\nRules and skills that hold for the rest of the session.";

/** In front of lines of files that were shown and still hold: once more, so that nothing need be read again. */
const FILES =
  "--- Files ---\nWhat you have seen of files, as it is now (LINE:HASH|text, anchors for Edit):";
