// The tool Note: what the model writes down for itself. It answers with what changed; the board is a
// projection of the note records (context/board.ts), which the loop writes.

import { z } from "zod";
import {
  type Board,
  BOARD_TOKENS,
  boardTokens,
  EMPTY_BOARD,
  knownItem,
  noted,
  struckBy,
} from "../context/board.ts";
import { estimateTokens } from "../context/tokens.ts";
import { clip, count } from "./lines.ts";
import { foldNoteArguments } from "./note-arguments.ts";
import PROMPT from "./note.md" with { type: "text" };
import { defineTool, type ToolContext, ToolError, type ToolOutput } from "./tool.ts";

/** From this share on the model is told how full the board is. */
const NEARLY_FULL = 0.75;
/** Characters of a fact by which it is named. */
const MAX_NAMED = 60;

const input = z.strictObject({
  goal: z.string().optional(),
  plan: z.array(z.string()).optional(),
  known: z.array(z.string()).optional(),
  check: z.string().optional(),
});

type Input = z.infer<typeof input>;

const EXAMPLE: Input = { plan: ["[x] reproduce", "[~] fix"], known: ["tests need PORT=0"] };

export const note = defineTool<Input>({
  name: "Note",
  description: PROMPT.trim(),
  input,
  example: EXAMPLE,
  aliases: {
    objective: "goal",
    todos: "plan",
    todo: "plan",
    steps: "plan",
    tasks: "plan",
    items: "plan",
    facts: "known",
    fact: "known",
    findings: "known",
    notes: "known",
    note: "known",
    checks: "check",
  },
  normalize: foldNoteArguments,
  effects: () => [],
  isConcurrencySafe: () => false, // the order of notes matters
  title: ({ goal, plan, known, check }) =>
    [
      ...(goal === undefined ? [] : ["goal"]),
      ...(plan === undefined ? [] : [`plan ${progress(noted(EMPTY_BOARD, { plan }))}`]),
      ...(known ?? []).map(knownItem).map(({ fact, isStrike }) =>
        `${isStrike ? "-" : "+"}"${clip(fact, 30)}"`
      ),
      ...(check === undefined ? [] : ["check"]),
    ].join(", "),
  run: async (fields, ctx) => run(fields, ctx),
});

function run({ goal, plan, known, check }: Input, { board }: ToolContext): ToolOutput {
  const isEmpty = goal === undefined && plan === undefined && check === undefined &&
    !known?.some((item) => knownItem(item).fact !== "");
  if (isEmpty) {
    throw new ToolError(
      "Note: there is nothing in it to note. Give at least one of goal, plan, known and check, " +
        `for example ${JSON.stringify(EXAMPLE)}`,
    );
  }
  const fields = {
    ...(goal === undefined ? {} : { goal }),
    ...(plan === undefined ? {} : { plan }),
    ...(known === undefined ? {} : { known }),
    ...(check === undefined ? {} : { check }),
  };
  const after = noted(board, fields);
  const tokens = boardTokens(after);
  // A board that is too full already (from another release) may still be made smaller.
  if (tokens > BOARD_TOKENS && tokens >= boardTokens(board)) throw tooFull(board, after);
  const changes = changesOf(board, after);
  const unclear = unclearStrikes(known ?? [], board);
  if (changes.length === 0 && unclear.length > 0) {
    throw new ToolError(`Note: ${unclear.join(" ")} Nothing was written.`);
  }
  const isNew = changes.length > 0;
  const said = isNew ? `Noted: ${changes.join(", ")}.` : "Nothing new: the board says so already.";
  return {
    output: [said, ...unclear, ...fullness(tokens)].join(" "),
    status: isNew ? "ok" : "noop",
    ...(isNew ? { note: fields } : {}),
  };
}

/** What a note changed, e.g. `plan 1/3 done`, `1 fact added`. */
function changesOf(before: Board, after: Board): string[] {
  const added = after.known.filter((fact) => !before.known.includes(fact)).length;
  const struck = before.known.filter((fact) => !after.known.includes(fact)).length;
  const isOtherPlan = JSON.stringify(before.plan) !== JSON.stringify(after.plan);
  return [
    ...(before.goal === after.goal ? [] : ["goal"]),
    ...(isOtherPlan ? [`plan (${progress(after)} done)`] : []),
    ...(added > 0 ? [`${count(added, "fact")} added`] : []),
    ...(struck > 0 ? [`${count(struck, "fact")} struck out`] : []),
    ...(before.check === after.check ? [] : ["check"]),
  ];
}

function progress({ plan }: Board): string {
  return `${plan.filter(({ mark }) => mark === "[x]").length}/${plan.length}`;
}

/** Sentences about `[-]` items that struck nothing out. */
function unclearStrikes(items: readonly string[], before: Board): string[] {
  const faults: string[] = [];
  let board = before;
  for (const item of items) {
    const { fact, isStrike } = knownItem(item);
    const facts = isStrike && fact !== "" ? struckBy(fact, board).length : 1;
    const named = JSON.stringify(clip(fact, MAX_NAMED));
    if (facts === 0) faults.push(`No fact is, or begins with, ${named}: nothing to strike out.`);
    if (facts > 1) {
      faults.push(`${facts} facts begin with ${named}: give more of the one to strike out.`);
    }
    board = noted(board, { known: [item] });
  }
  return faults;
}

function fullness(tokens: number): string[] {
  if (tokens <= BOARD_TOKENS * NEARLY_FULL) return [];
  const percent = Math.round(100 * tokens / BOARD_TOKENS);
  return [`The board is ${percent} % full: strike out what is settled ("[-] fact" in known).`];
}

function tooFull(before: Board, after: Board): ToolError {
  const parts = [
    { name: "goal", text: after.goal, what: "" },
    {
      name: "plan",
      text: after.plan.map(({ mark, text }) => `- ${mark} ${text}`).join("\n"),
      what: ` (${count(after.plan.length, "item")})`,
    },
    {
      name: "known",
      text: after.known.map((fact) => `- ${fact}`).join("\n"),
      what: ` (${count(after.known.length, "fact")})`,
    },
    { name: "check", text: after.check, what: "" },
  ];
  const sizes = parts.filter(({ text }) => text !== "")
    .map(({ name, text, what }) => ({ tokens: estimateTokens(text), said: `${name}${what}` }))
    .toSorted((a, b) => b.tokens - a.tokens)
    .map(({ tokens, said }) => `${said} ${tokens}`);
  const longest = before.known.toSorted((a, b) => b.length - a.length).slice(0, 3)
    .map((fact) => clip(fact, MAX_NAMED));
  const strike = JSON.stringify({ known: [`[-] ${longest[0] ?? "fact"}`] });
  return new ToolError(
    `Note: the board has ${
      boardTokens(before)
    } of ${BOARD_TOKENS} tokens; with this note it would ` +
      `have ${boardTokens(after)}, so nothing of it was written. It would take: ${
        sizes.join(", ")
      }. Send less, or strike facts out in the same note, by their beginning: ${strike}` +
      (longest.length > 1 ? `; the longest: ${longest.map((fact) => `"${fact}"`).join(", ")}` : ""),
  );
}
