// Terminal output as the text a model should read: without colours and cursor movements, progress lines
// in their last state. Nothing else is changed: no line is dropped, shortened or summarised.
// Not here: what a person sees of it (ui/text.ts).

/** CSI, then strings (titles, links), then all other escape sequences; none crosses a line end. */
const ESCAPES =
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?|\x1b[ -/]*[0-~]?/g;
const CONTROLS = /[\0-\x08\x0b-\x1f\x7f-\x9f]/;
const OTHER_CONTROLS = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g;
/** A line longer than this is handed on in parts. */
const MAX_HELD = 64 * 1024;
/** The longest end of such a part kept back because an escape sequence may go on. */
const MAX_ESCAPE = 256;

/** Cleans text that arrives in pieces; hands on whole lines. */
export class PlainText {
  #held = "";

  /** The lines that are complete now. */
  push(text: string): string {
    const end = text.lastIndexOf("\n") + 1;
    let out = "";
    if (end > 0) {
      out = clean(this.#held + text.slice(0, end));
      this.#held = text.slice(end);
    } else {
      this.#held += text;
    }
    return this.#held.length > MAX_HELD ? out + this.#shrink() : out;
  }

  /** The rest. */
  end(): string {
    const rest = clean(this.#held);
    this.#held = "";
    return rest;
  }

  /** A progress line keeps only its newest state; another long line is handed on. */
  #shrink(): string {
    const state = this.#held.lastIndexOf("\r", this.#held.length - 2);
    if (state !== -1) this.#held = this.#held.slice(state + 1);
    if (this.#held.length <= MAX_HELD) return "";
    const escape = this.#held.lastIndexOf("\x1b");
    const cut = escape > this.#held.length - MAX_ESCAPE ? escape : this.#held.length;
    const out = clean(this.#held.slice(0, cut));
    this.#held = this.#held.slice(cut);
    return out;
  }
}

function clean(text: string): string {
  if (!CONTROLS.test(text)) return text;
  return text.replace(ESCAPES, "").split("\n").map(lastState).join("\n");
}

/** What a terminal would show of a line in the end. */
function lastState(line: string): string {
  if (!CONTROLS.test(line)) return line;
  const states = line.split("\r");
  let state = states.pop() ?? "";
  while (state === "" && states.length > 0) state = states.pop() ?? "";
  // Over-struck characters (man pages) and spinners.
  while (/[^\b]\x08/.test(state)) state = state.replace(/[^\b]\x08/gu, "");
  return state.replace(OTHER_CONTROLS, "");
}

const INVISIBLE = /[\0-\x08\x0b-\x1f\x7f-\x9f\p{Cs}\p{Zl}\p{Zp}\p{DI}\p{Bidi_C}]/gu;

/** Every control, bidi and zero-width character as an escape: nothing in the text can hide. */
export function escapeInvisible(text: string): string {
  return text.replace(INVISIBLE, (c) => {
    const code = c.codePointAt(0) ?? 0;
    return code <= 0xff ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
  });
}
