// The rules of Edit: one call's edits applied to the draft of a file in memory, all of them or none.
// Pure: nothing here reads, writes or waits. The calls of a batch are planned one after the other on
// the state the previous one left; anchors always mean the file as the batch began (resolve.ts).

import { parseAnchor } from "./anchor.ts";
import { EMPTY, Lines, type TextDocument } from "./document.ts";
import { Draft } from "./draft.ts";
import {
  contentLines,
  controlCharacters,
  type Edit,
  isWhole,
  withoutEmptyFields,
  wrongFields,
} from "./edit-fields.ts";
import { type Codec, UTF8 } from "./encodings.ts";
import { count, isLong, type Span } from "./lines.ts";
import { Refusal, type Resolver } from "./resolve.ts";
import { whyNotFound } from "./why-not-found.ts";

/** A file in the course of a batch. */
export interface FileState {
  exists: boolean;
  /** As the batch began. */
  codec: Codec;
  draft: Draft;
  /** Set once a call of the batch created it: it had no lines that anchors could mean. */
  created: boolean;
  /** Calls of the batch that changed it so far. */
  calls: number;
}

/** `show` of a fault: lines of the file before this call. */
export type Plan =
  | { ok: true; state: FileState; notes: string[] }
  | { ok: false; faults: { message: string; show: Span[] }[] };

export function stateOf(document: TextDocument | null): FileState {
  return {
    exists: document !== null,
    codec: document?.codec ?? UTF8,
    draft: new Draft((document ?? EMPTY).lines),
    created: false,
    calls: 0,
  };
}

/** Applies all edits of a call, or tells what is wrong with each that cannot be applied. */
export function planCall(state: FileState, edits: readonly Edit[], resolver: Resolver): Plan {
  const after = { ...state, draft: state.draft.copy(), calls: state.calls + 1 };
  const faults: { message: string; show: Span[] }[] = [];
  const notes: string[] = [];
  for (const [i, edit] of edits.entries()) {
    const label = edits.length === 1 ? "" : `edit ${i + 1}: `;
    const by = `edit ${i + 1} of call ${after.calls} of this reply on the file`;
    const step = new Step(withoutEmptyFields(edit), by, after, resolver);
    try {
      step.apply(edits.length === 1);
      notes.push(...step.notes.map((note) => label + note));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const now = (line: number) => state.draft.lineNow(line);
      const show = error.show.map(([from, to]): Span => [now(from), now(to)]);
      faults.push({ message: label + error.message, show });
    }
  }
  if (faults.length > 0) return { ok: false, faults };
  return { ok: true, state: { ...after, exists: true }, notes };
}

const ECHO = "every line of the new text begins with an anchor that was shown; send the text " +
  "alone, without LINE:HASH|";

/** One edit of a call: changes `state`, which is the call's own. All methods throw `Refusal`s. */
class Step {
  readonly notes: string[] = [];
  readonly edit: Edit;
  readonly by: string;
  readonly state: FileState;
  readonly resolver: Resolver;

  constructor(edit: Edit, by: string, state: FileState, resolver: Resolver) {
    this.edit = edit;
    this.by = by;
    this.state = state;
    this.resolver = resolver;
  }

  /** @param alone It is the only edit of its call. */
  apply(alone: boolean): void {
    const wrong = wrongFields(this.edit, alone);
    if (wrong !== null) throw new Refusal(wrong);
    const { op, content, old = "", new: replacement = "" } = this.edit;
    const controls = controlCharacters(content ?? replacement);
    if (controls !== null) this.notes.push(controls);
    if (op === "replace_text" || op === "replace_all") {
      this.#replaceLiteral(lf(old), lf(replacement));
    } else if (isWhole(this.edit)) this.#whole(content ?? "");
    else this.#anchored(content ?? "");
  }

