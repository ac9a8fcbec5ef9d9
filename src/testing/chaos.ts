// A model that fails as real ones do, around one that does not: limits, streams that break off or come in
// splinters, calls with the same id, arguments that are no JSON. Its replies go through bytes and the real
// decoder, so that what is split here is split as on a wire. Which fault meets which request depends on the
// seed alone; what a model would do next, it does: it sends again what did not arrive.

import { setTimeout as pass } from "node:timers/promises";
import { Assembler, type Reply } from "../provider/assemble.ts";
import { ChatStream } from "../provider/chat-stream.ts";
import { httpFailure } from "../provider/failure.ts";
import type { Delta, Provider } from "../provider/provider.ts";
import type { RecordedCall } from "../session/records.ts";

/**
 * - `rate-limit`: 429 with a retry-after of a few milliseconds; the reply comes with the next try.
 * - `cut`: the stream ends before the reply does, anywhere, also inside a character.
 * - `split`: the bytes come in pieces of 1 to 7.
 * - `slow`: the pieces come a few milliseconds apart.
 * - `duplicate-ids`: two calls of a reply have the same id.
 * - `broken-arguments`: the arguments of one call are no JSON; told so, the model sends that call again.
 */
export type ChaosFault =
  | "rate-limit"
  | "cut"
  | "split"
  | "slow"
  | "duplicate-ids"
  | "broken-arguments";

type Happening = ChaosFault | "nothing";

const FAULTS: readonly ChaosFault[] = [
  "rate-limit",
  "cut",
  "split",
  "slow",
  "duplicate-ids",
  "broken-arguments",
];
/** After these the loop has to ask again. */
const FAILING: readonly Happening[] = ["rate-limit", "cut", "broken-arguments"];
/** At most so many of them in a row: every session comes to its end. */
const MAX_FAILING = 2;
const MAX_WAIT_MS = 20;
const CONTEXT = { baseURL: "https://chaos.invalid/v1" };

export interface ChaosOptions {
  /** Which faults may happen; default: all. */
  faults?: readonly ChaosFault[];
  /** The part of requests that meet one, 0 to 1; default 0.7. */
  rate?: number;
}

export interface ChaosProvider extends Provider {
  /** What happened to each request so far. */
  readonly happened: readonly Happening[];
}

/**
 * Wraps a provider. The wrapped one is asked once a reply, and its own errors come through as they are: a
 * turn that would end well without chaos ends well with it, for any seed.
 *
 * @param seed A whole number; the same one gives the same faults.
 */
export function chaosProvider(
  seed: number,
  provider: Provider,
  { faults = FAULTS, rate = 0.7 }: ChaosOptions = {},
): ChaosProvider {
  const happened: Happening[] = [];
  let failed = 0;
  /** What did not arrive. */
  let pending: Reply | null = null;

  function draw({ calls }: Reply, random: () => number): Happening {
    const fitting = faults.filter((fault) =>
      (fault !== "duplicate-ids" || calls.length > 1) &&
      (fault !== "broken-arguments" || calls.length > 0) &&
      (failed < MAX_FAILING || !FAILING.includes(fault))
    );
    if (random() >= rate) return "nothing";
    return fitting[Math.floor(random() * fitting.length)] ?? "nothing";
  }

  return {
    ...provider,
    id: `${provider.id} with chaos ${seed}`,
    happened,
    async *stream(request, signal) {
      const reply = pending ?? await replyOf(provider.stream(request, signal));
      pending = null;
      if (reply.failure || reply.finish === "incomplete") {
        happened.push("nothing");
        if (reply.failure) yield { type: "error", failure: reply.failure };
        return;
      }
      // One for each request: what happens to it does not depend on how the others were cut.
      const random = randomFrom(seed + 7919 * happened.length);
      const fault = draw(reply, random);
      happened.push(fault);
      failed = FAILING.includes(fault) ? failed + 1 : 0;
      if (fault === "rate-limit") {
        pending = reply;
        return yield rateLimit(1 + Math.floor(random() * MAX_WAIT_MS));
      }
      let sent = reply;
      if (fault === "cut") pending = reply;
      if (fault === "duplicate-ids") sent = withOneId(reply);
      if (fault === "broken-arguments") [sent, pending] = withBrokenCall(reply, random);
      yield* played(sent, fault, random, signal);
    },
  };
}

