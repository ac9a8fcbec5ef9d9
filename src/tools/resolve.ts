// From an anchor to a line of the file as it is now. The recorded text of what was shown decides, not
// the hash: the newest view that showed LINE:HASH says which line of which version is meant, and an
// exact line mapping says where that line is today, if that is certain. Nothing is resolved by guess.
// Not here: edits of the same batch (draft.ts), which start from the line found here.

import { type Anchor, parseAnchor } from "./anchor.ts";
import { count, isLong, type Span, span } from "./lines.ts";
import { type ShownInput, ShownVersions, type Version } from "./shown-versions.ts";

/** Why an edit is not possible, and which lines (as the batch began) help to go on. */
export class Refusal extends Error {
  override name = "Refusal";
  readonly show: readonly Span[];
  constructor(message: string, show: readonly Span[] = []) {
    super(message);
    this.show = show;
  }
}

export interface Place {
  from: number;
  to: number;
  /** Set when the lines stand elsewhere than where they were shown: "20 is now 22". */
  moved?: string;
}

/** At most this many lines with the right text or hash are offered. */
const MAX_OFFERED = 5;
/** So many lines that were not shown are shown by the refusal itself. */
const MAX_UNSEEN = 40;

const OVERWRITE = "overwrite needs all of the file as it is now to have been shown";

export class Resolver {
  readonly #input: ShownInput;
  readonly #versions: ShownVersions;

  constructor(input: ShownInput) {
    this.#input = input;
    this.#versions = new ShownVersions(input);
  }

  /** The lines from anchor `start` to anchor `end` (one line without it). @throws {Refusal} */
  range(start: string, end = start): Place {
    const first = this.#parse(start);
    const last = this.#parse(end);
    if (first.line === last.line && first.hash === last.hash) return this.#single(first);
    const both = this.#versions.showingBoth(first, last);
    if (both) return this.#inVersion(both, first.line, last.line);
    // Shown at different times: each finds its place, what lies between must be known.
    const [from, to] = [this.#single(first), this.#single(last)];
    if (to.from < from.from) throw reversed(from.from, to.from);
    this.#refuseUnseen(from.from, to.from, () => false);
    const moved = [from.moved, to.moved].filter((text) => text !== undefined).join(", ");
    return { from: from.from, to: to.from, ...(moved === "" ? {} : { moved }) };
  }

  /** Refuses unless all of the file as it is now was shown. @throws {Refusal} */
  whole(): void {
    const { lines } = this.#input;
    if (lines.length === 0) return;
    const { newest } = this.#versions;
    if (newest === "none") {
      throw new Refusal(`${OVERWRITE}: the file was never shown; Read it first`);
    }
    if (newest === "older") {
      throw new Refusal(`${OVERWRITE}: the file changed on disk since it was shown; Read it first`);
    }
    const missing = this.#versions.seenLines().indexOf(0) + 1;
    if (missing > 0) {
      throw new Refusal(
        `${OVERWRITE}: not all of it was shown (not line ${missing}); Read the rest first`,
      );
    }
    const long = lines.map(({ text }) => isLong(text)).indexOf(true) + 1;
    if (long === 0) return;
    throw new Refusal(
      `${OVERWRITE}: line ${long} was shown cut; change parts of it with replace_text or replace_all`,
    );
  }

  /** Was this anchor ever shown for this file? */
  wasShown(anchor: Anchor): boolean {
    return this.#versions.showing(anchor) !== undefined;
  }

  #parse(text: string): Anchor {
    const anchor = parseAnchor(text);
    if (anchor?.hash) return anchor;
    const what = `${JSON.stringify(text)} is not an anchor`;
    if (!anchor) {
      throw new Refusal(`${what}; an anchor is LINE:HASH as it was shown, for example 12:abc`);
    }
    const { line } = anchor;
    const missing = this.#missing(line);
    if (missing !== null) throw new Refusal(missing, this.#around(line));
    throw new Refusal(
      `${what}: the hash is missing. Line ${line} is ${this.#anchor(line)}`,
      this.#around(line),
    );
  }

  #single(anchor: Anchor): Place {
    const version = this.#versions.showing(anchor);
    if (!version) throw this.#neverShown(anchor);
    return this.#inVersion(version, anchor.line, anchor.line);
  }

