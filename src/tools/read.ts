// The tool Read: lines of files with their anchors, in pages; also folders, images, and what kind of
// binary a file is. Not here: how lines are found (line-source.ts) and shown (lines.ts), paths (paths.ts).

import { z } from "zod";
import type { Observation } from "../session/records.ts";
import { anchors, type LineHash } from "./anchor.ts";
import { type Binary, type LineSource, openSource } from "./line-source.ts";
import { count, MAX_KEPT, Shown } from "./lines.ts";
import { attribute, locate, type Located, nearNames } from "./paths.ts";
import description from "./read.md" with { type: "text" };
import { columnsOf, foldReadArguments, spansOf } from "./read-arguments.ts";
import { defineTool, type ToolContext, ToolError, type ToolOutput } from "./tool.ts";

/** Largest image that is sent to a model, in bytes. */
const MAX_IMAGE = 5 * 1024 * 1024;
/** Entries of a folder that are listed. */
const MAX_ENTRIES = 200;
/** Bytes of a page kept for its last rows (what remains, closing tags). */
const RESERVE = 400;

const input = z.strictObject({
  files: z.array(z.strictObject({
    path: z.string(),
    ranges: z.array(z.array(z.number())).optional(),
    columns: z.array(z.number()).optional(),
  })).min(1),
});

type Input = z.infer<typeof input>;
type Item = Input["files"][number];

/** The real path of each item, as permission was asked for it. */
const asked = new WeakMap<Item, string>();

export const read = defineTool<Input>({
  name: "Read",
  description,
  input,
  example: { files: [{ path: "src/a.ts", ranges: [[1, 80]] }] },
  aliases: { paths: "files" },
  normalize: foldReadArguments,

  async effects({ files }, ctx) {
    const found = await Promise.all(files.map(({ path }) => locate(path, ctx)));
    for (const [i, { path }] of found.entries()) asked.set(files[i] as Item, path);
    return found.map(({ path }) => ({ kind: "read", path }));
  },

  isConcurrencySafe: () => true,

  title: ({ files }) =>
    files.map(({ path, ranges }) =>
      [path, ...(ranges ?? []).map(([from, to]) => `${from}:${to ?? -1}`)].join(" ")
    ).join(", "),

  async run({ files }, ctx) {
    const page = new Page(ctx, await anchors());
    for (const item of files) await page.add(item);
    return page.output();
  },
});

/** One result: what fits into it, and what is left for the next call. */
class Page {
  readonly #ctx: ToolContext;
  readonly #hash: LineHash;
  readonly #rows: string[] = [];
  readonly #rest: Item[] = [];
  readonly #observations: Observation[] = [];
  readonly #images: { mime: string; base64: string }[] = [];
  #left: number;
  #lines = 0;
  /** Something else than errors was shown. */
  #useful = false;

  constructor(ctx: ToolContext, hash: LineHash) {
    this.#ctx = ctx;
    this.#hash = hash;
    this.#left = ctx.limits.readTokens * 4 - RESERVE;
  }

  async add(item: Item): Promise<void> {
    if (this.#rest.length > 0) {
      this.#rest.push(item);
      return;
    }
    try {
      await this.#show(item);
    } catch (error) {
      const known = error instanceof ToolError ||
        (error instanceof Error && error.name === "HostError");
      if (!known) throw error;
      this.#element(item.path, "", [`error: ${error.message}`]);
    }
  }

