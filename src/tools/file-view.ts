// The view of the disk for FILE STATE: what has become of the lines that the model was shown. Facts
// only; how versions are compared is file-states.ts, which facts are said, and how, context/files.ts.

import type { FileNow, ShownFile } from "../context/files.ts";
import type { FileInfo, Host } from "../host/host.ts";
import { sha256 } from "../runtime/hash.ts";
import type { Observation } from "../session/records.ts";
import { anchors, type LineHash } from "./anchor.ts";
import { type Lines, openDocument } from "./document.ts";
import { type Hunk, hunksBetween, lineByLine, otherThanShown, States } from "./file-states.ts";
import { MAX_KEPT, recorded, row } from "./lines.ts";
import { shownPath } from "./paths.ts";

/** Versions of a file that are looked back at. */
const MAX_VERSIONS = 8;

interface Store {
  keep(bytes: Uint8Array, name?: string): string;
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
        this.#store.keep(bytes, looked.version); // what is shown can be found again after the next change
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
