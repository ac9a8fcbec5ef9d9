// A question of a plugin to the person: how it is shown, and the meaning of what is typed. Pure. Not here: the
// question whether a call may run (approval.ts), and when a question takes answers (asks.ts).

import type { Answer } from "../../loop/permit.ts";
import type { Question } from "../../tools/tool.ts";
import { visible } from "../text.ts";
import type { Theme } from "../theme.ts";

/** Painted lines: who asks, what, and what can be chosen. */
export function questionBox({ from, text, choices = [] }: Question, theme: Theme): string[] {
  return [
    theme.strong(`${visible(from)} asks:`),
    ...visible(text.trimEnd()).split("\n").map((line) => `  ${line}`),
    ...choices.map((choice, i) => `  ${i + 1}  ${visible(choice).replaceAll("\n", "\\n")}`),
  ];
}

/** The line above the answer. */
export function questionLine({ choices = [] }: Question): string {
  return choices.length > 0 ? `Your answer [1-${choices.length}]` : "Your answer";
}

/** The meaning of an answer; null asks again: with choices only one of them counts. Nothing typed is no answer. */
export function parseReply(typed: string, { choices = [] }: Question): Answer | null {
  const text = typed.trim();
  if (choices.length === 0) {
    return text === "" ? { decision: "deny" } : { decision: "allow", text };
  }
  const chosen = choices[Number(text) - 1] ??
    choices.find((choice) => choice.toLowerCase() === text.toLowerCase());
  return chosen === undefined ? null : { decision: "allow", text: chosen };
}

/** How an answer is noted in the output. */
export function replyLine({ text }: Answer, theme: Theme): string {
  return text === undefined ? theme.warning("  not answered") : theme.good(`  ${visible(text)}`);
}
