// Who scans what: this process walks the tree and deals its files out in batches, to itself and, once the
// search has proved to be a long one, to processes on the other cores. Patterns that may not come back
// are scanned by such processes only. Results are put in the order of the files, whoever is first.

import { availableParallelism } from "node:os";
import { ExpensivePattern } from "./search-match.ts";
import { ScanProcess } from "./search-process.ts";
import {
  type FileHits,
  FileList,
  pathOf,
  type ScanBatch,
  type ScanJob,
  Scanner,
  type ScanResult,
  type ScanSkipped,
  skippedNothing,
} from "./search-scan.ts";

/** How long a search takes before others help; starting them takes about as long (milliseconds). */
const ALONE_MS = 40;
/** Processes that scan at the same time; more wait for the disk, or for each other. */
const MAX_SCANNERS = 4;
const BATCH_FILES = 512;
/** Batches that a process has waiting, so that it works on while this one is at its own. */
const DEPTH = 3;
/** How long this process works before others get their turn (milliseconds). */
const SLICE_MS = 10;

/** What a job found besides hits. */
export interface ScanEnd {
  skipped: ScanSkipped;
  /** Files that each query's pattern was tried on. */
  looked: number[];
}

/**
 * Runs a job.
 *
 * @param apart A pattern may take for ever: nothing is matched in this process.
 * @param onHits Called for each file with hits, in order.
 * @throws {ExpensivePattern} When an attempt of a pattern took too long.
 * @throws {Error} When `signal` aborts, or the processes that are needed cannot be had.
 */
export async function scanTree(
  job: ScanJob,
  apart: boolean,
  signal: AbortSignal,
  onHits: (hits: FileHits) => void,
): Promise<ScanEnd> {
  const pool = new Pool(job, apart, signal, onHits);
  try {
    return await pool.run();
  } finally {
    pool.close();
  }
}

interface Entry {
  batch: ScanBatch;
  result?: ScanResult;
}

class Pool {
  readonly #job: ScanJob;
  readonly #signal: AbortSignal;
  readonly #onHits: (hits: FileHits) => void;
  readonly #end: ScanEnd;
  /** Scans here; null where nothing may be matched in this process. */
  readonly #own: Scanner | null;
  #helpers: ScanProcess[] = [];
  /** Helpers that may be started; 0 once one of them failed. */
  #most: number;
  /** Rows still wanted of each query, after all results that were delivered. */
  readonly #rowsLeft: number[];
  /** Batches in order, with their results as they come. */
  readonly #pending: Entry[] = [];
  /** Those that a helper left undone. */
  readonly #undone: Entry[] = [];
  #failure: unknown;
  readonly #begin = performance.now();
  #slice = this.#begin;
  /** Resolved with each answer of a helper. */
  #answer = Promise.withResolvers<void>();

  constructor(
    job: ScanJob,
    apart: boolean,
    signal: AbortSignal,
    onHits: (hits: FileHits) => void,
  ) {
    this.#job = job;
    this.#signal = signal;
    this.#onHits = onHits;
    this.#own = apart ? null : new Scanner(job);
    this.#most = Math.min(availableParallelism(), MAX_SCANNERS) - (apart ? 0 : 1);
    if (apart) this.#most = Math.max(1, this.#most);
    this.#rowsLeft = job.queries.map(() => job.maxRows);
    this.#end = { skipped: skippedNothing(), looked: job.queries.map(() => 0) };
  }

  async run(): Promise<ScanEnd> {
    this.#signal.throwIfAborted();
    let files: ScanBatch["files"] = [];
    const list = new FileList(this.#job, this.#end.skipped);
    for (let file = list.next(); file !== undefined; file = list.next()) {
      if (file !== null) files.push(file);
      if (files.length === BATCH_FILES) {
        await this.#deal(files);
        files = [];
      } else if (this.#isDue()) await this.#turn();
    }
    if (files.length > 0) await this.#deal(files);
    while (this.#pending.length > 0) {
      const undone = this.#undone.shift();
      if (undone && this.#own) await this.#scanHere(this.#own, undone);
      else await this.#untilAnswer();
    }
    return this.#end;
  }

  close(): void {
    for (const helper of this.#helpers) helper.close();
    this.#helpers = [];
  }

  /** Has this process worked for long enough without a break? */
  #isDue(): boolean {
    return performance.now() - this.#slice >= SLICE_MS;
  }

  /** Lets others have their turn. */
  async #turn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#check();
    this.#slice = performance.now();
  }

  #check(): void {
    this.#signal.throwIfAborted();
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Waits until a helper has answered or the user has had enough. */
  async #untilAnswer(): Promise<void> {
    const stop = () => this.#answer.resolve();
    this.#signal.addEventListener("abort", stop, { once: true });
    await this.#answer.promise;
    this.#signal.removeEventListener("abort", stop);
    this.#answer = Promise.withResolvers();
    this.#check();
  }

  /** Gives the files to who has least to do. */
  async #deal(files: ScanBatch["files"]): Promise<void> {
    const entry: Entry = { batch: { files, rowsLeft: [...this.#rowsLeft] } };
    this.#pending.push(entry);
    for (;;) {
      this.#grow();
      const [helper] = this.#helpers.toSorted((a, b) => a.load - b.load);
      if (helper && helper.load < DEPTH) {
        void this.#have(helper, entry);
        if (this.#isDue()) await this.#turn();
        return;
      }
      if (this.#own) return await this.#scanHere(this.#own, entry);
      await this.#untilAnswer();
    }
  }

  #grow(): void {
    const wanted = performance.now() - this.#begin > ALONE_MS ? this.#most : this.#own ? 0 : 1;
    while (this.#helpers.length < wanted) this.#helpers.push(new ScanProcess(this.#job));
  }

  async #have(helper: ScanProcess, entry: Entry): Promise<void> {
    try {
      entry.result = await helper.scan(entry.batch);
      this.#deliver();
    } catch (error) {
      if (this.#own === null || error instanceof ExpensivePattern) this.#failure ??= error;
      // Where no further process can be had, the search only takes longer.
      this.#undone.push(entry);
      this.#most = 0;
      this.#helpers = [];
    }
    this.#answer.resolve();
  }

  async #scanHere(own: Scanner, entry: Entry): Promise<void> {
    const scan = own.scan(entry.batch);
    for (let next = scan.next();; next = scan.next()) {
      if (next.done) {
        entry.result = next.value;
        break;
      }
      if (this.#isDue()) await this.#turn();
    }
    this.#deliver();
    // Helpers may wait for more.
    if (this.#helpers.length > 0) await this.#turn();
  }

  /** Passes on the results whose turn it is. */
  #deliver(): void {
    while (this.#pending[0]?.result) {
      const { batch, result } = this.#pending.shift()!;
      const { skipped, looked } = this.#end;
      for (const what of ["binary", "large", "unreadable"] as const) {
        skipped[what] += result!.skipped[what];
      }
      for (const [query, n] of result!.looked.entries()) looked[query]! += n;
      for (const { file, ...hits } of result!.hits) {
        const left = this.#rowsLeft[hits.query] ?? 0;
        const rows = hits.rows.slice(0, Math.max(0, left));
        this.#rowsLeft[hits.query] = left - rows.length;
        const named = batch.files[file]!;
        const path = pathOf(this.#job, named);
        this.#onHits({ ...hits, rows, path, realPath: named[1] ?? path });
      }
    }
  }
}
