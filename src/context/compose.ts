// Records + view of the disk → messages: a pure function. The layout (spec/context): system prompt,
// Environment, what a compaction left, history in order, then the tail (Memory, FILE STATE), which is
// small, never cached and sent anew each time. A request begins with the one before it, minus its tail,
// because records are only ever appended.

import type { Message } from "../provider/provider.ts";
import type {
  Observation,
  ReplyRecord,
  RequestBlock,
  ResultRecord,
  SessionRecord,
} from "../session/records.ts";
import { type Board, boardOf, memoryText } from "./board.ts";
import { type FileNow, type FilesPlacement, fileState } from "./files.ts";
import { type History, historyOf, resultHead } from "./history.ts";

export interface ComposeInput {
  records: readonly SessionRecord[];
  /** System prompt: the same in every folder and session. */
  system: string;
  /** Local date, `YYYY-MM-DD`; it stands in the tail. */
  today: string;
  /** The files that the model has seen, as they are on the disk now. */
  files: readonly FileNow[];
  /** Where current file content stands: at the results that showed it, or all in the tail. */
  placement: FilesPlacement;
  /** Tokens that fit; null when not known. */
  window: number | null;
  /** The board, when it is at hand; else it is read from the records. */
  board?: Board;
  /** A stored image as base64, or null when it is gone. */
  image(blob: string): string | null;
}

export interface Composed {
  messages: Message[];
  /** What each message is, for the ledger. */
  kinds: RequestBlock["name"][];
  /** How many messages at the end are the tail. */
  tail: number;
  /** Lines of files that the tail shows. */
  shown: Observation[];
}

/**
 * The messages of the next request. Whatever the records hold, the pairing that providers demand
 * holds in the result: each call is followed by exactly one result, and no result stands alone.
 */
export function compose(input: ComposeInput): Composed {
  const out: Composed = { messages: [], kinds: [], tail: 0, shown: [] };
  const add = (kind: RequestBlock["name"], ...messages: Message[]) => {
    for (const message of messages) {
      out.messages.push(message);
      out.kinds.push(message.role === "tool" ? "results" : kind);
    }
  };
  add("system", { role: "system", text: input.system });
  const history = historyOf(input.records);
  const say = (record: SessionRecord, ...texts: string[]) =>
    made(record, input, history, () => texts.map((text) => ({ role: "user", text })));
  const { header, compact } = history;
  if (header) add("environment", ...say(header, header.environment));
  if (compact) add("summary", ...say(compact, ...compact.texts));
  let open: Exchange | null = null;
  const close = () => {
    if (open) add("replies", ...exchange(open, input, history));
    open = null;
  };
  const { records } = history;
  for (let i = history.from; i < records.length; i++) {
    const record = records[i] as SessionRecord;
    switch (record.type) {
      case "user":
        close();
        add("user", ...say(record, record.text));
        break;
      case "reply": {
        close();
        const before = known(record, input, history);
        if (before) add("replies", ...before);
        else open = { reply: record, results: new Map() };
        break;
      }
      case "result":
        open?.results.set(record.call, record);
        break;
      default: // what does not concern the model, and types of newer releases
    }
  }
  close();
  const board = input.board ?? boardOf(input.records);
  add("memory", { role: "user", text: memoryText(board, input.today) });
  const files = fileState(history, board, input);
  if (files.text !== "") add("files", { role: "user", text: files.text });
  out.tail = files.text === "" ? 1 : 2;
  out.shown = files.shown;
  return out;
}

/** A reply with the results recorded for it so far. */
interface Exchange {
  reply: ReplyRecord;
  results: Map<string, ResultRecord>;
}

interface Made {
  placement: FilesPlacement;
  /** Keys of its results, and those of them that were folded. */
  keys: readonly string[];
  folds: string;
  messages: Message[];
}

/**
 * Messages already made of records, which never change: a long session costs no more a step than a
 * short one, and a provider that keeps a message's wire form by identity finds it again.
 */
const kept = new WeakMap<SessionRecord, Made>();

/** What was made of a record, if placement and folds are still the same. */
function known(
  record: SessionRecord,
  { placement }: ComposeInput,
  { folded }: History,
): Message[] | null {
  const made = kept.get(record);
  if (!made || made.placement !== placement) return null;
  return made.folds === foldsOf(made.keys, folded) ? made.messages : null;
}

function foldsOf(keys: readonly string[], folded: ReadonlySet<string>): string {
  return folded.size === 0 ? "" : keys.filter((key) => folded.has(key)).join();
}

function made(
  record: SessionRecord,
  input: ComposeInput,
  history: History,
  make: () => Message[],
  keys: readonly string[] = [],
): Message[] {
  const before = known(record, input, history);
  if (before) return before;
  const messages = make();
  const { placement } = input;
  kept.set(record, { placement, keys, folds: foldsOf(keys, history.folded), messages });
  return messages;
}

/** A reply that still waits for results is made anew each time. */
function exchange({ reply, results }: Exchange, input: ComposeInput, history: History): Message[] {
  const make = () => replyMessages(reply, results, { ...input, folded: history.folded });
  if (results.size < reply.calls.length) return make();
  const keys = [...results.values()].map(({ tr }) => tr);
  return made(reply, input, history, make, keys);
}

/** An assistant message with the results of its calls; an empty reply leaves no message. */
function replyMessages(
  reply: ReplyRecord,
  results: ReadonlyMap<string, ResultRecord>,
  how: Pick<ComposeInput, "placement" | "image"> & Pick<History, "folded">,
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
      text: result
        ? resultText(result, how)
        : "Not run: no result was recorded (the session was cut).",
    });
    for (const { mime, blob } of result?.images ?? []) {
      const base64 = result && how.folded.has(result.tr) ? null : how.image(blob);
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

function resultText(
  result: ResultRecord,
  { folded, placement }: Pick<ComposeInput, "placement"> & Pick<History, "folded">,
): string {
  const head = resultHead(result);
  if (folded.has(result.tr)) {
    return `${head}\n[folded to make room; Recall {"keys":["${result.tr}"]} shows it]`;
  }
  if (placement === "tail" && isFileContent(result)) return `${head} -> FILE STATE`;
  return `${head}\n${result.text}`;
}

/** Does FILE STATE show all that this result showed? */
export function isFileContent({ status, observations, images }: ResultRecord): boolean {
  return status === "ok" && images === undefined && observations !== undefined &&
    observations.every(({ kind }) => kind === "read" || kind === "edit");
}
