// Bytes of a terminal in raw mode → keys. Incremental and pure: chunks may hold many keys, half a key
// or half a character; time is the caller's (it calls `flush` when a started sequence got no rest).
// A paste comes out as one event, bracketed or not, with control bytes removed. Not here: what a key does.

export interface Key {
  type: "key";
  /** `enter`, `up`, `home`, `escape` …, or one character for Ctrl and Alt combinations. */
  name: string;
  ctrl: boolean;
  alt: boolean;
  shift: boolean;
}

export type Input = Key | { type: "text"; text: string } | { type: "paste"; text: string };

const ESC = "\x1b";
const PASTE_START = `${ESC}[200~`;
const PASTE_END = `${ESC}[201~`;

const LETTER_KEYS: Record<string, string> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  F: "end",
  H: "home",
  M: "enter", // keypad
  Z: "tab",
};

const TILDE_KEYS: Record<string, string> = {
  1: "home",
  3: "delete",
  4: "end",
  5: "pageup",
  6: "pagedown",
  7: "home",
  8: "end",
};

const CONTROL_KEYS: Record<string, string> = {
  "\r": "enter",
  "\t": "tab",
  "\x7f": "backspace",
  "\b": "backspace",
};

/** Keys that terminals report by character code (`CSI code ; modifiers u`). */
const CODE_KEYS: Record<number, string> = {
  9: "tab",
  13: "enter",
  27: "escape",
  127: "backspace",
  57414: "enter",
};

export class KeyParser {
  #decoder = new TextDecoder();
  /** Text that could not be understood yet. */
  #rest = "";
  /** Chunks of an open bracketed paste; null outside of one. */
  #paste: string[] | null = null;

  /** What is under way: an escape sequence (or a lone Esc), a bracketed paste, or nothing. */
  get pending(): "escape" | "paste" | null {
    if (this.#paste) return "paste";
    return this.#rest === "" ? null : "escape";
  }

  /**
   * Keys of one chunk. `continued` says that this chunk came right after one that gave an unbracketed
   * paste: then it belongs to it, line ends included.
   */
  feed(bytes: Uint8Array, continued = false): Input[] {
    const out: Input[] = [];
    this.#read(this.#rest + this.#decoder.decode(bytes, { stream: true }), continued, out);
    return out;
  }

  /** Ends what is pending: a lone Esc is the key, a paste without end is what came of it. */
  flush(): Input[] {
    const { pending } = this;
    const rest = this.#rest;
    this.#rest = "";
    if (pending === "paste") {
      const text = [...this.#paste ?? [], rest].join("");
      this.#paste = null;
      return [{ type: "paste", text: cleanPaste(text) }];
    }
    return rest === ESC ? [key("escape")] : [];
  }

  #read(text: string, continued: boolean, out: Input[]): void {
    this.#rest = "";
    let pasting = continued;
    let at = 0;
    while (at < text.length) {
      if (this.#paste) {
        at = this.#readPaste(text, at, out);
        // What follows a paste in its own chunk is more of it, whatever end marker it held.
        pasting = true;
      } else if (text[at] === ESC) at = this.#readEscape(text, at, out);
      else at = readPlain(text, at, pasting, out);
      if (at < 0) return;
    }
  }

  /** Gives the index after the paste, or -1 when its end has not come. */
  #readPaste(text: string, from: number, out: Input[]): number {
    // An end marker inside what was pasted must not let the rest act as keys: of several, the last
    // is the terminal's own.
    const end = text.lastIndexOf(PASTE_END);
    if (end < from) {
      const keep = heldLength(text, from, PASTE_END);
      this.#paste?.push(text.slice(from, text.length - keep));
      this.#rest = text.slice(text.length - keep);
      return -1;
    }
    const pasted = [...this.#paste ?? [], text.slice(from, end)].join("");
    this.#paste = null;
    out.push({ type: "paste", text: cleanPaste(pasted) });
    return end + PASTE_END.length;
  }

  /** Gives the index after the sequence, or -1 when it is incomplete. */
  #readEscape(text: string, from: number, out: Input[]): number {
    const sequence = matchEscape(text, from);
    if (sequence === null) {
      this.#rest = text.slice(from);
      return -1;
    }
    if (sequence === PASTE_START) this.#paste = [];
    else out.push(...escapeKeys(sequence));
    return from + sequence.length;
  }
}

const CSI = /\x1b\x1b?\[[0-?]*[ -/]*[@-~]/y;
const CSI_PART = /\x1b\x1b?\[[0-?]*[ -/]*$/y;
/** Answers of a terminal (OSC, DCS, APC, PM): ended by BEL or ST. They are no keys. */
const STRING = /\x1b[\]P_^][^\x07\x1b]*(?:\x07|\x1b\\)/y;
const STRING_PART = /\x1b[\]P_^][^\x07\x1b]*\x1b?$/y;

function matchAt(pattern: RegExp, text: string, at: number): string | null {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? null;
}

