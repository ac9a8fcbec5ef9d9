// A batch is the set of calls in one reply. Neighbouring calls whose tool says they are safe run
// together, at most four at a time; any other runs alone, in order; results are recorded in call order.

import type { RecordedCall } from "../session/records.ts";
import { tellHooks } from "./hooks.ts";
import {
  heedHooks,
  hookCall,
  invoke,
  type InvokeEnv,
  NOT_RUN,
  type Outcome,
  plain,
  prepare,
  type Prepared,
} from "./invoke.ts";
import { append } from "./session.ts";

const MAX_PARALLEL = 4;

/** A recorded outcome with its call. */
export interface Finished {
  prepared: Prepared;
  outcome: Outcome;
}

/** Something to add to a result before it is recorded (the repeat guard's note), or "". */
export type Annotate = (prepared: Prepared, outcome: Outcome) => string;

/** Runs the calls; each gets exactly one recorded result, also when the turn is interrupted. */
export async function runBatch(
  calls: RecordedCall[],
  env: InvokeEnv,
  annotate: Annotate,
): Promise<Finished[]> {
  const prepared: Prepared[] = [];
  for (const call of calls) {
    const item = await prepare(call, env);
    prepared.push(isPlanned(item) ? await heedHooks(item, env) : item);
  }
  const states = await beginBatches(prepared);
  const finished: Finished[] = [];
  let refused = false;
  /** Asked just before the call would run; not for one that will not. */
  const heed = (item: Prepared) =>
    isPlanned(item) || refused || env.signal.aborted ? item : heedHooks(item, env);
  for await (const group of groups(prepared, heed)) {
    for (const { call, tr, title, tool } of group) {
      env.emit({
        type: "call_start",
        call: call.id,
        tr,
        tool: tool?.name ?? call.name,
        title,
        args: call.args,
      });
    }
    const outcomes = await Promise.all(group.map((item) => {
      if (env.signal.aborted) return { ...plain("interrupted", NOT_RUN), ms: 0 };
      if (refused) return { ...plain("skipped", SKIPPED), ms: 0 };
      return runOne(item, states, env);
    }));
    for (const [i, outcome] of outcomes.entries()) {
      const item = group[i] as Prepared;
      outcome.text += annotate(item, outcome);
      record(item, outcome, env);
      await tellAfter(item, outcome, env);
      finished.push({ prepared: item, outcome });
      refused ||= outcome.refusedByUser === true;
    }
  }
  return finished;
}

/** Are its calls planned together before the batch? Then hooks must have spoken by then. */
const isPlanned = ({ tool }: Prepared) => tool?.beginBatch !== undefined;

const SKIPPED = "Skipped: an earlier call in this batch was refused";

type BatchStates = Map<object, { state: unknown } | { error: unknown }>;

/** Lets each tool that plans ahead see all its calls of the batch. */
async function beginBatches(prepared: Prepared[]): Promise<BatchStates> {
  const states: BatchStates = new Map();
  for (const { tool, ctx } of prepared.filter((item) => item.tool !== null)) {
    if (!tool.beginBatch || states.has(tool)) continue;
    const inputs = prepared.flatMap((item) => item.tool === tool ? [item.input] : []);
    try {
      states.set(tool, { state: await tool.beginBatch(inputs, ctx) });
    } catch (error) {
      states.set(tool, { error });
    }
  }
  return states;
}

async function runOne(item: Prepared, states: BatchStates, env: InvokeEnv): Promise<Outcome> {
  const begun = item.tool && states.get(item.tool);
  if (begun && "error" in begun) {
    const why = begun.error instanceof Error ? begun.error.message : String(begun.error);
    return { ...plain("error", `${why} Nothing was done.`), ms: 0 };
  }
  return await invoke(item, begun?.state, env);
}

/** Runs of neighbouring safe calls (at most four), and single calls, after `heed` of each. */
async function* groups(
  prepared: Prepared[],
  heed: (item: Prepared) => Prepared | Promise<Prepared>,
): AsyncGenerator<Prepared[]> {
  let run: Prepared[] = [];
  for (const next of prepared) {
    const fits = isSafe(next) && run.length < MAX_PARALLEL;
    if (!fits && run.length > 0) {
      yield run;
      run = [];
    }
    const item = await heed(next);
    if (isSafe(next) && isSafe(item)) {
      run.push(item);
      continue;
    }
    if (run.length > 0) yield run; // other arguments made it unsafe
    run = [];
    yield [item];
  }
  if (run.length > 0) yield run;
}

/** Tells the hooks what came of a call; they have no say in it any more. */
async function tellAfter(item: Prepared, outcome: Outcome, env: InvokeEnv): Promise<void> {
  const { hooks, session } = env;
  if (!hooks) return;
  const { status, text, changes } = outcome;
  const about = { call: hookCall(item, env), result: { status, text } };
  await tellHooks("tool.after", about, session, hooks, env);
  if (changes.length === 0) return;
  const what = { ...about, changes: changes.map(({ path, kind }) => ({ path, kind })) };
  await tellHooks("edit.after", what, session, hooks, env);
}

function isSafe(item: Prepared): boolean {
  try {
    return item.tool !== null && item.tool.isConcurrencySafe(item.input) === true;
  } catch {
    return false;
  }
}

function record(item: Prepared, outcome: Outcome, env: InvokeEnv): void {
  const { session, turn, step } = env;
  const { call, tr, title } = item;
  const tool = item.tool?.name ?? call.name;
  if (outcome.asked) {
    const { request, answer } = outcome.asked;
    const { effects, preview, scope } = request;
    append(session, { type: "ask", turn, step, call: call.id, effects, preview });
    append(session, {
      type: "answer",
      turn,
      step,
      call: call.id,
      decision: answer.decision,
      ...(answer.reason === undefined ? {} : { reason: answer.reason }),
      ...(answer.remember ? { remembered: scope } : {}),
    });
  }
  for (const change of outcome.changes) {
    append(session, { type: "change", turn, step, call: call.id, ...change });
  }
  if (outcome.note) {
    append(session, { ...outcome.note, type: "note", turn, step, call: call.id });
  }
  const { status, text, spill, observations, images, ran, ms } = outcome;
  append(session, {
    type: "result",
    turn,
    step,
    call: call.id,
    tr,
    tool,
    status,
    header: `${tool} ${title}`.trim(),
    text,
    ...(spill === undefined ? {} : { spill }),
    ...(observations.length === 0 ? {} : { observations }),
    ...(images.length === 0 ? {} : { images }),
    ...(ran === undefined ? {} : { ran }),
    ms,
  });
  for (const loaded of outcome.loaded ?? []) {
    append(session, { type: "loaded", turn, step, ...loaded, in: tr });
  }
  const { summary, display } = outcome;
  env.emit({
    type: "call_end",
    call: call.id,
    tr,
    tool,
    status,
    summary,
    text,
    ...(display === undefined ? {} : { display }),
    ms,
  });
}
