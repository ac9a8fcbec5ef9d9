// Compaction by hand, between turns: now, only looked at, or taken back. It goes through the same plan
// and the same `compact` as compaction that happens by itself (compact.ts). Not here: any word that a
// person reads about it (ui/compact-lines.ts).

import { limitsOf, type Plan, planCompaction, replacement } from "../context/compact.ts";
import { mechanicalSummary } from "../context/summary.ts";
import { historyOf, isUsersWord } from "../context/history.ts";
import type { NewRecord, SessionRecord } from "../session/records.ts";
import { compact, estimateWith } from "./compact.ts";
import type { AgentEvent, EventBody } from "./events.ts";
import { compactionDenied, countUsed, refusal } from "./hooks.ts";
import { requestFor } from "./request.ts";
import { append, type Session } from "./session.ts";
import type { TurnDeps, Unplaced } from "./turn.ts";

/** First the newest finished turn is kept where it is small; else everything goes. */
const REACHES = ["keep latest", "finished"] as const;

/**
 * How a compaction by hand ended. `nothing`: there is no history to leave out; `no gain`: a summary would
 * be as long as what it stands for; `denied`: by a plugin, which was said.
 */
export type Compacted = "compacted" | "nothing" | "no gain" | "denied" | "interrupted";

/**
 * Compacts now. `emit` gets the `compact` event, and `retry` events of the summariser; `deps.signal`
 * interrupts it, and then nothing is recorded. Must not be called while a turn runs.
 */
export async function compactNow(
  session: Session,
  deps: TurnDeps,
  emit: (event: AgentEvent) => void,
): Promise<Compacted> {
  const run = {
    ...placeOf(session),
    signal: deps.signal,
    spent: { steps: 0, tokens: 0, usd: 0 },
    warned: false,
    emit(body: EventBody) {
      const time = new Date().toISOString();
      emit({ session: session.id, ...placeOf(session), time, ...body });
    },
    append: (record: Unplaced<NewRecord>) => appendBetween(session, record),
  };
  const prepared = await requestFor(session, deps, []);
  let tried: string | null = null;
  for (const reach of REACHES) {
    const plan = planCompaction(session.log.records, prepared.window, reach);
    if (plan === null || plan.through === tried) continue;
    const denied = tried === null &&
      await compactionDenied("asked", prepared.facts.estimate, session, deps, run);
    if (denied) {
      run.emit({ type: "warn", message: `not compacted. ${refusal(denied)}` });
      return "denied";
    }
    if (await compact(session, deps, run, prepared, plan)) {
      session.log.sync();
      countUsed(session, run.spent, deps.model, 0);
      session.context.saidFull = false;
      return "compacted";
    }
    if (deps.signal.aborted) return "interrupted";
    tried = plan.through;
  }
  return tried === null ? "nothing" : "no gain";
}

/** What a compaction would do; all token counts are estimates of the next request or parts of it. */
export interface CompactPreview {
  /** Turns whose history would go, the first and the last. */
  turns: [first: number, last: number];
  /** Messages, replies and results in them. */
  records: number;
  /** Messages of the user in them and before: kept verbatim. */
  words: number;
  /** Turns behind them that stay as they are. */
  kept: number;
  before: number;
  /** Of `before`, what would go. */
  goes: number;
  /** What the request would be with a summary that is made without a model. */
  after: number;
}

/** Looks at what `compactNow` would leave out first; null when that is nothing. Runs no model. */
export async function previewCompaction(
  session: Session,
  deps: TurnDeps,
): Promise<CompactPreview | null> {
  const { records } = session.log;
  const { facts, files, window } = await requestFor(session, deps, []);
  const plan = REACHES.map((reach) => planCompaction(records, window, reach))
    .find((candidate) => candidate !== null);
  if (!plan) return null;
  const shown = deps.files === "tail" ? [] : files;
  const { texts } = replacement(plan, mechanicalSummary(plan), shown, records, window);
  const estimate = (texts: string[]) =>
    estimateWith(session, deps, {
      type: "compact",
      through: plan.through,
      by: "mechanical",
      texts,
      results: [],
      tokens: { before: 0, after: 0 },
    });
  const behind = records.slice(records.findIndex(({ id }) => id === plan.through) + 1);
  return {
    ...spanOf(plan.old),
    words: plan.words.length,
    kept: new Set(behind.filter(isUsersWord).map(({ turn }) => turn)).size,
    before: facts.estimate,
    goes: facts.estimate - await estimate([]),
    after: await estimate(texts),
  };
}

/** A compaction that was taken back. */
export interface Undone extends Pick<CompactPreview, "turns" | "records"> {
  /** Estimated tokens of the next request with the compaction and without it. */
  before: number;
  after: number;
  /** The next turn would compact again by itself. */
  isFull: boolean;
}

/** Takes the newest compaction back that is not taken back yet; null when there is none. */
export async function undoCompaction(session: Session, deps: TurnDeps): Promise<Undone | null> {
  const { compact: newest } = historyOf(session.log.records);
  if (newest === null) return null;
  const before = (await requestFor(session, deps, [])).facts.estimate;
  appendBetween(session, { type: "uncompact", compact: newest.id });
  session.log.sync();
  const { facts, window } = await requestFor(session, deps, []);
  const { records, from } = historyOf(session.log.records);
  const through = records.findIndex(({ id }) => id === newest.through);
  return {
    ...spanOf(records.slice(from, through + 1)),
    before,
    after: facts.estimate,
    isFull: window !== null && facts.estimate >= limitsOf(window).full,
  };
}

/** Turns of these records, and how many of them the model reads. */
function spanOf(records: Plan["old"]): Pick<CompactPreview, "turns" | "records"> {
  const sent = records.filter(({ type }) => ["user", "reply", "result"].includes(type));
  return { turns: [sent[0]?.turn ?? 0, sent.at(-1)?.turn ?? 0], records: sent.length };
}

/** Between turns a record belongs to the turn that ended last. */
function placeOf({ turn, log }: Session): { turn: number; step: number } {
  return { turn, step: log.records.at(-1)?.step ?? 0 };
}

function appendBetween(session: Session, record: Unplaced<NewRecord>): SessionRecord {
  return append(session, { ...placeOf(session), ...record } as NewRecord);
}