/** The escape sequence at an index, or null when more bytes are needed. */
function matchEscape(text: string, at: number): string | null {
  const whole = matchAt(CSI, text, at) ?? matchAt(STRING, text, at);
  if (whole !== null) return whole;
  if (matchAt(CSI_PART, text, at) !== null || matchAt(STRING_PART, text, at) !== null) return null;
  const second = text.codePointAt(at + 1);
  if (second === undefined) return null;
  if (text[at + 1] === ESC) return ESC;
  if (text[at + 1] === "O") return at + 2 < text.length ? text.slice(at, at + 3) : null;
  return ESC + String.fromCodePoint(second);
}

function escapeKeys(sequence: string): Input[] {
  if (sequence === ESC) return [key("escape")];
  const alt = sequence.startsWith(ESC + ESC);
  const body = sequence.slice(alt ? 2 : 1);
  if (body.startsWith("[")) return csiKeys(body.slice(1), alt);
  if (body.length === 2 && body.startsWith("O")) {
    const name = LETTER_KEYS[body.slice(1)];
    return name === undefined ? [] : [key(name)];
  }
  if (/^[\]P_^]./s.test(body)) return [];
  if (body === "\n") return [key("enter", { alt: true })];
  return plainKey(body, true);
}

function csiKeys(body: string, alt: boolean): Input[] {
  const final = body.slice(-1);
  const [first = "", second = "1", third = ""] = body.slice(0, -1).split(";");
  const bits = Math.max(0, (parseInt(second, 10) || 1) - 1);
  const modifiers = {
    shift: (bits & 1) !== 0 || final === "Z",
    alt: alt || (bits & 2) !== 0,
    ctrl: (bits & 4) !== 0,
  };
  if (final === "u") return codeKey(parseInt(first, 10), modifiers);
  if (final === "~" && first === "27") return codeKey(parseInt(third, 10), modifiers);
  const name = final === "~" ? TILDE_KEYS[first] : LETTER_KEYS[final];
  return name === undefined ? [] : [key(name, modifiers)];
}

type Modifiers = Partial<Pick<Key, "ctrl" | "alt" | "shift">>;

function codeKey(code: number, modifiers: Modifiers): Input[] {
  const named = CODE_KEYS[code];
  if (named !== undefined) return [key(named, modifiers)];
  if (!(code >= 32 && code <= 0x10ffff) || (code >= 0xd800 && code <= 0xdfff)) return [];
  const character = String.fromCodePoint(code);
  if (modifiers.ctrl || modifiers.alt) return [key(character, modifiers)];
  return [{ type: "text", text: character }];
}

function key(name: string, modifiers: Modifiers = {}): Key {
  return { type: "key", name, ctrl: false, alt: false, shift: false, ...modifiers };
}

/** One character outside of a sequence: a control key, or with Alt any key. */
function plainKey(character: string, alt: boolean): Input[] {
  const named = CONTROL_KEYS[character];
  if (named !== undefined) return [key(named, { alt })];
  if (character >= " ") return [alt ? key(character, { alt }) : { type: "text", text: character }];
  if (character === "\0") return [key(" ", { ctrl: true, alt })];
  // Ctrl-A is 1, Ctrl-_ is 31; a lone newline is Ctrl-J.
  return [
    key(String.fromCharCode(character.charCodeAt(0) + 64).toLowerCase(), { ctrl: true, alt }),
  ];
}

/**
 * Reads up to the next Esc: typed characters and control keys, or a paste without brackets. A line
 * end that stands alone is Enter, also right after a paste.
 */
function readPlain(text: string, from: number, pasting: boolean, out: Input[]): number {
  const found = text.indexOf(ESC, from);
  const end = found === -1 ? text.length : found;
  const run = text.slice(from, end);
  if ((pasting && run !== "\r") || isBurst(run)) {
    out.push({ type: "paste", text: cleanPaste(run) });
    return end;
  }
  let start = 0;
  const flushText = (to: number) => {
    if (to > start) out.push({ type: "text", text: run.slice(start, to) });
    start = to + 1;
  };
  for (let i = 0; i < run.length; i++) {
    const character = run[i] ?? "";
    if (character >= " " && character !== "\x7f") continue;
    flushText(i);
    out.push(...plainKey(character, false));
  }
  flushText(run.length);
  return end;
}

/**
 * Was this pasted into a terminal without bracketed paste? A line end with more text after it in one
 * chunk does not come from typing; `text` and its Enter in one chunk does.
 */
function isBurst(run: string): boolean {
  return /[^\r\n][\r\n]+[^\r\n\0-\x1f\x7f]/.test(run);
}

/** Line ends become newlines; escape sequences and other control bytes are removed. */
function cleanPaste(text: string): string {
  return text
    .replaceAll(/\x1b\[[0-?]*[ -/]*[@-~]/g, "")
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(/[\0-\x08\x0b-\x1f\x7f-\x9f]/g, "");
}

/** Length of the end of `text` that may be the beginning of `marker`. */
function heldLength(text: string, from: number, marker: string): number {
  for (let length = Math.min(marker.length - 1, text.length - from); length > 0; length--) {
    if (text.endsWith(marker.slice(0, length))) return length;
  }
  return 0;
}
