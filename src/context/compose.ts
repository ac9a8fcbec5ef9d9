// Records → messages: a pure function. The layout (spec/context): system prompt, Environment, history
// in order, then a small tail that is never stored. A request begins with the one before it, minus
// its tail, because records are only ever appended.

import type { Message } from "../provider/provider.ts";
import type {
  HeaderRecord,
  ReplyRecord,
  ResultRecord,
  SessionRecord,
  UserRecord,
} from "../session/records.ts";

export interface ComposeInput {
  records: readonly SessionRecord[];
  /** System prompt: the same in every folder and session. */
  system: string;
  /** Local date, `YYYY-MM-DD`; it stands in the tail. */
  today: string;
  /** A stored image as base64, or null when it is gone. */
  image(blob: string): string | null;
}

/**
 * The messages of the next request. Whatever the records hold, the pairing that providers demand
 * holds in the result: each call is followed by exactly one result, and no result stands alone.
 */
export function compose(input: ComposeInput): Message[] {
  const messages: Message[] = [{ role: "system", text: input.system }];
  let open: Exchange | null = null;
  const close = () => {
    if (open) messages.push(...made(open.reply, open, input.image));
    open = null;
  };
  for (const record of input.records) {
    switch (record.type) {
      case "header":
        messages.push(...made(record));
        break;
      case "user":
        close();
        messages.push(...made(record));
        break;
      case "reply":
        close();
        if (kept.has(record)) messages.push(...made(record));
        else open = { reply: record, results: new Map() };
        break;
      case "result":
        open?.results.set(record.call, record);
        break;
      default: // what does not concern the model, and types of newer releases
    }
  }
  close();
  messages.push({ role: "user", text: tail(input.today) });
  return messages;
}

/** A reply with the results recorded for it so far. */
interface Exchange {
  reply: ReplyRecord;
  results: Map<string, ResultRecord>;
}

/**
 * Messages already made of records, which never change: a long session costs no more a step than a
 * short one, and a provider that keeps a message's wire form by identity finds it again.
 */
const kept = new WeakMap<SessionRecord, Message[]>();

function made(
  record: HeaderRecord | UserRecord | ReplyRecord,
  exchange?: Exchange,
  image: ComposeInput["image"] = () => null,
): Message[] {
  const known = kept.get(record);
  if (known) return known;
  const messages = record.type === "reply"
    ? replyMessages(record, exchange?.results ?? new Map(), image)
    : [{
      role: "user" as const,
      text: record.type === "header" ? record.environment : record.text,
    }];
  const complete = record.type !== "reply" || exchange?.results.size === record.calls.length;
  if (complete) kept.set(record, messages);
  return messages;
}

/** An assistant message with the results of its calls; an empty reply leaves no message. */
function replyMessages(
  reply: ReplyRecord,
  results: Map<string, ResultRecord>,
  image: (blob: string) => string | null,
): Message[] {
  if (reply.calls.length === 0 && reply.text === "") return [];
  const messages: Message[] = [{
    role: "assistant",
    text: reply.text,
    ...(reply.reasoning === "" ? {} : { reasoning: reply.reasoning }),
    ...(reply.opaque.length === 0 ? {} : { opaque: reply.opaque }),
    calls: reply.calls.map((call) => ({
      id: call.id,
      name: call.name,
      // Broken JSON is never sent back raw: providers answer 400 to it for the rest of the session.
      args: call.args === null ? "{}" : JSON.stringify(call.args),
      ...(call.extra === undefined ? {} : { extra: call.extra }),
    })),
  }];
  const images: { mime: string; base64: string }[] = [];
  const sources: string[] = [];
  for (const call of reply.calls) {
    const result = results.get(call.id);
    messages.push({
      role: "tool",
      callId: call.id,
      name: call.name,
      text: result ? resultText(result) : "Not run: no result was recorded (the session was cut).",
    });
    for (const { mime, blob } of result?.images ?? []) {
      const base64 = image(blob);
      if (base64 === null) continue;
      images.push({ mime, base64 });
      sources.push(`${result?.tr}`);
    }
  }
  if (images.length > 0) {
    // A tool message cannot hold an image; a user message right behind the results can.
    messages.push({ role: "user", text: `Images of ${sources.join(", ")}:`, images });
  }
  return messages;
}

/** `tool tr.4 Search "raise" path=src`, the status where it is not ok, then the text. */
function resultText(result: ResultRecord): string {
  const status = result.status === "ok" ? "" : `\nstatus: ${result.status}`;
  return `tool ${result.tr} ${result.header}${status}\n${result.text}`;
}

function tail(today: string): string {
  return `--- Memory ---\nDate: ${today}`;
}
