// The tool Recall: stored results of earlier calls in full, in pages or by pattern. It works from the
// records and the session's files alone, so compaction and resume change nothing. Here: which results.
// Their lines by number are recall-page.ts, by pattern recall-matches.ts.

import { z } from "zod";
import { clip, count } from "./lines.ts";
import { columnsOf, foldItem, spansOf } from "./read-arguments.ts";
import { matchSections } from "./recall-matches.ts";
import PROMPT from "./recall.md" with { type: "text" };
import { Pager } from "./recall-page.ts";
import { chunksOf, opening, type Section, type StoredText, storedText } from "./recall-text.ts";
import { defineTool, type ToolContext, ToolError, type ToolOutput } from "./tool.ts";

/** Results named where a key is unknown, and keys named in the call for the rest. */
const MAX_NAMED = 5;
const MAX_REST = 50;
/** Bytes of a page kept for its last rows (what remains, closing tags). */
const RESERVE = 500;

const input = z.strictObject({
  keys: z.array(z.string()).min(1),
  ranges: z.array(z.array(z.number())).optional(),
  columns: z.array(z.number()).optional(),
  grep: z.string().optional(),
});

type Input = z.infer<typeof input>;

/** What is asked of each result. */
type Wanted = Omit<Input, "keys">;

export const recall = defineTool<Input>({
  name: "Recall",
  description: PROMPT.trim(),
  input,
  example: { keys: ["tr.12"], ranges: [[1, 200]] },
  aliases: {
    key: "keys",
    id: "keys",
    ids: "keys",
    tr: "keys",
    result: "keys",
    results: "keys",
    range: "ranges",
    lines: "ranges",
    pattern: "grep",
    query: "grep",
    regex: "grep",
    search: "grep",
  },
  normalize,
  keyless: true,
  effects: () => [],
  isConcurrencySafe: () => true,
  title: ({ keys, ranges, grep }) =>
    [
      keys.join(" "),
      ...(ranges ?? []).map(([from, to]) => `${from}:${to ?? -1}`),
      ...(grep === undefined ? [] : [JSON.stringify(grep)]),
    ].join(" "),
  run,
});

function normalize(args: Record<string, unknown>): Record<string, unknown> {
  const [{ keys, ranges, grep, ...rest } = {}] = foldItem(args);
  return {
    ...rest,
    ...(keys === undefined ? {} : { keys: keysOf(keys) }),
    ...(ranges === undefined ? {} : { ranges }),
    ...(grep === undefined || grep === "" ? {} : { grep }),
  };
}

/** `12`, `"tr.1, tr.2"`, `"#7"` and the like → keys; what is none stays, to be told as unknown. */
function keysOf(keys: unknown): unknown[] {
  return (Array.isArray(keys) ? keys : [keys]).flatMap((key: unknown) => {
    if (typeof key !== "string" && typeof key !== "number") return [key];
    return `${key}`.split(/[\s,]+/).filter((part) => part !== "").map((part) => {
      const digits = /^\W*(?:tr)?\W*(\d+)\W*$/i.exec(part)?.[1];
      return digits === undefined ? part : `tr.${Number(digits)}`;
    });
  });
}

async function run({ keys, ...wanted }: Input, ctx: ToolContext): Promise<ToolOutput> {
  if (wanted.grep !== undefined && wanted.columns?.length) {
    throw new ToolError("Recall: columns go with ranges, not with grep. Leave one of them out");
  }
  const unique = [...new Set(keys)];
  const unknown = unique.filter((key) => ctx.results.get(key) === null);
  const results = unique.flatMap((key) => ctx.results.get(key) ?? []);
  if (results.length === 0) throw new ToolError(`Recall: ${whichExist(unknown, ctx)}`);
  const rows = unknown.length > 0 ? [`error: ${whichExist(unknown, ctx)}`] : [];
  const texts = await Promise.all(results.map((result) => storedText(result, ctx)));
  const room = ctx.limits.readTokens * 4 - RESERVE - Buffer.byteLength(rows.join());
  const { grep, ranges } = wanted;
  const sections = grep === undefined
    ? await pageSections(texts, wanted, room, ctx)
    : await matchSections(texts, { grep, ranges, room }, ctx);
  const output = [...rows, ...sections.flatMap((section) => section.rows)].join("\n");
  const lines = sections.reduce((sum, section) => sum + section.lines, 0);
  return {
    output,
    status: sections.some(({ isUseful }) => isUseful) ? "ok" : "error",
    summary: grep === undefined ? count(lines, "line") : count(lines, "matching line"),
    bound: Buffer.byteLength(output),
  };
}

