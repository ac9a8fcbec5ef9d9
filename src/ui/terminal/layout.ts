// The prompt as rows: which part of the text being typed is shown, wrapped to the screen, and where the
// cursor stands. Only what can be on the screen is laid out, so that a megabyte costs no more than a
// page. Not here: drawing (screen.ts).

import { boundaryAt, graphemes, visible, width } from "../text.ts";
import type { Editor } from "./editor.ts";

/** One row of the live area: plain text, painted only when drawn, because only plain text is measured. */
export interface Row {
  text: string;
  paint?: (text: string) => string;
}

export interface Size {
  columns: number;
  rows: number;
}

/** What stands below the output: rows from top to bottom, and the cursor's place among them. */
export interface View {
  rows: Row[];
  /** 0-based. */
  cursor: { row: number; column: number };
}

const PREFIX = "> ";

/** Lays out the editor in at most `maxRows` rows; more text scrolls with the cursor. */
export function layoutEditor(editor: Editor, columns: number, maxRows: number): View {
  const prefix = columns >= 8 ? PREFIX : "";
  // One column stays free, so that the cursor has a place after a full row.
  const inner = Math.max(1, columns - prefix.length - 1);
  const around = linesAround(editor, maxRows, inner * (maxRows + 1));
  const rows: string[] = [];
  let cursor = { row: 0, column: 0 };
  for (const line of around.lines) {
    const laid = wrapLine(line.text, line.cursor, inner);
    if (laid.cursor) {
      cursor = { row: rows.length + laid.cursor.row, column: laid.cursor.column };
    }
    rows.push(...laid.rows);
  }
  const first = Math.max(0, Math.min(cursor.row - (maxRows >> 1), rows.length - maxRows));
  const shown = rows.slice(first, first + maxRows);
  const view: View = {
    rows: shown.map((text, index) => ({
      text: (first + index === 0 && around.complete ? prefix : " ".repeat(prefix.length)) + text,
    })),
    cursor: {
      row: cursor.row - first,
      column: Math.min(cursor.column + prefix.length, Math.max(0, columns - 1)),
    },
  };
  return view;
}

interface Line {
  text: string;
  /** Index of the cursor in it; null when it is in another line. */
  cursor: number | null;
}

/** The line of the cursor with as many lines around it, and as much of each, as can be shown. */
function linesAround(
  { text, cursor }: Editor,
  count: number,
  length: number,
): { lines: Line[]; complete: boolean } {
  const start = cursor === 0 ? 0 : text.lastIndexOf("\n", cursor - 1) + 1;
  const found = text.indexOf("\n", cursor);
  const end = found === -1 ? text.length : found;
  // A line longer than the screen begins at a multiple of `length`: it does not jump while typing.
  const page = Math.max(0, Math.floor((cursor - start) / length) - 1) * length;
  const from = Math.min(cursor, boundaryAt(text, start + page));
  const slice = (at: number, to: number) => text.slice(boundaryAt(text, at), boundaryAt(text, to));
  const lines: Line[] = [
    { text: slice(from, Math.min(end, cursor + length)), cursor: cursor - from },
  ];
  let top = start;
  let complete = page === 0;
  for (let i = 0; i < count && top > 0 && complete; i++) {
    const before = top === 1 ? 0 : text.lastIndexOf("\n", top - 2) + 1;
    if (top - before > length) complete = false;
    lines.unshift({ text: slice(Math.max(before, top - 1 - length), top - 1), cursor: null });
    top = before;
  }
  let bottom = end;
  for (let i = 0; i < count && bottom < text.length; i++) {
    const next = text.indexOf("\n", bottom + 1);
    const stop = next === -1 ? text.length : next;
    lines.push({ text: slice(bottom + 1, Math.min(stop, bottom + 1 + length)), cursor: null });
    bottom = stop;
  }
  return { lines, complete: complete && top === 0 };
}

/** A line in rows of `columns`, and where its index `cursor` lies in them. */
function wrapLine(
  line: string,
  cursor: number | null,
  columns: number,
): { rows: string[]; cursor: View["cursor"] | null } {
  const rows = [""];
  let used = 0;
  let at = 0;
  let place: View["cursor"] | null = null;
  const clean = visible(line) === line && !line.includes("\t");
  for (const grapheme of graphemes(line)) {
    const shown = clean ? grapheme : grapheme === "\t" ? "    " : visible(grapheme);
    const next = width(shown);
    if (used > 0 && used + next > columns) {
      rows.push("");
      used = 0;
    }
    if (cursor !== null && place === null && at >= cursor) {
      place = { row: rows.length - 1, column: used };
    }
    rows[rows.length - 1] += shown;
    used += next;
    at += grapheme.length;
  }
  if (cursor !== null && place === null) place = { row: rows.length - 1, column: used };
  return { rows, cursor: place };
}
