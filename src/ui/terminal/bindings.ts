// Which key does what in the editor: the usual ones of a shell. Keys that concern the session (Ctrl-C,
// Ctrl-D on an empty line, Esc) are left to the caller: they come back unhandled.

import {
  down,
  type Editor,
  endSearch,
  erase,
  insert,
  kill,
  move,
  searchBack,
  searchFor,
  up,
  yank,
} from "./editor.ts";
import { graphemes } from "../text.ts";
import type { Input, Key } from "./keys.ts";

export interface Pressed {
  editor: Editor;
  /** Enter was pressed: this is the input. The editor still holds it. */
  submit?: string;
  /** False when the key means nothing here. */
  handled: boolean;
}

/** Applies one input to the editor. */
export function press(editor: Editor, input: Input): Pressed {
  if (editor.search) return pressInSearch(editor, editor.search.query, input);
  if (input.type !== "key") return done(insert(editor, input.text));
  if (isEnter(input)) return pressEnter(editor, input);
  const change = BINDINGS[chord(input)];
  return change ? done(change(editor)) : { editor, handled: false };
}

const done = (editor: Editor): Pressed => ({ editor, handled: true });

const isEnter = (key: Key) => key.name === "enter" || (key.ctrl && key.name === "j");

/** Alt, Shift or Ctrl-J make a new line, and so does a backslash before the cursor. */
function pressEnter(editor: Editor, key: Key): Pressed {
  if (key.alt || key.shift || key.ctrl) return done(insert(editor, "\n"));
  if (editor.text[editor.cursor - 1] === "\\") return done(insert(erase(editor, "left"), "\n"));
  return { editor, submit: editor.text, handled: true };
}

/** Typing narrows the search, Ctrl-R goes on, Esc gives up, any other key takes what was found. */
function pressInSearch(editor: Editor, query: string, input: Input): Pressed {
  if (input.type !== "key") {
    return done(searchFor(editor, query + input.text.replaceAll("\n", " ")));
  }
  if (input.name === "backspace") {
    return done(searchFor(editor, [...graphemes(query)].slice(0, -1).join("")));
  }
  const pressed = chord(input);
  if (pressed === "C-r") return done(searchBack(editor));
  if (pressed === "escape" || pressed === "C-g" || pressed === "C-c") {
    return done(endSearch(editor, false));
  }
  const found = endSearch(editor, true);
  return isEnter(input) ? done(found) : press(found, input);
}

/** `C-a`, `M-b`, `left`: a key with its modifiers. Shift alone changes nothing. */
function chord({ name, ctrl, alt }: Key): string {
  return `${ctrl ? "C-" : ""}${alt ? "M-" : ""}${name}`;
}

const BINDINGS: Record<string, (editor: Editor) => Editor> = {
  "left": (e) => move(e, "left"),
  "C-b": (e) => move(e, "left"),
  "right": (e) => move(e, "right"),
  "C-f": (e) => move(e, "right"),
  "C-left": (e) => move(e, "wordLeft"),
  "M-left": (e) => move(e, "wordLeft"),
  "M-b": (e) => move(e, "wordLeft"),
  "C-right": (e) => move(e, "wordRight"),
  "M-right": (e) => move(e, "wordRight"),
  "M-f": (e) => move(e, "wordRight"),
  "home": (e) => move(e, "lineStart"),
  "C-a": (e) => move(e, "lineStart"),
  "end": (e) => move(e, "lineEnd"),
  "C-e": (e) => move(e, "lineEnd"),
  "up": up,
  "C-p": up,
  "down": down,
  "C-n": down,
  "backspace": (e) => erase(e, "left"),
  "C-h": (e) => erase(e, "left"),
  "delete": (e) => erase(e, "right"),
  "C-d": (e) => erase(e, "right"),
  "C-w": (e) => kill(e, "wordLeft"),
  "M-backspace": (e) => kill(e, "wordLeft"),
  "M-d": (e) => kill(e, "wordRight"),
  "C-k": (e) => kill(e, "lineEnd"),
  "C-u": (e) => kill(e, "lineStart"),
  "C-y": yank,
  "C-r": searchBack,
};
