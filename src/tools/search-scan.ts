// Scans a tree for patterns: which files, which lines. A synchronous generator, so that whoever runs it
// decides when others get their turn: search.ts in this process, search-serve.ts in one that can be
// killed. Not here: what the result looks like (search-format.ts).

import { statSync } from "node:fs";
import { basename, sep } from "node:path";
import picomatch from "picomatch";
import { nothingSkipped, type Skipped, walk, type WalkEntry } from "../host/walk.ts";
import { isSecret } from "../permission/paths.ts";
import { sha256 } from "../runtime/hash.ts";
import { type Content, MAX_FILE, MAX_NAMED_FILE, readContent } from "./search-file.ts";
import { ExpensivePattern, FileMatcher, type Hits } from "./search-match.ts";
import type { Pattern } from "./search-pattern.ts";

export interface ScanQuery {
  pattern: Pattern;
  /** A file must match all of them. */
  globs: string[];
  /** Lines shown before and after a hit. */
  context: number;
}

/** Queries over one tree (or file), read once for all of them. */
export interface ScanJob {
  /** Real path of the folder or file. */
  base: string;
  /** Real path of the workspace. */
  root: string;
  queries: ScanQuery[];
  /** Rows of a query after which hits are only counted. */
  maxRows: number;
}

/** A line of a file; `hit`: it holds a match, else it is context. */
export interface ScanRow {
  line: number;
  text: string;
  hit: boolean;
  /** Where the match begins in a hit, in UTF-16 units. */
  at: number;
  /** Where `text` is a part of the line: the number of its first character. */
  part?: { from: number };
}

export interface FileHits {
  type: "file";
  /** Index of the query. */
  query: number;
  path: string;
  /** Path with links followed. */
  realPath: string;
  /** Lines (or matches across lines) that hit. */
  count: number;
  /** Empty once the query has rows enough. */
  rows: ScanRow[];
  /** sha-256 of the bytes, and the number of lines; with rows. */
  version: string;
  total: number;
}

export interface ScanSkipped extends Skipped {
  binary: number;
  large: number;
  secret: number;
}

export type ScanEvent =
  | FileHits
  /** A sign of life: about to look at this. */
  | { type: "at"; path: string }
  | { type: "end"; skipped: ScanSkipped };

/**
 * Runs a job; the last event is `end`.
 *
 * @throws {ExpensivePattern} When one attempt of a pattern took too long.
 */
export function* scan(job: ScanJob): Generator<ScanEvent> {
  const skipped: ScanSkipped = { ...nothingSkipped(), binary: 0, large: 0, secret: 0 };
  const searches = job.queries.map((query) => new QuerySearch(query, job));
  const named = statSync(job.base);
  const limit = named.isFile() ? Math.min(named.size, MAX_NAMED_FILE) : MAX_FILE;
  const slab = Buffer.allocUnsafe(limit + 1);
  for (const entry of named.isFile() ? [namedFile(job.base)] : entriesBelow(job, skipped)) {
    yield { type: "at", path: entry.path };
    const realPath = entry.target ?? entry.path;
    if (entry.kind === "dir" || !searches.some((search) => search.wants(entry))) continue;
    if (entry.path !== job.base && isSecret(realPath)) {
      skipped.secret++;
      continue;
    }
    const content = readContent(slab, realPath);
    if (typeof content === "string") skipped[content]++;
    else yield* hitsIn(entry, content, searches, skipped);
  }
  yield { type: "end", skipped };
}

function namedFile(path: string): WalkEntry {
  return { path, relative: basename(path), kind: "file", depth: 1 };
}

function* entriesBelow({ base, root }: ScanJob, skipped: ScanSkipped): Generator<WalkEntry> {
  const below = base.endsWith(sep) ? base : base + sep;
  for (const entry of walk({ base, root }, skipped)) {
    // A link to a file of this tree would show its lines twice.
    if (!entry.target?.startsWith(below)) yield entry;
  }
}

/** Hits of all queries in a file. */
function* hitsIn(
  { path, target: realPath = path, ...entry }: WalkEntry,
  content: Content,
  searches: QuerySearch[],
  skipped: ScanSkipped,
): Generator<ScanEvent> {
  for (const [query, search] of searches.entries()) {
    if (!search.wants({ path, ...entry })) continue;
    yield { type: "at", path };
    const { count, lines } = search.find(content, query, path);
    if (count === 0 && !content.binary) continue;
    const texts = search.rowsLeft > 0 ? content.lines() : [];
    if (content.binary) {
      skipped.binary++;
      return;
    }
    const rows = search.rowsOf(lines, texts);
    const version = rows.length > 0 ? sha256(content.bytes) : "";
    yield { type: "file", query, path, realPath, count, rows, version, total: texts.length };
  }
}

/** One query on its way through the tree. */
class QuerySearch {
  rowsLeft: number;
  #matcher: FileMatcher;
  #context: number;
  #filters: ((entry: WalkEntry) => boolean)[];

  constructor({ pattern, globs, context }: ScanQuery, job: ScanJob) {
    this.#matcher = new FileMatcher(pattern);
    this.rowsLeft = job.maxRows;
    this.#context = context;
    this.#filters = globs.map((glob) => globFilter(glob, job.base, job.root));
  }

  wants(entry: WalkEntry): boolean {
    return this.#filters.every((passes) => passes(entry));
  }

  find(content: Content, index: number, path: string): Hits {
    try {
      return this.#matcher.find(content);
    } catch (error) {
      throw error instanceof ExpensivePattern ? new ExpensivePattern(index, path) : error;
    }
  }

  /** Rows for hits, each with its context, no line twice. */
  rowsOf(hits: Hits["lines"], lines: readonly string[]): ScanRow[] {
    const rows = new Map<number, ScanRow>();
    for (const { line, at } of hits) {
      if (this.rowsLeft <= 0) break;
      const from = Math.max(1, line - this.#context);
      const to = Math.min(lines.length, line + this.#context);
      for (let n = from; n <= to; n++) {
        const hit = n === line;
        const known = rows.get(n);
        if (known && (known.hit || !hit)) continue;
        rows.set(n, { line: n, text: lines[n - 1] ?? "", hit, at: hit ? at : 0 });
        if (!known) this.rowsLeft--;
      }
    }
    return [...rows.values()].sort((a, b) => a.line - b.line);
  }
}

/**
 * A glob without `/` names files at any depth. One with `/` counts from the searched folder or the
 * workspace, one that begins with `/` from the searched folder only; both also take what lies below.
 */
export function globFilter(
  glob: string,
  base: string,
  root: string,
): (entry: Pick<WalkEntry, "path" | "relative">) => boolean {
  const negated = glob.startsWith("!");
  const text = glob.replace(/^!/, "").replace(/^\.\//, "").replace(/\/$/, "/**");
  const pattern = text.replace(/^\//, "");
  const byName = !text.includes("/");
  const matches = picomatch(byName ? pattern : [pattern, `${pattern}/**`], { dot: true });
  const top = root.endsWith(sep) ? root : root + sep;
  const fromRoot = base !== root && base.startsWith(top) && !text.startsWith("/");
  const fits = (path: string) => path === pattern || matches(path); // a literal name wins (FE-41)
  const named = (entry: Pick<WalkEntry, "path" | "relative">): boolean => {
    if (byName) return fits(basename(entry.path));
    return fits(entry.relative) ||
      (fromRoot && fits(entry.path.slice(top.length).replaceAll(sep, "/")));
  };
  return (entry) => named(entry) !== negated;
}
