// A terminal for tests of the screen: knows the few sequences that are used, wraps and scrolls, and does
// not reflow. What leaves the top is kept, because that is what must stay right.

import { graphemes, graphemeWidth } from "../../src/ui/text.ts";

export class VirtualTerminal {
  readonly scrollback: string[] = [];
  #rows: string[][] = [[]];
  #row = 0;
  #column = 0;
  #wrap = true;
  /** A character was written into the last column; the next one goes to the next row. */
  #full = false;

  columns: number;
  readonly height: number;

  constructor(columns: number, height: number) {
    this.columns = columns;
    this.height = height;
  }

  write(text: string): void {
    let rest = text;
    while (rest !== "") {
      const sequence = /^\x1b\[(\??)([\d;]*)([A-Za-z])/.exec(rest);
      if (sequence) {
        this.#control(sequence[1] === "?", sequence[2] ?? "", sequence[3] ?? "");
        rest = rest.slice(sequence[0].length);
        continue;
      }
      const end = rest.search(/[\x1b\r\n]/);
      if (end === 0) {
        if (rest[0] === "\x1b") {
          throw new Error(`unknown sequence ${JSON.stringify(rest.slice(0, 12))}`);
        }
        if (rest[0] === "\r") this.#column = 0;
        else this.#down();
        this.#full = false;
        rest = rest.slice(1);
        continue;
      }
      const plain = end === -1 ? rest : rest.slice(0, end);
      for (const grapheme of graphemes(plain)) this.#put(grapheme);
      rest = rest.slice(plain.length);
    }
  }

  /** The rows on the screen, without the blanks at their ends. */
  get screen(): string[] {
    return this.#rows.map((row) => Array.from(row, (cell) => cell ?? " ").join("").trimEnd());
  }

  get cursor(): { row: number; column: number } {
    return { row: this.#row, column: this.#column };
  }

  #put(grapheme: string): void {
    const columns = graphemeWidth(grapheme);
    if (this.#wrap && (this.#full || this.#column + columns > this.columns)) {
      this.#column = 0;
      this.#down();
    }
    const at = Math.min(this.#column, Math.max(0, this.columns - columns));
    const row = this.#rows[this.#row] ?? [];
    row[at] = grapheme;
    if (columns === 2) row[at + 1] = "";
    this.#full = at + columns >= this.columns;
    this.#column = Math.min(at + columns, this.columns - 1);
  }

  #down(): void {
    this.#full = false;
    if (this.#row < this.height - 1) {
      this.#row++;
      this.#rows[this.#row] ??= [];
      return;
    }
    this.scrollback.push(this.screen[0] ?? "");
    this.#rows.shift();
    this.#rows.push([]);
  }

  #control(own: boolean, parameter: string, final: string): void {
    if (own) {
      if (parameter === "7") this.#wrap = final === "h";
      return;
    }
    this.#full = false;
    const count = Number(parameter || 1);
    if (final === "A") this.#row = Math.max(0, this.#row - count);
    else if (final === "C") this.#column = Math.min(this.columns - 1, this.#column + count);
    else if (final === "J") {
      this.#rows[this.#row]?.splice(this.#column);
      this.#rows.splice(this.#row + 1);
    } else if (final === "K" && parameter === "2") {
      this.#rows[this.#row] = [];
    } else if (final !== "m") throw new Error(`unknown sequence CSI ${parameter}${final}`);
  }
}
