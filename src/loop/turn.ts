// A turn: from the user's input until a reply has no call, or a limit, a failure or the user ends it.
// Records in, events out; what the messages look like is context/compose.ts, what a call does is
// invoke.ts. Nothing here knows a terminal, a file or a particular provider.

import type { Host } from "../host/host.ts";
import type { FilesPlacement } from "../context/files.ts";
import type { Knowledge } from "../knowledge/find.ts";
import type { Policy } from "../permission/policy.ts";
import type { Hooks } from "../plugins/hooks.ts";
import type { Prices } from "../provider/profiles.ts";
import type { Provider, ReasoningLevel } from "../provider/provider.ts";
import type {
  EndReason,
  NewRecord,
  RecordedCall,
  SessionRecord,
  UserSource,
} from "../session/records.ts";
import type { ToolEntry, ToolLimits } from "../tools/tool.ts";
import { runBatch } from "./batch.ts";
import { channel } from "./channel.ts";
import type { AgentEvent, EventBody } from "./events.ts";
import type { Ask } from "./permit.ts";
import { beginSession, countUsed, refusal, submit, tellHooks } from "./hooks.ts";
import { say, showRules, skillsNamed } from "./knowledge.ts";
import { limitReached, type Spent, type TurnLimits } from "./limits.ts";
import { nextReply } from "./next-reply.ts";
import { RepeatGuard } from "./repeat.ts";
import type { CompletedReply } from "./reply.ts";
import { append, type Session } from "./session.ts";

/** The model that answers, with what is known of it. */
export interface ModelChoice {
  provider: Provider;
  model: string;
  reasoning?: ReasoningLevel;
  /** Tokens that fit, when known. */
  window: number | null;
  prices: Prices | null;
}

/** Text typed while a turn runs: read before each request, taken out when that request succeeded. */
export interface Queue {
  peek(): readonly string[];
  /** Removes the first `count`. */
  drop(count: number): void;
}

export interface TurnDeps {
  model: ModelChoice;
  tools: ReadonlyMap<string, ToolEntry>;
  host: Host;
  policy: Policy;
  limits: TurnLimits;
  toolLimits: ToolLimits;
  /** System prompt. */
  system: string;
  /** Where current file content stands in a request. */
  files: FilesPlacement;
  /** How long a summary may take; milliseconds, default 180,000. */
  summaryMs?: number;
  /** Rules and skills that may enter the context. */
  knowledge?: Knowledge;
  /** What plugins have a say in. */
  hooks?: Hooks;
  /** Absent when nobody can answer. */
  ask?: Ask;
  queue?: Queue;
  /** Aborting it interrupts the turn. */
  signal: AbortSignal;
}

export interface UserInput {
  text: string;
  source: UserSource;
}

/** Runs one turn. The stream ends with `turn_end`; only a broken session file makes it throw. */
export function turn(
  session: Session,
  input: UserInput,
  deps: TurnDeps,
): AsyncIterable<AgentEvent> {
  const events = channel<AgentEvent>();
  runTurn(session, input, deps, (event) => events.push(event)).then(
    () => events.close(),
    (error) => events.close(error),
  );
  return events;
}

/** A turn under way. */
export interface Run {
  turn: number;
  step: number;
  /** Aborted by the user or by the wall-time limit. */
  signal: AbortSignal;
  spent: Spent;
  repeat: RepeatGuard;
  /** Text of the last reply that had any. */
  answer: string;
  /** The model was asked to go on after an empty reply. */
  nudged: boolean;
  /** The user was warned that a budget runs out. */
  warned: boolean;
  emit(event: EventBody): void;
  /** Records something, and brings the session up to date with it. */
  append(record: Unplaced<NewRecord>): SessionRecord;
}

/** How a turn ends; `detail` is for people. */
export interface End {
  reason: EndReason;
  detail?: string;
}

