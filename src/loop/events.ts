// What happens in a session, for whoever shows it. Terminal, print and JSON stream are renderers of
// this one stream; the loop knows none of them. Schema version 1, printed by --output stream-json.

import type { Usage } from "../provider/provider.ts";
import type { Effect, EndReason, Loaded, ResultStatus, UserSource } from "../session/records.ts";

export const EVENT_VERSION = 1;

/** On every event: which session, turn and step, and when (ISO time). */
export interface EventBase {
  session: string;
  turn: number;
  step: number;
  time: string;
}

export type EventBody =
  | { type: "turn_start"; text: string; source: UserSource; model: string; provider: string }
  /** A queued message entered the turn. */
  | { type: "steer"; text: string }
  | { type: "text"; text: string }
  | { type: "reasoning"; text: string }
  /** The reply is complete and its calls run now. `title` is the call in one line. */
  | { type: "call_start"; call: string; tr: string; tool: string; title: string; args: unknown }
  /** Live output of a running call. */
  | { type: "call_output"; call: string; text: string }
  | {
    type: "call_end";
    call: string;
    tr: string;
    tool: string;
    status: ResultStatus;
    /** One line for people. */
    summary: string;
    /** What the model sees. */
    text: string;
    /** For people only (a diff). */
    display?: string;
    ms: number;
  }
  /** Announces a question; the answer comes from `deps.ask`. */
  | { type: "ask"; call: string; tool: string; title: string; effects: Effect[]; preview: string }
  | {
    type: "usage";
    usage: Usage;
    /** The provider counted nothing; these are estimates. */
    estimated: boolean;
    costUsd: number | null;
    contextTokens: number;
    window: number | null;
  }
  /** An attempt failed and another starts after `waitMs`; text shown of this reply is void. */
  | { type: "retry"; attempt: number; waitMs: number; reason: string }
  /** A rule or a skill entered the context; the tool Skill shows as a call. `name` is for people. */
  | { type: "loaded"; kind: Loaded["kind"]; name: string; path: string }
  /** The history was made shorter; tokens of the request before and after, estimated. */
  | {
    type: "compact";
    how: "model" | "mechanical" | "folded";
    before: number;
    after: number;
    why?: string;
  }
  | { type: "warn"; message: string }
  | { type: "error"; message: string; hint?: string }
  | {
    type: "turn_end";
    reason: EndReason;
    answer: string;
    steps: number;
    detail?: string;
    ms: number;
  };

export type AgentEvent = EventBase & EventBody;
