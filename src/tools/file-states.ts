// What has become of shown lines: versions of a file compared, and what follows for each line number. Pure
// functions of texts; reading the disk is file-view.ts.

import { diffArrays } from "diff";
import type { FileNow, Range } from "../context/files.ts";
import type { Observation } from "../session/records.ts";

/** Edits beyond which two versions count as wholly different: a diff is quadratic in them. */
const MAX_EDITS = 2000;
const UNKNOWN = -0x80000000;

/** Changed lines: `from` up to `to` (1-based, exclusive) were replaced by those from `at` up to `end`. */
export interface Hunk {
  from: number;
  to: number;
  at: number;
  end: number;
}

/** Line by line what the model knows of a file, built from the newest showing to the oldest. */
export class States {
  /** Number now less the number shown, by the number now. */
  readonly #shift: Int32Array;
  readonly #changed: Uint8Array;
  /** Numbers now in front of which shown lines are missing. */
  readonly #removed = new Set<number>();

  constructor(total: number) {
    this.#shift = new Int32Array(total + 2).fill(UNKNOWN);
    this.#changed = new Uint8Array(total + 2);
  }

  same({ ranges }: Observation): void {
    for (const [from, to] of ranges) {
      for (let n = from; n <= to; n++) this.#know(n, 0);
    }
  }

  /** Of a showing that newer ones do not outrank: the lines that survive, and those that do not. */
  older(
    { ranges, total, texts: shown }: Observation,
    hunks: readonly Hunk[],
    texts: readonly string[],
  ): void {
    const changed: [number, number][] = [];
    for (const { from, to, at, end } of hunks) {
      // Lines put in count when they stand between shown ones, or at an end of the file that was shown.
      const touched = total === 0 ||
        ranges.some(([first, last]) =>
          from === to
            ? (first < from || first === 1) && (last >= from || last === total) && from <= last + 1
            : from <= last && to > first
        );
      if (!touched) continue;
      if (end > at) changed.push([at, end]);
      else if (!(this.#isKnown(at - 1) && this.#isKnown(at))) this.#removed.add(at);
    }
    for (const [i, [first, last]] of ranges.entries()) {
      let hunk = 0;
      for (let n = first; n <= last; n++) {
        while (hunk < hunks.length && (hunks[hunk] as Hunk).to <= n) hunk++;
        const next = hunks[hunk];
        if (next && next.from <= n) continue;
        const before = hunks[hunk - 1];
        const now = n + (before ? before.end - before.to : 0);
        if (texts[now - 1] === shown[i]?.[n - first]) this.#know(now, now - n);
      }
    }
    for (const [at, end] of changed) {
      for (let n = at; n < end; n++) {
        if (this.#shift[n] === UNKNOWN) this.#changed[n] = 1;
      }
    }
  }

  /** @param other Numbers at which something else was shown last. */
  result(other: ReadonlySet<number>): Pick<FileNow, "known" | "changed" | "unseen"> {
    const known: Range[] = [];
    const changed: Range[] = [];
    const unseen: Range[] = [];
    for (let n = 1; n < this.#shift.length - 1; n++) {
      const shift = this.#shift[n] as number;
      // A line may be back at the number of an old showing, where a newer one showed another.
      const isChanged = this.#changed[n] === 1 || (shift === 0 && other.has(n));
      if (isChanged) extend(changed, n, 0);
      else if (shift !== UNKNOWN) extend(known, n, shift);
      else if (other.has(n)) extend(unseen, n, 0);
    }
    for (const n of [...other].sort((a, b) => a - b)) {
      if (n >= this.#shift.length - 1) extend(unseen, n, 0);
    }
    for (const at of this.#removed) changed.push({ from: at, to: at - 1, shift: 0 });
    return { known, changed: changed.sort((a, b) => a.from - b.from || a.to - b.to), unseen };
  }

  #know(n: number, shift: number): void {
    if (this.#shift[n] === UNKNOWN && !this.#changed[n]) this.#shift[n] = shift;
  }

  /** Also true beyond either end of the file. */
  #isKnown(n: number): boolean {
    return n < 1 || n >= this.#shift.length - 1 || this.#shift[n] !== UNKNOWN;
  }
}

/** Numbers at which something else stands now than what was shown there last. `shown`: newest first. */
export function otherThanShown(shown: readonly Observation[], now: readonly string[]): Set<number> {
  const seen = new Uint8Array(Math.max(0, ...shown.map(({ total }) => total)) + 1);
  const other = new Set<number>();
  for (const { ranges, texts } of shown) {
    for (const [i, [first, last]] of ranges.entries()) {
      for (let n = first; n <= last; n++) {
        if (seen[n]) continue;
        seen[n] = 1;
        if (now[n - 1] !== texts[i]?.[n - first]) other.add(n);
      }
    }
  }
  return other;
}

function extend(ranges: Range[], n: number, shift: number): void {
  const last = ranges.at(-1);
  if (last && last.to === n - 1 && last.shift === shift) last.to = n;
  else ranges.push({ from: n, to: n, shift });
}

/** Where the old text is not known: a line is the same only at its old number. */
export function lineByLine({ ranges, texts }: Observation, now: readonly string[]): Hunk[] {
  const hunks: Hunk[] = [];
  for (const [i, [first, last]] of ranges.entries()) {
    for (let n = first; n <= last; n++) {
      if (now[n - 1] === texts[i]?.[n - first]) continue;
      const isThere = n <= now.length;
      hunks.push({
        from: n,
        to: n + 1,
        at: isThere ? n : now.length + 1,
        end: isThere ? n + 1 : now.length + 1,
      });
    }
  }
  return hunks;
}

/** A shortest way from one text to the other, as hunks in order. */
export function hunksBetween(before: readonly string[], after: readonly string[]): Hunk[] {
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < most - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const old = before.slice(head, before.length - tail);
  const now = after.slice(head, after.length - tail);
  const parts = diffArrays(old, now, { maxEditLength: MAX_EDITS }) ??
    [{ removed: true, added: false, count: old.length }, {
      removed: false,
      added: true,
      count: now.length,
    }];
  const hunks: Hunk[] = [];
  let [n, at] = [head + 1, head + 1];
  for (const { added, removed, count } of parts) {
    if (!added && !removed) {
      [n, at] = [n + count, at + count];
      continue;
    }
    let hunk = hunks.at(-1);
    if (hunk?.to !== n || hunk.end !== at) {
      hunk = { from: n, to: n, at, end: at };
      hunks.push(hunk);
    }
    if (removed) n = hunk.to += count;
    else at = hunk.end += count;
  }
  return hunks.filter(({ from, to, at, end }) => to > from || end > at);
}