  #whole(content: string): void {
    const { state } = this;
    this.#refuseEcho(contentLines(content));
    if (this.edit.op === "create") {
      const { length } = new Lines(state.draft.text);
      if (length > 0) {
        throw new Refusal(
          `the file exists and has ${count(length, "line")}; change it with replace, ` +
            "insert_before or insert_after, or write all of it anew with overwrite",
          [[1, 3]],
        );
      }
      state.created = true;
    } else {
      if (state.calls > 1) {
        throw new Refusal(
          "an earlier edit of this reply changed the file; overwrite it in the next reply",
        );
      }
      this.resolver.whole();
    }
    if (state.draft.base.length === 0) {
      state.draft = new Draft(new Lines(content));
      return;
    }
    // A file of CRLF lines stays one when the model, as usual, sends LF.
    const crlf = state.draft.usual === "\r\n" && !content.includes("\r\n");
    state.draft.overwrite(crlf ? content.replaceAll("\n", "\r\n") : content, this.by);
  }

  #replaceLiteral(old: string, replacement: string): void {
    const { draft } = this.state;
    const places = draft.occurrences(old, 6);
    const show = (from: number, to = from): Span => [draft.baseLine(from), draft.baseLine(to)];
    if (places.length === 0) {
      const [words, from, to] = whyNotFound(lf(draft.text), old);
      throw new Refusal(`old does not occur in the file${words}`, from ? [show(from, to)] : []);
    }
    this.#refuseEcho(contentLines(replacement));
    if (this.edit.op === "replace_text" && places.length > 1) {
      const list = places.slice(0, 5).join(", ") + (places.length > 5 ? " and more" : "");
      throw new Refusal(
        `old occurs more than once (lines ${list}); add neighbouring text to old until it is unique, ` +
          "use replace with an anchor, or replace_all if every place is meant",
        places.slice(0, 5).map((line) => show(line)),
      );
    }
    const found = draft.replaceLiteral(old, replacement, this.by);
    if (this.edit.op === "replace_all") this.notes.push(`${count(found, "occurrence")} replaced`);
  }

  #anchored(content: string): void {
    const { op, start = "", end } = this.edit;
    const { draft, created } = this.state;
    if (created) {
      throw new Refusal(
        "the file was created in this reply, so none of its lines had been shown; use the anchors " +
          "of that result in the next reply",
        [[1, 3]],
      );
    }
    const { from, to, moved } = this.resolver.range(start, end);
    if (moved !== undefined) this.notes.push(moved);
    if (op === "delete") return draft.replace(from, to, [], this.by);
    const texts = contentLines(content);
    const refuse = (message: string) => new Refusal(message, [[from, from]]);
    if (texts.length === 0) {
      const what = op === "replace" ? "to remove lines use delete" : "nothing to insert";
      throw refuse(`content is empty: ${what}; "\\n" is one blank line`);
    }
    this.#refuseEcho(texts, [[from, from]]);
    if (op !== "replace") {
      const side = op === "insert_before" ? "before" : "after";
      const above = side === "after" ? from : from - 1;
      this.#noteRepeated(texts, above, above + 1);
      return draft.insert(side, from, texts, this.by);
    }
    if (draft.base.slice(from, to).split("\n").some(isLong)) {
      throw refuse(
        "a line of that range was shown cut, and replacing it would drop what was not shown; " +
          "change a part with replace_text or replace_all, or delete it and insert anew",
      );
    }
    this.#noteRepeated(texts, from - 1, to + 1);
    draft.replace(from, to, texts, this.by);
  }

  /**
   * Refuses a text that repeats what was displayed, anchors and all; only anchors really shown count.
   * Where not every line of it does, it is written as it is, but not silently.
   */
  #refuseEcho(texts: readonly string[], show: readonly Span[] = []): void {
    const echoed = texts.filter((text) => {
      const anchor = /^\s*\d+:[a-z]{3}\|/.test(text) ? parseAnchor(text) : null;
      return anchor !== null && this.resolver.wasShown(anchor);
    });
    if (echoed.length === 0) return;
    if (echoed.length === texts.length) throw new Refusal(ECHO, show);
    const [first = ""] = echoed[0]!.split("|", 1);
    this.notes.push(
      `the new text holds anchors that were shown (first ${first.trim()}|), which now stand in the ` +
        "file; remove them if that is not meant",
    );
  }

  /**
   * Context repeated by the model becomes a duplicate line: written as asked, but not silently (FE-30).
   * `above` and `below` are the base lines next to the new ones; those between them are replaced.
   */
  #noteRepeated(texts: readonly string[], above: number, below: number): void {
    const { base } = this.state.draft;
    const text = (line: number) => line >= 1 && line <= base.length ? base.line(line) : undefined;
    const check = (which: "first" | "last", line: number, replaced: number) => {
      const given = texts.at(which === "first" ? 0 : -1) ?? "";
      const was = below - above > 1 ? text(replaced) : undefined;
      if (given.trim() === "" || given !== text(line) || given === was) return;
      this.notes.push(`the ${which} new line equals line ${line}: possible duplicate`);
    };
    check("first", above, above + 1);
    check("last", below, below - 1);
  }
}

/** Endings belong to the document: only "\n" counts in a literal. */
function lf(text: string): string {
  return text.replaceAll("\r\n", "\n");
}
