// Lines of a stored text of any size by number, as many as fit: one pass over its bytes in bounded
// memory, as a text may be one line of a gigabyte. A line ends at "\n" and nowhere else, so that the
// pages put together are the text. Not here: which texts (recall.ts), matching (recall-grep.ts).

import { takeBytes } from "../context/results.ts";
import { characters, MAX_SHOWN, slice, type Span } from "./lines.ts";

const NEWLINE = 10;
/** Bytes that the number of a line and the row about a cut line may take. */
const NOTE = 200;

export interface PageRequest {
  /** Key of the result, for the calls that the page names. */
  key: string;
  /** Lines, in order and apart; the last span may be without end. */
  spans: readonly Span[];
  /** Characters of each line; without them all, of long lines the first. */
  columns?: Span | undefined;
  /** Bytes there is room for. */
  room: number;
  /** Shows a line, or a part of it, even where there is no room. */
  force: boolean;
}

/** Takes the bytes of a text one after the other and keeps what fits of the lines that are wanted. */
export class Pager {
  readonly rows: string[] = [];
  /** Lines shown. */
  lines = 0;
  /** Bytes still free. */
  room: number;
  readonly #request: PageRequest;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** First line that did not fit. */
  #stopped = Infinity;
  /** The line being read, and the first span that does not end before it. */
  #line = 1;
  #span = 0;
  /** Of that line: has it begun, its characters so far, and those that may be shown. */
  #begun = false;
  #characters = 0;
  #held = "";

  constructor(request: PageRequest) {
    this.#request = request;
    this.room = request.room;
  }

  push(chunk: Uint8Array): void {
    for (let start = 0; start < chunk.length;) {
      start = this.#skip(chunk, start);
      if (start === chunk.length) return;
      const at = chunk.indexOf(NEWLINE, start);
      const end = at === -1 ? chunk.length : at;
      this.#begun = true;
      this.#take(this.#decoder.decode(chunk.subarray(start, end), { stream: true }));
      if (at === -1) return;
      this.#show();
      this.#begin(this.#line + 1);
      start = end + 1;
    }
  }

  /** After the last byte: the number of lines, and those wanted that did not fit. */
  end(): { total: number; left: [number, number][] } {
    const total = this.#begun ? this.#line : this.#line - 1;
    if (this.#begun && this.#wanted() === this.#line) this.#show();
    const left = this.#request.spans.flatMap(([first, last]): [number, number][] => {
      const [from, to] = [Math.max(first, this.#stopped), Math.min(last, total)];
      return from <= to ? [[from, to]] : [];
    });
    return { total, left };
  }

  /** The next line that is wanted: the one being read, or one behind it. */
  #wanted(): number {
    const { spans } = this.#request;
    while (this.#span < spans.length && (spans[this.#span]?.[1] ?? 0) < this.#line) this.#span++;
    const next = Math.max(spans[this.#span]?.[0] ?? Infinity, this.#line);
    return next < this.#stopped ? next : Infinity;
  }

  /** Only counts lines until one is wanted; gives where that begins or goes on. */
  #skip(chunk: Uint8Array, start: number): number {
    const wanted = this.#wanted();
    let line = this.#line;
    let at = start;
    while (line < wanted && at < chunk.length) if (chunk[at++] === NEWLINE) line++;
    if (line > this.#line) this.#begin(line);
    if (at > start) this.#begun = chunk[at - 1] !== NEWLINE;
    return at;
  }

  #begin(line: number): void {
    this.#line = line;
    this.#begun = false;
    this.#characters = 0;
    this.#held = "";
  }

  /** Holds of a part of the line what may be shown. */
  #take(text: string): void {
    const [from, last] = this.#request.columns ?? [1, MAX_SHOWN];
    const to = Math.min(last, from + Math.max(this.room, NOTE) - 1); // a character has a byte at least
    const before = this.#characters;
    this.#characters += characters(text);
    if (this.#characters >= from && before < to) {
      this.#held += slice(text, Math.max(from - before, 1), to - before);
    }
  }

  /** Adds the line that was read, if there is room. */
  #show(): void {
    this.#take(this.#decoder.decode());
    const isForced = this.#request.force && this.lines === 0;
    const rows = this.#rowsOf(isForced);
    const cost = rows.reduce((sum, row) => sum + Buffer.byteLength(row) + 1, 0);
    if (rows.length === 0 || (cost > this.room && !isForced)) {
      this.#stopped = this.#line;
      return;
    }
    this.rows.push(...rows);
    this.lines++;
    this.room -= cost;
  }

  /** `LINE|text`, and a row that says so where the text is a part; none where nothing would fit. */
  #rowsOf(isForced: boolean): string[] {
    const { key, columns } = this.#request;
    const [from, last] = columns ?? [1, MAX_SHOWN];
    const line = this.#line;
    const of = this.#characters;
    const text = columns
      ? takeBytes(this.#held, Math.max(this.room - NOTE, isForced ? NOTE : 0))
      : this.#held;
    if (text === "" && this.#held !== "") return [];
    const to = from + characters(text) - 1;
    const row = `${line}|${text}`;
    if (from === 1 && to === of) return [row];
    if (to < from) return [row, `[line ${line} has ${of} characters]`];
    const rest = [to + 1, to < last && last !== Infinity && columns ? last : -1];
    const call = JSON.stringify({ keys: [key], ranges: [[line, line]], columns: rest });
    const more = to < of ? `; for more: Recall ${call}` : "";
    return [row, `[line ${line} cut: characters ${from}-${to} of ${of}${more}]`];
  }
}
