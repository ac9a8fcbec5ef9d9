// A session's records as text that a person can read and compare: who said what, which call gave what.
// Only what belongs to a plugin's behaviour; ids, times, tokens and requests are left out.

import type { SessionRecord } from "../session/records.ts";

/** One paragraph a record; further lines of a text are indented by two blanks. */
export function transcriptOf(records: readonly SessionRecord[]): string {
  return records.flatMap(linesOf).map((text) => `${text}\n`).join("");
}

function linesOf(record: SessionRecord): string[] {
  switch (record.type) {
    case "user":
      return [said(record.source === "typed" ? "user" : `user (${record.source})`, record.text)];
    case "reply":
      return [
        ...record.text === "" ? [] : [said("model", record.text)],
        ...record.calls.map(({ name, args, raw }) =>
          said("call", `${name} ${raw ?? JSON.stringify(args)}`)
        ),
      ];
    case "answer":
      return [said("permission", record.decision)];
    case "result":
      return [said(`result of ${record.tool}, ${record.status}`, record.text)];
    case "end":
      return [said("end", [record.reason, record.detail].filter(Boolean).join(": "))];
    default:
      return [];
  }
}

function said(who: string, text: string): string {
  return `${who}: ${text.replace(/\s+$/, "").replaceAll("\n", "\n  ")}`;
}
