// Notices a model that repeats itself: the same call with the same arguments and the same result.
// At three the model is told in the result; at five the turn is put to the user (spec/loop §Ending).

import type { Outcome, Prepared } from "./invoke.ts";

export class RepeatGuard {
  #key = "";
  #count = 0;

  /** Counts a result and gives what to add to it for the model. */
  note(prepared: Prepared, outcome: Outcome): string {
    const key = JSON.stringify([
      prepared.call.name,
      prepared.call.args,
      prepared.call.raw,
      strip(outcome.text),
    ]);
    this.#count = key === this.#key ? this.#count + 1 : 1;
    this.#key = key;
    if (this.#count < 3) return "";
    return `\n[The same call gave the same result ${this.#count} times in a row. Repeating it will not change that: ` +
      `look at what the result says, try another way, or tell the user what is missing.]`;
  }

  /** Five in a row: time to ask the user whether it should go on. */
  get stuck(): boolean {
    return this.#count >= 5;
  }

  reset(): void {
    this.#count = 0;
  }
}

/** Durations differ between runs that are the same otherwise. */
function strip(text: string): string {
  return text.replaceAll(/\b\d+(\.\d+)? ?m?s\b/g, "T").replaceAll(/seconds="[^"]*"/g, "");
}
