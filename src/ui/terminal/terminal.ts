// The interactive session on a real terminal: bytes → keys → editor → conversation, and everything it
// shows onto the screen. This file only connects them and owns the timers, signals and modes; with
// TERM=dumb the same conversation runs on plain lines (plain.ts). Nothing here ever waits on a prompt
// without a terminal.

import type { EventEmitter } from "node:events";
import { outOf } from "../out.ts";
import { makeTheme } from "../colors.ts";
import { type Environment, type Theme, wantsColors } from "../theme.ts";
import { press } from "./bindings.ts";
import { Conversation, type ConversationDeps } from "./conversation.ts";
import { type Editor, insert, newEditor, remember, setText } from "./editor.ts";
import { appendHistory, loadHistory } from "./history.ts";
import { type Input, type Key, KeyParser } from "./keys.ts";
import { layoutEditor, type Row, type Size, type View } from "./layout.ts";
import { plainSession } from "./plain.ts";
import { reflows, Screen } from "./screen.ts";
import {
  currentSize,
  openTerminal,
  switchOn,
  type TerminalInput,
  type TerminalOutput,
} from "./tty.ts";

export interface InteractiveDeps extends Omit<ConversationDeps, "theme"> {
  /** Shown once above the first prompt. */
  info: string;
  /** Earlier inputs are kept here (0600); null: only for this session. */
  historyFile: string | null;
  /** Colours; chosen from the terminal and the environment when absent. */
  theme?: Theme;
  /** Is it a fault that somebody else takes care of, as a plugin's own? */
  isContained?(error: unknown): boolean;
  /** Submitted at once, as if typed. */
  first?: string;
  stdin?: TerminalInput;
  stdout?: TerminalOutput;
  env?: Environment;
}

/** How long a started escape sequence may take before Esc is the key that was pressed, milliseconds. */
const ESCAPE_MS = 50;
/** How long a bracketed paste may be silent before it counts as ended. */
const PASTE_MS = 1000;
/** A chunk this soon after a large one of an unbracketed paste belongs to it. */
const CONTINUED_MS = 50;
const LARGE_CHUNK = 1024;
/** More characters in one chunk were not typed. */
const TYPED_LENGTH = 100;

/**
 * Runs the session until the user leaves; gives the exit code (0; 130 when a turn was interrupted by
 * leaving; 128 + n after a signal). Rejects when input or output is no terminal, and with what was
 * thrown outside of any turn; the terminal is restored then too.
 */
export async function interactive(deps: InteractiveDeps): Promise<number> {
  const stdin: TerminalInput = deps.stdin ?? process.stdin;
  const stdout: TerminalOutput = deps.stdout ?? process.stdout;
  const env = deps.env ?? process.env;
  if (!stdin.isTTY || !stdout.isTTY) {
    throw new Error(
      "The interactive session needs a terminal for input and output. " +
        'For scripts use: nanocode -p "your prompt"',
    );
  }
  const theme = deps.theme ?? makeTheme(wantsColors(stdout, env));
  const history = deps.historyFile === null ? [] : loadHistory(deps.historyFile);
  const full = { ...deps, theme, stdin, stdout, env };
  return await (env.TERM === "dumb" ? plainSession(full) : new Terminal(full, history).run());
}

type FullDeps =
  & InteractiveDeps
  & Required<Pick<InteractiveDeps, "theme" | "stdin" | "stdout" | "env">>;

class Terminal {
  #deps: FullDeps;
  #parser = new KeyParser();
  #prompt: Editor;
  /** The answer to a question, while one is open. */
  #answer = newEditor();
  #screen: Screen;
  #conversation: Conversation;
  #pendingTimer: ReturnType<typeof setTimeout> | undefined;
  #lastPaste = { at: -Infinity, bytes: 0 };
  #historyFailed = false;

