// A process that scans for another one (search-process.ts): so that a pattern on which the engine does not
// come back can be stopped, and so that two cores share a large tree. Reads a job and then batches of its
// files as lines of JSON, answers each batch with lines of JSON, ends when its input does.

import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { type GrepJob, Grepper, type GrepResult } from "./recall-grep.ts";
import { ExpensivePattern } from "./search-match.ts";
import { type ScanBatch, type ScanJob, Scanner, type ScanResult } from "./search-scan.ts";

/** Word on the command line of the binary that starts this. */
export const SCAN_COMMAND = "__scan";

export type ServeEvent =
  /** A sign of life: about to look at this. */
  | { type: "at"; path: string }
  /** A batch is done. */
  | { type: "done"; result: ScanResult | GrepResult }
  | { type: "expensive"; query: number | null; path: string }
  | { type: "failed"; message: string };

/** Serves until the input ends. */
export async function serve(): Promise<void> {
  let begin: ((batch: unknown) => Generator<string, ScanResult | GrepResult>) | undefined;
  for await (const line of createInterface({ input: process.stdin })) {
    try {
      const value: unknown = JSON.parse(line);
      if (begin) answer(begin(value));
      else begin = scannerFor(value as ScanJob | GrepJob);
    } catch (error) {
      if (error instanceof ExpensivePattern) {
        send({ type: "expensive", query: error.query, path: error.path });
      } else {
        send({ type: "failed", message: error instanceof Error ? error.message : String(error) });
      }
    }
  }
}

function scannerFor(job: ScanJob | GrepJob) {
  if ("texts" in job) {
    const grepper = new Grepper(job);
    return (batch: unknown) => grepper.scan(batch as number);
  }
  const scanner = new Scanner(job);
  return (batch: unknown) => scanner.scan(batch as ScanBatch);
}

function answer(scan: Generator<string, ScanResult | GrepResult>): void {
  for (let next = scan.next();; next = scan.next()) {
    if (next.done) return send({ type: "done", result: next.value });
    send({ type: "at", path: next.value });
  }
}

function send(event: ServeEvent): void {
  const bytes = Buffer.from(`${JSON.stringify(event)}\n`);
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      if ((error as { code?: string }).code !== "EAGAIN") process.exit(1); // nobody listens any more
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

if (import.meta.main) await serve();
