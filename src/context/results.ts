// Tool results: text of any size kept in bounded memory, and the bound on what the model sees of it.
// Not here: the numbering tr.N (loop/invoke.ts), how one is shown again (tools/recall.ts).

import type { BlobStore, BlobWriter } from "../session/blobs.ts";
import { estimateTokens } from "./tokens.ts";

/** Text too large to hold, kept in a file of the session. `head` and `tail` are whole lines. */
export interface SpilledText {
  /** Blob name. */
  spill: string;
  bytes: number;
  lines: number;
  head: string;
  tail: string;
}

/** Collects output of any size in bounded memory; past a threshold it goes to a file of the session. */
export interface OutputSink {
  write(text: string): void;
  /** The whole text when small, else where it lies. */
  end(): Promise<string | SpilledText>;
}

/** A result of the session: its header line, what the model saw, and where all of it lies. */
export interface StoredResult {
  tr: string;
  header: string;
  text: string;
  /** Path of the file with the full output, where `text` is not all of it. */
  file?: string;
}

/** Bytes held in memory before a sink goes to disk, and the size of the head and tail it keeps. */
const HOLD = 256 * 1024;
const KEEP = 64 * 1024;

/** A sink whose large texts become blobs. */
export function openSink(blobs: BlobStore): OutputSink {
  let held: string[] = [];
  let bytes = 0;
  let lines = 0;
  let endsWithNewline = true;
  let writer: BlobWriter | null = null;
  let head = "";
  let tail = "";

  const spill = (text: string) => {
    writer?.write(Buffer.from(text));
    tail += text;
    if (tail.length > 4 * KEEP) tail = tail.slice(-2 * KEEP);
  };
  return {
    write(text) {
      if (text === "") return;
      bytes += Buffer.byteLength(text);
      lines += countNewlines(text);
      endsWithNewline = text.endsWith("\n");
      if (writer) return spill(text);
      held.push(text);
      if (bytes <= HOLD) return;
      writer = blobs.open();
      const all = held.join("");
      held = [];
      head = upToLineEnd(all.slice(0, KEEP));
      spill(all);
    },
    end() {
      if (!writer) return Promise.resolve(held.join(""));
      const name = writer.end();
      return Promise.resolve({
        spill: name,
        bytes,
        lines: lines + (endsWithNewline ? 0 : 1),
        head,
        tail: fromLineStart(tail.slice(-KEEP)),
      });
    },
  };
}

export interface Bounded {
  /** What the model sees. */
  text: string;
  /** Blob with the full text, when `text` is not all of it. */
  spill?: string;
}

/**
 * Bounds a result to `tokens`: head 2/5, tail 3/5, cut at line ends, and one marker line in the
 * middle that says truthfully what is not shown. The full text is kept as a blob.
 */
export function boundResult(
  output: string | SpilledText,
  tokens: number,
  tr: string,
  blobs: BlobStore,
): Bounded {
  if (typeof output === "string") {
    if (estimateTokens(output) <= tokens) return { text: output };
    const spill = blobs.keep(Buffer.from(output));
    return { text: cutMiddle(output, output, totals(output), tokens, tr), spill };
  }
  const { head, tail, spill, bytes, lines } = output;
  return { text: cutMiddle(head, tail, { bytes, lines }, tokens, tr), spill };
}

interface Totals {
  bytes: number;
  lines: number;
}

function cutMiddle(start: string, end: string, total: Totals, tokens: number, tr: string): string {
  const budget = tokens * 4;
  const head = upToLineEnd(takeBytes(start, Math.floor(budget * 2 / 5)));
  const rest = takeBytesFromEnd(end, Math.floor(budget * 3 / 5));
  const tail = fromLineStart(rest);
  const first = countNewlines(head) + 1;
  // A line of which only the end is shown belongs to what is not shown, or no Recall would be named for it.
  const last = total.lines - totals(tail).lines + (tail === rest ? 1 : 0);
  const left = total.bytes - Buffer.byteLength(head) - Buffer.byteLength(tail);
  const what = last > first ? `lines ${first}-${last} of ${total.lines}` : `${left} bytes`;
  const ranges = last > first ? [[first, last]] : [];
  const recall = JSON.stringify({ keys: [tr], ...(ranges.length > 0 ? { ranges } : {}) });
  const marker = `[${tr}: ${what} not shown, about ${
    Math.ceil(left / 4)
  } tokens; Recall ${recall}]`;
  return `${head}${head === "" || head.endsWith("\n") ? "" : "\n"}${marker}\n${tail}`;
}

function totals(text: string): Totals {
  const newlines = countNewlines(text);
  return {
    bytes: Buffer.byteLength(text),
    lines: newlines + (text === "" || text.endsWith("\n") ? 0 : 1),
  };
}

function countNewlines(text: string): number {
  let n = 0;
  for (let i = text.indexOf("\n"); i !== -1; i = text.indexOf("\n", i + 1)) n++;
  return n;
}

/** The longest prefix of whole code points within `limit` bytes. */
export function takeBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text.slice(0, limit));
  if (bytes.length <= limit) return text.slice(0, limit).replace(/[\ud800-\udbff]$/, "");
  let end = limit;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end).toString("utf8");
}

function takeBytesFromEnd(text: string, limit: number): string {
  const bytes = Buffer.from(text.slice(-limit));
  let start = Math.max(0, bytes.length - limit);
  while (start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  return bytes.subarray(start).toString("utf8").replace(/^[\udc00-\udfff]/, "");
}

/** Cut after the last line end, unless that would leave (almost) nothing: one giant line. */
function upToLineEnd(text: string): string {
  const at = text.lastIndexOf("\n");
  return at > text.length / 2 ? text.slice(0, at + 1) : text.replace(/[\ud800-\udbff]$/, "");
}

function fromLineStart(text: string): string {
  const at = text.indexOf("\n");
  if (at !== -1 && at < text.length / 2) return text.slice(at + 1);
  return text.replace(/^[\udc00-\udfff]/, "");
}