  constructor(deps: FullDeps, history: string[]) {
    this.#deps = deps;
    this.#prompt = newEditor(history);
    const { stdout } = deps;
    const port = {
      write: (text: string) => void stdout.write(text),
      size: () => currentSize(stdout),
    };
    this.#screen = new Screen(port, (size) => this.#compose(size), { reflows: reflows(deps.env) });
    this.#conversation = new Conversation(deps, {
      print: (text) => this.#screen.print(text),
      changed: () => this.#screen.refresh(),
      restore: (text) => this.#restore(text),
      size: () => this.#screen.size,
    });
  }

  async run(): Promise<number> {
    const { stdin, stdout, info, first } = this.#deps;
    const conversation = this.#conversation;
    const restore = openTerminal(stdin, stdout);
    const out = outOf(stdout, "the terminal");
    const listen = listeners();
    listen.on(stdin, "data", (chunk: Uint8Array | string) => this.#read(chunk));
    listen.on(stdin, "end", () => conversation.quit(129));
    listen.on(stdin, "error", () => conversation.quit(129));
    listen.on(stdout, "resize", () => this.#screen.refresh());
    listen.on(process, "SIGINT", () => this.#ctrlC());
    listen.on(process, "SIGTERM", () => conversation.quit(143));
    listen.on(process, "SIGHUP", () => conversation.quit(129));
    // A fault anywhere ends the session with its terminal restored, not with a garbled one.
    const fault: { error?: unknown } = {};
    for (const name of ["uncaughtException", "unhandledRejection"]) {
      listen.on(process, name, (error: unknown) => {
        if (this.#deps.isContained?.(error)) return;
        fault.error ??= error ?? new Error("Something failed without saying why.");
        conversation.quit(1);
      });
    }
    listen.on(process, "SIGCONT", () => {
      switchOn(stdin, stdout);
      this.#screen.flush();
    });
    out.closed.addEventListener("abort", () => conversation.quit(129));
    stdin.resume();
    try {
      if (info !== "") conversation.note(info);
      if (first) this.#submit(first);
      this.#screen.flush();
      const code = await conversation.finished;
      if (fault.error !== undefined) throw fault.error;
      return code;
    } finally {
      clearTimeout(this.#pendingTimer);
      listen.removeAll();
      stdin.pause();
      this.#screen.close();
      restore();
    }
  }

  get #asking(): boolean {
    return this.#conversation.mode === "ask";
  }

  #read(chunk: Uint8Array | string): void {
    clearTimeout(this.#pendingTimer);
    const bytes = typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk;
    const { at, bytes: size } = this.#lastPaste;
    const continued = size >= LARGE_CHUNK && performance.now() - at < CONTINUED_MS;
    const inputs = this.#parser.feed(bytes, continued);
    this.#take(inputs);
    const pasted = inputs.at(-1)?.type === "paste";
    this.#lastPaste = { at: performance.now(), bytes: pasted ? bytes.length : 0 };
    const { pending } = this.#parser;
    if (pending === null) return;
    const wait = pending === "paste" ? PASTE_MS : ESCAPE_MS;
    this.#pendingTimer = setTimeout(() => this.#take(this.#parser.flush()), wait);
  }

  #take(inputs: Input[]): void {
    if (inputs.length === 0) return;
    for (const input of inputs) this.#input(input);
    // Keys show at once; the chunks of a paste need no frame each.
    if (inputs.some((input) => input.type !== "key" && input.text.length > TYPED_LENGTH)) {
      this.#screen.refresh();
    } else this.#screen.flush();
  }

  #input(input: Input): void {
    this.#conversation.typed();
    const editor = this.#editor;
    if (input.type === "key" && editor.search === null && this.#sessionKey(input, editor)) return;
    const { editor: changed, submit } = press(editor, input);
    this.#editor = changed;
    if (submit !== undefined) this.#submit(submit);
  }

  /** Keys that mean something to the session; true when the key was one. */
  #sessionKey(key: Key, editor: Editor): boolean {
    const chord = `${key.ctrl ? "C-" : ""}${key.name}`;
    if (chord === "C-c") {
      this.#ctrlC();
      return true;
    }
    if (chord === "escape") {
      if (this.#conversation.escape()) this.#answer = newEditor();
      return true;
    }
    if (chord === "C-d" && editor.text === "" && this.#conversation.mode === "idle") {
      this.#conversation.quit(0);
      return true;
    }
    return false;
  }

  #ctrlC(): void {
    if (this.#conversation.mode === "idle" && this.#prompt.text !== "") {
      this.#prompt = setText(this.#prompt, "");
      return this.#screen.refresh();
    }
    this.#answer = newEditor();
    this.#conversation.ctrlC();
  }

  #submit(text: string): void {
    if (this.#asking) {
      this.#answer = newEditor();
      return this.#conversation.submit(text);
    }
    this.#prompt = remember(this.#prompt, text);
    this.#keep(text);
    this.#conversation.submit(text);
  }

  /** Appends to the history file; a failure is said once. */
  #keep(text: string): void {
    const { historyFile } = this.#deps;
    if (historyFile === null || this.#historyFailed) return;
    try {
      appendHistory(historyFile, text);
    } catch (error) {
      this.#historyFailed = true;
      this.#conversation.note(error instanceof Error ? error.message : String(error));
    }
  }

  #restore(text: string): void {
    const typed = this.#prompt.text;
    this.#prompt = insert(setText(this.#prompt, ""), typed === "" ? text : `${text}\n${typed}`);
    this.#screen.refresh();
  }

  get #editor(): Editor {
    return this.#asking ? this.#answer : this.#prompt;
  }

  set #editor(editor: Editor) {
    if (this.#asking) this.#answer = editor;
    else this.#prompt = editor;
  }

  /** The live area: what is going on, the status, the prompt. */
  #compose(size: Size): View {
    const editor = this.#editor;
    const prompt = layoutEditor(editor, size.columns, Math.max(1, size.rows >> 1));
    const above: Row[] = this.#conversation.statusRows();
    if (editor.search) {
      const { query, found } = editor.search;
      above.push({ text: `search: ${query}${query !== "" && found === null ? "  (none)" : ""}` });
    }
    const room = size.rows - prompt.rows.length - above.length - 2;
    const live = this.#conversation.liveRows({ columns: size.columns, rows: Math.max(0, room) });
    const gap = room >= live.length && size.rows >= 8 ? [{ text: "" }] : [];
    const rows = [...gap, ...live, ...above, ...prompt.rows];
    const row = rows.length - prompt.rows.length + prompt.cursor.row;
    return { rows, cursor: { row, column: prompt.cursor.column } };
  }
}

/** Listeners that are removed together. */
function listeners() {
  const removers: (() => void)[] = [];
  return {
    on<T>(source: EventEmitter, name: string, listener: (value: T) => void): void {
      source.on(name, listener);
      removers.push(() => source.off(name, listener));
    },
    removeAll(): void {
      for (const remove of removers) remove();
    },
  };
}
