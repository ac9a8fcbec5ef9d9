// The interactive session as a state machine without a terminal: what is submitted starts a turn, runs
// a command, joins the queue or answers a question; events become output; Ctrl-C and Esc interrupt.
// A front (terminal.ts, plain.ts) feeds it and shows what it prints. Not here: keys, drawing.

import type { AgentEvent } from "../../loop/events.ts";
import type { Ask } from "../../loop/permit.ts";
import type { EndReason, UserSource } from "../../session/records.ts";
import { endLine, errorLine } from "../lines.ts";
import { TurnTally } from "../renderer.ts";
import { visible } from "../text.ts";
import type { Theme } from "../theme.ts";
import { Asks } from "./asks.ts";
import { type Clock, systemClock } from "./clock.ts";
import {
  builtInCommands,
  type Command,
  helpText,
  parseCommand,
  unknownCommand,
} from "./commands.ts";
import type { TextFlow } from "./flow.ts";
import type { Front } from "./front.ts";
import type { Row, Size } from "./layout.ts";
import { statusText, waitingRows } from "./status.ts";
import { Transcript } from "./transcript.ts";
import { WaitingInputs } from "./waiting.ts";

/** What the session is made of; the terminal itself knows neither models nor tools. */
export interface ConversationDeps {
  /** One turn. The question of a call that needs permission goes through `ask`. */
  run(
    text: string,
    source: UserSource,
    control: { signal: AbortSignal; ask: Ask },
  ): AsyncIterable<AgentEvent>;
  /**
   * Text typed while a turn runs; it enters before the next request, as a `steer` event says. The
   * function given back takes it out of the queue again: true when it had not been sent.
   */
  queue(text: string): () => boolean;
  /** Hands over what shows a warning that belongs to no turn: writing to stderr would spoil the screen. */
  warnings?(show: (message: string) => void): void;
  /** As they are now: looked at again with each input. */
  commands: readonly Command[];
  theme: Theme;
  textFlow?: () => TextFlow;
}

/** A second Ctrl-C within this time leaves. */
const TWICE_MS = 2000;
/** How long leaving waits for a turn to stop what it started. */
const LEAVE_MS = 2000;

interface Job {
  kind: "turn" | "command";
  abort: AbortController;
  startedAt: number;
  tally: TurnTally;
  /** The last event was a failed attempt: why. */
  retrying: string | null;
}

export class Conversation {
  #deps: ConversationDeps;
  #front: Front;
  #clock: Clock;
  #always: readonly Command[];
  #transcript: Transcript;
  #asks: Asks;
  #waiting: WaitingInputs;
  #job: Job | null = null;
  #hint: string | null = null;
  #lastCtrlC = -Infinity;
  #resolve!: (code: number) => void;
  #left = false;
  #exitCode: number | null = null;
  /** Exit code, once the user leaves. */
  readonly finished: Promise<number>;

  constructor(deps: ConversationDeps, front: Front, clock: Clock = systemClock()) {
    this.#deps = deps;
    this.#front = front;
    this.#clock = clock;
    this.finished = new Promise((resolve) => (this.#resolve = resolve));
    this.#transcript = new Transcript({ ...deps, print: (text) => this.#front.print(text) });
    this.#waiting = new WaitingInputs((text) => deps.queue(text));
    this.#asks = new Asks({
      theme: deps.theme,
      clock,
      size: () => front.size(),
      show: (lines) => this.#transcript.box(lines),
      changed: () => front.changed(),
    });
    const help = () => this.#transcript.note(helpText(this.#commands, deps.theme));
    this.#always = builtInCommands(help);
    deps.warnings?.((message) =>
      this.#transcript.note(deps.theme.warning(visible(`warning: ${message}`)))
    );
  }

  get #commands(): readonly Command[] {
    return [...this.#always, ...this.#deps.commands];
  }

