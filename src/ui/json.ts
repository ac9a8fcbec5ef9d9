// `--output json` (one object at the end) and `--output stream-json` (every event a line, then the same
// object as a line of type "result"). For programs: no colours, no progress, and invisible
// characters as \u escapes, so that the output is safe to look at and parses to the same values.

import { type AgentEvent, EVENT_VERSION } from "../loop/events.ts";
import { errorLine, warnLine } from "./lines.ts";
import type { Out } from "./out.ts";
import type { Renderer, TurnSummary } from "./renderer.ts";
import { visibleJson } from "./text.ts";
import { PLAIN } from "./theme.ts";

/** One JSON object on standard output when the turn has ended; warnings and errors on standard error. */
export function jsonRenderer({ stdout, stderr }: { stdout: Out; stderr: Out }): Renderer {
  return {
    event(event) {
      if (event.type === "warn") stderr.write(`${warnLine(event, PLAIN)}\n`);
      if (event.type === "error") stderr.write(`${errorLine(event, PLAIN)}\n`);
    },
    async end(summary) {
      stdout.write(`${visibleJson(JSON.stringify(summary))}\n`);
      await Promise.all([stdout.drained(), stderr.drained()]);
    },
  };
}

/** A line of `--output stream-json`; the last one is of type "result". */
export type StreamLine = AgentEvent | ResultLine;

/** `version` is that of the schema of all the lines. */
export type ResultLine = { type: "result"; version: number } & TurnSummary;

/** Every event as one line of JSON, at once, and the summary as the last line. */
export function streamJsonRenderer({ stdout }: { stdout: Out }): Renderer {
  const line = (value: StreamLine) => stdout.write(`${visibleJson(JSON.stringify(value))}\n`);
  return {
    event: line,
    async end(summary) {
      line({ type: "result", version: EVENT_VERSION, ...summary });
      await stdout.drained();
    },
  };
}
