// Deltas → one reply. A pure reducer over what a provider streams: it decides which fragments make
// which call (calls.ts), what is reasoning and what is text, and whether the calls may run at all.
// It does no I/O, knows no provider's format and runs nothing.

import type { RecordedCall } from "../session/records.ts";
import { CallTable } from "./calls.ts";
import type { Delta, FinishReason, ProviderFailure, Usage } from "./provider.ts";

/** Text to show while the reply streams: tags taken out, characters whole. */
export interface Shown {
  type: "text" | "reasoning";
  text: string;
}

export interface Reply {
  text: string;
  reasoning: string;
  calls: RecordedCall[];
  /** Provider items that must be sent back untouched. */
  opaque: unknown[];
  finish: FinishReason;
  usage: Usage | null;
  failure: ProviderFailure | null;
  /** The reply is whole and has calls: run them, but for one with `args` null (`raw` is no JSON). */
  runnable: boolean;
}

const OPEN_TAG = "<think>";
const CLOSE_TAG = "</think>";

/** Reasons that a later, milder one does not undo: nothing of such a reply may run. */
const FINAL: readonly FinishReason[] = ["length", "content_filter", "error", "interrupted"];

/** Collects one reply: `push` every delta, then `finish`. */
export class Assembler {
  readonly #calls = new CallTable();
  readonly #opaque: unknown[] = [];
  readonly #said = { text: "", reasoning: "" };
  #finish: FinishReason | null = null;
  #usage: Usage | null = null;
  #failure: ProviderFailure | null = null;
  /** Text is reasoning between tags, but only where a tag opens the message (litellm#15233). */
  #mode: "start" | "thinking" | "after" | "text" = "start";
  /** Text that may be the first part of a tag. */
  #tag = "";
  /** Half a surrogate pair, not yet shown. */
  readonly #half = { text: "", reasoning: "" };

  /** Takes one delta and returns what of it can be shown now. */
  push(delta: Delta): Shown[] {
    switch (delta.type) {
      case "text":
        return this.#takeText(delta.text);
      case "reasoning":
        return this.#show("reasoning", delta.text);
      case "call":
        this.#calls.push(delta.fragment);
        break;
      case "opaque":
        this.#opaque.push(delta.item);
        break;
      case "usage":
        this.#usage = delta.usage; // running totals are common: the last one counts, never the sum
        break;
      case "finish":
        if (!this.#finish || !FINAL.includes(this.#finish)) this.#finish = delta.reason;
        break;
      case "error":
        this.#failure ??= delta.failure;
    }
    return [];
  }

  /** What is still held back; call it when the stream has ended, before `finish`. */
  flush(): Shown[] {
    const shown = this.#show(this.#mode === "thinking" ? "reasoning" : "text", this.#tag);
    this.#tag = "";
    for (const type of ["reasoning", "text"] as const) {
      if (this.#half[type]) shown.push({ type, text: this.#half[type].toWellFormed() });
      this.#half[type] = "";
    }
    return shown;
  }

  /** The reply. A stream without a terminal signal is `incomplete`, and nothing of it runs. */
  finish(): Reply {
    this.flush();
    const calls = this.#calls.finish();
    let finish = this.#failure ? "error" : this.#finish ?? "incomplete";
    // Many servers say "stop" although calls were sent (litellm#12862), some the reverse.
    if (finish === "stop" || finish === "tool_calls") {
      finish = calls.length > 0 ? "tool_calls" : "stop";
    }
    return {
      text: this.#said.text.toWellFormed(),
      reasoning: this.#said.reasoning.toWellFormed(),
      calls,
      opaque: this.#opaque,
      finish,
      usage: this.#usage,
      failure: this.#failure,
      runnable: finish === "tool_calls",
    };
  }

  #takeText(text: string): Shown[] {
    const rest = this.#tag + text;
    this.#tag = "";
    switch (this.#mode) {
      case "start": {
        const opening = rest.trimStart();
        if (opening.startsWith(OPEN_TAG)) {
          this.#mode = "thinking";
          return this.#takeText(opening.slice(OPEN_TAG.length));
        }
        if (!OPEN_TAG.startsWith(opening)) {
          this.#mode = "text";
          return this.#show("text", rest);
        }
        this.#tag = rest;
        return [];
      }
      case "thinking": {
        const close = rest.indexOf(CLOSE_TAG);
        const end = close < 0 ? rest.length - partialSuffix(rest, CLOSE_TAG) : close;
        const shown = this.#show("reasoning", rest.slice(0, end));
        if (close < 0) {
          this.#tag = rest.slice(end);
          return shown;
        }
        this.#mode = "after";
        return [...shown, ...this.#takeText(rest.slice(close + CLOSE_TAG.length))];
      }
      case "after": {
        const visible = rest.trimStart(); // the blank lines behind the tag belong to neither
        if (visible !== "") this.#mode = "text";
        return this.#show("text", visible);
      }
      case "text":
        return this.#show("text", rest);
    }
  }

  #show(type: Shown["type"], text: string): Shown[] {
    if (text === "") return [];
    this.#said[type] += text;
    // Byte-level tokenisers put half of a surrogate pair in each delta: show them together.
    const all = this.#half[type] + text;
    const end = /[\ud800-\udbff]$/.test(all) ? all.length - 1 : all.length;
    this.#half[type] = all.slice(end);
    const whole = all.slice(0, end);
    return whole === "" ? [] : [{ type, text: whole.toWellFormed() }];
  }
}

/** Length of the longest suffix of `text` that begins `tag`. */
function partialSuffix(text: string, tag: string): number {
  let length = Math.min(tag.length - 1, text.length);
  while (!text.endsWith(tag.slice(0, length))) length--;
  return length;
}
