// Where the loop meets the hooks of plugins: who is asked or told, with which ids, and what notes become.
// What a denial leads to is said where it was asked for. Nothing here does anything while no plugin has
// a hook. Not here: running them (plugins/hooks.ts).

import { withoutTitles } from "../context/environment.ts";
import type { Denial, HookNote, HookOutcome, Hooks } from "../plugins/hooks.ts";
import type { HookEvent } from "../plugins/manifest.ts";
import type { HookEnd, HookInput } from "../plugins/sdk.ts";
import { shortHash } from "../runtime/hash.ts";
import { type Said, say } from "./knowledge.ts";
import type { Spent } from "./limits.ts";
import { windowOf } from "./request.ts";
import type { Session } from "./session.ts";
import type { ModelChoice, Run, TurnDeps } from "./turn.ts";

/** How long all hooks of an event together may take once the person wants to stop; milliseconds. */
const LAST_WORDS_MS = 1000;
const NOTHING: HookOutcome = { notes: [] };

type At = Pick<Run, "turn" | "step" | "signal" | "emit">;
type Fields = Omit<HookInput, "event" | "project" | "session" | "turn" | "step">;

/** Asks the hooks of an event. An interruption ends it as if nothing had been said. */
export async function askHooks(
  event: HookEvent,
  fields: Fields,
  { id, root }: Session,
  hooks: Hooks | undefined,
  { turn, step, signal, emit }: At,
): Promise<HookOutcome> {
  if (!hooks?.has(event)) return NOTHING;
  const input = { project: root, session: id, turn, step, ...fields };
  return await hooks.run(event, input, signal, (message) => emit({ type: "warn", message }));
}

/** Tells hooks what happened; also what happened last before an interruption, but then not for long. */
export async function tellHooks(
  event: HookEvent,
  fields: Fields,
  session: Session,
  hooks: Hooks | undefined,
  at: At,
): Promise<void> {
  const signal = at.signal.aborted ? AbortSignal.timeout(LAST_WORDS_MS) : at.signal;
  await askHooks(event, fields, session, hooks, { ...at, signal });
}

/** What a person reads of a denial, and the model where it is a call's. */
export function refusal({ plugin, reason }: Denial): string {
  return `Refused by the plugin ${plugin}: ${reason}`;
}

/** A note as a message. Whose it is stands above it, and it cannot look like a part of ours. */
export function noteSaid({ plugin, text }: HookNote): Said {
  return { text: `--- Note of the plugin ${plugin} ---\n${withoutTitles(text)}`, source: "plugin" };
}

/**
 * Asks about a text of the person before the model gets it.
 *
 * @returns Notes that stand behind the text, or the denial.
 */
export async function submit(
  prompt: string,
  session: Session,
  { hooks }: Pick<TurnDeps, "hooks">,
  run: At,
): Promise<{ notes: Said[]; denied?: Denial }> {
  const outcome = await askHooks("prompt.submit", { prompt }, session, hooks, run);
  return { ...outcome, notes: outcome.notes.map(noteSaid) };
}

/** What runs of nanocode used of a session; a session is in it from its first turn in this process on. */
const used = new WeakMap<Session, Omit<HookEnd, "reason">>();

/**
 * Tells hooks that this process works with a session, once. Their notes stay for the whole session: no
 * compaction touches them, and the same one is not said again when it is resumed.
 */
export async function beginSession(
  session: Session,
  { hooks, model }: Pick<TurnDeps, "hooks" | "model">,
  run: At & Pick<Run, "append">,
): Promise<void> {
  if (!hooks || used.has(session)) return;
  used.set(session, { turns: 0, steps: 0, tokens: 0, usd: 0 });
  const { records } = session.log;
  const resumed = records.some(({ type }) => type === "end");
  const start = { resumed, provider: model.provider.id, model: model.model };
  const { notes } = await askHooks("session.start", { start }, session, hooks, run);
  for (const note of notes) {
    const { text, source } = noteSaid(note);
    if (records.some((record) => record.type === "user" && record.text === text)) continue;
    const { plugin: name, folder: path } = note;
    say({ text, source, loads: [{ kind: "plugin", name, path, version: shortHash(text) }] }, run);
  }
}

/** What a turn used, for `turn.end`, and added up for `session.end`; a compaction by hand is 0 `turns`. */
export function countUsed(
  session: Session,
  { steps, tokens, usd }: Spent,
  { prices }: ModelChoice,
  turns: 0 | 1 = 1,
): Omit<HookEnd, "reason"> {
  const all = used.get(session);
  const now = { turns, steps, tokens, usd: prices ? usd : null };
  if (all) {
    used.set(session, {
      turns: all.turns + turns,
      steps: all.steps + steps,
      tokens: all.tokens + tokens,
      usd: all.usd === null || now.usd === null ? null : all.usd + now.usd,
    });
  }
  return now;
}

/** Tells hooks that this process leaves the session; it never delays that by more than a second. */
export async function endSession(session: Session, hooks: Hooks | null): Promise<void> {
  const totals = used.get(session);
  used.delete(session);
  if (!totals || !hooks?.has("session.end")) return;
  const last = session.log.records.findLast(({ type }) => type === "end");
  const end = { ...totals, reason: last?.type === "end" ? last.reason : "done" };
  const { id, root, turn } = session;
  const input = { project: root, session: id, turn, step: last?.step ?? 0, end };
  await hooks.run("session.end", input, AbortSignal.timeout(LAST_WORDS_MS));
}

/** Does a plugin deny that the history is made shorter? `tokens`: of the next request as it is. */
export async function compactionDenied(
  why: "full" | "refused" | "asked",
  tokens: number,
  session: Session,
  deps: Pick<TurnDeps, "hooks" | "model">,
  run: At,
): Promise<Denial | undefined> {
  const compaction = { why, tokens, window: windowOf(session, deps) };
  return (await askHooks("compact.before", { compaction }, session, deps.hooks, run)).denied;
}
