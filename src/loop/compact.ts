// Makes room in the context: old history becomes a summary, and in a turn that alone is too long old
// results are folded. What is cut and how it reads is context/compact.ts; here is when, who is asked, and
// that nothing the summariser does can end a session.

import { limitsOf, type Plan, planCompaction, planFolds, replacement } from "../context/compact.ts";
import {
  mechanicalSummary,
  parseSummary,
  type Summary,
  summaryMessages,
} from "../context/summary.ts";
import type { Denial } from "../plugins/hooks.ts";
import type { CompactRecord } from "../session/records.ts";
import { compactionDenied, refusal, tellHooks } from "./hooks.ts";
import { costOf } from "./limits.ts";
import { fetchReply } from "./reply.ts";
import { type Prepared, requestFor, windowOf } from "./request.ts";
import type { Session } from "./session.ts";
import type { Run, TurnDeps } from "./turn.ts";

/** A summariser that has not answered by then is not waited for; milliseconds. Local models are slow readers. */
const SUMMARY_MS = 180_000;
/** Tokens of a summary's answer. */
const SUMMARY_TOKENS = 4000;
const REFUSED_SHARE = 0.9;

type Steps = Pick<Run, "turn" | "step" | "signal" | "spent" | "warned" | "emit" | "append">;

/**
 * Makes the next request shorter if need be.
 *
 * @param why `full`: only where the estimate says so; `refused`: the provider said it is too long.
 * @returns Whether anything was made shorter, and which plugin denied that.
 */
export async function makeRoom(
  session: Session,
  deps: TurnDeps,
  run: Steps,
  prepared: Prepared,
  why: "full" | "refused",
): Promise<{ isShorter: boolean; denied?: Denial }> {
  const { estimate } = prepared.facts;
  if (why === "refused") learnWindow(session, estimate);
  const window = windowOf(session, deps);
  if (window === null) return { isShorter: false };
  const { full, roomy } = limitsOf(window);
  if (why === "full" && estimate < full) return { isShorter: false };
  let now = prepared;
  let isShorter = false;
  let asked: Promise<Denial | undefined> | undefined;
  // Once, and only where something would be done.
  const denial = () => asked ??= compactionDenied(why, estimate, session, deps, run);
  for (const reach of ["keep latest", "finished", "in turn"] as const) {
    // A turn's own results are folded before any of its steps are summarised.
    if (reach === "in turn") {
      const tr = planFolds(session.log.records, now.facts.estimate, roomy, ratioOf(session));
      if (tr.length > 0 && !await denial()) {
        await fold(session, deps, run, now, tr);
        isShorter = true;
        now = await requestFor(session, deps, []);
      }
    }
    if (now.facts.estimate < (why === "full" ? full : roomy)) break;
    const plan = planCompaction(session.log.records, window, reach);
    if (plan === null || run.signal.aborted || await denial()) continue;
    if (await compact(session, deps, run, now, plan)) {
      isShorter = true;
      now = await requestFor(session, deps, []);
    }
  }
  const denied = await asked;
  if (now.facts.estimate >= full && !session.context.saidFull && !run.signal.aborted) {
    session.context.saidFull = true;
    const size = `the context is full (about ${now.facts.estimate} of ${window} tokens) and`;
    const message = denied
      ? `${size} not compacted. ${refusal(denied)}`
      : `${size} nothing more can be left out; if the model refuses it, start a new session or a larger model`;
    run.emit({ type: "warn", message });
  }
  return { isShorter, ...(denied ? { denied } : {}) };
}

const ratioOf = ({ context }: Session) => context.calibration.ratio;

/** A window is a little less than what was refused. */
function learnWindow({ context }: Session, estimate: number): void {
  const most = Math.floor(estimate * REFUSED_SHARE);
  context.learnedWindow = Math.min(context.learnedWindow ?? Infinity, most);
}

