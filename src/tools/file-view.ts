// The view of the disk for FILE STATE: what has become of the lines that the model was shown. Facts
// only; which of them are said, and how, is context/files.ts.

import { diffArrays } from "diff";
import type { FileNow, Range, ShownFile } from "../context/files.ts";
import type { FileInfo, Host } from "../host/host.ts";
import { sha256 } from "../runtime/hash.ts";
import type { Observation } from "../session/records.ts";
import { anchors, type LineHash } from "./anchor.ts";
import { type Lines, openDocument } from "./document.ts";
import { MAX_KEPT, recorded, row } from "./lines.ts";
import { shownPath } from "./paths.ts";

/** Versions of a file that are looked back at. */
const MAX_VERSIONS = 8;
/** Edits beyond which two versions count as wholly different: a diff is quadratic in them. */
const MAX_EDITS = 2000;
const UNKNOWN = -0x80000000;

interface Store {
  keep(bytes: Uint8Array): string;
  get(name: string): Uint8Array | null;
}

/**
 * A file written within this time (ms) before it was read may be written again without a new time, so its
 * stamp proves nothing: the clocks of file systems tick slowly (ext4: 4 ms, FAT: 2 s).
 */
const TICK = 2000;

/** A file as it was read last. */
interface Looked {
  stamp: string;
  /** The stamp proves that the bytes are these. */
  isSettled: boolean;
  info: FileInfo;
  version: string;
  bytes: Uint8Array;
  /** Null: no text, or too large to be followed. */
  lines: Lines | null;
}

interface Known {
  looked: Looked | null;
  shown: readonly Observation[];
  now: FileNow;
}

/** Changed lines: `from` up to `to` (1-based, exclusive) were replaced by those from `at` up to `end`. */
interface Hunk {
  from: number;
  to: number;
  at: number;
  end: number;
}

export class FileViewer {
  readonly #host: Host;
  readonly #store: Store;
  readonly #cwd: string;
  readonly #files = new Map<string, Known>();
  readonly #hunks = new Map<string, Hunk[] | null>();
  #texts = new WeakMap<Lines, string[]>();

  constructor(host: Host, store: Store, cwd: string) {
    this.#host = host;
    this.#store = store;
    this.#cwd = cwd;
  }

  /** What has become of the files, in the order given. A file that cannot be read is `unreadable`. */
  async look(files: readonly ShownFile[]): Promise<FileNow[]> {
    if (files.length === 0) return [];
    const hash = await anchors();
    return await Promise.all(files.map((file) => this.#lookAt(file, hash)));
  }

  async #lookAt({ path, shown }: ShownFile, hash: LineHash): Promise<FileNow> {
    const known = this.#files.get(path);
    const looked = await this.#read(path, known?.looked ?? null).catch(() => undefined);
    if (
      looked !== undefined && known && known.looked === looked &&
      known.shown.length === shown.length &&
      known.shown.every((observation, i) => observation === shown[i])
    ) return known.now;
    const now = this.#compare(path, shown, looked, hash);
    this.#files.set(path, { looked: looked ?? null, shown, now });
    return now;
  }

  /** The file; the same object as before while its stamp is. Null: it is gone. */
  async #read(path: string, before: Looked | null): Promise<Looked | null> {
    const info = await this.#host.stat(path);
    if (info === null) return null;
    const stamp = `${info.kind} ${info.size} ${info.mtimeMs}`;
    if (before?.stamp === stamp && before.isSettled) return before;
    const isSettled = Date.now() - info.mtimeMs > TICK;
    if (info.kind !== "file" || info.size > MAX_KEPT) {
      if (before?.stamp === stamp) return before;
      return { stamp, isSettled, info, version: "", bytes: new Uint8Array(), lines: null };
    }
    const bytes = await this.#host.read(path);
    const version = sha256(bytes);
    if (before?.version === version && before.stamp === stamp) {
      before.isSettled = isSettled;
      return before;
    }
    const opened = openDocument(bytes);
    const lines = opened.kind === "text" ? opened.document.lines : null;
    return { stamp, isSettled, info, version, bytes, lines };
  }

  #compare(
    path: string,
    shown: readonly Observation[],
    looked: Looked | null | undefined,
    hash: LineHash,
  ): FileNow {
    const state = looked === null ? "gone" : looked?.lines ? "text" : "unwatched";
    const now: FileNow = {
      path,
      shown: shownPath(path, this.#cwd),
      state,
      version: looked?.version ?? "",
      total: looked?.lines?.length ?? 0,
      mtimeMs: looked?.info.mtimeMs ?? 0,
      known: [],
      changed: [],
      unseen: [],
      rows: () => [],
      texts: () => [],
    };
    if (!looked?.lines) return now;
    const { lines, bytes } = looked;
    const numbers = (from: number, to: number) =>
      Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i);
    return {
      ...now,
      ...this.#statesOf(looked, lines, shown, hash),
      rows: (from, to) => numbers(from, to).map((n) => row(n, lines.line(n), hash)),
      texts: (from, to) => {
        this.#store.keep(bytes); // what is shown can be found again after the next change
        return numbers(from, to).map((n) => recorded(lines.line(n), hash));
      },
    };
  }

  #statesOf(
    { version }: Looked,
    lines: Lines,
    shown: readonly Observation[],
    hash: LineHash,
  ): Pick<FileNow, "known" | "changed" | "unseen"> {
    const texts = this.#textsOf(lines, hash);
    const states = new States(texts.length);
    const versions = new Set<string>();
    for (const observation of shown) { // newest first
      if (observation.version === version) {
        states.same(observation);
        continue;
      }
      versions.add(observation.version);
      if (versions.size > MAX_VERSIONS) break;
      const hunks = this.#hunksOf(observation, version, texts, hash) ??
        lineByLine(observation, texts);
      states.older(observation, hunks, texts);
    }
    return states.result(otherThanShown(shown, texts));
  }

  #textsOf(lines: Lines, hash: LineHash): string[] {
    const known = this.#texts.get(lines);
    if (known) return known;
    const texts = lines.map(({ text }) => recorded(text, hash));
    this.#texts.set(lines, texts);
    return texts;
  }

  /** What separates the version of an observation from the file; null when its text is not known. */
  #hunksOf(
    { version }: Observation,
    current: string,
    texts: readonly string[],
    hash: LineHash,
  ): Hunk[] | null {
    const key = `${version} ${current}`;
    const known = this.#hunks.get(key);
    if (known !== undefined) return known;
    const bytes = this.#store.get(version);
    const opened = bytes && openDocument(bytes);
    const hunks = opened?.kind === "text"
      ? hunksBetween(opened.document.lines.map(({ text }) => recorded(text, hash)), texts)
      : null;
    this.#hunks.set(key, hunks);
    return hunks;
  }
}

/** Line by line what the model knows of a file, built from the newest showing to the oldest. */
class States {
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
function otherThanShown(shown: readonly Observation[], now: readonly string[]): Set<number> {
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
function lineByLine({ ranges, texts }: Observation, now: readonly string[]): Hunk[] {
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
function hunksBetween(before: readonly string[], after: readonly string[]): Hunk[] {
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
