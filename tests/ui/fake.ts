// Stand-ins for tests of the renderers: an output that keeps what is written, events with their base
// filled in, a clock that is moved by hand.

import type { AgentEvent, EventBody } from "../../src/loop/events.ts";
import type { Out } from "../../src/ui/out.ts";
import type { Clock } from "../../src/ui/terminal/clock.ts";

export interface FakeOut extends Out {
  text: string;
}

export function fakeOut(isTTY = false, text?: { text: string }): FakeOut {
  const shared = text ?? { text: "" };
  return {
    isTTY,
    closed: new AbortController().signal,
    write(more) {
      shared.text += more;
    },
    drained: () => Promise.resolve(),
    get text() {
      return shared.text;
    },
    set text(value) {
      shared.text = value;
    },
  };
}

export function at(body: EventBody, step = 1): AgentEvent {
  return { session: "s1", turn: 1, step, time: "2026-01-01T00:00:00.000Z", ...body };
}

export const start = (call: string, tool: string, title: string, step = 1): AgentEvent =>
  at({ type: "call_start", call, tr: "tr.1", tool, title, args: {} }, step);

export const end = (
  call: string,
  tool: string,
  summary: string,
  more: Partial<Extract<EventBody, { type: "call_end" }>> = {},
): AgentEvent =>
  at({
    type: "call_end",
    call,
    tr: "tr.1",
    tool,
    status: "ok",
    summary,
    text: summary,
    ms: 1,
    ...more,
  });

export const usage = (
  input: number,
  output: number,
  cached: number,
  costUsd: number | null,
): AgentEvent =>
  at({
    type: "usage",
    usage: { input, output, cached },
    estimated: false,
    costUsd,
    contextTokens: input,
    window: 100_000,
  });

export const turnEnd = (
  answer: string,
  more: Partial<Extract<EventBody, { type: "turn_end" }>> = {},
): AgentEvent => at({ type: "turn_end", reason: "done", answer, steps: 2, ms: 1500, ...more }, 2);

export interface FakeClock extends Clock {
  /** Moves time on and calls what is due, in order. */
  pass(ms: number): void;
}

export function fakeClock(): FakeClock {
  let now = 0;
  let waiting: { at: number; call: () => void }[] = [];
  return {
    now: () => now,
    after(ms, call) {
      const entry = { at: now + ms, call };
      waiting.push(entry);
      return () => (waiting = waiting.filter((other) => other !== entry));
    },
    stop: () => (waiting = []),
    pass(ms) {
      const until = now + ms;
      while (true) {
        const due = waiting.filter((entry) => entry.at <= until).sort((a, b) => a.at - b.at)[0];
        if (!due) break;
        waiting = waiting.filter((entry) => entry !== due);
        now = due.at;
        due.call();
      }
      now = until;
    },
  };
}
