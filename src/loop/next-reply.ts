// The next reply of a turn: request after making room, texts typed meanwhile with it, sent until there is a
// complete reply, which is recorded and accounted for. What follows from a reply is turn.ts; one attempt
// after the other is reply.ts.

import type { NewRecord } from "../session/records.ts";
import { makeRoom } from "./compact.ts";
import { askHooks, noteSaid, refusal, submit, tellHooks } from "./hooks.ts";
import { type Said, say, skillsNamed } from "./knowledge.ts";
import { budgetWarning } from "./limits.ts";
import { type CompletedReply, fetchReply, type ReplyOutcome } from "./reply.ts";
import { account, type Prepared, recordSent, requestFor } from "./request.ts";
import type { Session } from "./session.ts";
import type { End, ModelChoice, Run, TurnDeps, Unplaced } from "./turn.ts";

/** One complete, recorded reply, or why there is none. */
export async function nextReply(
  session: Session,
  deps: TurnDeps,
  run: Run,
): Promise<CompletedReply | End> {
  const { model, queue } = deps;
  const texts = queue?.peek() ?? [];
  const queued = await queuedSaid(texts, session, deps, run);
  let prepared = await roomyRequest(session, deps, run, queued);
  // Queued text shows where the model met it: before the first word of the answer.
  let heard = false;
  const hear = () => {
    if (!heard) { for (const text of texts) run.emit({ type: "steer", text }); }
    heard = true;
  };
  const send = async (): Promise<ReplyOutcome | End> => {
    const { facts: { estimate }, window } = prepared;
    const request = { provider: model.provider.id, model: model.model, estimate, window };
    const about = await askHooks("request.before", { request }, session, deps.hooks, run);
    if (about.denied) return { reason: "permission", detail: refusal(about.denied) };
    for (const note of about.notes) say(noteSaid(note), run);
    if (about.notes.length > 0) prepared = await requestFor(session, deps, queued);
    recordSent(session, prepared, run.append);
    return await fetchReply(prepared.request, model.provider, run.signal, (event) => {
      if (event.type !== "retry") hear();
      run.emit(event);
    });
  };
  let outcome = await send();
  // A request that is too long for the provider, whatever we thought: once more, shorter.
  for (let tries = 0; tries < 2 && isTooLong(outcome); tries++) {
    const { isShorter, denied } = await makeRoom(session, deps, run, prepared, "refused");
    if (denied) {
      const detail = "The provider says that the request is too long, and the history may not be " +
        `compacted. ${refusal(denied)}`;
      return { reason: "permission", detail };
    }
    if (!isShorter) break;
    prepared = await requestFor(session, deps, queued);
    outcome = await send();
  }
  if ("reason" in outcome) return outcome;
  if (outcome.kind === "failed") {
    const { status, hint } = outcome.failure;
    const message = (status ? `HTTP ${status}: ` : "") + outcome.failure.message;
    run.emit({ type: "error", message, ...(hint === undefined ? {} : { hint }) });
    return { reason: "provider", detail: message };
  }
  if (outcome.kind === "complete") hear();
  if (!heard) return { reason: "interrupt" }; // the queue keeps what was not sent
  const { reply } = outcome;
  for (const said of queued) say(said, run);
  queue?.drop(texts.length);
  run.append(replyRecord(reply, model));
  const cost = account(reply, prepared.facts, model, run.spent);
  run.emit(cost);
  if (reply.text !== "") run.answer = reply.text;
  const calls = reply.calls.map(({ id, name, args }) => ({ id, tool: name, args }));
  const usage = { ...cost.usage, usd: cost.costUsd };
  const heardOf = { text: reply.text, calls, usage, estimated: cost.estimated };
  await tellHooks("reply.after", { reply: heardOf }, session, deps.hooks, run);
  if (outcome.kind === "interrupted") return { reason: "interrupt" };
  const warning = run.warned ? null : budgetWarning(run.spent, deps.limits);
  if (warning) run.emit({ type: "warn", message: warning });
  run.warned ||= warning !== null;
  return reply;
}

/** Texts typed meanwhile as messages, without those that a plugin refuses: these are only said to be. */
async function queuedSaid(
  texts: readonly string[],
  session: Session,
  deps: TurnDeps,
  run: Run,
): Promise<Said[]> {
  const heard: Said[] = [];
  const behind: Said[] = [];
  for (const text of texts) {
    const { denied, notes } = await submit(text, session, deps, run);
    if (denied) run.emit({ type: "warn", message: `not sent: ${refusal(denied)}` });
    else heard.push({ text, source: "queued" });
    behind.push(...notes);
  }
  const prompts = heard.map(({ text }) => text);
  return [...heard, ...await skillsNamed(prompts, session, deps, run), ...behind];
}

function isTooLong(outcome: ReplyOutcome | End): boolean {
  return "kind" in outcome && outcome.kind === "failed" && outcome.failure.tooLong === true;
}

/** The next request, after making room where it would not fit. */
async function roomyRequest(
  session: Session,
  deps: TurnDeps,
  run: Run,
  queued: readonly Said[],
): Promise<Prepared> {
  const prepared = await requestFor(session, deps, queued);
  const { isShorter } = await makeRoom(session, deps, run, prepared, "full");
  return isShorter ? await requestFor(session, deps, queued) : prepared;
}

function replyRecord(reply: CompletedReply, model: ModelChoice): Unplaced<NewRecord> {
  const { text, reasoning, calls, opaque, finish, usage, ms } = reply;
  return {
    type: "reply",
    text,
    reasoning,
    calls,
    opaque,
    finish,
    usage,
    provider: model.provider.id,
    model: model.model,
    ms,
  };
}
