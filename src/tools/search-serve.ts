// The process that scans for patterns a person's computer could hang on: started by search-process.ts,
// which kills it when the engine does not come back. Reads jobs as lines of JSON, answers each with
// events as lines of JSON, ends when its input does.

import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { grep, type GrepJob } from "./recall-grep.ts";
import { ExpensivePattern } from "./search-match.ts";
import { scan, type ScanEvent, type ScanJob } from "./search-scan.ts";

/** Word on the command line of the binary that starts this. */
export const SCAN_COMMAND = "__scan";

/** What comes back besides the scanner's own events. */
export type ServeEvent =
  | ScanEvent
  | { type: "expensive"; query: number | null; path: string }
  | { type: "failed"; message: string };

/** A sign of life at most this often (milliseconds). */
const BEAT_MS = 20;

/** Serves until the input ends. */
export async function serve(): Promise<void> {
  for await (const line of createInterface({ input: process.stdin })) answer(line);
}

function answer(line: string): void {
  let last = 0;
  try {
    const job = JSON.parse(line) as ScanJob | GrepJob;
    for (const event of "texts" in job ? grep(job) : scan(job)) {
      if (event.type === "at") {
        const now = performance.now();
        if (now - last < BEAT_MS) continue;
        last = now;
      }
      send(event);
    }
  } catch (error) {
    if (error instanceof ExpensivePattern) {
      send({ type: "expensive", query: error.query, path: error.path });
    } else {
      send({ type: "failed", message: error instanceof Error ? error.message : String(error) });
    }
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