async function runTurn(
  session: Session,
  input: UserInput,
  deps: TurnDeps,
  emitEvent: (event: AgentEvent) => void,
): Promise<void> {
  const started = performance.now();
  const { timeout } = deps.limits;
  const deadline = timeout === undefined ? null : AbortSignal.timeout(timeout * 1000);
  const run: Run = {
    turn: ++session.turn,
    step: 0,
    signal: deadline ? AbortSignal.any([deps.signal, deadline]) : deps.signal,
    spent: { steps: 0, tokens: 0, usd: 0 },
    repeat: new RepeatGuard(),
    answer: "",
    nudged: false,
    warned: false,
    emit(body) {
      const { turn, step } = run;
      emitEvent({ session: session.id, turn, step, time: new Date().toISOString(), ...body });
    },
    append(record) {
      return append(session, { turn: run.turn, step: run.step, ...record } as NewRecord);
    },
  };
  const { text, source } = input;
  const { model, provider } = deps.model;
  run.emit({ type: "turn_start", text, source, model, provider: provider.id });
  await beginSession(session, deps, run);
  const { denied, notes } = await submit(text, session, deps, run);
  let end: End;
  if (denied) {
    // Not recorded: what is in the history goes out with the next request.
    end = { reason: "permission", detail: refusal(denied) };
  } else {
    run.append({ type: "user", text, source });
    for (const said of [...await skillsNamed([text], session, deps, run), ...notes]) say(said, run);
    end = await steps(session, deps, run);
  }
  if (end.reason === "interrupt" && deadline?.aborted && !deps.signal.aborted) {
    const detail = `Stopped after ${timeout} s: raise it with --timeout, or continue with -c.`;
    end = { reason: "timeout", detail };
  }
  run.append({ type: "end", ...end });
  session.log.sync();
  const used = { reason: end.reason, ...countUsed(session, run.spent, deps.model) };
  await tellHooks("turn.end", { end: used }, session, deps.hooks, run);
  // At a limit the answer says which, after what the model said last.
  const limited = ["steps", "budget", "timeout", "repeat", "permission"].includes(end.reason);
  const answer = [run.answer, limited ? end.detail : ""].filter(Boolean).join("\n\n");
  const ms = Math.round(performance.now() - started);
  run.emit({ type: "turn_end", ...end, answer, steps: run.spent.steps, ms });
}

/** Request, reply, calls, and again, until something ends the turn. */
async function steps(session: Session, deps: TurnDeps, run: Run): Promise<End> {
  while (true) {
    const limit = limitReached(run.spent, deps.limits);
    if (limit) return { reason: limit.reason, detail: limit.message };
    run.step++;
    const reply = await nextReply(session, deps, run);
    if ("reason" in reply) return reply;
    if (reply.calls.length === 0) {
      const end = afterText(reply, deps, run);
      if (end) return end;
      continue;
    }
    if (reply.finish !== "tool_calls") {
      for (const call of reply.calls) skipCut(call, reply.finish, session, run);
      continue;
    }
    const finished = await runBatch(
      reply.calls,
      { ...deps, limits: deps.toolLimits, session, ...run },
      (prepared, outcome) => run.repeat.note(prepared, outcome),
    );
    showRules(finished, session, deps, run);
    if (run.signal.aborted) return { reason: "interrupt" };
    if (run.repeat.stuck && !await mayGoOn(deps, run)) {
      const detail = "Stopped: the model made the same calls with the same results five times.";
      return { reason: "repeat", detail };
    }
  }
}

const NUDGE = "Your last reply was empty. Go on with the task, or give your final answer.";

/** A reply without calls ends the turn, unless it is empty or more was typed meanwhile. */
function afterText(reply: CompletedReply, deps: TurnDeps, run: Run): End | null {
  const cut = { length: "its output limit", content_filter: "the provider's content filter" }[
    reply.finish as string
  ];
  if (cut) run.emit({ type: "warn", message: `the answer was cut off by ${cut}` });
  if (reply.text.trim() !== "") {
    return (deps.queue?.peek().length ?? 0) > 0 ? null : { reason: "done" };
  }
  if (run.nudged) {
    const message = "The model answered nothing, twice.";
    run.emit({ type: "error", message, hint: "Try again, or choose another model with --model." });
    return { reason: "provider", detail: message };
  }
  run.nudged = true;
  run.append({ type: "user", text: NUDGE, source: "nudge" });
  run.emit({ type: "warn", message: "the model answered nothing; asking once more" });
  return null;
}

/** A reply that was cut runs none of its calls, but each gets a result. */
function skipCut(call: RecordedCall, finish: string, session: Session, run: Run): void {
  const why = finish === "length" ? "the output limit" : `the provider (${finish})`;
  const text = `Not run: the reply was cut off by ${why}, so its calls may be incomplete. ` +
    `Send them again, smaller.`;
  const result = { call: call.id, tr: `tr.${++session.results}`, tool: call.name, text, ms: 0 };
  run.append({ type: "result", ...result, status: "skipped", header: call.name });
  run.emit({ type: "call_end", ...result, status: "skipped", summary: text });
}

/** Five identical calls: the person decides; without one the turn ends. */
async function mayGoOn({ ask }: TurnDeps, run: Run): Promise<boolean> {
  run.repeat.reset();
  const preview = "The model made the same calls with the same results five times. Let it go on?";
  const request = {
    call: "",
    tool: "repeat",
    title: "",
    effects: [],
    preview,
    reason: "",
    scope: "",
  };
  return ask !== undefined && (await ask(request, run.signal)).decision === "allow";
}

/** A record before turn and step are put on it. */
export type Unplaced<R> = R extends unknown ? Omit<R, "turn" | "step"> : never;