  /** Every line of the range must have its place, one after the other, not only the ends. */
  #inVersion(version: Version, first: number, last: number): Place {
    if (last < first) throw reversed(first, last);
    const inside = first === last ? "" : `inside ${span(first, last)}: `;
    let from = 0;
    for (let line = first; line <= last; line++) {
      const at = this.#versions.place(version, line);
      if (at === 0) throw this.#lost(version, line, inside);
      if (line === first) from = at;
      if (at === from + line - first) continue;
      throw new Refusal(
        `${inside}lines were inserted on disk before line ${line} since it was shown`,
        this.#around(at),
      );
    }
    const to = from + last - first;
    this.#refuseUnseen(from, to, (at) => version.line(at - from + first) !== undefined);
    if (from === first) return { from, to };
    const moved = first === last
      ? `${first} is now ${from}`
      : `${first}-${last} is now ${from}-${to}`;
    return { from, to, moved };
  }

  /** Refuses a range with lines that the model has never been shown as they are now. */
  #refuseUnseen(from: number, to: number, known: (line: number) => boolean): void {
    const unseen: number[] = [];
    for (let line = from; line <= to; line++) {
      if (!known(line) && this.#versions.seenLines()[line - 1] === 0) unseen.push(line);
    }
    const [first, last] = [unseen[0], unseen.at(-1)];
    if (first === undefined || last === undefined) return;
    const few = last - first < MAX_UNSEEN;
    throw new Refusal(
      `${span(first, last)} inside the range had not been shown; ` +
        (few ? "here they are" : "Read them first, or name a smaller range"),
      few ? [[first, last]] : [],
    );
  }

  #neverShown({ line, hash }: Anchor): Refusal {
    const { named, show } = this.#offer((text) => this.#input.hash(text) === hash);
    const what = this.#missing(line) ??
      `${line}:${hash} was never shown for this file; line ${line} is ${this.#anchor(line)}`;
    const message = named === "" ? what : `${what}. Lines with that hash: ${named}`;
    return new Refusal(message, [...this.#around(line), ...show]);
  }

  /** Says what became of a line that has no certain place any more. */
  #lost(version: Version, line: number, inside: string): Refusal {
    const was = version.line(line);
    const { named, show } = this.#offer((text) => this.#versions.record(text) === was);
    const message = named === ""
      ? `line ${line} changed on disk or was removed since it was shown`
      : `the file changed on disk since line ${line} was shown, and which line it is now is not ` +
        `certain. The same text stands at ${named}`;
    return new Refusal(inside + message, [...this.#around(version.near(line)), ...show]);
  }

  /** The first lines with the right text, as anchors. */
  #offer(isRight: (text: string) => boolean): { named: string; show: Span[] } {
    const all = this.#input.lines.map(({ text }) => isRight(text));
    const right = all.flatMap((is, i) => (is ? [i + 1] : []));
    const few = right.slice(0, MAX_OFFERED);
    const more = right.length > few.length ? ` and ${right.length - few.length} more` : "";
    return {
      named: few.map((line) => this.#anchor(line)).join(", ") + more,
      show: few.map((line) => [line, line]),
    };
  }

  #anchor(line: number): string {
    return `${line}:${this.#input.hash(this.#input.lines.line(line))}`;
  }

  #missing(line: number): string | null {
    const { length } = this.#input.lines;
    if (line < 1) return "lines count from 1";
    return line > length
      ? `line ${line} does not exist: the file has ${count(length, "line")}`
      : null;
  }

  /** The line, or the last one, with one more on either side; who shows them keeps within the file. */
  #around(line: number): Span[] {
    const middle = Math.min(line, this.#input.lines.length);
    return [[middle - 1, middle + 1]];
  }
}

function reversed(start: number, end: number): Refusal {
  const show = [start, end].map((line): Span => [line - 1, line + 1]);
  return new Refusal(`the end (line ${end}) lies before the start (line ${start})`, show);
}
