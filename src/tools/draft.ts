// A file as a batch of edits has made it so far: the file "as the batch began" (the base) and the parts of
// it that became another text. So a line that the model saw is found again wherever earlier edits moved
// it. Pure. Not here: what an anchor means (resolve.ts), the rules of the ops (edit-plan.ts).

import type { Change } from "./diff.ts";
import { type Eol, Lines, usualEol } from "./document.ts";
import { span } from "./lines.ts";
import { Refusal } from "./resolve.ts";

/** Text in the place of base lines; or inserted: then its place is n + ¼ after line n, n - ¼ before it. */
interface Part {
  readonly from: number;
  readonly to: number;
  readonly text: string;
  /** The edit that did it. */
  readonly by: string;
  /** Only literal text in the lines was replaced, so they may still be changed, all together. */
  readonly open: boolean;
}

/** Where text stands in the file now. */
interface At {
  readonly from: number;
  readonly to: number;
  readonly part?: Part;
  readonly start: number;
  readonly end: number;
}

type Place = Pick<Part, "from" | "to">;
const isInserted = ({ from }: Place) => !Number.isInteger(from);
/** Base lines that it stands for. */
const widthOf = (place: Place) => (isInserted(place) ? 0 : place.to - place.from + 1);
const linesIn = ({ text }: Part) => new Lines(text).length;

export class Draft {
  readonly base: Lines;
  /** In the order of their places. */
  #parts: readonly Part[];
  #usual?: Eol;

  constructor(base: Lines, parts: readonly Part[] = []) {
    this.base = base;
    this.#parts = parts;
  }

  copy(): Draft {
    return new Draft(this.base, this.#parts);
  }

  /** The file as it reads now, line ends as they are in it. */
  get text(): string {
    return this.#chunks().map(({ from, to, part }) => part?.text ?? this.base.slice(from, to))
      .join("");
  }

  /** The ending that most lines have. */
  get usual(): Eol {
    return this.#usual ??= usualEol(this.base.text);
  }

  /** The parts, and untouched lines between them. */
  #chunks(): At[] {
    const chunks: At[] = [];
    let [line, start] = [1, 0];
    const push = (place: Place, length: number, part?: Part) => {
      const { from, to } = place;
      chunks.push({ from, to, start, end: start + length, ...(part && { part }) });
      start += length;
    };
    const untouched = (to: number) => {
      if (line <= to) push({ from: line, to }, this.base.start(to + 1) - this.base.start(line));
      line = to + 1;
    };
    for (const part of this.#parts) {
      untouched(Math.ceil(part.from) - 1);
      push(part, part.text.length, part);
      line = Math.floor(part.to) + 1;
    }
    untouched(this.base.length);
    return chunks;
  }

  /** The number that base line `line` has now, or would have. */
  lineNow(line: number): number {
    let shift = 0;
    for (const part of this.#parts) {
      if (part.from > line) break;
      if (part.to >= line) return part.from + shift;
      shift += linesIn(part) - widthOf(part);
    }
    return line + shift;
  }

  /** The base line that the text at an offset belongs to, or is next to. */
  baseLine(offset: number): number {
    const { from } = this.#at(this.#chunks(), offset);
    return Math.min(Math.max(Math.round(from), 1), this.base.length);
  }

  /** Puts a text in the place of everything. */
  overwrite(text: string, by: string): void {
    this.#parts = [{ from: 1, to: this.base.length, text, by, open: false }];
  }

  /** Puts `texts` in the place of base lines `from` to `to`; none deletes them. @throws {Refusal} */
  replace(from: number, to: number, texts: readonly string[], by: string): void {
    const inside = this.#parts.filter((part) => part.to >= from && part.from <= to);
    for (const part of inside) refuseLoss(part, from, to);
    const isLast = this.#parts.every((part) => part.from <= to);
    const text = this.#joined(texts, this.base.eol(from), this.base.eol(to), isLast);
    this.#putAll([{ from, to, text, by, open: false }]);
  }

