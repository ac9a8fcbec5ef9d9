// The lines of stored results that match a pattern, as Recall shows them. Matching itself is
// recall-grep.ts, always in a process of its own: a text may be large and a pattern endless.

import { characters, count, type Span } from "./lines.ts";
import type { GrepJob, GrepResult } from "./recall-grep.ts";
import { opening, type Section, type StoredText } from "./recall-text.ts";
import { spansOf } from "./read-arguments.ts";
import { MAX_NAMED_FILE } from "./search-file.ts";
import { ExpensivePattern, MAX_ATTEMPT_MS } from "./search-match.ts";
import { compilePattern, escapeRegExp, type Pattern } from "./search-pattern.ts";
import { ScanProcess } from "./search-process.ts";
import type { ScanRow } from "./search-scan.ts";
import { type ToolContext, ToolError } from "./tool.ts";

/** Rows of a text that are taken at most. */
const MAX_ROWS = 1000;
/** Time for all texts of a call, in milliseconds. */
const MAX_MS = 60_000;

export interface MatchQuery {
  grep: string;
  ranges?: readonly (readonly number[])[] | undefined;
  /** Bytes that the sections may take. */
  room: number;
}

/** What was found in one text; `total` is null as long as not all of it was looked at. */
interface Found {
  count: number;
  rows: ScanRow[];
  total: number | null;
}

/** A section for each text. @throws {ToolError} Where the pattern cannot be used. */
export async function matchSections(
  texts: readonly StoredText[],
  { grep, ranges, room }: MatchQuery,
  ctx: ToolContext,
): Promise<Section[]> {
  const compiled = compilePattern(grep, false);
  if (!compiled.ok) throw new ToolError(invalid(grep, compiled.reason));
  const { pattern } = compiled;
  const isTooLarge = ({ size }: StoredText) => pattern.acrossLines && size > MAX_NAMED_FILE;
  const searched = texts.filter((text) => !isTooLarge(text));
  const found = await find(searched, pattern, spansOf(ranges, Infinity).spans, ctx);
  let left = room;
  return texts.map((text, i) => {
    const at = searched.indexOf(text);
    const hits = found[at];
    const section = hits
      ? sectionOf(text, hits, { grep, ranges, room: left / (texts.length - i) })
      : tooLarge(text);
    left -= Buffer.byteLength(section.rows.join("\n")) + 1;
    return section;
  });
}

async function find(
  texts: readonly StoredText[],
  pattern: Pattern,
  spans: readonly Span[],
  ctx: ToolContext,
): Promise<Found[]> {
  const found = texts.map((): Found => ({ count: 0, rows: [], total: null }));
  const job: GrepJob = {
    texts: texts.map(({ file, text }) => file === undefined ? { text } : { file }),
    pattern,
    // JSON knows no Infinity.
    spans: spans.map(([from, to]) => [from, Math.min(to, Number.MAX_SAFE_INTEGER)]),
    maxRows: MAX_ROWS,
  };
  const signal = AbortSignal.any([ctx.signal, AbortSignal.timeout(MAX_MS)]);
  const scanner = new ScanProcess<number, GrepResult>(job);
  const stop = () => scanner.close();
  signal.addEventListener("abort", stop, { once: true });
  try {
    signal.throwIfAborted();
    for (const i of texts.keys()) found[i] = await scanner.scan(i);
  } catch (error) {
    if (error instanceof ExpensivePattern) throw new ToolError(TOO_EXPENSIVE);
    if (ctx.signal.aborted || !signal.aborted) throw error;
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
  }
  return found;
}

function sectionOf(
  text: StoredText,
  { count: matches, rows, total }: Found,
  { grep, ranges, room }: MatchQuery,
): Section {
  const { spans, faults } = spansOf(ranges, total ?? Infinity, "result");
  const facts = `${total === null ? "" : ` lines="${total}"`} matches="${matches}"`;
  const out = [opening(text, facts), ...faults.map((fault) => `error: ${fault}`)];
  let left = room - Buffer.byteLength(out.join("\n"));
  let shown = 0;
  for (const row of rows) {
    const lines = rowsOf(row);
    left -= Buffer.byteLength(lines.join("\n")) + 1;
    if (left < 0 && shown > 0) break;
    out.push(...lines);
    shown++;
  }
  const next = (rows[shown - 1]?.line ?? 0) + 1;
  const rest = spans.flatMap(([from, to]) => {
    const end = to === Infinity ? -1 : to;
    return to < next ? [] : [[Math.max(from, next), end]];
  });
  const call = `Recall ${JSON.stringify({ keys: [text.tr], grep, ranges: rest })}`;
  if (total === null) {
    out.push(`[stopped after ${MAX_MS / 1000} s, before all was looked at: narrow it by ranges]`);
  }
  if (matches > shown) out.push(`[${count(matches - shown, "more matching line")}: ${call}]`);
  const isUseful = shown > 0 || (total !== null && spans.length > 0) || total === 0;
  return { rows: [...out, "</Recall>"], lines: shown, isUseful };
}

function rowsOf({ line, text, part }: ScanRow): string[] {
  const row = `${line}|${text}`;
  if (!part) return [row];
  return [row, `[line ${line} cut: characters ${part.from}-${part.from + characters(text) - 1}]`];
}

function tooLarge(text: StoredText): Section {
  const error = `error: a pattern with \\n is looked for in up to ${MAX_NAMED_FILE} bytes; this ` +
    `result has ${text.size}. Look for one line of it`;
  return { rows: [opening(text), error, "</Recall>"], lines: 0, isUseful: false };
}

const TOO_EXPENSIVE = "Recall: pattern too expensive: one attempt to match it took more than " +
  `${MAX_ATTEMPT_MS} ms, so nothing is known about matches. Avoid repetitions inside repetitions such ` +
  "as (a+)+ or several .* in a row, or grep for plain text";

function invalid(grep: string, reason: string): string {
  const literal = JSON.stringify({ grep: escapeRegExp(grep) });
  return `Recall: grep is not a valid regular expression: ${reason}. To look for it as text: ${literal}`;
}
