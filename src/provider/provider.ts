// What a model provider is: it turns a request into a stream of deltas. Not here: how bytes become
// deltas (chat.ts), how deltas become a reply (assemble.ts), when to try again (retry.ts).

import type { Fetch } from "./http.ts";
import type { Profile } from "./profiles.ts";

/** Why a reply ended, in our words. `incomplete`: the stream stopped without a terminal signal. */
export type FinishReason =
  | "stop"
  | "tool_calls"
  | "length"
  | "content_filter"
  | "incomplete"
  | "interrupted"
  | "error";

/** Tokens as the provider counted them. `cached` is the part of `input` it read from its cache. */
export interface Usage {
  input: number;
  output: number;
  cached: number;
}

/** A call of an assistant message as it is sent back: `args` is JSON text, always valid. */
export interface MessageCall {
  id: string;
  name: string;
  args: string;
  extra?: unknown;
}

/** One message of a request, in no provider's format. */
export type Message =
  | { role: "system"; text: string }
  | { role: "user"; text: string; images?: { mime: string; base64: string }[] }
  | {
    role: "assistant";
    text: string;
    reasoning?: string;
    opaque?: unknown[];
    calls: MessageCall[];
  }
  | { role: "tool"; callId: string; name: string; text: string };

/** A tool as the model sees it: `schema` is a plain JSON Schema object (spec/tools.md). */
export interface ToolSpec {
  name: string;
  description: string;
  schema: Record<string, unknown>;
}

export type ReasoningLevel = "off" | "minimal" | "low" | "medium" | "high" | "xhigh";

export interface ChatRequest {
  model: string;
  messages: Message[];
  /** Sorted by name and the same for the whole session. */
  tools: ToolSpec[];
  reasoning?: ReasoningLevel;
  /** Cap on the answer; left to the provider when absent. */
  maxTokens?: number;
  /** Session id, for providers that route by it (`prompt_cache_key`). */
  session?: string;
}

/** A failure in words a user understands: what happened, and what to do. */
export interface ProviderFailure {
  /** The provider's words, or ours when it had none. One line. */
  message: string;
  /** The provider's code, else the HTTP status, else null. */
  code: string | number | null;
  status?: number;
  retryable: boolean;
  /** What the user can do about it, one line. */
  hint?: string;
  /** The wait the provider asked for. */
  retryAfterMs?: number;
  /** The prompt did not fit the window. */
  tooLong?: boolean;
}

/**
 * A piece of a call as the provider sent it, untrusted: `calls.ts` decides which call it belongs to.
 * `args` may be an object where a server sends one.
 */
export interface CallFragment {
  index?: number | string;
  id?: string;
  name?: string;
  args?: unknown;
  extra?: unknown;
}

export type Delta =
  | { type: "text"; text: string }
  | { type: "reasoning"; text: string }
  | { type: "call"; fragment: CallFragment }
  | { type: "opaque"; item: unknown }
  | { type: "usage"; usage: Usage }
  | { type: "finish"; reason: FinishReason; raw: string | null }
  | { type: "error"; failure: ProviderFailure };

/** What an API gets to reach one provider. */
export interface ConnectOptions {
  /** The provider's name. */
  id: string;
  /** "" where nothing names an address: the API knows its own, or needs none. */
  baseURL: string;
  /** "" when the provider needs no key. */
  apiKey: string;
  headers?: Record<string, string> | undefined;
  profile: Profile;
  /** Path of the recording that the manifest names. */
  cassette?: string | undefined;
  /** To be used in place of the global one. */
  fetch?: Fetch | undefined;
}

/** Makes a provider that speaks one API. @throws {UserError} when the options cannot be used. */
export type Connect = (options: ConnectOptions) => Provider | Promise<Provider>;

/**
 * A model provider. `stream` never throws and never ends by rejecting: failures are `error` deltas.
 * A stream that ends without `finish` or `error` was cut.
 */
export interface Provider {
  readonly id: string;
  stream(request: ChatRequest, signal: AbortSignal): AsyncIterable<Delta>;
  /** Ids of the models it offers. Rejects with a UserError. */
  models?(signal: AbortSignal): Promise<string[]>;
}
