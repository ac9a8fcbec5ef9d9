// The permission step of a call: policy, session grants, then the person, if there is one. Answers with
// what to tell the model and the person; what the policy is, is permission/policy.ts.

import { grantText, needsPerson } from "../permission/grants.ts";
import { decide, describe, type Policy } from "../permission/policy.ts";
import type { Effect } from "../session/records.ts";
import type { Question } from "../tools/tool.ts";
import type { EventBody } from "./events.ts";
import type { Session } from "./session.ts";

/** A question to the person. `scope` says what "always" would grant. */
export interface AskRequest {
  call: string;
  tool: string;
  title: string;
  effects: Effect[];
  preview: string;
  reason: string;
  scope: string;
  /** Set: no permission is asked for, but this. */
  question?: Question;
}

export interface Answer {
  decision: "allow" | "deny";
  /** Remember for the rest of the session. */
  remember?: boolean;
  /** The user's words, told to the model. */
  reason?: string;
  /** The answer to a question in words. */
  text?: string;
}

export type Ask = (request: AskRequest, signal: AbortSignal) => Promise<Answer>;

/** Puts a question of a call in words; null when it was not answered. */
export async function putQuestion(
  question: Question,
  { call, tool }: Pick<AskRequest, "call" | "tool">,
  { ask, signal }: { ask: Ask; signal: AbortSignal },
): Promise<string | null> {
  const nothing = { title: "", effects: [], preview: "", reason: "", scope: "" };
  return (await ask({ call, tool, ...nothing, question }, signal)).text ?? null;
}

/** A question that was put, and its answer, for the records. */
export interface Asked {
  request: AskRequest;
  answer: Answer;
}

export type Permission =
  | { allowed: true; asked?: Asked }
  | { allowed: false; asked?: Asked; text: string; summary: string; byUser: boolean };

export interface Subject {
  call: string;
  tool: string;
  title: string;
  effects: Effect[];
  /** Made only when there is somebody to show it to, or to find out that the call cannot work. */
  preview(): Promise<string>;
}

export interface PermitEnv {
  session: Session;
  policy: Policy;
  /** Absent when nobody can answer: what would be asked is refused. */
  ask?: Ask;
  signal: AbortSignal;
  emit(event: EventBody): void;
}

/** May the call run? Throws what `preview` throws. */
export async function permit(subject: Subject, env: PermitEnv): Promise<Permission> {
  const { call, tool, title, effects } = subject;
  const { root, grants } = env.session;
  const verdict = decide(env.policy, tool, effects, root);
  // Errors and results quote what is written, so that it has to be readable, too.
  const reads = effects.flatMap((effect): Effect[] =>
    effect.kind === "write" ? [{ kind: "read", path: effect.path }] : []
  );
  const reading = decide(env.policy, tool, reads, root);
  const denied = [verdict, reading].find(({ decision }) => decision === "deny");
  if (denied) return refusal(`Refused: ${denied.reason}.`, denied.reason);
  if (verdict.decision === "allow" || grants.cover(effects, root)) return { allowed: true };
  const preview = await subject.preview().catch((error: unknown) => {
    if (reading.decision === "allow" || grants.cover(reads, root)) throw error;
    // Not for the model yet: the person sees why it will fail.
    return error instanceof Error ? error.message : String(error);
  });
  if (!env.ask) return headlessRefusal(tool, verdict.reason, effects);
  const scope = grantText(effects, root);
  // What a call does is shown anyway; a reason is only worth a line when it is another one.
  const plain = effects.some((effect) => describe(effect, root) === verdict.reason);
  const reason = plain ? "" : verdict.reason;
  const request = { call, tool, title, effects, preview, reason, scope };
  env.emit({ type: "ask", call, tool, title, effects, preview });
  const answer = await env.ask(request, env.signal);
  const asked = { request, answer };
  if (answer.decision === "allow") {
    if (answer.remember) grants.add(effects, root);
    return { allowed: true, asked };
  }
  const why = answer.reason ? `: ${answer.reason}` : " without giving a reason";
  return {
    ...refusal(`Refused by the user${why}.`, answer.reason ?? "by you"),
    asked,
    byUser: true,
  };
}

function refusal(what: string, summary: string) {
  return { allowed: false as const, text: `${what} Nothing was done.`, summary, byUser: false };
}

function headlessRefusal(tool: string, reason: string, effects: Effect[]): Permission {
  const runs = effects.some((effect) => effect.kind === "exec");
  const way = needsPerson(effects)
    ? `--allow 'Tool(${tool})', or answer nanocode trust`
    : `--allow '${runs ? "Bash(COMMAND WORDS)" : "Edit(GLOB)"}' or --yolo`;
  return {
    ...refusal("", `no permission: ${reason}`),
    text:
      `Refused: permission is needed (${reason}) and nobody can answer here. Nothing was done. ` +
      `Go on with what needs no permission, or finish and tell the user what is missing ` +
      `(they can start nanocode with ${way}).`,
  };
}
