// The lines that stand for events, the same in print mode and in the terminal: a call, its result,
// a warning, the end of a turn. Pure: events in, text out, with all untrusted text made visible.

import type { EventBody } from "../loop/events.ts";
import type { EndReason, ResultStatus } from "../session/records.ts";
import type { TurnTally } from "./renderer.ts";
import { visible } from "./text.ts";
import type { Theme } from "./theme.ts";

type EventOf<T extends EventBody["type"]> = Extract<EventBody, { type: T }>;

/** Untrusted text on one line. */
export function oneLine(text: string): string {
  return visible(text.replaceAll(/\s+/g, " ").trim());
}

/** `● Read src/a.ts 1:80` */
export function callLine(call: { tool: string; title: string }, theme: Theme): string {
  return `${theme.accent("●")} ${theme.strong(oneLine(call.tool))} ${oneLine(call.title)}`
    .trimEnd();
}

/** `  └ 12 lines`; `label` names the call where its line does not stand just above. */
export function resultLine(
  result: { status: ResultStatus; summary: string },
  theme: Theme,
  label = "",
): string {
  const word = STATUS_WORDS[result.status];
  const summary = oneLine(result.summary);
  const text = [oneLine(label), word, summary].filter((part) => part !== "").join(": ");
  const paint = STATUS_COLORS[result.status];
  return `  ${theme.faint("└")} ${theme[paint](text === "" ? result.status : text)}`;
}

const STATUS_WORDS: Record<ResultStatus, string> = {
  ok: "",
  noop: "",
  error: "error",
  refused: "refused",
  skipped: "skipped",
  interrupted: "interrupted",
};

const STATUS_COLORS: Record<ResultStatus, "faint" | "bad" | "warning"> = {
  ok: "faint",
  noop: "faint",
  error: "bad",
  refused: "warning",
  skipped: "warning",
  interrupted: "warning",
};

export function warnLine(event: EventOf<"warn">, theme: Theme): string {
  return theme.warning(`warning: ${visible(event.message)}`);
}

/** What happened, and on a second line what to do. */
export function errorLine(event: Omit<EventOf<"error">, "type">, theme: Theme): string {
  const what = theme.bad(`error: ${visible(event.message)}`);
  return event.hint ? `${what}\n  ${visible(event.hint)}` : what;
}

export function retryLine(event: EventOf<"retry">, theme: Theme): string {
  const wait = seconds(event.waitMs);
  return theme.warning(`retrying in ${wait} (attempt ${event.attempt}): ${oneLine(event.reason)}`);
}

/** `loaded: the rules .nanocode/rules/sql.md` */
export function loadedLine({ kind, name }: EventOf<"loaded">, theme: Theme): string {
  const what = { rule: "the rules", skill: "the skill", plugin: "a note of the plugin" }[kind];
  return theme.faint(`loaded: ${what} ${oneLine(name)}`);
}

/** `compacted: 112.0k → 31.0k tokens (summary by the model)` */
export function compactLine(event: EventOf<"compact">, theme: Theme): string {
  const { how, before, after, why } = event;
  const note = how === "model"
    ? "summary by the model"
    : how === "folded"
    ? "old results folded to one line each; Recall shows them"
    : `summary made without the model${why ? `: ${oneLine(why)}` : ""}`;
  const text = `compacted: ${tokens(before)} → ${tokens(after)} tokens (${note})`;
  return how === "mechanical" ? theme.warning(text) : theme.faint(text);
}

/** `done · 3 steps · 12.3k tokens in, 840 out · 80% cached · $0.0123 · 12.3 s` */
export function endLine(tally: TurnTally, theme: Theme): string {
  const { usage, cost, steps, reason, detail, ms } = tally;
  const parts = [`${steps} ${steps === 1 ? "step" : "steps"}`];
  if (usage.input + usage.output > 0) {
    parts.push(`${tokens(usage.input)} tokens in, ${tokens(usage.output)} out`);
    parts.push(`${percent(usage.cached, usage.input)} cached`);
    if (cost !== null) parts.push(dollars(cost));
  }
  parts.push(seconds(ms));
  // A provider's failure was shown as an error already.
  const head = detail && reason !== "done" && reason !== "provider"
    ? oneLine(detail)
    : REASONS[reason];
  const rest = theme.faint(` · ${parts.join(" · ")}`);
  return (reason === "done" ? theme.faint(head) : theme.warning(head)) + rest;
}

/** Why a turn ended, for people. */
const REASONS: Record<EndReason, string> = {
  done: "done",
  steps: "stopped at the step limit",
  budget: "stopped at the budget",
  timeout: "stopped at the time limit",
  interrupt: "interrupted",
  provider: "stopped, the provider failed",
  repeat: "stopped, the same call came again and again",
  permission: "refused by a plugin",
  crash: "stopped by an internal failure",
};

/** `840`, `12.3k`, `1.2M` */
export function tokens(count: number): string {
  if (count < 1000) return String(count);
  return count < 999_950 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1e6).toFixed(1)}M`;
}

export function percent(part: number, whole: number): string {
  return whole > 0 ? `${Math.round(part / whole * 100)}%` : "0%";
}

/** Cents are shown where there are some, else four digits. */
export function dollars(amount: number): string {
  return `$${amount.toFixed(amount >= 1 ? 2 : 4)}`;
}

/** `0.3 s`, `12 s`, `3 min 05 s` */
export function seconds(ms: number): string {
  const total = ms / 1000;
  if (total < 10) return `${total.toFixed(1)} s`;
  const whole = Math.round(total);
  if (whole < 60) return `${whole} s`;
  return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
}