async function replyOf(deltas: AsyncIterable<Delta>): Promise<Reply> {
  const assembler = new Assembler();
  for await (const delta of deltas) assembler.push(delta);
  return assembler.finish();
}

function rateLimit(ms: number): Delta {
  const body = JSON.stringify({
    error: { message: "Rate limit reached for requests", type: "requests", code: "rate_limit" },
  });
  const headers = new Headers({ "retry-after-ms": `${ms}` });
  return { type: "error", failure: httpFailure(429, headers, body, CONTEXT) };
}

function withOneId(reply: Reply): Reply {
  const id = reply.calls[0]?.id ?? "";
  return { ...reply, calls: reply.calls.map((call) => ({ ...call, id })) };
}

/** The reply with one call broken off, and what the model sends when it is told. */
function withBrokenCall(reply: Reply, random: () => number): [broken: Reply, again: Reply] {
  const at = Math.floor(random() * reply.calls.length);
  const call = reply.calls[at] as RecordedCall;
  const whole = argumentsOf(call);
  // At least the opening brace stays, for nothing at all means {}; the closing one never does.
  const raw = whole.slice(0, 1 + Math.floor(random() * (whole.length - 1)));
  const calls = reply.calls.with(at, { ...call, args: null, raw });
  const again = { ...reply, text: "", reasoning: "", calls: [{ ...call, id: `${call.id}r` }] };
  return [{ ...reply, calls }, again];
}

function argumentsOf({ args, raw }: RecordedCall): string {
  return raw ?? JSON.stringify(args);
}

/** The reply as bytes in the pieces that the fault makes, read by the real decoder. */
async function* played(
  reply: Reply,
  fault: Happening,
  random: () => number,
  signal: AbortSignal,
): AsyncGenerator<Delta> {
  const stream = new ChatStream(CONTEXT);
  for (const item of reply.opaque) yield { type: "opaque", item };
  const { body, end } = eventsOf(reply);
  const encode = (text: string) => new TextEncoder().encode(text);
  const bytes = encode(fault === "cut" ? body : body + end);
  const length = fault === "cut" ? Math.floor(random() * bytes.length) : bytes.length;
  for (let at = 0; at < length && !signal.aborted;) {
    const size = fault === "split"
      ? 1 + Math.floor(random() * 7)
      : fault === "slow"
      ? Math.ceil(length / 8)
      : length;
    if (fault === "slow") await pass(1 + Math.floor(random() * 5));
    yield* stream.push(bytes.subarray(at, Math.min(at + size, length)));
    at += size;
  }
  if (!signal.aborted) yield* stream.end();
}

/** A reply as a server streams it, and how it ends. */
function eventsOf({ text, reasoning, calls, finish, usage }: Reply): { body: string; end: string } {
  const choice = (delta: object, reason: string | null = null) => ({
    choices: [{ index: 0, delta, finish_reason: reason }],
  });
  const events = [
    choice({ role: "assistant", content: "" }),
    ...pieces(reasoning).map((piece) => choice({ reasoning_content: piece })),
    ...pieces(text).map((piece) => choice({ content: piece })),
    ...calls.flatMap((call, index) => {
      const { id, name, extra } = call;
      const head = { index, id, type: "function", function: { name, arguments: "" } };
      return [
        choice({ tool_calls: [extra === undefined ? head : { ...head, extra_content: extra }] }),
        ...pieces(argumentsOf(call)).map((piece) =>
          choice({ tool_calls: [{ index, function: { arguments: piece } }] })
        ),
      ];
    }),
  ];
  const end = [
    choice({}, finish),
    ...usage === null ? [] : [{
      choices: [],
      usage: {
        prompt_tokens: usage.input,
        completion_tokens: usage.output,
        prompt_tokens_details: { cached_tokens: usage.cached },
      },
    }],
  ];
  const frames = (values: readonly object[]) =>
    values.map((value) => `data: ${JSON.stringify(value)}\n\n`).join("");
  return { body: frames(events), end: `${frames(end)}data: [DONE]\n\n` };
}

function pieces(text: string): string[] {
  return text.match(/[\s\S]{1,12}/gu) ?? [];
}

/** Numbers in [0, 1) from a seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
