// The text being typed, as a value: every function takes an editor and gives a new one. Moves and
// deletes by grapheme, word and line; several lines; kill and yank; history and a search through it.
// No I/O and no screen here (layout.ts), and no keys either (bindings.ts).

import { graphemes, width } from "../text.ts";

export interface Editor {
  readonly text: string;
  /** Index into `text`, always between graphemes. */
  readonly cursor: number;
  /** What was killed last. */
  readonly killed: string;
  /** Earlier inputs, oldest first. */
  readonly history: readonly string[];
  /** Position while going through the history; null while typing. */
  readonly at: number | null;
  /** What was being typed when going through the history began. */
  readonly draft: string;
  readonly search: Search | null;
}

/** A search through the history, newest first. */
export interface Search {
  readonly query: string;
  /** Index of the entry found; null when none is. */
  readonly found: number | null;
  /** What was being typed when it began. */
  readonly before: { text: string; cursor: number };
}

export function newEditor(history: readonly string[] = [], text = ""): Editor {
  return { text, cursor: text.length, killed: "", history, at: null, draft: "", search: null };
}

/** Puts a text in place of what is there, cursor at its end. */
export function setText(editor: Editor, text: string): Editor {
  return { ...editor, text, cursor: text.length, at: null, draft: "", search: null };
}

/** Adds an input to the history (not one equal to the last) and empties the editor. */
export function remember(editor: Editor, entry: string): Editor {
  const history = entry.trim() === "" || editor.history.at(-1) === entry
    ? editor.history
    : [...editor.history, entry];
  return setText({ ...editor, history }, "");
}

export function insert(editor: Editor, text: string): Editor {
  return replace(editor, editor.cursor, editor.cursor, text);
}

function replace(editor: Editor, from: number, to: number, text: string): Editor {
  const whole = editor.text.slice(0, from) + text + editor.text.slice(to);
  return { ...editor, text: whole, cursor: from + text.length };
}

// Boundaries. Only a window around the cursor is segmented: a pasted megabyte stays fast.

const WINDOW = 256;

/** Start of the grapheme before an index. */
function before(text: string, at: number): number {
  if (at <= 0) return 0;
  const from = Math.max(0, at - WINDOW);
  let last = "";
  for (last of graphemes(text.slice(from, at)));
  return at - last.length;
}

/** End of the grapheme after an index. */
function after(text: string, at: number): number {
  const [first = ""] = graphemes(text.slice(at, at + WINDOW));
  return at + first.length;
}

const WORD = /[\p{L}\p{N}\p{M}_]/u;

function wordBefore(text: string, at: number): number {
  let to = at;
  while (to > 0 && !WORD.test(text.slice(before(text, to), to))) to = before(text, to);
  while (to > 0 && WORD.test(text.slice(before(text, to), to))) to = before(text, to);
  return to;
}

function wordAfter(text: string, at: number): number {
  let to = at;
  while (to < text.length && !WORD.test(text.slice(to, after(text, to)))) to = after(text, to);
  while (to < text.length && WORD.test(text.slice(to, after(text, to)))) to = after(text, to);
  return to;
}

function lineStart(text: string, at: number): number {
  return at === 0 ? 0 : text.lastIndexOf("\n", at - 1) + 1;
}

function lineEnd(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end === -1 ? text.length : end;
}

export type Place = "left" | "right" | "wordLeft" | "wordRight" | "lineStart" | "lineEnd";

const PLACES: Record<Place, (text: string, at: number) => number> = {
  left: before,
  right: after,
  wordLeft: wordBefore,
  wordRight: wordAfter,
  lineStart,
  lineEnd,
};

export function move(editor: Editor, place: Place): Editor {
  return { ...editor, cursor: PLACES[place](editor.text, editor.cursor) };
}

/** Deletes from the cursor to a place. */
export function erase(editor: Editor, place: Place): Editor {
  const to = PLACES[place](editor.text, editor.cursor);
  return replace(editor, Math.min(to, editor.cursor), Math.max(to, editor.cursor), "");
}

/** Deletes from the cursor to a place and keeps it for `yank`. At a line's end its newline goes. */
export function kill(editor: Editor, place: Place): Editor {
  let to = PLACES[place](editor.text, editor.cursor);
  if (to === editor.cursor && place === "lineEnd") to = Math.min(editor.text.length, to + 1);
  if (to === editor.cursor && place === "lineStart") to = Math.max(0, to - 1);
  if (to === editor.cursor) return editor;
  const [from, end] = to < editor.cursor ? [to, editor.cursor] : [editor.cursor, to];
  return { ...replace(editor, from, end, ""), killed: editor.text.slice(from, end) };
}

export function yank(editor: Editor): Editor {
  return insert(editor, editor.killed);
}

/** One line up; on the first line to the entry before in the history. */
export function up(editor: Editor): Editor {
  const start = lineStart(editor.text, editor.cursor);
  if (start === 0) return recall(editor, -1);
  return toLine(editor, lineStart(editor.text, start - 1));
}

/** One line down; on the last line to the entry after in the history. */
export function down(editor: Editor): Editor {
  const end = lineEnd(editor.text, editor.cursor);
  if (end === editor.text.length) return recall(editor, 1);
  return toLine(editor, end + 1);
}

/** Moves to the line that begins at `target`, keeping the column. */
function toLine(editor: Editor, target: number): Editor {
  const { text, cursor } = editor;
  const column = width(text.slice(lineStart(text, cursor), cursor));
  const line = text.slice(target, lineEnd(text, target));
  let used = 0;
  let at = target;
  for (const grapheme of graphemes(line)) {
    const next = width(grapheme);
    if (used + next > column) break;
    used += next;
    at += grapheme.length;
  }
  return { ...editor, cursor: at };
}

function recall(editor: Editor, step: -1 | 1): Editor {
  const { history } = editor;
  const draft = editor.at === null ? editor.text : editor.draft;
  const at = (editor.at ?? history.length) + step;
  if (at < 0 || at > history.length) return editor;
  const text = history[at] ?? draft;
  return { ...editor, text, cursor: text.length, at: at === history.length ? null : at, draft };
}

/** Begins a search, or goes on to the next older entry that matches. */
export function searchBack(editor: Editor): Editor {
  const { search } = editor;
  if (search) return find(editor, search, (search.found ?? 0) - 1);
  const { text, cursor } = editor;
  return { ...editor, search: { query: "", found: null, before: { text, cursor } } };
}

/** The search with another query, from the newest entry on. */
export function searchFor(editor: Editor, query: string): Editor {
  if (!editor.search) return editor;
  return find(editor, { ...editor.search, query, found: null }, editor.history.length - 1);
}

function find(editor: Editor, search: Search, from: number): Editor {
  const { history } = editor;
  const query = search.query.toLowerCase();
  if (query === "") return { ...editor, search };
  for (let i = Math.min(from, history.length - 1); i >= 0; i--) {
    const entry = history[i] ?? "";
    const cursor = entry.toLowerCase().indexOf(query);
    const shown = search.found !== null && entry === editor.text;
    if (cursor === -1 || shown) continue;
    return { ...editor, text: entry, cursor, search: { ...search, found: i } };
  }
  return { ...editor, search };
}

/** Ends the search: with the entry found, or with what was there before. */
export function endSearch(editor: Editor, accept: boolean): Editor {
  const { search } = editor;
  if (!search) return editor;
  const back = accept ? {} : search.before;
  return { ...editor, ...back, search: null, ...(accept ? { cursor: editor.text.length } : {}) };
}
