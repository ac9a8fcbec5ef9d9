// The Chat Completions provider: one request over HTTP, its body read as a stream of deltas. Takes care
// that nothing hangs and nothing throws: silence, aborts, resets and error answers become deltas. The
// format is in chat-body.ts and chat-stream.ts; what failures mean is in failure.ts.

import { UserError } from "../runtime/errors.ts";
import { chatBody } from "./chat-body.ts";
import { ChatStream } from "./chat-stream.ts";
import {
  failure,
  type FailureContext,
  failureOf,
  httpFailure,
  notAnApi,
  ProviderError,
  thrownFailure,
} from "./failure.ts";
import {
  boundedFetch,
  type Fetch,
  isFields,
  normalizeBaseURL,
  parseJson,
  Patience,
  Refusal,
} from "./http.ts";
import type { OpenAI } from "openai";
import type { Profile } from "./profiles.ts";
import type { ChatRequest, Delta, Provider } from "./provider.ts";

/** Silence of a provider that is taken for a stall; milliseconds. */
const STALL_MS = 120_000;
const MODELS_MS = 10_000;
/** After the finish reason only usage may follow: an open connection is not waited for long. */
const FINISHED_MS = 5_000;
/** After `[DONE]` the body's end is waited for, so that the connection can be used again. */
const DONE_MS = 100;

export interface ChatOptions {
  id: string;
  /** With or without `/chat/completions` at its end. */
  baseURL: string;
  /** Absent for a local server. */
  apiKey?: string;
  /** Sent with every request. */
  headers?: Record<string, string>;
  /** How the model is spoken to, see `profileFor`. */
  profile: Profile;
  /** Silence that is taken for a stall; default 120,000. */
  stallMs?: number;
  fetch?: Fetch;
}

/**
 * A provider that speaks Chat Completions.
 *
 * @throws UserError when `baseURL` is no URL, or key or headers cannot be sent.
 */
export function chatProvider(options: ChatOptions): Provider {
  const { id, apiKey, profile, stallMs = STALL_MS } = options;
  const baseURL = normalizeBaseURL(options.baseURL);
  const headers = headersOf(options);
  const about: FailureContext = { baseURL, keyEnv: profile.keyEnv, apiKey };

  let client: OpenAI | undefined;

  /** The openai package's client; every setting that it would look up is given. */
  async function connect(): Promise<OpenAI> {
    const { OpenAI } = await import("openai");
    return client ??= new OpenAI({
      baseURL,
      apiKey: apiKey || "none", // the package insists on one; `headers` has the real one
      adminAPIKey: null,
      organization: null,
      project: null,
      webhookSecret: null,
      logLevel: "off",
      maxRetries: 0,
      timeout: 2 ** 31 - 1, // silence is ours to judge
      fetch: boundedFetch(headers, options.fetch),
    });
  }

  async function send(
    path: string,
    body: string | undefined,
    signal: AbortSignal,
    context: FailureContext,
  ): Promise<Response> {
    const openai = client ?? await connect();
    try {
      const request = body === undefined
        ? openai.get(path, { signal })
        : openai.post(path, { body, signal, headers: { "content-type": "application/json" } });
      return await request.asResponse();
    } catch (error) {
      const refusal = error instanceof Error && error.cause instanceof Refusal ? error.cause : null;
      if (!refusal) throw error;
      const { answer, text } = refusal;
      throw new ProviderError(httpFailure(answer.status, answer.headers, text, context));
    }
  }

  async function* stream(request: ChatRequest, signal: AbortSignal): AsyncGenerator<Delta> {
    const context = { ...about, model: request.model };
    const attempt = new AbortController();
    const patience = new Patience(signal);
    let isOpen = true;
    try {
      const body = chatBody(request, profile);
      const sent = send("/chat/completions", body, attempt.signal, context);
      const response = await patience.wait(sent, stallMs);
      isOpen = !(yield* read(response, new ChatStream(context), stallMs, patience, signal));
    } catch (error) {
      yield signal.aborted
        ? { type: "finish", reason: "interrupted", raw: null }
        : { type: "error", failure: thrownFailure(error, context) };
    } finally {
      patience.end();
      if (isOpen) attempt.abort();
    }
  }

  async function models(signal: AbortSignal): Promise<string[]> {
    const attempt = new AbortController();
    const patience = new Patience(signal);
    try {
      const listed = send("/models", undefined, attempt.signal, about)
        .then((response) => response.text());
      return modelIds(await patience.wait(listed, MODELS_MS), about);
    } catch (error) {
      const why = signal.aborted ? failure("Interrupted", about) : thrownFailure(error, about);
      throw new ProviderError(why);
    } finally {
      patience.end();
      attempt.abort();
    }
  }

  return { id, stream, models };
}

function headersOf({ id, apiKey, headers: own = {} }: ChatOptions): Headers {
  const headers = new Headers({
    accept: "text/event-stream, application/json",
    "content-type": "application/json",
    "user-agent": "nanocode",
  });
  // Checked here, because the message of a failing Headers.set would show the key.
  if (apiKey && !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new UserError(
      `the key of ${id} holds characters that no key has`,
      "Look for blanks, line breaks or quotes in it.",
    );
  }
  if (apiKey) headers.set("authorization", `Bearer ${apiKey}`);
  for (const [name, value] of Object.entries(own)) {
    try {
      headers.set(name, value);
    } catch {
      throw new UserError(`the header ${JSON.stringify(name)} of ${id} cannot be sent`);
    }
  }
  return headers;
}

/**
 * Reads an answer to its end; rejects when it goes silent, breaks off or the signal is aborted.
 *
 * @returns Whether the connection, too, came to its end, so that nothing is left to be cut off.
 */
async function* read(
  response: Response,
  reply: ChatStream,
  stallMs: number,
  patience: Patience,
  signal: AbortSignal,
): AsyncGenerator<Delta, boolean> {
  const reader = response.body?.getReader();
  let silentMs = 0;
  let ended = reader === undefined;
  while (reader) {
    const limit = reply.done ? DONE_MS : reply.finished ? Math.min(stallMs, FINISHED_MS) : stallMs;
    const start = performance.now();
    try {
      const { done, value } = await patience.wait(reader.read(), limit, silentMs);
      ended = done;
      if (done) break;
      silentMs += performance.now() - start; // not the time of whoever takes the deltas
      const before = reply.progress;
      yield* reply.push(value);
      if (reply.progress !== before) silentMs = 0;
    } catch (error) {
      if (signal.aborted || !(reply.done || reply.finished)) throw error;
      break; // the reply is there; only its end is missing
    }
  }
  yield* reply.end();
  return ended;
}

function modelIds(text: string, context: FailureContext): string[] {
  const value = parseJson(text);
  const list = isFields(value) ? value.data : value;
  if (!Array.isArray(list)) {
    throw new ProviderError(failureOf(value, context) ?? notAnApi(text, context));
  }
  return list.filter(isFields).map((model) => model.id).filter((id) => typeof id === "string");
}
