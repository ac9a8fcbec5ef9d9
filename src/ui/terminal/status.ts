// The status line of a running turn and the lines of what waits for it. Plain text; the screen cuts it.

import { dollars, oneLine, percent, seconds } from "../lines.ts";
import type { TurnTally } from "../renderer.ts";

export interface StatusNow {
  elapsedMs: number;
  /** Why the last attempt failed, while the next one is under way. */
  retrying: string | null;
  /** The turn was interrupted and has not ended yet. */
  stopping: boolean;
  /** A question is shown that takes no answer while somebody types. */
  asking: boolean;
}

/** `model · step 3 · ctx 12% · 80% cached · $0.03 · 12 s · Esc interrupts` */
export function statusText(tally: TurnTally, now: StatusNow): string {
  const { model, steps, usage, cost, contextTokens, window } = tally;
  const parts = [
    now.asking ? "a question waits until you stop typing" : "",
    oneLine(model),
    steps > 0 ? `step ${steps}` : "",
    window ? `ctx ${percent(contextTokens, window)}` : "",
    usage.input > 0 ? `${percent(usage.cached, usage.input)} cached` : "",
    cost ? dollars(cost) : "",
    now.elapsedMs < 1000 ? "" : seconds(Math.floor(now.elapsedMs / 1000) * 1000).replace(".0", ""),
    now.retrying === null ? "" : `retrying: ${oneLine(now.retrying)}`,
    now.stopping ? "interrupting … (Ctrl-C again leaves)" : "Esc interrupts",
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

/** Inputs shown while they wait. */
const SHOWN = 3;

/** One row for each of the first waiting inputs. */
export function waitingRows(texts: readonly string[]): string[] {
  const rows = texts.slice(0, SHOWN).map((text) => `queued: ${oneLine(text.slice(0, 500))}`);
  return texts.length > SHOWN ? [...rows, `… ${texts.length - SHOWN} more queued`] : rows;
}
