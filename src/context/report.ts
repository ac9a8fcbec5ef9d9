// What a session's records say about its context as a whole: the ledger's lines, the compactions and the
// totals. What `/context`, `nanocode context` and its JSON show; how it looks is ui/context-bars.ts.

import type { CompactRecord, SessionRecord } from "../session/records.ts";
import { type LedgerLine, ledgerOf } from "./ledger.ts";

/** Version of the JSON that `nanocode context --json` prints. */
export const REPORT_VERSION = 1;

export interface ContextReport {
  session: string;
  /** Tokens that fit; null when not known. */
  window: number | null;
  /** One line a request, in the order they were sent. */
  requests: LedgerLine[];
  compactions: CompactionLine[];
  totals: Totals;
}

export interface CompactionLine extends Pick<CompactRecord, "turn" | "step" | "t" | "by"> {
  /** Estimated tokens of the next request without it and with it. */
  before: number;
  after: number;
  undone: boolean;
}

export interface Totals {
  requests: number;
  /** Of them, those that the provider counted; `input`, `cached` and `output` are summed over these. */
  counted: number;
  input: number;
  cached: number;
  output: number;
  /** Estimated tokens of all requests. */
  estimate: number;
  /** Of them, those that should have been cached, out of the requests that could be predicted. */
  predicted: number;
  predictedOf: number;
  /** Requests that did not begin with the one before. */
  broken: number;
}

/** The report of a session; its window is that of the last request. */
export function reportOf(session: string, records: readonly SessionRecord[]): ContextReport {
  const requests = ledgerOf(records);
  const undone = new Set(
    records.flatMap((record) => record.type === "uncompact" ? [record.compact] : []),
  );
  const compactions = records.flatMap((record): CompactionLine[] => {
    if (record.type !== "compact") return [];
    const { turn, step, t, by, tokens: { before, after } } = record;
    return [{ turn, step, t, by, before, after, undone: undone.has(record.id) }];
  });
  const window = requests.at(-1)?.window ?? null;
  return { session, window, requests, compactions, totals: totalsOf(requests) };
}

/** The first request of a process is compared with none, so nothing is expected of it. */
export function isPredicted({ predicted, broke }: LedgerLine): boolean {
  return predicted > 0 || broke !== undefined;
}

function totalsOf(requests: readonly LedgerLine[]): Totals {
  const sum = (of: (line: LedgerLine) => number) =>
    requests.reduce((total, line) => total + of(line), 0);
  return {
    requests: requests.length,
    counted: sum(({ input }) => input === null ? 0 : 1),
    input: sum(({ input }) => input ?? 0),
    cached: sum(({ cached }) => cached ?? 0),
    output: sum(({ output }) => output ?? 0),
    estimate: sum(({ estimate }) => estimate),
    predicted: sum(({ predicted }) => predicted),
    predictedOf: sum((line) => isPredicted(line) ? line.estimate : 0),
    broken: sum(({ broke }) => broke ? 1 : 0),
  };
}
