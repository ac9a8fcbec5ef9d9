// Inputs typed while something runs: messages that the running turn takes along, and what has to wait
// for its end. Order is kept: nothing typed after a waiting command goes ahead of it.

export interface WaitingInput {
  text: string;
  kind: "message" | "command";
}

interface Entry extends WaitingInput {
  /** Takes the message out of the turn's queue; true when it had not been sent. Null: only kept here. */
  takeBack: (() => boolean) | null;
}

export class WaitingInputs {
  #entries: Entry[] = [];
  #queue: (text: string) => () => boolean;

  /** `queue` hands a message to the running turn. */
  constructor(queue: (text: string) => () => boolean) {
    this.#queue = queue;
  }

  /** `takesText`: a turn runs that can take a message along. */
  add(text: string, kind: WaitingInput["kind"], takesText: boolean): void {
    const behind = this.#entries.some((entry) => entry.takeBack === null);
    const takeBack = kind === "message" && takesText && !behind ? this.#queue(text) : null;
    this.#entries.push({ text, kind, takeBack });
  }

  texts(): string[] {
    return this.#entries.map(({ text }) => text);
  }

  /** The turn took a message along (or several as one). */
  sent(text: string): void {
    const exact = this.#entries.findIndex((entry) => entry.takeBack && entry.text === text);
    this.#entries = this.#entries.filter((entry, i) =>
      exact === -1 ? !(entry.takeBack && text.includes(entry.text)) : i !== exact
    );
  }

  /** What comes next after a turn: the messages up to the first command as one, or that command. */
  next(): WaitingInput | null {
    const end = this.#entries.findIndex(({ kind }) => kind === "command");
    const messages = this.#take(end === -1 ? this.#entries.length : end);
    if (messages.length > 0) return { kind: "message", text: messages.join("\n\n") };
    const command = this.#entries.shift();
    return command ? { kind: command.kind, text: command.text } : null;
  }

  /** Empties everything: the messages that were not sent, and the commands. */
  takeAll(): { messages: string[]; commands: string[] } {
    const commands = this.#entries.filter(({ kind }) => kind === "command").map(({ text }) => text);
    this.#entries = this.#entries.filter(({ kind }) => kind === "message");
    return { messages: this.#take(this.#entries.length), commands };
  }

  /** Texts of the first entries, without those that were sent after all. */
  #take(count: number): string[] {
    const taken = this.#entries.splice(0, count);
    return taken.filter(({ takeBack }) => takeBack?.() ?? true).map(({ text }) => text);
  }
}
