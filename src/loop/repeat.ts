// Notices a model that goes in circles: the same call with the same result again and again, two or three
// such calls in turn, or one error whatever the arguments. The model is told in the result after three
// rounds; after five of the same calls the turn is put to the user (spec/loop §Ending).

import type { Outcome, Prepared } from "./invoke.ts";

/** Calls of a circle, at most. */
const MAX_PERIOD = 3;
const TOLD = 3;
const STUCK = 5;

export class RepeatGuard {
  /** Keys of the newest calls, the last one newest. */
  #keys: string[] = [];
  #error = "";
  #errors = 0;
  #rounds = 0;

  /** Counts a result and gives what to add to it for the model. */
  note(prepared: Prepared, outcome: Outcome): string {
    const { name, args, raw } = prepared.call;
    const text = strip(outcome.text);
    this.#keys.push(JSON.stringify([name, args, raw, text]));
    this.#keys = this.#keys.slice(-MAX_PERIOD * STUCK);
    const error = outcome.status === "error" ? `${name} ${text}` : "";
    this.#errors = error !== "" && error === this.#error ? this.#errors + 1 : 1;
    this.#error = error;
    const periods = Array.from({ length: MAX_PERIOD }, (_, i) => i + 1);
    const rounds = periods.map((period) => roundsOf(this.#keys, period));
    this.#rounds = Math.max(...rounds);
    const what = this.#rounds >= TOLD
      ? rounds[0] === this.#rounds
        ? `The same call gave the same result ${this.#rounds} times in a row.`
        : `The same calls in turn gave the same results ${this.#rounds} times.`
      : error !== "" && this.#errors >= TOLD
      ? `This error came ${this.#errors} times in a row.`
      : "";
    return what === ""
      ? ""
      : `\n[${what} Repeating it will not change that: look at what the result says, ` +
        "try another way, or tell the user what is missing.]";
  }

  /** Five rounds: time to ask the user whether it should go on. */
  get stuck(): boolean {
    return this.#rounds >= STUCK;
  }

  reset(): void {
    this.#keys = [];
    this.#rounds = 0;
  }
}

/** How many times the last `period` keys stand at the end, one time behind the other. */
function roundsOf(keys: readonly string[], period: number): number {
  let same = 0;
  while (same < keys.length - period && keys.at(-1 - same) === keys.at(-1 - same - period)) same++;
  return 1 + Math.floor(same / period);
}

/** Durations differ between runs that are the same otherwise. */
function strip(text: string): string {
  return text.replaceAll(/\b\d+(\.\d+)? ?m?s\b/g, "T").replaceAll(/seconds="[^"]*"/g, "");
}