/** Texts one after the other until the page is full; then the calls for the rest. */
async function pageSections(
  texts: readonly StoredText[],
  wanted: Wanted,
  room: number,
  ctx: ToolContext,
): Promise<Section[]> {
  const sections: Section[] = [];
  let left = room;
  for (const [i, text] of texts.entries()) {
    const isFirst = !sections.some(({ lines }) => lines > 0);
    const { section, rest } = await page(text, wanted, left, isFirst, ctx);
    const others = texts.slice(i + (section ? 1 : 0)).map(({ tr }) => tr);
    if (section) sections.push(section);
    left -= Buffer.byteLength(section?.rows.join("\n") ?? "") + 1;
    if (section && rest.length === 0 && (left > 0 || others.length === 0)) continue;
    const { columns, ranges } = wanted;
    const calls = [
      ...(rest.length > 0 ? [{ keys: [text.tr], ranges: rest, columns }] : []),
      ...(others.length > 0 ? [{ keys: others.slice(0, MAX_REST), ranges, columns }] : []),
    ];
    const more = others.length > MAX_REST ? ` and ${others.length - MAX_REST} more keys` : "";
    const said = calls.map((call) => `Recall ${JSON.stringify(call)}`).join(" and ") + more;
    sections.push({
      rows: [`The page ends here. For the rest: ${said}`],
      lines: 0,
      isUseful: false,
    });
    break;
  }
  return sections;
}

/** The section of one text; null where nothing of it fits. `rest`: lines that did not fit. */
async function page(
  text: StoredText,
  { ranges, columns: asked }: Wanted,
  room: number,
  isFirst: boolean,
  ctx: ToolContext,
): Promise<{ section: Section | null; rest: [number, number][] }> {
  const { columns, fault } = columnsOf(asked, Infinity);
  const { spans } = fault === undefined ? spansOf(ranges, Infinity) : { spans: [] };
  const tags = Buffer.byteLength(opening(text)) + 30;
  const pager = new Pager({ key: text.tr, spans, columns, room: room - tags, force: isFirst });
  for await (const chunk of chunksOf(text, ctx)) pager.push(chunk);
  const { total, left } = pager.end();
  const faults = fault === undefined ? spansOf(ranges, total, "result").faults : [fault];
  if (pager.lines === 0 && left.length > 0) return { section: null, rest: [] };
  const rows = [
    opening(text, ` lines="${total}"`),
    ...faults.map((message) => `error: ${message}`),
    ...(total === 0 ? ["The result is empty."] : []),
    ...pager.rows,
    "</Recall>",
  ];
  const isUseful = pager.lines > 0 || (total === 0 && fault === undefined);
  return { section: { rows, lines: pager.lines, isUseful }, rest: left };
}

/** Names the keys that are unknown and the newest that exist. */
function whichExist(unknown: readonly string[], { results }: ToolContext): string {
  const names = unknown.slice(0, MAX_NAMED).map((key) => JSON.stringify(clip(key, 40))).join(", ");
  const more = unknown.length > MAX_NAMED ? ` and ${unknown.length - MAX_NAMED} more` : "";
  const keys = results.keys();
  if (keys.length === 0) return `there is no result ${names}${more}: none is stored yet`;
  const newest = keys.slice(-MAX_NAMED).reverse().map((key) =>
    `${key} (${clip(results.get(key)?.header ?? "", 60)})`
  );
  return `there is no result ${names}${more}. ${count(keys.length, "result")} ` +
    `exist${keys.length === 1 ? "s" : ""}; the newest: ${newest.join(", ")}`;
}
