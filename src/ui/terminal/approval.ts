// The approval box: what a call would do, shown in full before anybody allows it, and the meaning of
// the answer that is typed (spec/security, "Permission"). Pure. Not here: deciding whether to ask
// (permission/), reading the answer (conversation.ts).

import type { Answer, AskRequest } from "../../loop/permit.ts";
import { needsPerson } from "../../permission/grants.ts";
import type { Effect } from "../../session/records.ts";
import { callLine, oneLine } from "../lines.ts";
import { cut, visible, wrap } from "../text.ts";
import { paintDiff, type Theme } from "../theme.ts";
import type { Size } from "./layout.ts";

export interface Box {
  /** Painted lines. */
  lines: string[];
  /** Lines of the preview that are left out; the answer `v` shows them. */
  hidden: number;
}

/** Rows that stay free below a folded box, for the question and the prompt. */
const ROOM_BELOW = 6;

/**
 * The box of a request. A diff longer than the screen is folded, unless `all`; a command is always
 * shown whole.
 */
export function approvalBox(request: AskRequest, theme: Theme, size: Size, all = false): Box {
  const { effects, preview, reason } = request;
  const runs = effects.some(({ kind }) => kind === "exec");
  const head = [callLine(request, theme)];
  const tail = effects.flatMap((effect) => effectLines(effect, preview)).map((line) => `  ${line}`);
  if (reason !== "" && reason !== preview) {
    tail.push(`  ${theme.faint(`asked because: ${oneLine(reason)}`)}`);
  }
  const lines = preview.trim() === "" ? [] : visible(preview.trimEnd()).split("\n");
  const columns = Math.max(1, size.columns - INDENT.length);
  const room = size.rows - ROOM_BELOW - head.length - tail.length;
  const folded = runs || all ? { lines, hidden: 0 } : fold(lines, columns, Math.max(3, room));
  const body = runs ? folded.lines : paintDiff(folded.lines.join("\n"), theme).split("\n");
  const more = folded.hidden > 0
    ? [theme.warning(`… ${folded.hidden} more ${plural(folded.hidden)}; answer v to see all`)]
    : [];
  const middle = lines.length === 0 ? [] : [...body, ...more].map((line) => INDENT + line);
  return { lines: [...head, ...middle, ...tail], hidden: folded.hidden };
}

const INDENT = "  ";

const plural = (count: number) => count === 1 ? "line" : "lines";

/** As many lines as fit into `rows`; a line too long for what is left is cut. */
function fold(lines: string[], columns: number, rows: number): { lines: string[]; hidden: number } {
  const shown: string[] = [];
  let left = rows;
  for (const line of lines) {
    const needed = line.length <= columns
      ? 1
      : wrap(line.slice(0, columns * (left + 1)), columns).length;
    if (needed > left || (needed === left && shown.length < lines.length - 1)) {
      if (shown.length > 0) return { lines: shown, hidden: lines.length - shown.length };
      return { lines: [cut(line, columns * Math.max(1, left - 1))], hidden: lines.length };
    }
    shown.push(line);
    left -= needed;
  }
  return { lines: shown, hidden: 0 };
}

/** What would be touched, by its resolved path. A command that the preview shows is not repeated. */
function effectLines(effect: Effect, preview: string): string[] {
  switch (effect.kind) {
    case "read":
      return [`reads ${visible(effect.path)}`];
    case "write":
      return [`writes ${visible(effect.path)}`];
    case "exec": {
      const where = `runs in ${visible(effect.cwd)}`;
      if (preview.includes(effect.command)) return [where];
      return [`${where}:`, ...visible(effect.command).split("\n").map((line) => INDENT + line)];
    }
    case "net":
      return [`connects to ${visible(effect.host)}`];
    case "spend":
      return [`spends: ${oneLine(effect.what)}`];
    case "trust":
      return [`trusts from now on: ${visible(effect.what)}`];
  }
}

/** The question below the box, and what "always" means here. */
export function approvalQuestion(request: AskRequest, hidden: number): string[] {
  const choice = needsPerson(request.effects) ? "Trust it? [y/N" : "Allow? [Y/n/a";
  const question = `${choice} or reason]${hidden > 0 ? "  v = show all" : ""}`;
  return request.scope === ""
    ? [question]
    : [question, `a = always in this session: ${oneLine(request.scope)}`];
}

/**
 * The meaning of an answer: nothing or yes allows, `a` allows always, no refuses, `v` (where something
 * is hidden) asks to see all; any other text refuses and is the reason. Trust takes a yes: nothing is no,
 * and there is no always.
 */
export function parseAnswer(
  text: string,
  hidden = 0,
  effects: readonly Effect[] = [],
): Answer | "view" {
  const answer = text.trim();
  const trusts = needsPerson(effects);
  switch (answer.toLowerCase()) {
    case "":
      return { decision: trusts ? "deny" : "allow" };
    case "y":
    case "yes":
      return { decision: "allow" };
    case "a":
    case "always":
      if (trusts) break;
      return { decision: "allow", remember: true };
    case "n":
    case "no":
      return { decision: "deny" };
    case "v":
      if (hidden > 0) return "view";
  }
  return { decision: "deny", reason: answer };
}

/** How an answer is noted in the output. */
export function answerLine(answer: Answer, request: AskRequest, theme: Theme): string {
  if (answer.decision === "deny") {
    return theme.warning(answer.reason ? `  refused: ${visible(answer.reason)}` : "  refused");
  }
  if (!answer.remember) return theme.good("  allowed");
  return theme.good(`  allowed, always in this session: ${oneLine(request.scope)}`);
}
