// Search: lines that match, in many files. What a pattern means is search-pattern.ts, reading and
// matching search-scan.ts, the look of the result search-format.ts; here is which queries run where.

import { z } from "zod";
import type { Observation } from "../session/records.ts";
import { anchors } from "./anchor.ts";
import { type Place, place, wildFault } from "./glob.ts";
import { count, MAX_KEPT } from "./lines.ts";
import { nearNames } from "./paths.ts";
import {
  displayPath,
  formatQuery,
  matchesOf,
  type QueryResult,
  type ShownFiles,
  skippedLine,
} from "./search-format.ts";
import PROMPT from "./search.md" with { type: "text" };
import { hintsFor } from "./search-hints.ts";
import { ExpensivePattern, MAX_ATTEMPT_MS } from "./search-match.ts";
import { compilePattern, escapeRegExp, type Pattern } from "./search-pattern.ts";
import { scanTree } from "./search-pool.ts";
import type { ScanJob, ScanSkipped } from "./search-scan.ts";
import { defineTool, type ToolContext, ToolError, type ToolOutput } from "./tool.ts";

/** Rows of a query that are read at most. */
const MAX_ROWS = 200;
const MAX_CONTEXT = 20;
/** Time for all of a call's queries, in milliseconds. */
const MAX_MS = 60_000;
/** Bytes kept for tags and notes, per call and per query. */
const RESERVE = 400;

const query = z.strictObject({
  pattern: z.string(),
  path: z.string().optional(),
  glob: z.string().optional(),
  context: z.number().int().min(0).optional(),
  literal: z.boolean().optional(),
});
const input = z.strictObject({ queries: z.array(query).min(1) });

type Query = z.infer<typeof query>;
type Input = z.infer<typeof input>;

interface Prepared extends Place {
  query: Query;
  /** The query is about one file. */
  isFile: boolean;
  context: number;
  pattern: Pattern;
  result: QueryResult;
}

/** What the jobs of a call share. */
interface Pass {
  ctx: ToolContext;
  /** Aborts for the user and at the deadline. */
  signal: AbortSignal;
  skipped: Map<string, ScanSkipped>;
}

/** The real path that each query searches, as permission was asked for it. */
const asked = new WeakMap<Query, string>();

export const search = defineTool<Input>({
  name: "Search",
  description: PROMPT.trim(),
  input,
  example: { queries: [{ pattern: "parse\\w*\\(", path: "src" }] },
  aliases: { include: "glob", context_lines: "context", fixed: "literal", text: "pattern" },
  normalize,
  title: ({ queries }) =>
    queries.map(({ pattern, path }) => JSON.stringify(pattern) + (path ? ` in ${path}` : "")).join(
      ", ",
    ),
  isConcurrencySafe: () => true,
  async effects({ queries }, ctx) {
    const placed = await Promise.all(queries.map((query) => place(query, ctx)));
    for (const [i, { base }] of placed.entries()) asked.set(queries[i] as Query, base);
    return [...new Set(placed.map(({ base }) => base))].map((path) => ({ kind: "read", path }));
  },
  run,
});

/** A query at the top level, or lone strings, for the list of objects. */
function normalize(args: Record<string, unknown>): Record<string, unknown> {
  const { queries, ...rest } = args;
  const pattern = rest.pattern ?? rest.query ?? rest.regex;
  if (queries === undefined && pattern !== undefined) {
    const { query: _, regex: __, ...fields } = rest;
    return {
      queries: (Array.isArray(pattern) ? pattern : [pattern]).map((p) => ({
        ...fields,
        pattern: p,
      })),
    };
  }
  const list = Array.isArray(queries) ? queries : [queries];
  return {
    ...rest,
    queries: list.map((item) => typeof item === "string" ? { pattern: item } : item),
  };
}

async function run({ queries }: Input, ctx: ToolContext): Promise<ToolOutput> {
  const results: QueryResult[] = [];
  const jobs = new Map<string, Prepared[]>();
  for (const query of queries) {
    const result: QueryResult = { attributes: attributesOf(query), files: [] };
    results.push(result);
    const ready = await prepare(query, result, ctx);
    if (ready === null) continue;
    // Queries over the same place are answered in one pass, those that may hang the engine apart.
    const key = `${ready.pattern.mayBacktrack} ${ready.base}`;
    jobs.set(key, [...jobs.get(key) ?? [], ready]);
  }
  const signal = AbortSignal.any([ctx.signal, AbortSignal.timeout(MAX_MS)]);
  const pass: Pass = { ctx, signal, skipped: new Map() };
  for (const job of jobs.values()) await runJob(job, pass);
  if (ctx.signal.aborted) throw new ToolError("Search: interrupted by the user.");
  return await format(results, pass);
}

function attributesOf({ pattern, path, glob }: Query): [string, string][] {
  const attributes: [string, string | undefined][] = [
    ["pattern", pattern],
    ["path", path],
    ["glob", glob],
  ];
  return attributes.flatMap(([name, value]) => value === undefined ? [] : [[name, value]]);
}

