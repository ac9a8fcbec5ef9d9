// The lines of a file by number, for Read: a small file from memory, a large one in one pass with bounded
// memory (it counts lines, hashes the bytes and keeps the lines that were asked for).
// Not here: which lines to show and how (read.ts).

import { newSha256 } from "../runtime/hash.ts";
import type { Host } from "../host/host.ts";
import { sha256 } from "../runtime/hash.ts";
import { binaryType, openDocument, whyReadOnly } from "./document.ts";
import { type Codec, decode, legacyOf, unicodeOf } from "./encodings.ts";
import type { Span } from "./lines.ts";
import { ToolError } from "./tool.ts";

/** Files up to this size are read whole, in bytes. */
const MAX_WHOLE = 16 * 1024 * 1024;
/** Bytes read at a time. */
const CHUNK = 1024 * 1024;
/** Longest line (bytes) of a large file that is held. */
const MAX_LINE = 32 * 1024 * 1024;
/** Bytes that a line can take of a page, at most. */
const MAX_ROW = 8 * 1024;

export interface LineSource {
  kind: "text";
  total: number;
  /** sha-256 of the file's bytes. */
  version: string;
  codec: Codec;
  readOnly: string | null;
  /** The bytes, where they are held. */
  bytes?: Uint8Array;
  /** Text of a line; undefined beyond the end, and of a large file where it was not asked for. */
  line(n: number): string | undefined;
}

/** Not text. `bytes` where the file is small enough to be held. */
export interface Binary {
  kind: "binary";
  type: string;
  bytes?: Uint8Array;
}

/** What is read of a large file: lines in these spans, until a page of `room` bytes is full. */
export interface Wanted {
  spans: readonly Span[];
  room: number;
}

/** Opens a file of `size` bytes. @throws {HostError | ToolError} */
export async function openSource(
  host: Host,
  path: string,
  size: number,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<LineSource | Binary> {
  if (size > MAX_WHOLE) return await openLarge(host, path, size, wanted, signal);
  const bytes = await host.read(path);
  const opened = openDocument(bytes);
  if (opened.kind === "binary") return { ...opened, bytes };
  const { lines, codec } = opened.document;
  return {
    kind: "text",
    total: lines.length,
    version: sha256(bytes),
    codec,
    readOnly: await whyReadOnly(opened.document, bytes),
    bytes,
    line: (n) => (n <= lines.length ? lines.line(n) : undefined),
  };
}

async function openLarge(
  host: Host,
  path: string,
  size: number,
  { spans, room }: Wanted,
  signal: AbortSignal,
): Promise<LineSource | Binary> {
  const head = await host.readRange(path, 0, CHUNK);
  const unicode = unicodeOf(head, true);
  const type = binaryType(head, unicode);
  if (type !== null) return { kind: "binary", type };
  if (unicode?.name.startsWith("utf-16")) {
    return { kind: "binary", type: "UTF-16 text of over 16 MB; convert it to UTF-8 to read it" };
  }
  const hash = newSha256();
  const utf8 = new TextDecoder("utf-8", { fatal: true });
  const held = new Map<number, Uint8Array[]>();
  let valid = unicode !== null;
  let line = 1; // the one that is being read
  let bytes = 0; // of it, so far
  let left = room;
  for (let offset = 0; offset < size; offset += CHUNK) {
    signal.throwIfAborted();
    const chunk = offset === 0 ? head : await host.readRange(path, offset, offset + CHUNK);
    if (chunk.length === 0) break; // it became shorter meanwhile
    hash.update(chunk);
    valid &&= decodesOn(utf8, chunk, offset + CHUNK < size);
    for (let start = 0, end = 0; start < chunk.length; start = end) {
      end = chunk.indexOf(10, start) + 1 || chunk.length;
      bytes += end - start;
      if (left > 0 && spans.some(([from, to]) => from <= line && line <= to)) {
        if (bytes > MAX_LINE) {
          throw new ToolError(`line ${line} has over ${MAX_LINE} bytes; look at it with a command`);
        }
        held.set(line, [...held.get(line) ?? [], chunk.slice(start, end)]);
        if (chunk[end - 1] === 10) left -= Math.min(bytes, MAX_ROW);
      }
      if (chunk[end - 1] === 10) [line, bytes] = [line + 1, 0];
    }
  }
  const codec = valid && unicode ? unicode : legacyOf(head, true);
  return {
    kind: "text",
    total: bytes > 0 ? line : line - 1,
    version: hash.digest("hex"),
    codec,
    readOnly: null,
    line(n) {
      const parts = held.get(n);
      if (!parts) return undefined;
      const bytes = Buffer.concat(parts).subarray(n === 1 ? codec.bom.length : 0);
      const text = decode(bytes, codec) ?? new TextDecoder(codec.name).decode(bytes);
      return text.replace(/\r?\n$/, "");
    },
  };
}

function decodesOn(decoder: TextDecoder, bytes: Uint8Array, more: boolean): boolean {
  try {
    decoder.decode(bytes, { stream: more });
    return true;
  } catch {
    return false;
  }
}
