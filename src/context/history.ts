// What of a session's records the model still sees word for word: compactions and folds are records
// too, so this is found by reading them, never by changing history.

import type {
  CompactRecord,
  HeaderRecord,
  ResultRecord,
  SessionRecord,
  UserRecord,
  UserSource,
} from "../session/records.ts";

export interface History {
  header: HeaderRecord | null;
  /** The compaction that stands in for everything before `from`; null when there is none. */
  compact: CompactRecord | null;
  records: readonly SessionRecord[];
  /** Index of the first record that is sent as it is. */
  from: number;
  /** Keys of results that are sent as their header line. */
  folded: ReadonlySet<string>;
}

/** Reads what compactions (the newest that was not taken back) and folds say. */
export function historyOf(records: readonly SessionRecord[]): History {
  const undone = new Set<string>();
  const folded = new Set<string>();
  let compact: CompactRecord | null = null;
  for (let i = records.length - 1; i >= 0; i--) {
    const record = records[i];
    if (record?.type === "uncompact") undone.add(record.compact);
    if (record?.type === "fold") { for (const tr of record.tr) folded.add(tr); }
    if (record?.type === "compact" && !undone.has(record.id)) {
      compact ??= record;
    }
  }
  const through = compact && records.findIndex(({ id }) => id === compact.through);
  const header = records.find((record): record is HeaderRecord => record.type === "header") ?? null;
  return { header, compact, records, from: through === null ? 0 : through + 1, folded };
}

/** Is this what the user (or whoever speaks for the user) said? */
export function isUsersWord(record: SessionRecord): record is UserRecord {
  return record.type === "user" && !OURS.has(record.source);
}

const OURS: ReadonlySet<UserSource> = new Set(["nudge", "rule", "skill", "plugin"]);

/** Keys of results and ids of messages that show a rule or a skill: no compaction touches them. */
export function loadedIn(records: readonly SessionRecord[]): ReadonlySet<string> {
  const out = new Set<string>();
  for (const record of records) {
    if (record.type === "loaded" && record.in !== undefined) out.add(record.in);
  }
  return out;
}

/** Index of the record with which the newest turn begins; the number of records when there is none. */
export function startOfTurn(records: readonly SessionRecord[]): number {
  const turn = records.findLast((record) => record.type === "user")?.turn;
  const at = records.findIndex((record) => record.type === "user" && record.turn === turn);
  return at === -1 ? records.length : at;
}

/** `tool tr.4 Search "raise" path=src`, with the status where it is not ok: the first lines of a result. */
export function resultHead({ tr, header, status }: ResultRecord): string {
  return `tool ${tr} ${header}${status === "ok" ? "" : `\nstatus: ${status}`}`;
}