  /** Puts `texts` next to base line `line`; insertions at one anchor keep call order. @throws {Refusal} */
  insert(side: "before" | "after", line: number, texts: readonly string[], by: string): void {
    const around = this.#parts.find(({ from, to }) => from <= line && line <= to);
    if (around && line !== (side === "before" ? around.from : around.to)) {
      throw new Refusal(
        `an insertion ${side} line ${line} falls inside ${span(around.from, around.to)}, which ` +
          `${around.by} replaced`,
        [[around.from, around.from]],
      );
    }
    const place = side === "before" ? line - 0.25 : line + 0.25;
    let there = this.#parts.find(({ from }) => from === place)?.text ?? "";
    const eol = this.base.eol(line);
    if (side === "after" && eol === "") { // what was last needs an ending now
      const last = around ?? { from: line, to: line, text: this.base.line(line), by, open: true };
      if (there !== "") there = ended(there, this.usual);
      else this.#putAll([{ ...last, text: ended(last.text, this.usual) }]);
    }
    const text = there + this.#joined(texts, eol, eol, side === "after");
    this.#putAll([{ from: place, to: place, text, by, open: false }]);
  }

  /** Lines as text; the last one ends like the last of those it replaces or follows. */
  #joined(texts: readonly string[], eol: Eol, lastEol: Eol, isLast: boolean): string {
    if (texts.length === 0) return "";
    // A missing final newline stays missing, but a blank line is nothing else than its ending.
    const last = lastEol || (isLast && texts.at(-1) !== "" ? "" : this.usual);
    return texts.join(eol || this.usual) + last;
  }

  /** Offsets at which `old` (with "\n" line ends) begins; overlapping occurrences count too. */
  occurrences(old: string, limit: number): number[] {
    const { text, original } = withLf(this.text);
    const found: number[] = [];
    for (let at = text.indexOf(old); at !== -1 && found.length < limit;) {
      found.push(original(at));
      at = text.indexOf(old, at + 1);
    }
    return found;
  }

  /**
   * Replaces every occurrence of `old`, left to right, not overlapping, never looking at its own output.
   * A line end that was there stays what it was; further ones follow the line they are on.
   */
  replaceLiteral(old: string, replacement: string, by: string): number {
    const chunks = this.#chunks();
    const given = this.text;
    const { text, original } = withLf(given);
    const pieces = replacement.split("\n");
    const parts: Part[] = [];
    let found = 0;
    for (let at = text.indexOf(old); at !== -1;) {
      // All occurrences in one line, or in lines that one of them joins, are rewritten at once.
      let from = original(at);
      const owners = [this.#at(chunks, from)];
      let { start: done, end } = owners[0]!;
      let fresh = "";
      do {
        const to = original(at + old.length);
        const eols = given.slice(from, to).match(/\r?\n/g) ?? [];
        const eol = eols.at(-1) ?? eolBehind(given, to) ?? this.usual;
        fresh += given.slice(done, from) +
          pieces.map((piece, i) => (i === 0 ? piece : (eols[i - 1] ?? eol) + piece)).join("");
        done = to;
        found++;
        const isOpen = () => done === end && fresh !== "" && !fresh.endsWith("\n");
        while (end < to || (isOpen() && end < given.length)) {
          const next = this.#at(chunks, end);
          owners.push(next);
          end = next.end;
        }
        at = text.indexOf(old, at + old.length);
        from = at === -1 ? Infinity : original(at);
      } while (from < end);
      fresh += given.slice(done, end);
      parts.push({ ...unionOf(owners, by, fresh === ""), text: fresh });
    }
    this.#putAll(parts);
    return found;
  }

  /** Takes parts in order, each in the place of those that it covers. */
  #putAll(parts: readonly Part[]): void {
    const all: Part[] = [];
    let i = 0;
    for (const part of parts) {
      while (this.#parts[i] && this.#parts[i]!.to < part.from) all.push(this.#parts[i++]!);
      while (this.#parts[i] && this.#parts[i]!.from <= part.to) i++;
      all.push(part);
    }
    this.#parts = all.concat(this.#parts.slice(i));
  }

  /** The part, or the untouched line, that the text at an offset belongs to. */
  #at(chunks: readonly At[], offset: number): At {
    let [low, high] = [0, chunks.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (chunks[middle]!.start <= offset) low = middle;
      else high = middle - 1;
    }
    const chunk = chunks[low]!;
    if (chunk.part) return chunk;
    const shift = chunk.start - this.base.start(chunk.from);
    const line = this.base.at(offset - shift);
    const [start, end] = [this.base.start(line) + shift, this.base.start(line + 1) + shift];
    return { from: line, to: line, start, end };
  }

  /** Where the lines now are others than in an older state of this draft. */
  changesSince(older: Draft): Change[] {
    const changes: Change[] = [];
    if (older.base !== this.base) return [{ from: 0, to: 0, at: 0, end: this.base.length }]; // created
    let [was, now, k] = [0, 0, 0]; // lines more than the base has, in both; parts of the older one
    for (const part of this.#parts) {
      const width = widthOf(part);
      const [at, first] = [Math.ceil(part.from) - 1, k];
      let size = width; // in the older state
      for (; k < older.#parts.length && older.#parts[k]!.to <= part.to; k++) {
        size += linesIn(older.#parts[k]!) - widthOf(older.#parts[k]!);
      }
      const length = linesIn(part);
      if (k !== first + 1 || older.#parts[first] !== part) {
        changes.push({ from: at + was, to: at + was + size, at: at + now, end: at + now + length });
      }
      was += size - width;
      now += length - width;
    }
    return changes;
  }
}

/** Refuses to replace lines `first` to `last` where a part among them would be lost by it. */
function refuseLoss(part: Part, first: number, last: number): void {
  const { from, to, by, open } = part;
  if (isInserted(part)) {
    const line = Math.round(from);
    throw new Refusal(
      `what ${by} inserted at line ${line} would be lost inside ${span(first, last)}; replace ` +
        "the parts on either side of the insertion instead",
      [[line, line]],
    );
  }
  if (open && from >= first && to <= last) return;
  throw new Refusal(
    `${span(Math.max(first, from), Math.min(last, to))} was already changed by ${by} ` +
      `(${span(from, to)}); a line can be changed once in a reply`,
    [[from, from]],
  );
}

/** The place of what neighbouring texts became together. */
function unionOf(owners: readonly At[], by: string, gone: boolean): Omit<Part, "text"> {
  const base = owners.filter((owner) => !isInserted(owner));
  const { from, to } = {
    from: base[0]?.from ?? owners[0]!.from,
    to: base.at(-1)?.to ?? owners[0]!.to,
  };
  const closed = base.find(({ part }) => part?.open === false)?.part;
  // Lines that are gone for good, or that hold inserted text now, count as changed.
  const width = base.reduce((sum, owner) => sum + widthOf(owner), 0);
  const open = !gone && !closed && base.length === owners.length && width === to - from + 1;
  return { from, to, by: closed?.by ?? by, open };
}

function ended(text: string, eol: Eol): string {
  return text === "" || text.endsWith("\n") ? text : text + eol;
}

/** The ending of the line that goes on at `offset`. */
function eolBehind(text: string, offset: number): Eol | undefined {
  const at = text.indexOf("\n", offset);
  if (at === -1) return undefined;
  return at > offset && text[at - 1] === "\r" ? "\r\n" : "\n";
}

/** A text with "\n" line ends only. `original`: ascending offsets in it → offsets in `given`. */
function withLf(given: string): { text: string; original(offset: number): number } {
  let removed = 0;
  let next = given.indexOf("\r\n");
  const original = (offset: number) => {
    for (; next !== -1 && next - removed < offset; next = given.indexOf("\r\n", next + 1)) {
      removed++;
    }
    return offset + removed;
  };
  return { text: given.replaceAll("\r\n", "\n"), original };
}