async function fold(
  session: Session,
  deps: TurnDeps,
  run: Steps,
  { facts: { estimate: before } }: Prepared,
  tr: string[],
): Promise<void> {
  const gain = tr.reduce((sum, key) => sum + (session.stored.get(key)?.text.length ?? 0) / 4, 0);
  run.append({ type: "fold", tr });
  const after = Math.max(0, Math.round(before - gain * ratioOf(session)));
  await compacted({ how: "folded", before, after }, session, deps, run);
}

/** Says it to whoever shows it, and to hooks. */
async function compacted(
  what: { how: CompactRecord["by"] | "folded"; before: number; after: number; why?: string },
  session: Session,
  { hooks }: TurnDeps,
  run: Steps,
): Promise<void> {
  run.emit({ type: "compact", ...what });
  const { how, before, after } = what;
  await tellHooks("compact.after", { compacted: { how, before, after } }, session, hooks, run);
}

/** Carries a plan out; false, and nothing recorded, when the request would not be shorter for it. */
export async function compact(
  session: Session,
  deps: TurnDeps,
  run: Steps,
  { facts, files }: Prepared,
  plan: Plan,
): Promise<boolean> {
  const window = windowOf(session, deps);
  const { summary, why } = await summarise(session, deps, run, plan);
  if (run.signal.aborted) return false;
  const { texts, observations } = replacement(
    plan,
    summary,
    deps.files === "tail" ? [] : files,
    session.log.records,
    window,
  );
  const record: Omit<CompactRecord, "v" | "id" | "t" | "turn" | "step"> = {
    type: "compact",
    through: plan.through,
    by: why === undefined ? "model" : "mechanical",
    texts,
    results: summary.results,
    ...(observations.length === 0 ? {} : { observations }),
    tokens: { before: facts.estimate, after: 0 },
  };
  const after = await estimateWith(session, deps, record);
  if (after >= facts.estimate) return false;
  run.append({ ...record, tokens: { before: facts.estimate, after } });
  const said = { how: record.by, before: facts.estimate, after };
  await compacted({ ...said, ...(why === undefined ? {} : { why }) }, session, deps, run);
  return true;
}

/** What the next request would be estimated at with this record. */
export async function estimateWith(
  session: Session,
  deps: TurnDeps,
  record: Omit<CompactRecord, "v" | "id" | "t" | "turn" | "step">,
): Promise<number> {
  const { records } = session.log;
  const tried = { ...records.at(-1), ...record, id: "tried" } as CompactRecord;
  return (await requestFor(session, deps, [], [...records, tried])).facts.estimate;
}

/** The model's summary, or a mechanical one and why. Rejects never. */
async function summarise(
  session: Session,
  deps: TurnDeps,
  run: Steps,
  plan: Plan,
): Promise<{ summary: Summary; why?: string }> {
  const { model } = deps;
  const ms = deps.summaryMs ?? SUMMARY_MS;
  const patience = AbortSignal.timeout(ms);
  const outcome = await fetchReply(
    {
      model: model.model,
      messages: summaryMessages(plan, windowOf(session, deps)),
      tools: [],
      maxTokens: SUMMARY_TOKENS,
    },
    model.provider,
    AbortSignal.any([run.signal, patience]),
    (event) => {
      if (event.type === "retry") run.emit(event);
    },
  );
  if (outcome.kind !== "failed" && outcome.reply.usage) {
    const { usage } = outcome.reply;
    run.spent.tokens += usage.input + usage.output;
    run.spent.usd += costOf(usage, model.prices) ?? 0;
  }
  if (outcome.kind === "complete") {
    const summary = parseSummary(outcome.reply.text, new Set(session.stored.keys()));
    if (summary) return { summary };
    return { summary: mechanicalSummary(plan), why: "the model's summary could not be read" };
  }
  const why = outcome.kind === "failed"
    ? `the model gave no summary: ${outcome.failure.message}`
    : `the model gave no summary within ${ms / 1000} s`;
  return { summary: mechanicalSummary(plan), why };
}
