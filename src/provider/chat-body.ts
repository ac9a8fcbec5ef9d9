// A ChatRequest → the body of a Chat Completions request, by the profile. Pure. Everything sent is
// well-formed: valid JSON arguments, no lone surrogates, names and ids the provider accepts. Whether
// calls and results pair up is the composer's business; the request is sent as it was composed.

import { sha256 } from "../runtime/hash.ts";
import type { ReasoningDetails } from "./chat-stream.ts";
import { type Fields, isFields } from "./http.ts";
import type { Profile } from "./profiles.ts";
import type { ChatRequest, Message, MessageCall } from "./provider.ts";

/** The JSON body; streaming, with usage. */
export function chatBody(request: ChatRequest, profile: Profile): string {
  const { model } = request;
  const messages = profile.roles === "alternate"
    ? wellFormedJson(alternating(request.messages.map((each) => chatMessage(each, model, profile))))
    : `[${request.messages.map((each) => messageJson(each, model, profile)).join(",")}]`;
  const body: Fields = { model };
  if (request.tools.length > 0) {
    body.tools = request.tools.map(({ name, description, schema }) => ({
      type: "function",
      function: { name, description, parameters: schema },
    }));
  }
  body.stream = true;
  if (profile.streamOptions) body.stream_options = { include_usage: true };
  if (request.maxTokens !== undefined) body[profile.maxTokensField] = request.maxTokens;
  if (profile.cacheKey && request.session) body.prompt_cache_key = request.session;
  Object.assign(body, request.reasoning && profile.reasoning[request.reasoning], profile.body);
  if (!body.tools) delete body.parallel_tool_calls; // refused without tools
  return `${wellFormedJson(body).slice(0, -1)},"messages":${messages}}`;
}

/**
 * The wire form of messages, kept by identity: the composer gives the same object for what was said
 * before, so that a long session costs no more a step than a short one.
 */
const wire = new WeakMap<Message, { model: string; profile: Profile; json: string }>();

function messageJson(message: Message, model: string, profile: Profile): string {
  const known = wire.get(message);
  if (known && known.model === model && known.profile === profile) return known.json;
  const json = wellFormedJson(chatMessage(message, model, profile));
  wire.set(message, { model, profile, json });
  return json;
}

/** JSON text without lone surrogates: strict servers answer 400 to them (bugs.md FE-33). */
function wellFormedJson(value: unknown): string {
  const json = JSON.stringify(value);
  // A lone surrogate shows as an escape; the replacer that mends it is slow, so only then.
  if (!/\\ud[89a-f]/i.test(json)) return json;
  return JSON.stringify(
    value,
    (_key, part) => typeof part === "string" ? part.toWellFormed() : part,
  );
}

function chatMessage(message: Message, model: string, profile: Profile): Fields {
  const { role, text } = message;
  switch (role) {
    case "system":
      return { role, content: text };
    case "user":
      return { role, content: userContent(message) };
    case "tool":
      return { role, tool_call_id: wireId(message.callId, profile), content: text };
    case "assistant":
      return assistantMessage(message, model, profile);
  }
}

function userContent({ text, images = [] }: Extract<Message, { role: "user" }>): unknown {
  if (images.length === 0) return text;
  const parts = images.map(({ mime, base64 }) => ({
    type: "image_url",
    image_url: { url: `data:${mime};base64,${base64}` },
  }));
  return text === "" ? parts : [{ type: "text", text }, ...parts];
}

function assistantMessage(
  { text, reasoning = "", opaque = [], calls }: Extract<Message, { role: "assistant" }>,
  model: string,
  profile: Profile,
): Fields {
  const out: Fields = { role: "assistant", content: text === "" && calls.length > 0 ? null : text };
  if (profile.replay === "reasoning_content") {
    // "" where there is none: one message without the field makes DeepSeek refuse all of them.
    out.reasoning_content = reasoning;
  } else if (profile.replay === "reasoning_details") {
    out.reasoning_details = opaque.find((item): item is ReasoningDetails =>
      isFields(item) && item.type === "reasoning_details" && item.model === model
    )?.details;
  }
  if (calls.length === 0) return out;
  const isForeign = calls.every((call) => call.extra === undefined);
  out.tool_calls = calls.map((call, at) => {
    const extra = call.extra ?? (isForeign && at === 0 ? profile.foreignExtra : undefined);
    return {
      id: wireId(call.id, profile),
      type: "function",
      function: { name: wireName(call.name), arguments: wireArguments(call) },
      extra_content: profile.callExtra ? extra : undefined,
    };
  });
  return out;
}

/** A model may call a tool by a name that no API takes back (`functions.Read`, `Read<|call|>`). */
function wireName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, 64) || "unnamed";
}

/** Lone surrogates hide in arguments as escapes, which are plain ASCII until the server parses them. */
function wireArguments({ args }: MessageCall): string {
  return /\\ud[89a-f]/i.test(args) ? wellFormedJson(JSON.parse(args)) : args;
}

const ACCEPTED_IDS: Record<Profile["ids"], RegExp> = {
  any: /^/,
  max40: /^.{1,40}$/s,
  alnum9: /^[A-Za-z0-9]{9}$/,
};

/**
 * An id in the form the provider takes. A foreign one (another provider's, after a failover) becomes
 * one made from its hash, the same in every request, so that the prefix stays the same.
 */
function wireId(id: string, profile: Profile): string {
  if (ACCEPTED_IDS[profile.ids].test(id)) return id;
  return sha256(id).slice(0, 9);
}

/** User messages joined to the user or tool message before them. */
function alternating(messages: Fields[]): Fields[] {
  const out: Fields[] = [];
  for (const message of messages) {
    const before = out.at(-1);
    const follows = message.role === "user" && (before?.role === "user" || before?.role === "tool");
    // A message with images stays on its own: a tool message takes none.
    if (
      before && follows && typeof before.content === "string" && typeof message.content === "string"
    ) {
      out[out.length - 1] = { ...before, content: `${before.content}\n\n${message.content}` };
    } else out.push(message);
  }
  return out;
}
