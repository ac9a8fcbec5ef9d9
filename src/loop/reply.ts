// One reply: a streamed answer, tried again while the failure is one that may pass. Nothing is acted
// on before the reply is complete, so an attempt that failed leaves no trace but its events.

import { Assembler, type Reply } from "../provider/assemble.ts";
import type { ChatRequest, Provider, ProviderFailure } from "../provider/provider.ts";
import { cutFailure, retryDelay, waitFor } from "../provider/retry.ts";
import type { EventBody } from "./events.ts";

export type CompletedReply = Reply & { ms: number };

export type ReplyOutcome =
  | { kind: "complete"; reply: CompletedReply }
  /** Cut by the user: what was said so far, without its calls. */
  | { kind: "interrupted"; reply: CompletedReply }
  | { kind: "failed"; failure: ProviderFailure };

/** Asks the provider until a reply is complete, retries are used up, or the signal is aborted. */
export async function fetchReply(
  request: ChatRequest,
  provider: Provider,
  signal: AbortSignal,
  emit: (event: EventBody) => void,
): Promise<ReplyOutcome> {
  const started = performance.now();
  for (let attempt = 1;; attempt++) {
    const attemptStarted = performance.now();
    const reply = await attemptReply(request, provider, signal, emit);
    const ms = Math.round(performance.now() - attemptStarted);
    if (signal.aborted) {
      return { kind: "interrupted", reply: { ...reply, calls: [], finish: "interrupted", ms } };
    }
    const failure = failureOf(reply);
    if (!failure) return { kind: "complete", reply: { ...reply, ms } };
    const waitMs = retryDelay(failure, attempt, performance.now() - started, Math.random());
    if (waitMs === null) return { kind: "failed", failure };
    emit({ type: "retry", attempt, waitMs: Math.round(waitMs), reason: failure.message });
    await waitFor(waitMs, signal);
    if (signal.aborted) {
      return {
        kind: "interrupted",
        reply: { ...reply, text: "", calls: [], finish: "interrupted", ms },
      };
    }
  }
}

async function attemptReply(
  request: ChatRequest,
  provider: Provider,
  signal: AbortSignal,
  emit: (event: EventBody) => void,
): Promise<Reply> {
  const assembler = new Assembler();
  for await (const delta of provider.stream(request, signal)) {
    for (const shown of assembler.push(delta)) emit(shown);
    if (signal.aborted) break;
  }
  for (const shown of assembler.flush()) emit(shown);
  return assembler.finish();
}

/** A stream that ended without a terminal signal is a failure of transport, worth another try. */
function failureOf(reply: Reply): ProviderFailure | null {
  if (reply.failure) return reply.failure;
  return reply.finish === "incomplete" ? cutFailure() : null;
}
