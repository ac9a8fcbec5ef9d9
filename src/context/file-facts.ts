// What the records say of files beside their content: what was read and edited, which commands ran,
// whether code was checked since, who changed a file. FILE STATE (files.ts) says it to the model.

import { oneLine } from "../runtime/one-line.ts";
import type { ResultRecord, SessionRecord } from "../session/records.ts";
import type { FileNow } from "./files.ts";
import type { History } from "./history.ts";

const MAX_EVENTS = 10;
const MAX_EDITS = 8;
const MAX_ERRORS = 5;
const MAX_CHECKS = 2;
/** A file's time may be this much (ms) before a command is known to have begun: the record is made after it. */
const CLOCK_MS = 50;
/** Files of prose: an edit of them demands no check. */
const PROSE =
  /\.(?:md|mdx|markdown|txt|rst|adoc|tex|org|log)$|(?:^|\/)(?:LICENSE|NOTICE|AUTHORS|CHANGELOG)[^/]*$/i;

export interface FileFacts {
  /** Results that read files and did not edit them, oldest first, and where they stand in the records. */
  reads: { result: ResultRecord; at: number }[];
  /** Edits, oldest first. */
  edits: { tr: string; path: string }[];
  /** Results of the current turn that failed, the last ones. */
  errors: ResultRecord[];
  /** Results of commands that ran. */
  ran: ResultRecord[];
  /** Index into `ran` as it was when code was edited last; -1: no code was edited. */
  lastEdit: number;
  /** The newest Note(check) behind the last edit of code. */
  check: string;
  /** Versions that edits of ours made, with those they were made of (null: no file). */
  ours: ReadonlyMap<string, string | null>;
  records: readonly SessionRecord[];
}

/** Reads the facts out of all records: what was compacted happened too. */
export function factsOf(history: History): FileFacts {
  const { records } = history;
  const ours = new Map<string, string | null>();
  const facts: FileFacts = {
    reads: [],
    edits: [],
    errors: errorsOf(history),
    ran: [],
    lastEdit: -1,
    check: "",
    ours,
    records,
  };
  for (let at = 0; at < records.length; at++) {
    const record = records[at] as SessionRecord;
    switch (record.type) {
      case "note":
        if (record.check !== undefined) facts.check = record.check;
        break;
      case "change":
        if (record.after !== null && record.kind !== "command") {
          ours.set(record.after, record.before);
        }
        break;
      case "result":
        resultFacts(record, at, facts);
        break;
      default: // says nothing of files
    }
  }
  return facts;
}

/** Every record passes here for every request: texts are made of those few only that are told. */
function resultFacts(result: ResultRecord, at: number, facts: FileFacts): void {
  const { tr, status, observations, ran } = result;
  if (ran) facts.ran.push(result);
  if (status !== "ok" || !observations) return;
  let isEdit = false;
  for (const { kind, path } of observations) {
    if (kind !== "edit") continue;
    isEdit = true;
    facts.edits.push({ tr, path });
    if (PROSE.test(path)) continue;
    facts.lastEdit = facts.ran.length;
    facts.check = "";
  }
  if (!isEdit && observations.some(({ kind }) => kind === "read")) facts.reads.push({ result, at });
}

function errorsOf({ records, from }: History): ResultRecord[] {
  const turn = records.findLast(({ type }) => type === "user")?.turn;
  const errors: ResultRecord[] = [];
  for (let i = records.length - 1; i >= from; i--) {
    const record = records[i];
    if (record?.turn !== turn || errors.length === MAX_ERRORS) break;
    if (record?.type === "result" && record.status === "error") errors.unshift(record);
  }
  return errors;
}

export function errorLines({ errors }: FileFacts): string[] {
  return errors.map(({ tr, header, text }) => oneLine(`${tr} ${header}: ${text}`, 200));
}

/** The last reads that the model does not see any more: those in sight speak for themselves. */
export function eventLines({ reads }: FileFacts, { from, folded }: History): string[] {
  return reads.slice(-MAX_EVENTS)
    .filter(({ result, at }) => at < from || folded.has(result.tr))
    .map(({ result: { tr, header } }) => oneLine(`${tr} ${header}`, 160));
}

/** The last edits, a line a file: `tr.3 tr.7 Edit src/a.ts`, the file edited last at the end. */
export function editLines({ edits }: FileFacts, nameOf: (path: string) => string): string[] {
  const keys = new Map<string, string[]>();
  for (const { tr, path } of edits.slice(-MAX_EDITS)) {
    const known = keys.get(path) ?? [];
    keys.delete(path);
    keys.set(path, [...known, tr]);
  }
  return [...keys].map(([path, trs]) => `${trs.join(" ")} Edit ${nameOf(path)}`);
}

/** Whether code was checked since it was edited last, and what speaks for it. */
export function checkLines({ lastEdit, check, ran }: FileFacts): string[] {
  if (lastEdit === -1) return [];
  const evidence = ran.slice(lastEdit).slice(-MAX_CHECKS).map(({ tr, ran, t }) => {
    const how = ran?.exit === null ? "ended by a signal" : `exit ${ran?.exit}`;
    return `ran since: ${oneLine(`${tr} ${ran?.command}`, 80)}: ${how} at ${t.slice(11, 19)}Z`;
  });
  return [
    check === ""
      ? "Code changed since the last check. Run one or say in the final answer that none was run."
      : `Noted: ${check}`,
    ...evidence,
  ];
}

/** Who changed shown lines of a file. A command is named when the file was last written while it ran. */
export function whoChanged(
  { path, version, mtimeMs }: FileNow,
  { ours, records, ran }: FileFacts,
): string {
  if (ours.has(version)) {
    // Back over our edits: what was shown on that way differs from the file by nothing else.
    const passed = new Set([version]);
    let before = ours.get(version);
    while (before && !passed.has(before)) {
      passed.add(before);
      before = ours.get(before);
    }
    return isShownOnlyIn(path, passed, records) ? "an edit of yours" : "a command or someone else";
  }
  const command = ran.findLast(({ t, ms }) => {
    const end = Date.parse(t);
    return mtimeMs >= end - ms - CLOCK_MS && mtimeMs <= end + 1;
  });
  return command ? command.tr : "someone else";
}

/** Were lines of the file shown in these versions only? */
function isShownOnlyIn(
  path: string,
  versions: ReadonlySet<string>,
  records: readonly SessionRecord[],
): boolean {
  for (let i = records.length - 1; i >= 0; i--) {
    const record = records[i];
    if (record?.type !== "result" && record?.type !== "compact") continue;
    for (const shown of record.observations ?? []) {
      if (shown.path === path && !versions.has(shown.version)) return false;
    }
  }
  return true;
}
