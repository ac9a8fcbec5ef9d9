// Summaries: what the summariser is asked, what is made of its answer, and a summary made without one.
// Pure functions of records; what is summarised and where the summary stands is compact.ts.

import type { Message } from "../provider/provider.ts";
import { oneLine } from "../runtime/one-line.ts";
import type { ResultRecord, SessionRecord } from "../session/records.ts";
import type { Plan } from "./compact.ts";
import PROMPT from "./compact.md" with { type: "text" };
import { isUsersWord, resultHead } from "./history.ts";
import { estimateTokens, USUAL_WINDOW } from "./tokens.ts";

/** Share of the window that the summariser's input may take. */
const INPUT_SHARE = 0.5;

/** What a summary holds. */
export interface Summary {
  summary: string;
  decisions: string[];
  dead_ends: string[];
  constraints: string[];
  files: string[];
  open: string[];
  /** Keys of results. */
  results: string[];
}

export const LISTS = ["decisions", "dead_ends", "constraints", "files", "open", "results"] as const;

/** The request that asks for a summary: it fits into the window whatever the history holds. */
export function summaryMessages({ old, previous }: Plan, window: number | null): Message[] {
  const budget = (window ?? USUAL_WINDOW) * INPUT_SHARE;
  const before = previous ? ["# Earlier summary", ...previous.texts.slice(0, 1), ""] : [];
  let text = "";
  // Results give way first, by their middles; then everything, by the middle of it.
  for (const share of [400, 150, 60, 20]) {
    text = [...before, "# History", ...old.flatMap((record) => told(record, share))].join("\n");
    if (estimateTokens(text) <= budget) break;
  }
  return [
    { role: "system", text: PROMPT.trim() },
    { role: "user", text: middleOut(text, budget) },
    { role: "user", text: "Now answer with the JSON object." },
  ];
}

/** A record as the summariser reads it. */
function told(record: SessionRecord, tokens: number): string[] {
  switch (record.type) {
    case "user":
      // Rules and skills stay as they are, beside the summary.
      if (!isUsersWord(record)) return [];
      return [`## User (turn ${record.turn})`, middleOut(record.text, tokens * 5)];
    case "reply":
      return [
        ...(record.text === "" ? [] : ["## Agent", middleOut(record.text, tokens * 2)]),
        ...record.calls.map(({ name, args }) =>
          `call ${name} ${middleOut(JSON.stringify(args) ?? "", tokens)}`
        ),
      ];
    case "result":
      return [`${resultHead(record)}\n${middleOut(record.text, tokens)}`];
    case "end":
      return record.reason === "done" ? [`(turn ${record.turn} is finished)`] : [
        `(turn ${record.turn} ended: ${record.reason})`,
      ];
    default:
      return [];
  }
}

/** Head and tail of a text, a third and two thirds of `tokens`: an error usually stands at the end. */
export function middleOut(text: string, tokens: number): string {
  const bytes = Buffer.from(text);
  const limit = Math.floor(tokens) * 4;
  if (bytes.length <= limit) return text;
  const decoder = new TextDecoder();
  const cut = (part: Uint8Array) => decoder.decode(part).replaceAll("\ufffd", "");
  const head = cut(bytes.subarray(0, Math.floor(limit / 3)));
  const tail = cut(bytes.subarray(bytes.length - Math.floor(limit * 2 / 3)));
  return `${head}\n[… ${bytes.length - limit} bytes …]\n${tail}`;
}

/** A summariser's answer, also fenced or with prose around; null when it is of no use. */
export function parseSummary(text: string, keys: ReadonlySet<string>): Summary | null {
  const from = text.indexOf("{");
  const to = text.lastIndexOf("}");
  if (from === -1 || to < from) return null;
  let value: unknown;
  try {
    value = JSON.parse(text.slice(from, to + 1));
  } catch {
    return null;
  }
  const fields = value as Record<string, unknown>;
  if (typeof fields.summary !== "string" || fields.summary.trim() === "") return null;
  const out: Summary = { ...EMPTY, summary: fields.summary.trim() };
  for (const name of LISTS) {
    const list = Array.isArray(fields[name]) ? fields[name] : [fields[name]];
    out[name] = list.filter((item): item is string =>
      typeof item === "string" && item.trim() !== ""
    )
      .map((item) => item.replaceAll(/\s+/g, " ").trim());
  }
  out.results = [...new Set(out.results.flatMap((item) => item.match(/tr\.\d+/g) ?? []))]
    .filter((key) => keys.has(key));
  return out;
}

const EMPTY: Summary = {
  summary: "",
  decisions: [],
  dead_ends: [],
  constraints: [],
  files: [],
  open: [],
  results: [],
};

/** A summary made of the records alone: what was asked, touched and run, and how each turn ended. */
export function mechanicalSummary({ old, previous }: Plan): Summary {
  const lines: string[] = [];
  const files = new Map<string, string>();
  const results: string[] = [];
  let answer = "";
  for (const record of old) {
    if (record.type === "user" && isUsersWord(record)) {
      lines.push(`Turn ${record.turn}: the user asked: ${oneLine(record.text, 200)}`);
    }
    if (record.type === "reply" && record.text.trim() !== "") answer = record.text;
    if (record.type === "result") {
      noteResult(record, files, lines);
      if (record.spill !== undefined) results.push(record.tr);
    }
    if (record.type === "end") {
      lines.push(`Turn ${record.turn} ended (${record.reason}): ${oneLine(answer, 300)}`);
      answer = "";
    }
  }
  const earlier = previous ? [previous.texts[0]?.split("\n").slice(1).join("\n").trim() ?? ""] : [];
  return {
    ...EMPTY,
    summary: [...earlier, ...lines].join("\n"),
    files: [...files].map(([path, what]) => `${path}: ${what}`).slice(-40),
    results: results.slice(-20),
  };
}

function noteResult(record: ResultRecord, files: Map<string, string>, lines: string[]): void {
  for (const { path, kind } of record.observations ?? []) {
    if (kind === "read" && !files.has(path)) files.set(path, "read");
    if (kind === "edit") files.set(path, "edited");
  }
  if (record.ran) {
    const { command, exit } = record.ran;
    lines.push(`${record.tr} ran ${oneLine(command, 100)}: exit ${exit ?? "by a signal"}`);
  } else if (record.status === "error") {
    lines.push(
      `${record.tr} ${oneLine(record.header, 80)} failed: ${oneLine(record.text, 160)}`,
    );
  }
}
