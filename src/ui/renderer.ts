// What every way of showing a turn has in common: it is handed the events one by one and, at the end,
// a summary. Also here: the tally that makes the summary from the events, so that all renderers and
// the exit code agree on it. Not here: how anything looks.

import type { AgentEvent } from "../loop/events.ts";
import type { Usage } from "../provider/provider.ts";
import type { EndReason } from "../session/records.ts";

/** A call that was refused for permission. */
export interface DeniedCall {
  tool: string;
  title: string;
  /** One line: why. */
  reason: string;
}

/** A turn in one object; what `--output json` prints. */
export interface TurnSummary {
  session: string;
  /** Text of the last reply; at a limit it says which. */
  answer: string;
  /** Exit code of the process (spec/terminal). */
  exit: number;
  reason: EndReason;
  /** Model requests made. */
  steps: number;
  /** Tokens of all requests of the turn together. */
  usage: Usage;
  /** US dollars; null when the price of a request is not known. */
  cost: number | null;
  denied: DeniedCall[];
}

export interface Renderer {
  /** Shows one event. Never throws; a reader that went away is no error. */
  event(event: AgentEvent): void;
  /** Called once, last. Resolves when all is written. Rejects when the output could not be written. */
  end(summary: TurnSummary): void | Promise<void>;
}

/** Adds up the events of one turn. */
export class TurnTally {
  session = "";
  answer = "";
  reason: EndReason = "crash";
  detail: string | null = null;
  steps = 0;
  usage: Usage = { input: 0, output: 0, cached: 0 };
  /** Null once a request of unknown price was made. */
  cost: number | null = 0;
  /** Size of the last request, and of the model's window where it is known. */
  contextTokens = 0;
  window: number | null = null;
  model = "";
  /** Milliseconds of the whole turn, known at its end. */
  ms = 0;
  denied: DeniedCall[] = [];
  #titles = new Map<string, string>();

  add(event: AgentEvent): void {
    this.session = event.session;
    this.steps = Math.max(this.steps, event.step);
    switch (event.type) {
      case "turn_start":
        this.model = event.model;
        break;
      case "call_start":
        this.#titles.set(event.call, event.title);
        break;
      case "call_end":
        if (event.status === "refused") {
          const title = this.#titles.get(event.call) ?? "";
          this.denied.push({ tool: event.tool, title, reason: event.summary });
        }
        break;
      case "usage": {
        const { input, output, cached } = event.usage;
        this.usage = {
          input: this.usage.input + input,
          output: this.usage.output + output,
          cached: this.usage.cached + cached,
        };
        this.cost = this.cost === null || event.costUsd === null ? null : this.cost + event.costUsd;
        this.contextTokens = event.contextTokens;
        this.window = event.window;
        break;
      }
      case "turn_end":
        this.reason = event.reason;
        this.answer = event.answer;
        this.detail = event.detail ?? null;
        this.steps = event.steps;
        this.ms = event.ms;
        break;
    }
  }

  summary(exit: number): TurnSummary {
    const { session, answer, reason, steps, usage, cost, denied } = this;
    return { session, answer, exit, reason, steps, usage, cost, denied };
  }
}
