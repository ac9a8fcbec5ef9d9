// The stored text behind a result key: in the records where it is short, else in a file of the session.

import type { StoredResult } from "../context/results.ts";
import { attribute } from "./paths.ts";
import type { ToolContext } from "./tool.ts";

/** Bytes read at a time. */
const CHUNK = 1024 * 1024;

export interface StoredText {
  tr: string;
  header: string;
  /** What the records hold. */
  text: string;
  /** Where all of it lies, if not in `text`. */
  file?: string;
  /** Bytes. */
  size: number;
  /** What the reader should know. */
  note?: string;
}

/** What is shown of one text. */
export interface Section {
  rows: string[];
  /** Lines shown. */
  lines: number;
  /** More than errors. */
  isUseful: boolean;
}

/** The text of a result; of one whose file was removed, what was shown of it. */
export async function storedText(
  { tr, header, text, file }: StoredResult,
  { host }: ToolContext,
): Promise<StoredText> {
  const inRecords = { tr, header, text: text.toWellFormed(), size: Buffer.byteLength(text) };
  if (file === undefined) return inRecords;
  const info = await host.stat(file);
  if (info?.kind === "file") return { ...inRecords, file, size: info.size };
  const note = `the full text is gone (${file} was removed); this is what was shown of it then`;
  return { ...inRecords, note };
}

/** All bytes of a text, in pieces. */
export async function* chunksOf(
  { text, file }: StoredText,
  { host, signal }: ToolContext,
): AsyncGenerator<Uint8Array> {
  if (file === undefined) {
    yield Buffer.from(text);
    return;
  }
  for (let offset = 0;;) {
    signal.throwIfAborted();
    const chunk = await host.readRange(file, offset, offset + CHUNK);
    if (chunk.length === 0) return;
    yield chunk;
    offset += chunk.length;
  }
}

/** `<Recall key="tr.12" call="Bash npm test" …>`, and the note where there is one. */
export function opening({ tr, header, note }: StoredText, facts = ""): string {
  const tag = `<Recall key="${tr}" call="${attribute(header)}"${facts}>`;
  return note === undefined ? tag : `${tag}\nnote: ${note}`;
}