  output(): ToolOutput {
    if (this.#rest.length > 0) {
      const files = this.#rest.slice(0, 20);
      const more = this.#rest.length - files.length;
      this.#rows.push(
        `The page ends here. For the rest: Read ${JSON.stringify({ files })}` +
          (more > 0 ? ` and ${count(more, "more file")}` : ""),
      );
    }
    const output = this.#rows.join("\n");
    return {
      output,
      status: this.#useful ? "ok" : "error",
      summary: this.#useful ? count(this.#lines, "line") : "nothing could be read",
      observations: this.#observations,
      images: this.#images,
      bound: Buffer.byteLength(output),
    };
  }

  async #show(item: Item): Promise<void> {
    const { host, signal } = this.#ctx;
    const file = await locate(item.path, this.#ctx);
    if ((asked.get(item) ?? file.path) !== file.path) {
      throw new ToolError(`it has just become a link to ${file.path}; to read that, ask again`);
    }
    if (file.info === null) {
      throw new ToolError(`no such file; ${await nearNames(item.path, this.#ctx)}`);
    }
    if (file.info.kind === "dir") return await this.#folder(file);
    const wanted = { spans: spansOf(item.ranges, Infinity).spans, room: this.#left };
    const opened = await openSource(host, file.path, file.info.size, wanted, signal);
    if (opened.kind === "text") this.#text(item, file, opened);
    else this.#binary(file, opened);
  }

  #binary(file: Located, { type, bytes }: Binary): void {
    this.#useful = true;
    let what = "A binary file; it cannot be shown.";
    if (type.startsWith("image/")) {
      const small = bytes && bytes.length <= MAX_IMAGE;
      what = small ? "The image follows the results." : "The image is too large to be shown.";
      if (small) this.#images.push({ mime: type, base64: Buffer.from(bytes).toString("base64") });
    }
    this.#element(file.shown, ` type="${type}" size="${file.info?.size}"`, [...notes(file), what]);
  }

  async #folder(file: Located): Promise<void> {
    this.#useful = true;
    const entries = await this.#ctx.host.readDir(file.path);
    const folders = entries.filter(({ kind }) => kind === "dir");
    const others = entries.filter(({ kind }) => kind !== "dir");
    const names = [...folders.map(({ name }) => `${name}/`), ...others.map(({ name }) => name)];
    const rows = [...notes(file), ...names.slice(0, MAX_ENTRIES)];
    const more = names.length - MAX_ENTRIES;
    if (more > 0) rows.push(`${more} more; List shows what is not ignored`);
    this.#element(file.shown, ` folder="true" entries="${names.length}"`, rows);
  }

  #text(item: Item, file: Located, source: LineSource): void {
    const { total, version, codec, bytes } = source;
    const { spans, faults } = spansOf(item.ranges, total);
    const { columns, fault } = columnsOf(item.columns, Math.floor(this.#left / 4));
    if (fault) faults.push(fault);
    const encoding = codec.name === "utf-8" ? "" : ` encoding="${codec.name}"`;
    const facts = ` lines="${total}" version="${version.slice(0, 8)}"${encoding}`;
    const head = [...notes(file, source), ...faults.map((message) => `error: ${message}`)];
    if (total === 0) head.push("The file is empty.");
    this.#element(file.shown, facts, head);
    const close = this.#rows.pop() as string;
    const shown = new Shown(this.#hash, this.#left);
    const before = this.#lines;
    const left: [number, number][] = [];
    for (const [from, to] of fault ? [] : spans) {
      // At least one line of a page is shown, even where there is no room.
      const options = { columns, force: this.#lines === 0 };
      const part = left.length > 0
        ? { rows: [], next: from }
        : shown.range([from, to], (n) => source.line(n), options);
      this.#rows.push(...part.rows);
      this.#lines += part.next - from;
      if (part.next <= to) left.push([part.next, to]);
    }
    this.#rows.push(close);
    this.#left = shown.left;
    if (left.length > 0) this.#rest.push({ ...item, ranges: left });
    if (this.#lines > before || (total === 0 && faults.length === 0)) this.#useful = true;
    const seen = shown.observation(file.path, version, "read", total);
    if (seen) this.#observations.push(seen);
    if (seen && bytes && bytes.length <= MAX_KEPT) this.#ctx.keep(bytes, version);
  }

  #element(path: string, facts: string, rows: string[]): void {
    const all = [`<Read path="${attribute(path)}"${facts}>`, ...rows, "</Read>"];
    this.#rows.push(...all);
    this.#left -= Buffer.byteLength(all.join("\n")) + 1;
  }
}

/** What the reader should know about where the text comes from. */
function notes({ note }: Located, source?: LineSource): string[] {
  const out = note === undefined ? [] : [`note: ${note}`];
  if (!source || source.codec.name.startsWith("utf-")) return out;
  out.push(
    `note: the bytes are not valid UTF-8; shown as ${source.codec.name}, which may not be what is ` +
      `meant. ${
        source.readOnly === null
          ? "Lines that are not edited keep their bytes"
          : `Read-only: ${source.readOnly}`
      }`,
  );
  return out;
}
