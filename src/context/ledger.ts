// The ledger: what each request is made of, how much of it the provider should have cached, and which
// part broke the prefix when one did. Pure accounting over composed messages.

import type { Message, ToolSpec } from "../provider/provider.ts";
import { shortHash } from "../runtime/hash.ts";
import type { RequestBlock, RequestRecord, SessionRecord } from "../session/records.ts";
import type { Composed } from "./compose.ts";
import { estimateTokens, imageTokens } from "./tokens.ts";

/** A request as it was sent, for comparison with the next. */
export interface Sent {
  model: string;
  tools: Weight;
  /** Without the tail. */
  prefix: readonly Message[];
  kinds: readonly RequestBlock["name"][];
  /** Number of records then: what came behind may be why the prefix broke. */
  records: number;
}

interface Weight {
  tokens: number;
  hash: number;
}

export type RequestFacts = Pick<
  RequestRecord,
  "model" | "blocks" | "raw" | "estimate" | "predicted" | "broke" | "tail"
>;

/**
 * Accounts for a request.
 *
 * @param previous The request before it in this process, null for the first.
 * @param ratio What the provider counted for each estimated token (context/tokens.ts).
 */
export function accountFor(
  composed: Composed,
  tools: readonly ToolSpec[],
  model: string,
  records: readonly SessionRecord[],
  previous: Sent | null,
  ratio: number,
): { facts: RequestFacts; sent: Sent } {
  const { messages, kinds, tail } = composed;
  const toolsWeight = weightOfTools(tools);
  const blocks = new Map<RequestBlock["name"], { tokens: number; hash: number }>();
  const add = (name: RequestBlock["name"], { tokens, hash }: Weight) => {
    const block = blocks.get(name) ?? { tokens: 0, hash: 0 };
    block.tokens += tokens;
    block.hash = Math.imul(block.hash ^ hash, 0x01000193) >>> 0;
    blocks.set(name, block);
  };
  add("tools", toolsWeight);
  messages.forEach((message, i) => add(kinds[i] ?? "user", weightOf(message)));
  const prefix = messages.slice(0, messages.length - tail);
  const sent: Sent = { model, tools: toolsWeight, prefix, kinds, records: records.length };
  const { cached, broke } = compare(sent, previous, records);
  const raw = [...blocks.values()].reduce((sum, { tokens }) => sum + tokens, 0);
  const scaled = (tokens: number) => Math.round(tokens * ratio);
  return {
    sent,
    facts: {
      model,
      blocks: [...blocks].map(([name, { tokens, hash }]) => ({
        name,
        tokens: scaled(tokens),
        hash: hash.toString(16).padStart(8, "0"),
      })),
      raw,
      estimate: scaled(raw),
      predicted: scaled(cached),
      ...(broke === null ? {} : { broke }),
      tail: messages.slice(messages.length - tail).map(({ text }) => text),
    },
  };
}

/** How many estimated tokens stand at the beginning of both requests, and what ended that too early. */
function compare(
  now: Sent,
  before: Sent | null,
  records: readonly SessionRecord[],
): { cached: number; broke: RequestRecord["broke"] | null } {
  if (before === null) return { cached: 0, broke: null };
  if (now.model !== before.model) {
    return { cached: 0, broke: { block: "tools", why: `the model changed (${before.model})` } };
  }
  if (now.tools.hash !== before.tools.hash) {
    return { cached: 0, broke: { block: "tools", why: "the tools changed" } };
  }
  let cached = now.tools.tokens;
  for (let i = 0; i < before.prefix.length; i++) {
    const message = before.prefix[i] as Message;
    const same = now.prefix[i];
    if (same !== message && !(same && weightOf(same).hash === weightOf(message).hash)) {
      const block = before.kinds[i] ?? "user";
      return { cached, broke: { block, why: reason(records.slice(before.records)) } };
    }
    cached += weightOf(message).tokens;
  }
  return { cached, broke: null };
}

/** Which of the records behind the last request can change what stands before the tail. */
function reason(records: readonly SessionRecord[]): string {
  const why: Partial<Record<SessionRecord["type"], string>> = {
    compact: "the history was compacted",
    uncompact: "a compaction was taken back",
    fold: "old results were folded",
    setting: "a setting changed",
  };
  return records.map(({ type }) => why[type]).find((text) => text !== undefined) ??
    "its text is not what was sent before";
}

const weights = new WeakMap<Message, Weight>();

/** Tokens and hash of a message; messages of history are objects that stay (compose.ts). */
function weightOf(message: Message): Weight {
  let weight = weights.get(message);
  if (weight) return weight;
  const images = message.role === "user" ? message.images ?? [] : [];
  const calls = message.role === "assistant" ? message.calls : [];
  const text = [
    message.role,
    message.text,
    ...calls.flatMap(({ id, name, args }) => [id, name, args]),
    ...(message.role === "assistant" ? [message.reasoning ?? "", json(message.opaque)] : []),
    ...(message.role === "tool" ? [message.callId] : []),
  ].join("\n");
  const picture = images.reduce((sum, { base64 }) => sum + imageTokens(base64.length), 0);
  const hash = hashOf(text + images.map(({ base64 }) => base64).join());
  weight = { tokens: estimateTokens(text) + picture, hash };
  weights.set(message, weight);
  return weight;
}

const hashOf = (text: string) => Number.parseInt(shortHash(text), 16);
const json = (value: unknown) => value === undefined ? "" : JSON.stringify(value);

const toolWeights = new WeakMap<ToolSpec, Weight>();

function weightOfTools(tools: readonly ToolSpec[]): Weight {
  let tokens = 0;
  let hash = 0;
  for (const spec of tools) {
    let weight = toolWeights.get(spec);
    if (!weight) {
      const text = JSON.stringify(spec);
      weight = { tokens: estimateTokens(text), hash: hashOf(text) };
      toolWeights.set(spec, weight);
    }
    tokens += weight.tokens;
    hash = Math.imul(hash ^ weight.hash, 0x01000193) >>> 0;
  }
  return { tokens, hash };
}

/** One request of a session with what the provider said of it. */
export interface LedgerLine extends RequestFacts {
  turn: number;
  step: number;
  t: string;
  /** Tokens that fitted; null when not known. */
  window: number | null;
  /** As reported; null when the provider counted nothing or no reply came. */
  input: number | null;
  cached: number | null;
  output: number | null;
}

/** The ledger of a session. */
export function ledgerOf(records: readonly SessionRecord[]): LedgerLine[] {
  const lines: LedgerLine[] = [];
  for (const record of records) {
    if (record.type === "request") {
      const { turn, step, t, model, blocks, raw, estimate, predicted, broke, tail } = record;
      const window = record.window ?? null;
      const facts = { model, blocks, raw, estimate, predicted, tail, ...(broke ? { broke } : {}) };
      lines.push({ turn, step, t, window, ...facts, input: null, cached: null, output: null });
    }
    const last = lines.at(-1);
    if (record.type === "reply" && record.usage && last?.input === null) {
      const { input, cached, output } = record.usage;
      Object.assign(last, { input, cached, output });
    }
  }
  return lines;
}
