// Draws the live area (running commands, status, prompt) below output that only ever grows. Output is
// written once and belongs to the terminal: it scrolls, reflows and can be copied as the terminal
// likes. The live area is erased and drawn anew in one write, moving only relative to itself, so the
// scrollback is never touched. Not here: what stands in the live area.

import { cut, width, wrap } from "../text.ts";
import type { Environment } from "../theme.ts";
import type { Size, View } from "./layout.ts";

const CSI = "\x1b[";
/** Synchronized output: terminals that know it show the frame at once, the others ignore it. */
const FRAME = `${CSI}?2026h${CSI}?25l`;
const FRAME_END = `${CSI}?25h${CSI}?2026l`;
const NO_WRAP = `${CSI}?7l`;
const WRAP = `${CSI}?7h`;
/** Erases this row and all below. Not by `CSI J` at the very top: tmux takes that for a new screen. */
const ERASE_BELOW = `${CSI}2K${CSI}C${CSI}J\r`;

/** Undoes everything that is ever switched on here. */
export const SCREEN_RESET = `${WRAP}${CSI}0m${CSI}?25h${CSI}?2026l`;

/** Shortest time between two frames that no key asked for, in milliseconds. */
const FRAME_MS = 30;
/** A screen that got narrower is drawn on when its size has been the same for so long: longer than
 * tmux, which tells a size only every 250 ms, may be behind. */
const SETTLE_MS = 300;
/** A frame this old has certainly reached the terminal. */
const ARRIVED_MS = 50;

export interface ScreenPort {
  write(text: string): void;
  /** As the terminal says; 0 or nothing where it does not know. */
  size(): { columns?: number; rows?: number };
}

/** A view on the screen: for how many columns it was drawn, and when. */
interface Drawn extends View {
  columns: number;
  at: number;
}

export interface ScreenOptions {
  /** Does the terminal break lines anew when its width changes? */
  reflows: boolean;
}

/** Most terminals reflow; the ones known not to are named here. */
export function reflows(env: Environment): boolean {
  if (env.TMUX) return true;
  return !env.XTERM_VERSION && !/^(?:linux|rxvt|screen)/.test(env.TERM ?? "");
}

export class Screen {
  #port: ScreenPort;
  #compose: (size: Size) => View;
  #options: ScreenOptions;
  #pending: string[] = [];
  #drawn: Drawn | null = null;
  /** The narrower size that is waited out. */
  #narrow: { columns: number; since: number; arrived: boolean } | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #closed = false;

  /** `compose` is asked for the live area whenever it is drawn; it has at most `size.rows` rows. */
  constructor(port: ScreenPort, compose: (size: Size) => View, options: ScreenOptions) {
    this.#port = port;
    this.#compose = compose;
    this.#options = options;
  }

  /** The size to lay out for. */
  get size(): Size {
    const { columns, rows } = this.#port.size();
    return { columns: columns || 80, rows: rows || 24 };
  }

  /** Appends whole lines to the output. They are painted already. */
  print(text: string): void {
    this.#pending.push(text.endsWith("\n") ? text : `${text}\n`);
    this.refresh();
  }

  /** Draws soon: many changes make one frame. */
  refresh(): void {
    this.#later(FRAME_MS);
  }

  /** Draws now, unless the screen is just getting narrower. */
  flush(): void {
    this.#stopTimer();
    if (this.#closed) return;
    const size = this.size;
    if (this.#narrowing(size)) return this.#later(SETTLE_MS);
    const view = fit(this.#compose(size), size);
    this.#port.write(FRAME + this.#overwrite(size) + draw(view) + FRAME_END);
    this.#drawn = { ...view, columns: size.columns, at: performance.now() };
    this.#narrow = null;
  }

  /** Writes what is pending and takes the live area away for good. */
  close(): void {
    if (this.#closed) return;
    this.#stopTimer();
    this.#closed = true;
    const size = this.size;
    this.#narrowing(size);
    this.#port.write(FRAME + this.#overwrite(size) + SCREEN_RESET);
    this.#drawn = null;
  }

  #later(ms: number): void {
    if (this.#closed || this.#timer) return;
    this.#timer = setTimeout(() => this.flush(), ms);
  }

  /**
   * Notes a screen narrower than what is drawn on it; true until its size has settled. While a window
   * is dragged nothing is drawn: a frame that crosses a resize on its way to the terminal would be
   * cut there, and not reflowed as is reckoned with below.
   */
  #narrowing({ columns }: Size): boolean {
    const drawn = this.#drawn;
    if (!drawn || columns >= drawn.columns) return false;
    const now = performance.now();
    if (this.#narrow?.columns !== columns) {
      const arrived = this.#narrow?.arrived ?? now - drawn.at > ARRIVED_MS;
      this.#narrow = { columns, since: now, arrived };
    }
    return now - this.#narrow.since < SETTLE_MS - 1;
  }

  #stopTimer(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** Goes to the top of the live area, erases it, and appends the pending output there. */
  #overwrite(size: Size): string {
    // Where it is not certain what the terminal did, less is erased: a remnant does less harm than a
    // hole in the output.
    const reflowed = this.#options.reflows && (this.#narrow?.arrived ?? true);
    const up = this.#drawn ? rowsAbove(this.#drawn, size.columns, reflowed) : 0;
    const text = this.#pending.join("").replaceAll("\n", "\r\n");
    this.#pending = [];
    return `\r${up > 0 ? `${CSI}${up}A` : ""}${ERASE_BELOW}${text}`;
  }
}

/** Rows between the top of a drawn live area and the cursor, on a screen that may have changed since. */
function rowsAbove({ rows, cursor }: View, columns: number, reflowed: boolean): number {
  if (!reflowed) return cursor.row;
  const above = rows.slice(0, cursor.row).map(({ text }) => wrap(text, columns).length);
  return above.reduce((sum, count) => sum + count, 0) + Math.floor(cursor.column / columns);
}

/** Rows no wider and no more than the screen has; of too many the lower ones stay. */
function fit({ rows, cursor }: View, size: Size): View {
  const dropped = Math.max(0, rows.length - size.rows);
  return {
    rows: rows.slice(dropped).map((row) =>
      width(row.text) > size.columns ? { ...row, text: cut(row.text, size.columns) } : row
    ),
    cursor: {
      row: Math.max(0, cursor.row - dropped),
      column: Math.max(0, Math.min(cursor.column, size.columns - 1)),
    },
  };
}

/** The rows, then the cursor in its place. Without auto-wrap a mismeasured row cannot become two. */
function draw({ rows, cursor }: View): string {
  const lines = rows.map(({ text, paint }) => paint ? paint(text) : text);
  const up = Math.max(0, rows.length - 1 - cursor.row);
  return NO_WRAP + lines.join("\r\n") + WRAP + "\r" +
    (up > 0 ? `${CSI}${up}A` : "") +
    (cursor.column > 0 ? `${CSI}${cursor.column}C` : "");
}
