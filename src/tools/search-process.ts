// A process that scans files (search-serve.ts), seen from the one that started it. A regular expression
// that backtracks for ever cannot be stopped from within: terminating a worker thread leaves the engine
// running in Bun and in Deno alike (measured, docs/decisions.md). A process can be killed.

import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { childEnvironment } from "../host/child-env.ts";
import { selfCommand } from "../runtime/self.ts";
import type { GrepJob, GrepResult } from "./recall-grep.ts";
import { ExpensivePattern } from "./search-match.ts";
import type { ScanBatch, ScanJob, ScanResult } from "./search-scan.ts";
import { SCAN_COMMAND, type ServeEvent } from "./search-serve.ts";

/**
 * Processor time without a sign of life after which an attempt counts as endless (milliseconds). More
 * than the scanner's own limit: what it does between two signs is mostly honest work.
 */
const MAX_WORK_MS = 1_500;
/** Silence that is too long whatever the process does meanwhile. */
const MAX_SILENCE_MS = 15_000;
const LOOK_MS = 50;
/** Linux counts processor time in hundredths of a second. */
const TICK_MS = 10;

const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** A process at work on one job: batches of files of a search, or (by index) texts of a Recall. */
export class ScanProcess<Batch = ScanBatch, Result extends ScanResult | GrepResult = ScanResult> {
  readonly #child: ChildProcess;
  /** Batches that it has, in the order in which it answers. */
  #waiting: PromiseWithResolvers<Result>[] = [];
  #failure: Error | undefined;
  #timer: ReturnType<typeof setInterval>;
  /** The last sign of life in this batch, when it came and the processor time by then. */
  #path = "";
  #heard = 0;
  #workThen = 0;

  constructor(job: ScanJob | GrepJob) {
    const script = new URL("./search-serve.ts", import.meta.url);
    const [program = "", ...args] = selfCommand(script, SCAN_COMMAND);
    const child = spawn(program, args, {
      cwd: "/", // no settings of the folder we were started in
      // In the seconds it lives the engine's last stage of optimising costs more than it gains.
      env: { ...childEnvironment(process.env, []), BUN_JSC_useFTLJIT: "0" },
      stdio: ["pipe", "pipe", "ignore"],
    });
    this.#child = child;
    running.add(child);
    const fail = (message: string) => this.#fail(new Error(message));
    child.on("error", (error) => fail(`cannot start the search: ${error.message}`));
    child.on("exit", () => fail("the search process ended unexpectedly"));
    child.stdin.on("error", () => {}); // told by `exit`
    child.stdin.write(`${JSON.stringify(job)}\n`);
    createInterface({ input: child.stdout }).on("line", (line) => {
      this.#on(JSON.parse(line) as ServeEvent);
    });
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
  }

  /** Batches that it has not answered yet. */
  get load(): number {
    return this.#waiting.length;
  }

  /**
   * Has a batch scanned.
   *
   * @throws {ExpensivePattern} When an attempt took too long, of this batch or one before.
   * @throws {Error} When the process cannot be started or dies, and when it is closed.
   */
  async scan(batch: Batch): Promise<Result> {
    if (this.#failure) throw this.#failure;
    const answer = Promise.withResolvers<Result>();
    this.#waiting.push(answer);
    this.#child.stdin?.write(`${JSON.stringify(batch)}\n`);
    return await answer.promise;
  }

  close(): void {
    this.#fail(new Error("the search is over"));
  }

  #on(event: ServeEvent): void {
    if (event.type === "expensive") {
      return this.#fail(new ExpensivePattern(event.query, event.path));
    }
    if (event.type === "failed") return this.#fail(new Error(event.message));
    this.#path = event.type === "at" ? event.path : "";
    this.#heard = performance.now();
    this.#workThen = workTime(this.#child);
    if (event.type === "done") this.#waiting.shift()?.resolve(event.result as Result);
  }

  #look(): void {
    if (this.#path === "") return;
    // A busy machine may let it wait; then it has not worked either.
    const tooLong = performance.now() - this.#heard > MAX_SILENCE_MS ||
      workTime(this.#child) - this.#workThen > MAX_WORK_MS;
    if (tooLong) this.#fail(new ExpensivePattern(null, this.#path));
  }

  #fail(error: Error): void {
    if (this.#failure) return;
    this.#failure = error;
    clearInterval(this.#timer);
    running.delete(this.#child);
    this.#child.kill("SIGKILL");
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}

/** Processor time of a process in milliseconds; without /proc as if it had worked all the time. */
function workTime({ pid }: ChildProcess): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[11]) * TICK_MS;
  } catch {
    return performance.now();
  }
}
