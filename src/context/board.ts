// The board: what the model noted for itself with Note, a projection of the note records. A blackboard
// and nothing more: no state machine, no gate. It stands as Memory in the tail of every request.

import type { NoteFields, SessionRecord } from "../session/records.ts";
import { estimateTokens } from "./tokens.ts";

/** Tokens that all of the board may have. */
export const BOARD_TOKENS = 600;

export type Mark = "[ ]" | "[~]" | "[x]" | "[-]";

export interface PlanItem {
  /** `[ ]` open, `[~]` under way, `[x]` done, `[-]` given up. */
  mark: Mark;
  text: string;
}

export interface Board {
  readonly goal: string;
  readonly plan: readonly PlanItem[];
  readonly known: readonly string[];
  readonly check: string;
}

export const EMPTY_BOARD: Board = { goal: "", plan: [], known: [], check: "" };

/** The board after all notes. */
export function boardOf(records: readonly SessionRecord[]): Board {
  let board = EMPTY_BOARD;
  for (const record of records) if (record.type === "note") board = noted(board, record);
  return board;
}

/** The board after one note; the board itself is not changed. */
export function noted(board: Board, note: NoteFields): Board {
  const known = new Map(board.known.map((fact) => [key(fact), fact]));
  for (const item of note.known ?? []) {
    const { fact, isStrike } = knownItem(item);
    if (fact === "") continue;
    const [struck, ...others] = isStrike ? struckKeys(fact, known) : [];
    if (struck !== undefined && others.length === 0) known.delete(struck);
    if (!isStrike && !known.has(key(fact))) known.set(key(fact), fact);
  }
  return {
    goal: note.goal === undefined ? board.goal : line(note.goal),
    plan: note.plan === undefined ? board.plan : note.plan.map(planItem).filter(({ text }) => text),
    known: [...known.values()],
    check: note.check === undefined ? board.check : line(note.check),
  };
}

/** An item of `known`: a fact, or `[-] fact`, which strikes one out. */
export function knownItem(item: string): { fact: string; isStrike: boolean } {
  const [, strike, fact = ""] = /^(?:[-*] )*(\[-\])? ?(?:[-*] )*(.*)$/.exec(line(item)) ?? [];
  return { fact, isStrike: strike !== undefined };
}

/** The facts of a board that `[-] text` could mean; only where there is one is it struck out. */
export function struckBy(text: string, { known }: Board): string[] {
  const facts = new Map(known.map((fact) => [key(fact), fact]));
  return struckKeys(text, facts).map((fact) => facts.get(fact) ?? "");
}

/** The fact itself, else those that begin so: repeating a long one would cost its tokens again. */
function struckKeys(text: string, known: ReadonlyMap<string, string>): string[] {
  const start = key(text);
  return known.has(start) ? [start] : [...known.keys()].filter((fact) => fact.startsWith(start));
}

/** The first item of the plan that is not over, preferably one under way. */
export function focusOf({ plan }: Board): string | null {
  const item = plan.find(({ mark }) => mark === "[~]") ?? plan.find(({ mark }) => mark === "[ ]");
  return item?.text ?? null;
}

/** Memory as the model sees it; empty fields are left out. `today` is a local date, `YYYY-MM-DD`. */
export function memoryText(board: Board, today: string): string {
  const lines = ["--- Memory ---"];
  if (board.goal !== "") lines.push(`Goal: ${board.goal}`);
  if (board.plan.length > 0) {
    lines.push("Plan:", ...board.plan.map(({ mark, text }) => `- ${mark} ${text}`));
  }
  if (board.known.length > 0) lines.push("Known:", ...board.known.map((fact) => `- ${fact}`));
  if (board.check !== "") lines.push(`Check: ${board.check}`);
  return [...lines, `Date: ${today}`].join("\n");
}

/** Estimated tokens of the board. */
export function boardTokens(board: Board): number {
  return estimateTokens(memoryText(board, "2026-01-01"));
}

function planItem(item: string): PlanItem {
  const [, mark = " ", text = ""] =
    /^(?:[-*] |\d+[.)] )*(?:\[([ xX~-])\])? ?(.*)$/.exec(line(item)) ?? [];
  return { mark: `[${mark.toLowerCase()}]` as Mark, text };
}

/** One line of visible text: a note cannot forge another field, nor steer the terminal that shows it. */
function line(text: string): string {
  return text.toWellFormed().replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
}

/** What two tellings of a fact have in common: letters in any case, final dots or none. */
function key(fact: string): string {
  let end = fact.length;
  while (end > 0 && ".… ".includes(fact.charAt(end - 1))) end--;
  return fact.slice(0, end || fact.length).toLowerCase();
}
