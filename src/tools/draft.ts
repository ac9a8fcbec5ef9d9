// A file as a batch of edits has made it so far: the file "as the batch began" (the base) and the parts of
// it that became another text. So a line that the model saw is found again wherever earlier edits moved
// it. Pure. Not here: what an anchor means (resolve.ts), the rules of the ops (edit-plan.ts).

import type { Change } from "./diff.ts";
import { ended, type Eol, eolBehind, Lines, usualEol, withLf } from "./document.ts";
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

type Place = Pick<Part, "from" | "to">;
const isInserted = ({ from }: Place) => !Number.isInteger(from);
/** Base lines that it stands for. */
const widthOf = (place: Place) => (isInserted(place) ? 0 : place.to - place.from + 1);
const linesIn = ({ text }: Part) => new Lines(text).length;

/** A part, or an untouched line, and the lines it has now. */
interface Owner extends Place {
  readonly part?: Part;
  readonly first: number;
  readonly last: number;
}

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
    let text = "";
    let line = 1;
    for (const part of this.#parts) {
      text += this.base.slice(line, Math.ceil(part.from) - 1) + part.text;
      line = Math.floor(part.to) + 1;
    }
    return text + this.base.slice(line, this.base.length);
  }

  /** The ending that most lines have. */
  get usual(): Eol {
    return this.#usual ??= usualEol(this.base.text);
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

  /** The base line that line `line` of the file now stands for, or is next to. */
  baseLine(line: number): number {
    return Math.max(1, Math.round(this.#owners()(line).from));
  }

  /** Gives the owner of a line of the file now; ask in ascending order. */
  #owners(): (line: number) => Owner {
    let [i, shift] = [0, 0];
    return (line) => {
      for (let part = this.#parts[i]; part; part = this.#parts[++i]) {
        const first = Math.ceil(part.from) + shift;
        const last = first + linesIn(part) - 1;
        if (line < first) break;
        if (line <= last) return { from: part.from, to: part.to, part, first, last };
        shift += linesIn(part) - widthOf(part);
      }
      return { from: line - shift, to: line - shift, first: line, last: line };
    };
  }

  /** Puts a text in the place of everything. */
  overwrite(text: string, by: string): void {
    this.#parts = [{ from: 1, to: this.base.length, text, by, open: false }];
  }

  /** Puts `texts` in the place of base lines `from` to `to`; none deletes them. @throws {Refusal} */
  replace(from: number, to: number, texts: readonly string[], by: string): void {
    const inside = this.#parts.filter((part) => part.to >= from && part.from <= to);
    for (const part of inside) refuseLoss(part, from, to);
    const isLast = this.#parts.every((part) => part.from <= to || part.text === "");
    const text = this.#joined(texts, this.base.eol(from), this.base.eol(to), isLast);
    this.#putAll([{ from, to, text, by, open: false }]);
  }

  /** Puts `texts` next to base line `line`; insertions at one anchor keep call order. @throws {Refusal} */
  insert(side: "before" | "after", line: number, texts: readonly string[], by: string): void {
    const around = this.#parts.find(({ from, to }) => from <= line && line <= to);
    if (around && line !== (side === "before" ? around.from : around.to)) {
      const { from, to, by } = around;
      throw new Refusal(
        `an insertion ${side} line ${line} falls inside ${span(from, to)}, which ${by} replaced`,
        [[from, from]],
      );
    }
    const place = side === "before" ? line - 0.25 : line + 0.25;
    const there = this.#parts.find(({ from }) => from === place)?.text ?? "";
    const eol = this.base.eol(line);
    const last = around ?? { from: line, to: line, text: this.base.line(line), by, open: true };
    if (side === "after" && eol === "" && there === "") { // what was last needs an ending now
      this.#putAll([{ ...last, text: ended(last.text, this.usual) }]);
    }
    const text = ended(there, this.usual) + this.#joined(texts, eol, eol, side === "after");
    this.#putAll([{ from: place, to: place, text, by, open: false }]);
  }

  /** Lines as text. A missing final newline stays missing, but a blank line is nothing but its ending. */
  #joined(texts: readonly string[], eol: Eol, lastEol: Eol, isLast: boolean): string {
    if (texts.length === 0) return "";
    const last = lastEol || (isLast && texts.at(-1) !== "" ? "" : this.usual);
    return texts.join(eol || this.usual) + last;
  }

  /** Lines at which `old` (with "\n" line ends) begins; overlapping occurrences count too. */
  occurrences(old: string, limit: number): number[] {
    const given = this.text;
    const lines = new Lines(given);
    const { text, original } = withLf(given);
    const found: number[] = [];
    for (let at = text.indexOf(old); at !== -1 && found.length < limit;) {
      found.push(lines.at(original(at)));
      at = text.indexOf(old, at + 1);
    }
    return found;
  }

  /** Replaces every `old`, left to right, not overlapping, never looking at its own output. */
  replaceLiteral(old: string, replacement: string, by: string): number {
    const given = this.text;
    const lines = new Lines(given);
    const { text, original } = withLf(given);
    const pieces = replacement.split("\n");
    const ownerOf = this.#owners();
    const parts: Part[] = [];
    const rewritten = new Set<Part | undefined>();
    let found = 0;
    for (let at = text.indexOf(old); at !== -1;) {
      // All occurrences in one line, or in lines that one of them joins, are rewritten at once.
      let from = original(at);
      const owners: Owner[] = [];
      let end = from;
      const extend = () => {
        owners.push(ownerOf(lines.at(end)));
        end = lines.start(owners.at(-1)!.last + 1);
      };
      extend();
      let done = lines.start(owners[0]!.first);
      let fresh = "";
      do {
        const to = original(at + old.length);
        fresh += given.slice(done, from) + replaced(given, from, to, pieces, this.usual);
        done = to;
        found++;
        while (end < to) extend();
        // Without its line end the text goes on with the next line.
        if (done === end && end < given.length && /[^\n]$/.test(fresh.slice(-1))) extend();
        at = text.indexOf(old, at + old.length);
        from = at === -1 ? Infinity : original(at);
      } while (from < end);
      fresh += given.slice(done, end);
      parts.push({ ...unionOf(owners, by, fresh === ""), text: fresh });
      for (const { part } of owners) rewritten.add(part);
    }
    this.#parts = this.#parts.filter((part) => !rewritten.has(part));
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

  /** Where the lines now are others than in an older state of this draft. */
  changesSince(older: Draft): Change[] {
    const changes: Change[] = [];
    if (older.base !== this.base) return [{ from: 0, to: 0, at: 0, end: this.base.length }]; // created
    let [was, now, k] = [0, 0, 0]; // lines more than the base has, in both; parts of the older one
    for (const [i, part] of this.#parts.entries()) {
      const width = widthOf(part);
      const [at, first] = [Math.ceil(part.from) - 1, k];
      const next = this.#parts[i + 1]?.from ?? Infinity;
      let size = width; // in the older state
      // What was inserted before the next line may be a piece of this part now, or of that line's.
      const end = Math.min(next, Math.floor(part.to) + 1);
      for (let old = older.#parts[k]; old && old.from < end; old = older.#parts[++k]) {
        size += linesIn(old) - widthOf(old);
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

/** Lines in the place of an occurrence: its line ends are kept, further ones follow the line they are on. */
function replaced(given: string, from: number, to: number, lines: readonly string[], usual: Eol) {
  if (lines.length === 1) return lines[0];
  const eols = given.slice(from, to).match(/\r?\n/g) ?? [];
  const eol = eols.at(-1) ?? eolBehind(given, to) ?? usual;
  return lines.map((line, i) => (i === 0 ? line : (eols[i - 1] ?? eol) + line)).join("");
}

/** The place of what neighbouring texts became together. */
function unionOf(owners: readonly Owner[], by: string, gone: boolean): Omit<Part, "text"> {
  const base = owners.filter((owner) => !isInserted(owner));
  const [from, to] = [(base[0] ?? owners[0]!).from, (base.at(-1) ?? owners[0]!).to];
  const closed = base.find(({ part }) => part?.open === false)?.part;
  // Lines that are gone for good, or that hold inserted text now, count as changed.
  const width = base.reduce((sum, owner) => sum + widthOf(owner), 0);
  const open = !gone && !closed && base.length === owners.length && width === to - from + 1;
  return { from, to, by: closed?.by ?? by, open };
}
