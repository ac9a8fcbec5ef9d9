// The bytes of an answer with status 200 → deltas, in all the dialects of Chat Completions that servers
// speak (tests/cases/sse), and from what they send in its place. Pure: waiting for the bytes is chat.ts,
// which fragments make one call is calls.ts, what a failure means is failure.ts.

import { failure, type FailureContext, failureOf, notAnApi } from "./failure.ts";
import { type Fields, isFields, parseJson } from "./http.ts";
import type { CallFragment, Delta, FinishReason, ProviderFailure, Usage } from "./provider.ts";
import { type Frame, SseDecoder } from "./sse.ts";

/** Finish reasons of all dialects; any other is `stop`. */
const FINISH: [RegExp, FinishReason][] = [
  [/^(tool_calls?|tool_use|function_call)$/i, "tool_calls"],
  [/length|max_(output_)?tokens|context_window/i, "length"],
  [/filter|safety|refusal|sensitive|recitation|blocklist|prohibited/i, "content_filter"],
];

/** Reasons that mean the provider gave up: worth a new try, never a reply. */
const ABANDONED =
  /^(error|abort|network_error|insufficient_system_resource)$|malformed_function_call|unexpected_tool_call/i;

/** Opaque item with the reasoning blocks of a router, sent back to the same model only. */
export interface ReasoningDetails {
  type: "reasoning_details";
  model: string;
  details: Fields[];
}

/** Reads one answer: `push` its bytes as they come, then `end` once. */
export class ChatStream {
  /** `[DONE]` or an error was read: nothing that follows counts. */
  done = false;
  /** A finish reason was read: the reply is complete even if the body breaks off here. */
  finished = false;
  readonly #context: FailureContext;
  readonly #decoder = new SseDecoder();
  readonly #details: Fields[] = [];
  #frames = 0;

  constructor(context: FailureContext) {
    this.#context = context;
  }

  /** Grows with what may be part of a reply, not with keep-alive comments and blank lines. */
  get progress(): number {
    return this.#decoder.progress;
  }

  *push(bytes: Uint8Array): Generator<Delta> {
    if (this.done) return;
    for (const frame of this.#decoder.push(bytes)) yield* this.#frame(frame);
  }

  *end(): Generator<Delta> {
    for (const frame of this.#decoder.end()) yield* this.#frame(frame);
    // What is no event: one JSON completion, an error, a page, or an error behind a broken stream.
    const text = this.#decoder.other.trim();
    if (!this.done && !this.finished) yield* this.#value(parseJson(text), false);
    // A stream cut inside its first word is a cut stream, to be tried again.
    const isCut = ["data", "event", "id", "retry"].some((field) => field.startsWith(text));
    const isStrange = !isCut && !this.done && !this.finished && this.#frames === 0;
    if (isStrange) yield this.#fail(notAnApi(text, this.#context));
    if (this.finished && this.#details.length > 0) {
      const { model = "" } = this.#context;
      const item: ReasoningDetails = { type: "reasoning_details", model, details: this.#details };
      yield { type: "opaque", item };
    }
  }

  *#frame({ event, data, whole }: Frame): Generator<Delta> {
    if (this.done) return;
    this.#frames++;
    if (event === "overflow") {
      const message = "The provider sent a single event of several megabytes";
      return yield this.#fail(failure(message, this.#context));
    }
    const isError = event === "error";
    const joined = parseJson(data);
    if (joined !== undefined) return yield* this.#value(joined, isError);
    // Two events without the blank line between them come as one: then each line is one
    // (ggml-org/llama.cpp#14268). Joined first, because one event may span lines.
    for (const line of data.split("\n").map((text) => text.trim())) {
      const value = parseJson(line);
      if (this.done || line === "") continue;
      if (line === "[DONE]") {
        if (!this.finished) yield { type: "finish", reason: "stop", raw: null };
        this.done = this.finished = true;
      } else if (value !== undefined) {
        yield* this.#value(value, isError);
      } else if (!/^[[{"]/.test(line)) {
        yield* this.#value(line, true); // a bare sentence
      } else if (whole) { // else the end of the stream cut it off, and that is seen there
        const message = `The stream is damaged: ${line.slice(0, 120)}`;
        yield this.#fail(failure(message, this.#context, { retryable: true }));
      }
    }
  }

  *#value(value: unknown, isError: boolean): Generator<Delta> {
    const fields = isFields(value) ? value : {};
    const first: unknown = Array.isArray(fields.choices) ? fields.choices[0] : undefined;
    const choice = isFields(first) ? first : {};
    yield* this.#message(choice.delta ?? choice.message);
    const groq = isFields(fields.x_groq) ? fields.x_groq : {};
    const usage = usageOf(fields.usage) ?? usageOf(choice.usage) ?? usageOf(groq.usage);
    if (usage) yield { type: "usage", usage };
    const failed = failureOf(choice.error ? choice : value, this.#context, isError);
    const raw = choice.finish_reason;
    if (failed) {
      yield this.#fail(failed);
    } else if (typeof raw === "string" && ABANDONED.test(raw)) {
      yield this.#fail(failure(`The provider dropped the reply: ${raw}`, this.#context, {
        code: raw,
        retryable: true,
        hint: "This is the model's or the provider's fault; a new try often helps.",
      }));
    } else if (typeof raw === "string" && raw !== "") {
      this.finished = true;
      const reason = FINISH.find(([words]) => words.test(raw))?.[1] ?? "stop";
      yield { type: "finish", reason, raw };
    }
  }

  #fail(failed: ProviderFailure): Delta {
    this.done = true;
    return { type: "error", failure: failed };
  }

  *#message(message: unknown): Generator<Delta> {
    if (!isFields(message)) return;
    const details = this.#takeDetails(message.reasoning_details);
    const { reasoning_content, reasoning, reasoning_text } = message;
    const thought = [reasoning_content, reasoning, reasoning_text, details].find(Boolean);
    yield* contentOf(thought, "reasoning");
    yield* contentOf(message.content, "text");
    yield* contentOf(message.refusal, "text");
    for (const call of [message.tool_calls].flat()) {
      if (isFields(call)) yield { type: "call", fragment: fragmentOf(call) };
    }
    if (isFields(message.function_call)) {
      const call = { index: "function_call", function: message.function_call };
      yield { type: "call", fragment: fragmentOf(call) };
    }
  }

