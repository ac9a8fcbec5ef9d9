// Scans a tree for patterns in two steps that may run in different processes: which files there are
// (`FileList`, a walk), and which of their lines hit (`Scanner`). Both are synchronous and give up
// control often, so that whoever runs them decides when others get their turn (search-pool.ts,
// search-serve.ts).
// Not here: what the result looks like (search-format.ts).

import { statSync } from "node:fs";
import { basename, sep } from "node:path";
import { nothingSkipped, type Skipped, walk, type WalkEntry } from "../host/walk.ts";
import { isSecret } from "../permission/paths.ts";
import { sha256 } from "../runtime/hash.ts";
import { globFilter } from "./glob.ts";
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
  /** Index of the query. */
  query: number;
  path: string;
  /** Path with links followed. */
  realPath: string;
  /** Lines (or matches across lines) that hit. */
  count: number;
  /** Empty once the query has rows enough. */
  rows: ScanRow[];
  /** sha-256 of the bytes, their number, and that of the lines; with rows. */
  version: string;
  size: number;
  total: number;
}

export interface ScanSkipped extends Skipped {
  binary: number;
  large: number;
  secret: number;
}

/** A file by its path below the base, with `/`, "" for the base itself; and where a link leads to. */
export type ScanFile = [relative: string, realPath?: string];

/** Files to be scanned one after the other. Plain data: it crosses to another process. */
export interface ScanBatch {
  files: ScanFile[];
  /** For each query the rows that are still wanted, at most. */
  rowsLeft: number[];
}

type Found = Pick<FileHits, "count" | "rows" | "version" | "size" | "total">;

/** What was found in a batch, in the order of its files. */
export interface ScanResult {
  hits: (Found & { file: number; query: number })[];
  skipped: { binary: number; large: number; unreadable: number };
  /** Files that each query's pattern was tried on. */
  looked: number[];
}

export function skippedNothing(): ScanSkipped {
  return { ...nothingSkipped(), binary: 0, large: 0, secret: 0 };
}

/** The files of a job in order of path. */
export class FileList {
  readonly #below: string;
  readonly #wanted: Filter;
  readonly #skipped: ScanSkipped;
  readonly #walk: IterableIterator<WalkEntry>;

  /** @param skipped What is left out is counted in it. */
  constructor(job: ScanJob, skipped: ScanSkipped) {
    const { base, root } = job;
    const isFile = statSync(base).isFile();
    this.#below = base.endsWith(sep) ? base : base + sep;
    this.#wanted = wantedBy(job);
    this.#skipped = skipped;
    this.#walk = isFile ? [namedFile(base)].values() : walk({ base, root }, skipped);
  }