/** Checks a query; null when it cannot be searched, and then its result says why. */
async function prepare(
  query: Query,
  result: QueryResult,
  ctx: ToolContext,
): Promise<Prepared | null> {
  const { pattern, path = ".", literal = false, context = 0 } = query;
  const compiled = compilePattern(pattern, literal);
  const { base, globs } = await place(query, ctx);
  const wild = wildFault(globs);
  const info = await ctx.host.stat(base);
  if (!compiled.ok) {
    result.error = invalid(pattern, compiled.reason);
  } else if ((asked.get(query) ?? base) !== base) {
    result.error = `${path} has just become a link to ${base}; to search that, ask again.`;
  } else if (info === null) {
    result.error = `There is no file or folder ${path}; ${await nearNames(path, ctx)}.`;
  } else if (info.kind === "other") {
    result.error = `${path} is a device, pipe or socket; it cannot be searched.`;
  } else if (wild !== null) {
    result.error = wild;
  } else {
    const lines = Math.min(context, MAX_CONTEXT);
    const isFile = info.kind === "file";
    return { base, globs, query, isFile, context: lines, pattern: compiled.pattern, result };
  }
  return null;
}

function invalid(pattern: string, reason: string): string {
  if (pattern === "") {
    return "The pattern is empty. Give the text or regular expression to look for.";
  }
  const literal = JSON.stringify({ pattern, literal: true });
  return `The pattern is not a valid regular expression: ${reason}. To search for it as text: ` +
    `${literal}, or escaped: ${escapeRegExp(pattern)}`;
}

/** Answers queries over one place; what ends it early goes into their results. */
async function runJob(queries: Prepared[], pass: Pass): Promise<void> {
  const { ctx, signal, skipped } = pass;
  const [first] = queries;
  if (first === undefined || ctx.signal.aborted) return;
  const { base, pattern: { mayBacktrack } } = first;
  const job: ScanJob = { base, root: ctx.session.root, maxRows: MAX_ROWS, queries };
  try {
    const end = await scanTree(job, mayBacktrack, signal, (hits) => {
      queries[hits.query]?.result.files.push(hits);
    });
    skipped.set(base, end.skipped);
    for (const [i, query] of queries.entries()) explainNothing(query, end.looked[i] ?? 0);
  } catch (error) {
    if (signal.aborted) {
      const note = `stopped after ${MAX_MS / 1000} s, before all files were searched; name a path`;
      for (const { result } of queries) result.note = note;
      return;
    }
    if (!(error instanceof ExpensivePattern)) throw error;
    for (const { result } of queries) result.files = [];
    const culprit = queries.length === 1 ? first : queries[error.query ?? -1];
    if (culprit === undefined) {
      for (const query of queries) await runJob([query], pass);
      return;
    }
    const path = displayPath(error.path, ctx.session.cwd);
    culprit.result.error = tooExpensive(error.query === null ? `or soon after ${path}` : path);
    await runJob(queries.filter((query) => query !== culprit), pass);
  }
}

/** Nothing found is not the same as nothing looked at, or as another pattern than was meant. */
function explainNothing({ query, isFile, globs, pattern, result }: Prepared, looked: number): void {
  if (result.files.length > 0) return;
  if (looked === 0 && isFile && globs.length === 0) {
    result.error =
      `${query.path} cannot be searched: it is binary, too large or unreadable (see below).`;
  } else if (looked === 0) {
    result.note = "no file was searched" + (globs.length > 0 ? ": none here fits the glob" : "");
  } else {
    const hints = hintsFor(query.pattern, pattern, query.literal ?? false);
    if (hints !== null) result.note = hints;
  }
}

function tooExpensive(where: string): string {
  return `pattern too expensive: one attempt to match it took more than ${MAX_ATTEMPT_MS} ms (in ` +
    `${where}), so the search was ended and nothing is known about matches. Avoid repetitions inside ` +
    "repetitions such as (a+)+ or several .* in a row, search for a part of it with literal: true, " +
    "or leave that file out by glob";
}

async function format(results: QueryResult[], { ctx, skipped }: Pass): Promise<ToolOutput> {
  const { cwd } = ctx.session;
  const hash = await anchors();
  const shown: ShownFiles = new Map();
  let left = ctx.limits.outputTokens * 4 - RESERVE * (results.length + 1);
  const lines = results.map((result, i) => {
    const section = formatQuery(result, left / (results.length - i), cwd, hash, shown);
    left -= Buffer.byteLength(section);
    return section;
  });
  for (const [base, what] of skipped) {
    const line = skippedLine(what);
    if (line !== null) lines.push(skipped.size > 1 ? `${displayPath(base, cwd)}: ${line}` : line);
  }
  const failed = results.every(({ error }) => error !== undefined);
  const matches = results.reduce((sum, result) => sum + matchesOf(result), 0);
  const files = new Set(results.flatMap((result) => result.files.map(({ path }) => path))).size;
  return {
    output: lines.join("\n"),
    status: failed ? "error" : "ok",
    summary: failed
      ? results[0]?.error?.split(".", 1)[0] ?? ""
      : `${matches} ${matches === 1 ? "match" : "matches"} in ${count(files, "file")}`,
    observations: await observe(shown, ctx),
  };
}

/** Records what was shown, and keeps the bytes it was shown of, so that anchors survive changes. */
async function observe(shown: ShownFiles, { host, keep }: ToolContext): Promise<Observation[]> {
  const observations: Observation[] = [];
  for (const { hits: { realPath, version, size, total }, shown: lines } of shown.values()) {
    const observation = lines.observation(realPath, version, "search", total);
    if (observation !== null) observations.push(observation);
    if (size > MAX_KEPT) continue;
    // Changed meanwhile, they are kept under a name that nobody asks for.
    const bytes = await host.read(realPath).catch(() => null);
    if (bytes !== null && bytes.length <= MAX_KEPT) keep(bytes);
  }
  return observations;
}
