// Small things the provider tests share: a request, a provider on a server's URL, a reply collected.

import { Assembler, type Reply } from "../../src/provider/assemble.ts";
import { type ChatOptions, chatProvider } from "../../src/provider/chat.ts";
import { profileFor } from "../../src/provider/profiles.ts";
import type { ChatRequest, Delta, Provider } from "../../src/provider/provider.ts";

/** Multiplies the runs of property tests. */
export const RUNS = Number(process.env.NANOCODE_RUNS ?? 1);

export const KEY = "sk-test-0123456789";

export function chatRequest(changes: Partial<ChatRequest> = {}): ChatRequest {
  return {
    model: "test-model",
    messages: [{ role: "user", text: "hello" }],
    tools: [],
    ...changes,
  };
}

export function providerAt(url: string, changes: Partial<ChatOptions> = {}): Provider {
  return chatProvider({
    id: "test",
    baseURL: url,
    apiKey: KEY,
    profile: profileFor(url, "test-model"),
    ...changes,
  });
}

/** A fetch whose body arrives one byte a read: sockets join what a server wrote apart. */
export async function byteFetch(
  input: string | URL | Request,
  init?: RequestInit,
): Promise<Response> {
  const response = await fetch(input, init);
  const single = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      for (let at = 0; at < bytes.length; at++) controller.enqueue(bytes.subarray(at, at + 1));
    },
  });
  const body = response.body?.pipeThrough(single) ?? null;
  return new Response(body, { status: response.status, headers: response.headers });
}

export async function collect(
  provider: Provider,
  request: ChatRequest = chatRequest(),
  signal: AbortSignal = new AbortController().signal,
): Promise<{ reply: Reply; deltas: Delta[]; shown: string }> {
  const assembler = new Assembler();
  const deltas: Delta[] = [];
  let shown = "";
  for await (const delta of provider.stream(request, signal)) {
    deltas.push(delta);
    for (const piece of assembler.push(delta)) if (piece.type === "text") shown += piece.text;
  }
  for (const piece of assembler.flush()) if (piece.type === "text") shown += piece.text;
  return { reply: assembler.finish(), deltas, shown };
}