  /** The next file; null where it is not yet known which one that is, undefined at the end. */
  next(): ScanFile | null | undefined {
    const { done, value } = this.#walk.next();
    if (done) return undefined;
    const { kind, path, relative, target } = value;
    // A link to a file of this tree would show its lines twice.
    if (kind === "dir" || target?.startsWith(this.#below) || !this.#wanted(value)) return null;
    if (value.depth === 0) return [""]; // named, so it is no secret
    if (isSecret(target ?? path)) {
      this.#skipped.secret++;
      return null;
    }
    return target === undefined ? [relative] : [relative, target];
  }
}

function namedFile(path: string): WalkEntry {
  return { path, relative: basename(path), kind: "file", depth: 0 };
}

/** A sign of life at most this often (milliseconds). */
const BEAT_MS = 10;

type Filter = (entry: Pick<WalkEntry, "path" | "relative">) => boolean;

function wantedBy(job: ScanJob): Filter {
  const filters = job.queries.map((query) => filterOf(query, job));
  return (entry) => filters.some((passes) => passes(entry));
}

function filterOf({ globs }: ScanQuery, { base, root }: ScanJob): Filter {
  const filters = globs.map((glob) => globFilter(glob, base, root));
  return (entry) => filters.every((passes) => passes(entry));
}

/** Path of a file of a job. */
export function pathOf({ base }: ScanJob, [relative]: ScanFile): string {
  if (relative === "") return base;
  return base.endsWith(sep) ? base + relative : base + sep + relative;
}

/** Finds the hits of a job's queries in files that it is given. */
export class Scanner {
  readonly #job: ScanJob;
  readonly #slab: Buffer;
  readonly #searches: QuerySearch[];

  constructor(job: ScanJob) {
    const named = statSync(job.base);
    this.#job = job;
    // A log may grow meanwhile, and files of /proc have no size.
    const limit = Math.min(Math.max(named.isFile() ? 2 * named.size : 0, MAX_FILE), MAX_NAMED_FILE);
    this.#slab = Buffer.allocUnsafe(limit + 1);
    this.#searches = job.queries.map((query) => new QuerySearch(query, filterOf(query, job)));
  }

  /**
   * Yields now and then the path of what it is about to look at.
   *
   * @throws {ExpensivePattern} When one attempt of a pattern took too long.
   */
  *scan({ files, rowsLeft }: ScanBatch): Generator<string, ScanResult> {
    const skipped = { binary: 0, large: 0, unreadable: 0 };
    const result: ScanResult = { hits: [], skipped, looked: this.#searches.map(() => 0) };
    const left = [...rowsLeft];
    let last = -Infinity;
    for (const [i, file] of files.entries()) {
      const path = pathOf(this.#job, file);
      const relative = file[0] || basename(path);
      const content = readContent(this.#slab, file[1] ?? path);
      if (typeof content === "string") {
        skipped[content]++;
        continue;
      }
      for (const [query, search] of this.#searches.entries()) {
        if (!search.wants({ path, relative })) continue;
        const now = performance.now();
        if (now - last > BEAT_MS) {
          yield path;
          last = now;
        }
        const rowsLeft = left[query] ?? 0;
        const hits = search.look(content, query, path, rowsLeft);
        if (content.binary) {
          skipped.binary++;
          break;
        }
        result.looked[query]!++;
        if (hits === null) continue;
        left[query] = rowsLeft - hits.rows.length;
        result.hits.push({ file: i, query, ...hits });
      }
    }
    return result;
  }
}

/** One query on its way through the tree. */
class QuerySearch {
  readonly wants: Filter;
  readonly #matcher: FileMatcher;
  readonly #context: number;

  constructor({ pattern, context }: ScanQuery, wants: Filter) {
    this.wants = wants;
    this.#matcher = new FileMatcher(pattern);
    this.#context = context;
  }

  /** What hits in a file, or null; none of both is meant where the content turns out to be binary. */
  look(content: Content, index: number, path: string, rowsLeft: number): Found | null {
    const { count, lines } = this.#find(content, index, path, rowsLeft <= 0);
    if (count === 0) return null;
    const size = content.bytes.length;
    if (rowsLeft <= 0) return { count, rows: [], version: "", size, total: 0 };
    const texts = content.lines();
    const rows = this.#rowsOf(lines, texts, rowsLeft);
    return { count, rows, version: sha256(content.bytes), size, total: texts.length };
  }

  #find(content: Content, index: number, path: string, counting: boolean): Hits {
    try {
      return this.#matcher.find(content, counting);
    } catch (error) {
      throw error instanceof ExpensivePattern ? new ExpensivePattern(index, path) : error;
    }
  }

  /** Rows for hits, each with its context, no line twice; none begun once there are `most`. */
  #rowsOf(hits: Hits["lines"], lines: readonly string[], most: number): ScanRow[] {
    const rows = new Map<number, ScanRow>();
    for (const { line, at } of hits) {
      if (rows.size >= most) break;
      const from = Math.max(1, line - this.#context);
      const to = Math.min(lines.length, line + this.#context);
      for (let n = from; n <= to; n++) {
        const hit = n === line;
        const known = rows.get(n);
        if (known && (known.hit || !hit)) continue;
        rows.set(n, { line: n, text: lines[n - 1] ?? "", hit, at: hit ? at : 0 });
      }
    }
    return [...rows.values()].sort((a, b) => a.line - b.line);
  }
}
