// What was shown of a file, version by version, and where the lines of each version are in the file as
// it is now. Not here: what to say about a line that has no place any more (resolve.ts).

import type { Anchor, LineHash } from "./anchor.ts";
import { type Lines, openDocument } from "./document.ts";
import { type LineMap, mapLines, placeOf } from "./line-map.ts";
import { hashOfRecorded, recorded } from "./lines.ts";
import type { View } from "./seen.ts";

/** Versions looked at to find out whether a line was ever shown. */
const MAX_VERSIONS = 16;

export interface ShownInput {
  /** The file as it is now. */
  lines: Lines;
  /** sha-256 of its bytes. */
  version: string;
  /** Views of the file, newest first. */
  views: readonly View[];
  kept(name: string): Uint8Array | null;
  hash: LineHash;
}

/** All that was shown of one version of the file. */
export class Version {
  readonly name: string;
  readonly views: View[] = [];
  /** Its lines in the file now, once somebody asked; empty when its text is not known. */
  map?: LineMap;

  constructor(name: string) {
    this.name = name;
  }

  /** Text of a line as recorded, when it was shown. */
  line(n: number): string | undefined {
    for (const view of this.views) {
      const text = view.line(n);
      if (text !== undefined) return text;
    }
    return undefined;
  }

  /** About where a line without a certain place would be: below its nearest neighbour that has one. */
  near(line: number): number {
    const map = this.map?.subarray(0, line - 1) ?? new Int32Array();
    const i = map.findLastIndex((at) => at !== -1);
    return i === -1 ? line : map[i]! + line - i;
  }
}

export class ShownVersions {
  readonly #input: ShownInput;
  /** By name, the one shown last first. */
  readonly #versions = new Map<string, Version>();
  #seen?: Uint8Array;

  constructor(input: ShownInput) {
    this.#input = input;
    for (const view of input.views) {
      const version = this.#versions.get(view.version) ?? new Version(view.version);
      version.views.push(view);
      this.#versions.set(view.version, version);
    }
  }

  /** Was anything shown: of the file as it is now, of an older version, or nothing? */
  get newest(): "current" | "older" | "none" {
    if (this.#versions.has(this.#input.version)) return "current";
    return this.#versions.size > 0 ? "older" : "none";
  }

  /** The version of the newest view that showed this anchor. */
  showing(anchor: Anchor): Version | undefined {
    const view = this.#input.views.find((view) => this.#matches(view, anchor));
    return view && this.#versions.get(view.version);
  }

  /** The newest version of which both anchors were shown. */
  showingBoth(first: Anchor, last: Anchor): Version | undefined {
    return [...this.#versions.values()].find((version) =>
      this.#matches(version, first) && this.#matches(version, last)
    );
  }

  #matches(shown: View | Version, { line, hash }: Anchor): boolean {
    const text = shown.line(line);
    return text !== undefined && hashOfRecorded(text, this.#input.hash) === hash;
  }

  /** Where line `line` of that version is now (1-based), or 0 where that is not certain. */
  place(version: Version, line: number): number {
    const { lines, version: current } = this.#input;
    let at = line;
    if (version.name !== current) {
      version.map ??= this.#mapFrom(version);
      at = placeOf(version.map, line - 1, lines.length) + 1;
    }
    // The recorded text has the last word, whatever the versions say.
    const was = version.line(line);
    const isThere = at >= 1 && at <= lines.length;
    return isThere && (was === undefined || was === this.record(lines.line(at))) ? at : 0;
  }

  /** Which lines of the file now have been shown, at whatever time: 1 for those. */
  seenLines(): Uint8Array {
    if (this.#seen) return this.#seen;
    const seen = new Uint8Array(this.#input.lines.length);
    for (const version of [...this.#versions.values()].slice(0, MAX_VERSIONS)) {
      for (const [from, to] of version.views.flatMap((view) => view.ranges)) {
        for (let line = from; line <= to; line++) {
          const at = this.place(version, line);
          if (at > 0) seen[at - 1] = 1;
        }
      }
    }
    return this.#seen = seen;
  }

  /** A text of the file now as an observation holds it. */
  record(text: string): string {
    return recorded(text, this.#input.hash);
  }

  #mapFrom(version: Version): LineMap {
    const before = this.#textsOf(version);
    if (before === null) return new Int32Array();
    return mapLines(before, this.#input.lines.map(({ text }) => this.record(text)));
  }

  /** All lines of a version as recorded: from the kept bytes, or when every line was shown. */
  #textsOf(version: Version): string[] | null {
    const bytes = this.#input.kept(version.name);
    const opened = bytes && openDocument(bytes);
    if (opened?.kind === "text") return opened.document.lines.map(({ text }) => this.record(text));
    const total = version.views[0]?.total ?? 0;
    const texts = Array.from({ length: total }, (_, i) => version.line(i + 1));
    return texts.every((text) => text !== undefined) ? texts : null;
  }
}