  /** What the next submitted text is: an answer, something for later, or the next turn. */
  get mode(): "ask" | "busy" | "idle" {
    if (this.#asks.open) return "ask";
    return this.#job ? "busy" : "idle";
  }

  /** A line of our own above the prompt, e.g. what the session is. Escaped. */
  note(text: string): void {
    this.#transcript.note(visible(text));
  }

  /** Takes an input of the user. */
  submit(text: string): void {
    this.#hint = null;
    if (this.mode === "ask") return this.#asks.answer(text);
    const input = text.trim();
    if (input === "") return;
    const parsed = parseCommand(input);
    const command = parsed && this.#commands.find(({ name }) => name === parsed.name);
    if (parsed && !command) {
      const names = this.#commands.map(({ name }) => name);
      this.#echo(input);
      this.#transcript.note(this.#deps.theme.warning(unknownCommand(parsed.name, names)));
    } else if (command && (!this.#job || command.anytime)) {
      void this.#runCommand(command, input, parsed?.args ?? "");
    } else if (this.#job) {
      const takesText = this.#job.kind === "turn" && !this.#job.abort.signal.aborted;
      this.#waiting.add(input, command ? "command" : "message", takesText);
    } else {
      void this.#turn(input, "typed");
    }
    this.#front.changed();
  }

  /** A key was pressed, whatever it was: a question that just came up waits while somebody types. */
  typed(): void {
    this.#asks.typed();
  }

  /** Esc: refuses an open question and interrupts what runs. Gives false when there is nothing. */
  escape(): boolean {
    if (!this.#job) return false;
    this.#asks.refuseAll();
    this.#job.abort.abort();
    this.#front.changed();
    return true;
  }

  /** Ctrl-C at an empty prompt or while something runs. */
  ctrlC(): void {
    const twice = this.#clock.now() - this.#lastCtrlC < TWICE_MS;
    this.#lastCtrlC = this.#clock.now();
    if (this.#job) {
      if (this.#job.abort.signal.aborted) this.quit(130);
      else this.escape();
    } else if (twice) {
      this.quit(0);
    } else {
      this.#hint = "Press Ctrl-C again to leave";
      this.#clock.after(TWICE_MS, () => {
        this.#hint = null;
        this.#front.changed();
      });
      this.#front.changed();
    }
  }

  /**
   * Leaves. A running turn is aborted first and given a moment to stop its commands; when it was
   * aborted before, or this is the second try, nothing waits for it.
   */
  quit(code: number): void {
    const stopping = this.#left || this.#job === null || this.#job.abort.signal.aborted;
    this.#left = true;
    this.#asks.refuseAll();
    this.#job?.abort.abort();
    this.#exitCode ??= code;
    if (stopping) this.#leave();
    else this.#clock.after(LEAVE_MS, () => this.#leave());
  }

  #leave(): void {
    this.#clock.stop();
    this.#resolve(this.#exitCode ?? 0);
  }

  /** What is going on, in at most `size.rows` rows. */
  liveRows(size: Size): Row[] {
    return this.#transcript.rows(size);
  }

  /** The rows right above the prompt: a question, or the status and what waits. */
  statusRows(): Row[] {
    const { theme } = this.#deps;
    const question = this.#asks.question();
    if (question) {
      return question.map((text, i) => ({ text, paint: i === 0 ? theme.strong : theme.faint }));
    }
    if (!this.#job) return this.#hint === null ? [] : [{ text: this.#hint, paint: theme.faint }];
    const { tally, startedAt, retrying, abort } = this.#job;
    const text = statusText(tally, {
      elapsedMs: this.#clock.now() - startedAt,
      retrying,
      stopping: abort.signal.aborted,
      asking: this.#asks.waits,
    });
    const rows = [text, ...waitingRows(this.#waiting.texts())];
    return rows.map((row) => ({ text: row, paint: theme.faint }));
  }

  async #turn(text: string, source: UserSource): Promise<void> {
    const job = this.#begin("turn");
    const { tally, abort } = job;
    if (source === "typed") this.#echo(text);
    else this.#transcript.input(text);
    try {
      const control = { signal: abort.signal, ask: this.#ask };
      for await (const event of this.#deps.run(text, source, control)) {
        if (!this.#left) this.#event(event, job);
      }
    } catch (error) {
      if (!this.#left) this.#failed(error, job);
    }
    if (this.#left) return this.#leave();
    if (tally.ms === 0) tally.ms = this.#clock.now() - job.startedAt;
    this.#transcript.finish();
    this.#transcript.note(endLine(tally, this.#deps.theme));
    this.#end();
    await this.#afterTurn(tally.reason);
  }

  #ask: Ask = (request, signal) =>
    this.#left ? Promise.resolve({ decision: "deny" }) : this.#asks.ask(request, signal);

  /** Shows what was typed, unless it is there already. */
  #echo(text: string): void {
    if (!this.#front.echoes) this.#transcript.input(text);
  }

  #event(event: AgentEvent, job: Job): void {
    job.tally.add(event);
    if (event.type === "retry") job.retrying = event.reason;
    else if (event.type !== "warn") job.retrying = null;
    if (event.type === "steer") this.#waiting.sent(event.text);
    this.#transcript.event(event);
    this.#front.changed();
  }

  /** A turn that threw: its own fault, told in one line. */
  #failed(error: unknown, { tally, abort }: Job): void {
    tally.reason = abort.signal.aborted ? "interrupt" : "crash";
    if (abort.signal.aborted) return;
    const message = error instanceof Error ? error.message : String(error);
    const hint = "The session is kept; try again, or /exit and resume it.";
    this.#transcript.note(errorLine({ message, hint }, this.#deps.theme));
  }

  /** What was typed meanwhile: the next turn, or back into the prompt when this one went wrong. */
  async #afterTurn(reason: EndReason): Promise<void> {
    if (reason !== "done") {
      const { messages, commands } = this.#waiting.takeAll();
      if (messages.length > 0) this.#front.restore(messages.join("\n"));
      for (const command of commands) this.note(`Not run: ${command}`);
      return this.#front.changed();
    }
    const next = this.#waiting.next();
    if (next?.kind === "message") await this.#turn(next.text, "queued");
    else if (next) this.submit(next.text);
    this.#front.changed();
  }

  async #runCommand(command: Command, input: string, args: string): Promise<void> {
    const job = this.#job ? null : this.#begin("command");
    const { signal } = job?.abort ?? new AbortController();
    this.#echo(input);
    const { theme } = this.#deps;
    let prompt: string | undefined;
    try {
      const outcome = await command.run(args, {
        print: (text) => this.note(text),
        show: (lines) => this.#transcript.note(lines.join("\n")),
        event: (event) => job ? this.#event(event, job) : this.#transcript.event(event),
        theme,
        columns: this.#front.size().columns,
        signal,
        ask: this.#ask,
      });
      if (outcome?.exit) this.quit(0);
      prompt = outcome?.prompt;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (!signal.aborted) this.#transcript.note(errorLine({ message }, theme));
    }
    if (this.#left) return job ? this.#leave() : undefined;
    if (job) this.#end();
    if (prompt !== undefined && this.#job) this.#waiting.add(prompt, "message", false);
    else if (prompt !== undefined) await this.#turn(prompt, "command");
    else if (job) await this.#afterTurn(signal.aborted ? "interrupt" : "done");
  }

  #begin(kind: Job["kind"]): Job {
    const job: Job = {
      kind,
      abort: new AbortController(),
      startedAt: this.#clock.now(),
      tally: new TurnTally(),
      retrying: null,
    };
    this.#job = job;
    this.#tick(job);
    return job;
  }

  /** The seconds in the status go on while this job runs. */
  #tick(job: Job): void {
    if (this.#job !== job || this.#left) return;
    this.#front.changed();
    this.#clock.after(1000, () => this.#tick(job));
  }

  #end(): void {
    this.#asks.refuseAll();
    this.#job = null;
    this.#front.changed();
  }
}