  /**
   * Collects reasoning blocks, merging the pieces of one block by its index: a signature is only valid
   * for the whole (agno-agi/agno#5802). Returns the text of the pieces.
   */
  #takeDetails(pieces: unknown): string {
    let text = "";
    for (const piece of Array.isArray(pieces) ? pieces.filter(isFields) : []) {
      text += [piece.text, piece.summary].filter((part) => typeof part === "string").join("");
      const open = this.#details.find((block) =>
        piece.index !== undefined && block.index === piece.index && block.type === piece.type
      );
      if (!open) {
        this.#details.push({ ...piece });
        continue;
      }
      for (const [key, part] of Object.entries(piece)) {
        const before = open[key];
        const isProse = ["text", "summary", "data"].includes(key) && typeof part === "string";
        if (isProse && typeof before === "string") open[key] = before + part;
        else if (part !== null) open[key] = part;
      }
    }
    return text;
  }
}

/** Content is a string, or a list of text and thinking parts (Mistral: litellm#16272). */
function* contentOf(content: unknown, type: "text" | "reasoning"): Generator<Delta> {
  if (typeof content === "string" && content !== "") yield { type, text: content };
  for (const part of Array.isArray(content) ? content : []) {
    if (!isFields(part)) yield* contentOf(part, type);
    else if (part.type === "thinking") yield* contentOf(part.thinking, "reasoning");
    else yield* contentOf(part.text, type);
  }
}

function fragmentOf({ index, id, function: called, extra_content }: Fields): CallFragment {
  const { name, arguments: args } = isFields(called) ? called : {};
  return {
    index: typeof index === "number" || typeof index === "string" ? index : undefined,
    id: typeof id === "string" ? id : undefined,
    name: typeof name === "string" ? name : undefined,
    args,
    extra: extra_content ?? undefined,
  };
}

/** Tokens of a usage object; cached tokens stand in many places (DeepSeek, Moonshot, Anthropic). */
function usageOf(value: unknown): Usage | null {
  if (!isFields(value)) return null;
  const { prompt_tokens_details: prompt, input_tokens_details: details } = value;
  const input = count(value.prompt_tokens, value.input_tokens);
  const output = count(value.completion_tokens, value.output_tokens);
  if (input === null && output === null) return null;
  const cached = count(
    isFields(prompt) ? prompt.cached_tokens : undefined,
    isFields(details) ? details.cached_tokens : undefined,
    value.cached_tokens,
    value.prompt_cache_hit_tokens,
    value.cache_read_input_tokens,
  );
  // xAI and Gemini leave reasoning out of completion_tokens but not out of the total; it is billed.
  const rest = (count(value.total_tokens) ?? 0) - (input ?? 0);
  return {
    input: input ?? 0,
    output: Math.max(output ?? 0, rest),
    cached: Math.min(cached ?? 0, input ?? 0),
  };
}

/** The first value that is a number. */
function count(...values: unknown[]): number | null {
  const found = values.find((value): value is number => Number.isFinite(value));
  return found === undefined ? null : Math.max(0, Math.round(found));
}
