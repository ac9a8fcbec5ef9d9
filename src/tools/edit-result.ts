// What Edit says: the result with its diff and fresh anchors, and errors with the lines as they are now.
// Each text comes with the observations of the lines in it, so that their anchors can be used at once.

import type { Observation } from "../session/records.ts";
import type { LineHash } from "./anchor.ts";
import { type Hunk, unifiedDiff } from "./diff.ts";
import type { Lines } from "./document.ts";
import { count, mergeSpans, Shown, type Span, span } from "./lines.ts";
import { attribute } from "./paths.ts";
import { ToolError } from "./tool.ts";

/** A file as it is on the disk now, for a text that shows lines of it. */
export interface FileNow {
  path: string;
  shown: string;
  version: string;
  lines: Lines;
  hash: LineHash;
  /** Bytes that the text may have. */
  room: number;
}

/** The result of a call that changed the file. */
export function successText(
  now: FileNow,
  created: boolean,
  hunks: readonly Hunk[],
  notes: readonly string[],
): { text: string; observations: Observation[] } {
  const open = `<Edit path="${attribute(now.shown)}" version="${now.version.slice(0, 8)}">`;
  const rows = [open, ...notes.map((note) => `note: ${note}`)];
  if (created) rows.push(`created, ${count(now.lines.length, "line")}`);
  else if (hunks.length === 0) rows.push("only line ends changed");
  else rows.push(unifiedDiff(now.shown, false, hunks, now.room * 0.4));
  const parts = hunks.map(({ newStart, newLines }): Span => [newStart, newStart + newLines - 1]);
  const { rows: shown, rest, observations } = excerpt(now, parts, rows, "edit");
  rows.push(...shown);
  if (rest) {
    rows.push(`[changes in ${span(...rest)} not shown here; Read shows them with their anchors]`);
  }
  return { text: [...rows, "</Edit>"].join("\n"), observations };
}

/** An error: what is wrong, that nothing was written, and lines to go on with. */
export function failure(
  faults: readonly string[],
  now?: FileNow,
  show: readonly Span[] = [],
): ToolError {
  const rows = [...faults.map((fault) => `${fault}.`), "Nothing was written by this call."];
  const spans = now ? mergeSpans(show, now.lines.length) : [];
  if (now?.lines.length === 0 && now.version !== "") {
    rows.push("The file is empty now; op create fills it.");
  }
  if (!now || spans.length === 0) {
    return new ToolError([...rows, "Correct it and send the call again."].join("\n"));
  }
  rows.push(`The lines of ${now.shown} now (of ${now.lines.length}):`);
  const { rows: shown, observations } = excerpt(now, spans, rows, "read");
  const last =
    "These anchors are fresh: send the call again with the right ones, no Read is needed.";
  return new ToolError([...rows, ...shown, last].join("\n"), observations);
}

/** Lines of the file, as many as there is room for beside `others`, and what is left of them. */
function excerpt(
  now: FileNow,
  spans: readonly Span[],
  others: readonly string[],
  kind: Observation["kind"],
): { rows: string[]; rest?: [number, number]; observations: Observation[] } {
  const { lines, path, version, hash } = now;
  const shown = new Shown(hash, now.room - Buffer.byteLength(others.join("\n")) - 200);
  const rows: string[] = [];
  let rest: [number, number] | undefined;
  for (const [from, to] of spans) {
    const part = shown.range([from, to], (n) => (n <= lines.length ? lines.line(n) : undefined));
    rows.push(...part.rows);
    if (part.next > to) continue;
    rest = [part.next, spans.at(-1)?.[1] ?? to];
    break;
  }
  const seen = shown.observation(path, version, kind, lines.length);
  return { rows, ...(rest ? { rest } : {}), observations: seen ? [seen] : [] };
}
