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
    const struck = /^\s*\[-\]\s*(.*)$/s.exec(item);
    const fact = line(struck?.[1] ?? item);
    if (fact === "") continue;
    if (struck) known.delete(key(fact));
    else if (!known.has(key(fact))) known.set(key(fact), fact);
  }
  return {
    goal: note.goal === undefined ? board.goal : line(note.goal),
    plan: note.plan === undefined ? board.plan : note.plan.map(planItem).filter(({ text }) => text),
    known: [...known.values()],
    check: note.check === undefined ? board.check : line(note.check),
  };
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
    /^\s*(?:[-*]\s+|\d+[.)]\s+)?(?:\[([ xX~-])\])?\s*(.*)$/s.exec(item) ??
      [];
  return { mark: `[${mark.toLowerCase()}]` as Mark, text: line(text) };
}

/** One line: a note cannot forge another field. */
function line(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

function key(fact: string): string {
  return fact.toLowerCase().replace(/[.\s]+$/, "");
}
