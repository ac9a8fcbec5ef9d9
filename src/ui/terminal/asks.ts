// Questions to the person, one at a time: shows the box, waits for the answer, refuses when the turn is
// interrupted. A question that comes up while somebody types is shown but takes no key until the
// typing pauses, so that an Enter meant for something else never allows a call.

import type { Answer, AskRequest } from "../../loop/permit.ts";
import type { Theme } from "../theme.ts";
import { answerLine, approvalBox, approvalQuestion, parseAnswer } from "./approval.ts";
import type { Clock } from "./clock.ts";
import { parseReply, questionBox, questionLine, replyLine } from "./question.ts";
import type { Size } from "./layout.ts";

/** Somebody who pressed a key this short a time ago is typing, in milliseconds. */
const TYPING_MS = 700;

interface Pending {
  request: AskRequest;
  /** Lines of the preview that are folded away. */
  hidden: number;
  shown: boolean;
  settle(answer: Answer): void;
}

export interface AsksDeps {
  theme: Theme;
  clock: Clock;
  size(): Size;
  /** Prints painted lines. */
  show(lines: string[]): void;
  changed(): void;
}

export class Asks {
  #deps: AsksDeps;
  #pending: Pending[] = [];
  #lastKey = -Infinity;
  #armed = false;
  #cancel: (() => void) | null = null;

  constructor(deps: AsksDeps) {
    this.#deps = deps;
  }

  /** Is the next input an answer? */
  get open(): boolean {
    return this.#pending.length > 0 && this.#armed;
  }

  /** Is a question shown that takes no answer yet? */
  get waits(): boolean {
    return this.#pending.length > 0 && !this.#armed;
  }

  ask(request: AskRequest, signal: AbortSignal): Promise<Answer> {
    return new Promise((resolve) => {
      const refuse = () => pending.settle({ decision: "deny" });
      const pending: Pending = {
        request,
        hidden: 0,
        shown: false,
        settle: (answer) => {
          signal.removeEventListener("abort", refuse);
          this.#remove(pending);
          resolve(answer);
        },
      };
      if (signal.aborted) return resolve({ decision: "deny" });
      signal.addEventListener("abort", refuse);
      this.#pending.push(pending);
      this.#showFirst();
    });
  }

  /** A key was pressed. */
  typed(): void {
    this.#lastKey = this.#deps.clock.now();
    if (this.waits) this.#arm();
  }

  /** The answer to the open question. */
  answer(text: string): void {
    const pending = this.#pending[0];
    if (!pending) return;
    const { theme, size } = this.#deps;
    const { question } = pending.request;
    if (question) {
      const reply = parseReply(text, question);
      if (reply === null) return this.#deps.changed();
      this.#deps.show([replyLine(reply, theme)]);
      return pending.settle(reply);
    }
    const answer = parseAnswer(text, pending.hidden, pending.request.effects);
    if (answer === "view") {
      pending.hidden = 0;
      this.#deps.show(approvalBox(pending.request, theme, size(), true).lines);
      return this.#deps.changed();
    }
    this.#deps.show([answerLine(answer, pending.request, theme)]);
    pending.settle(answer);
  }

  refuseAll(): void {
    for (const pending of [...this.#pending].reverse()) pending.settle({ decision: "deny" });
  }

  /** The rows above the answer, or null while no answer is taken. */
  question(): string[] | null {
    const pending = this.#pending[0];
    if (!pending || !this.#armed) return null;
    const { question } = pending.request;
    return question ? [questionLine(question)] : approvalQuestion(pending.request, pending.hidden);
  }

  #remove(pending: Pending): void {
    this.#pending = this.#pending.filter((other) => other !== pending);
    if (this.#pending.length === 0) this.#disarm();
    else this.#showFirst();
    this.#deps.changed();
  }

  #showFirst(): void {
    const pending = this.#pending[0];
    if (!pending || pending.shown) return;
    pending.shown = true;
    const { question } = pending.request;
    const box = question
      ? { lines: questionBox(question, this.#deps.theme), hidden: 0 }
      : approvalBox(pending.request, this.#deps.theme, this.#deps.size());
    pending.hidden = box.hidden;
    this.#deps.show(box.lines);
    this.#arm();
    this.#deps.changed();
  }

  /** Takes answers as soon as nobody has typed for a moment. */
  #arm(): void {
    this.#disarm();
    const quiet = this.#deps.clock.now() - this.#lastKey;
    if (quiet >= TYPING_MS) {
      this.#armed = true;
      return this.#deps.changed();
    }
    this.#cancel = this.#deps.clock.after(TYPING_MS - quiet, () => this.#arm());
  }

  #disarm(): void {
    this.#armed = false;
    this.#cancel?.();
    this.#cancel = null;
  }
}
