// Limits of a turn: steps, money, tokens, wall time. Each says which it is and how to raise it.

import type { Prices } from "../provider/profiles.ts";
import type { Usage } from "../provider/provider.ts";
import type { EndReason } from "../session/records.ts";

export interface TurnLimits {
  steps: number;
  budgetUsd?: number;
  budgetTokens?: number;
  /** Seconds of wall time. */
  timeout?: number;
}

/** Cost of one reply in USD, or null when the model's prices are not known. */
export function costOf(usage: Usage, prices: Prices | null): number | null {
  if (!prices) return null;
  const fresh = usage.input - usage.cached;
  const cached = usage.cached * (prices.cached ?? prices.input);
  return (fresh * prices.input + cached + usage.output * prices.output) / 1e6;
}

/** What a turn has used so far. */
export interface Spent {
  steps: number;
  tokens: number;
  usd: number;
}

/** The limit that forbids another step, with what to say about it; null while there is room. */
export function limitReached(
  spent: Spent,
  limits: TurnLimits,
): { reason: EndReason; message: string } | null {
  const { steps, budgetUsd, budgetTokens } = limits;
  if (spent.steps >= steps) {
    return {
      reason: "steps",
      message: `Stopped after ${steps} steps: raise it with --max-steps, or continue with -c.`,
    };
  }
  if (budgetUsd !== undefined && spent.usd >= budgetUsd) {
    return {
      reason: "budget",
      message: `Stopped: $${
        spent.usd.toFixed(4)
      } of the budget of $${budgetUsd} are spent. Raise it with --budget-usd, or continue with -c.`,
    };
  }
  if (budgetTokens !== undefined && spent.tokens >= budgetTokens) {
    return {
      reason: "budget",
      message:
        `Stopped: ${spent.tokens} of the budget of ${budgetTokens} tokens are used. Raise it with --budget-tokens, or continue with -c.`,
    };
  }
  return null;
}

/** A warning once 80 % of a budget is used. */
export function budgetWarning(spent: Spent, limits: TurnLimits): string | null {
  const { budgetUsd, budgetTokens } = limits;
  if (budgetUsd !== undefined && spent.usd >= 0.8 * budgetUsd) {
    return `$${spent.usd.toFixed(4)} of the budget of $${budgetUsd} are spent`;
  }
  if (budgetTokens !== undefined && spent.tokens >= 0.8 * budgetTokens) {
    return `${spent.tokens} of the budget of ${budgetTokens} tokens are used`;
  }
  return null;
}
