// A model whose replies are written down beforehand. It keeps what it was asked and refuses what the real
// API refuses (strict-rules.ts), so that a test does not pass with a request that no model would get.

import { chatBody } from "../provider/chat-body.ts";
import { profileFor } from "../provider/profiles.ts";
import type { ChatRequest, Delta, Provider, Usage } from "../provider/provider.ts";
import { refusals } from "./strict-rules.ts";

export interface ScriptedCall {
  /** Default: one that is unique in the script. */
  id?: string;
  name: string;
  /** An object is sent as JSON text. */
  args: unknown;
}

/** One reply: text, calls, or both. */
export interface ScriptedStep {
  text?: string;
  reasoning?: string;
  calls?: readonly ScriptedCall[];
  /** Default: 100 in, 10 out, 50 of the input from the cache. */
  usage?: Usage;
  /** The raw stream instead of all that, e.g. `[{ type: "error", failure }]`. */
  deltas?: readonly Delta[];
}

export interface ScriptedProvider extends Provider {
  /** Every request so far, refused ones too. */
  readonly requests: ChatRequest[];
}

const ROLES = ["system", "user", "assistant", "tool"];
const PROFILE = profileFor("https://scripted.invalid/v1", "test-model");
const USAGE: Usage = { input: 100, output: 10, cached: 50 };

/**
 * Answers request N with step N; a string is a reply of text. A request that a real API would refuse (calls
 * without their results, results without a call, an id twice, a role or a tool schema that it does not know)
 * uses up no step: it and one more than there are steps end in an `error` delta, status 400 and not tried
 * again, whose message says what is wrong.
 */
export function scriptedProvider(steps: readonly (string | ScriptedStep)[]): ScriptedProvider {
  const requests: ChatRequest[] = [];
  let answered = 0;
  return {
    id: "scripted",
    requests,
    async *stream(request) {
      requests.push(structuredClone(request));
      await Promise.resolve();
      const wrong = faultsOf(request);
      if (wrong.length > 0) {
        return yield refusal(`the API would refuse this request: ${wrong.join("; ")}`);
      }
      const step = steps[answered++];
      if (step === undefined) {
        const have = `${steps.length} ${steps.length === 1 ? "step" : "steps"}`;
        yield refusal(
          `the script has ${have}, and this is request ${answered}`,
          "Add the reply to it, or look why the model is asked again.",
        );
        return;
      }
      yield* deltasOf(typeof step === "string" ? { text: step } : step, answered);
    },
  };
}

function refusal(message: string, hint?: string): Delta {
  const failure = { message, code: 400, status: 400, retryable: false };
  return { type: "error", failure: { ...failure, ...(hint === undefined ? {} : { hint }) } };
}

function faultsOf(request: ChatRequest): string[] {
  const unknown = request.messages.flatMap(({ role }, at) =>
    ROLES.includes(role) ? [] : [`messages[${at}].role must be one of ${ROLES.join(", ")}`]
  );
  if (unknown.length > 0) return unknown;
  const body: unknown = JSON.parse(chatBody(request, PROFILE));
  return refusals(body, { allowFields: [], requireReasoning: false });
}

function* deltasOf({ text, reasoning, calls, usage, deltas }: ScriptedStep, n: number) {
  if (deltas) return yield* deltas;
  if (reasoning) yield { type: "reasoning", text: reasoning } satisfies Delta;
  if (text) yield { type: "text", text } satisfies Delta;
  for (const [index, { id, name, args }] of (calls ?? []).entries()) {
    const fragment = { index, id: id ?? `c${n}x${index}`, name, args: JSON.stringify(args) };
    yield { type: "call", fragment } satisfies Delta;
  }
  yield { type: "usage", usage: usage ?? USAGE } satisfies Delta;
  const reason = calls ? "tool_calls" : "stop";
  yield { type: "finish", reason, raw: null } satisfies Delta;
}
