// The files of a batch of Edit calls: what each held when the batch began, and what the batch has made of
// it. Reads the disk, never writes it. Not here: what a call does to a file (edit.ts, edit-plan.ts).

import { sha256 } from "../runtime/hash.ts";
import { anchors } from "./anchor.ts";
import { EMPTY, openDocument, whyReadOnly } from "./document.ts";
import { type FileState, stateOf } from "./edit-plan.ts";
import { sameBytes } from "./encodings.ts";
import { Resolver } from "./resolve.ts";
import type { ToolContext } from "./tool.ts";

/** Largest file that is edited in memory, in bytes. */
const MAX_BYTES = 64 * 1024 * 1024;

/** A file of the batch. */
export interface EditedFile {
  /** Bytes that must be on the disk now; null: no file. */
  bytes: Uint8Array | null;
  /** sha-256 of the bytes. */
  version: string;
  state: FileState;
  resolver: Resolver;
  /** Why it cannot be edited at all. */
  refusal: string | null;
}

/** The files of a batch by real path. */
export type Batch = Map<string, EditedFile>;

/** The file in this batch; loaded now when the batch did not foresee it. */
export async function fileOf(path: string, ctx: ToolContext): Promise<EditedFile> {
  const known = ctx.batch instanceof Map ? (ctx.batch as Batch).get(path) : undefined;
  const file = known ?? await load(path, ctx);
  if (ctx.batch instanceof Map) ctx.batch.set(path, file);
  return file;
}

/** A file as it is now, before any edit. Reads it; never fails for what it holds. @throws {HostError} */
export async function load(path: string, ctx: ToolContext): Promise<EditedFile> {
  const hash = await anchors();
  const info = await ctx.host.stat(path);
  const bytes = info?.kind === "file" && info.size <= MAX_BYTES ? await ctx.host.read(path) : null;
  const opened = bytes && openDocument(bytes);
  const document = opened?.kind === "text" ? opened.document : null;
  let refusal: string | null = null;
  if (info?.kind === "dir") refusal = "it is a folder";
  else if (info?.kind === "other") refusal = "it is a device, pipe or socket";
  else if (info && !bytes) refusal = `it has ${info.size} bytes; change it with a command`;
  else if (opened?.kind === "binary") refusal = `it is binary (${opened.type})`;
  else if (document && bytes) refusal = await whyReadOnly(document, bytes);
  const version = bytes ? sha256(bytes) : "";
  const resolver = new Resolver({
    lines: (document ?? EMPTY).lines,
    version,
    // A copy: what this batch shows came after the model chose its anchors.
    views: [...ctx.seen.views(path)],
    kept: (name) => ctx.kept(name),
    hash,
  });
  return { bytes, version, state: stateOf(document), resolver, refusal };
}

/** Does the disk still hold what this batch left there? */
export async function isUnchanged(
  path: string,
  { bytes, refusal }: EditedFile,
  { host }: ToolContext,
): Promise<boolean> {
  if (refusal !== null) return true; // it will say so itself
  const info = await host.stat(path);
  if (info === null || bytes === null) return info === null && bytes === null;
  return info.kind === "file" && info.size === bytes.length &&
    sameBytes(await host.read(path), bytes);
}
