// Runs a scan in a process of its own. A regular expression that backtracks for ever cannot be stopped
// from within: terminating a worker thread leaves the engine running in Bun and in Deno alike (measured,
// docs/decisions.md). A process can be killed.

import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { childEnvironment } from "../host/child-env.ts";
import { selfCommand } from "../runtime/self.ts";
import type { GrepJob } from "./recall-grep.ts";
import { ExpensivePattern } from "./search-match.ts";
import type { ScanEvent, ScanJob } from "./search-scan.ts";
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

/**
 * Runs a job and passes on its events.
 *
 * @throws {ExpensivePattern} When an attempt took too long.
 * @throws {Error} When the process cannot be started or dies, and when `signal` aborts.
 */
export async function scanInProcess(
  job: ScanJob | GrepJob,
  signal: AbortSignal,
  onEvent: (event: ScanEvent) => void,
): Promise<void> {
  signal.throwIfAborted();
  const script = new URL("./search-serve.ts", import.meta.url);
  const [program = "", ...args] = selfCommand(script, SCAN_COMMAND);
  const child = spawn(program, args, {
    cwd: "/", // no settings of the folder we were started in
    env: childEnvironment(process.env, []),
    stdio: ["pipe", "pipe", "ignore"],
  });
  running.add(child);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onAbort = () => reject(new Error("interrupted"));
  signal.addEventListener("abort", onAbort, { once: true });
  child.on("error", (error) => reject(new Error(`cannot start the search: ${error.message}`)));
  child.on("exit", () => reject(new Error("the search process ended unexpectedly")));
  child.stdin.on("error", () => {}); // told by `exit`
  child.stdin.write(`${JSON.stringify(job)}\n`);

  let path = "";
  let heard = performance.now();
  let workThen = 0;
  const timer = setInterval(() => {
    // A busy machine may let it wait; then it has not worked either.
    const tooLong = performance.now() - heard > MAX_SILENCE_MS ||
      workTime(child) - workThen > MAX_WORK_MS;
    if (path !== "" && tooLong) reject(new ExpensivePattern(null, path));
  }, LOOK_MS);
  createInterface({ input: child.stdout }).on("line", (line) => {
    const event = JSON.parse(line) as ServeEvent;
    if (event.type === "expensive") reject(new ExpensivePattern(event.query, event.path));
    else if (event.type === "failed") reject(new Error(event.message));
    else if (event.type === "end") resolve(onEvent(event));
    else if (event.type === "file") onEvent(event);
    else {
      path = event.path;
      heard = performance.now();
      workThen = workTime(child);
    }
  });
  try {
    await promise;
  } finally {
    clearInterval(timer);
    signal.removeEventListener("abort", onAbort);
    running.delete(child);
    child.kill("SIGKILL");
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
