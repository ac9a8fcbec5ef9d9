// When to try a request again and how long to wait: pure policy, and how providers spell a wait. What
// a failure is and whether it may pass by itself is decided in failure.ts; the loop does the trying.

import { setTimeout as pass } from "node:timers/promises";
import type { ProviderFailure } from "./provider.ts";

/** At most this many requests for one reply. */
export const MAX_TRIES = 8;

/** No reply is tried for longer than this, waits included; milliseconds. */
export const RETRY_BUDGET_MS = 5 * 60_000;

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 60_000;
/** Added at random to a wait that the server named, so that clients do not come back in step. */
const SERVER_JITTER_MS = 250;

/** HTTP statuses of faults that pass: timeouts, conflicts, limits, and the server's own troubles. */
export function isRetryableStatus(status: number): boolean {
  return [408, 409, 425, 429].includes(status) || (status >= 500 && status < 600);
}

/**
 * Milliseconds to wait before the next try, or null to give up and show `failure`.
 *
 * @param attempt How many requests have failed, 1 after the first.
 * @param elapsedMs Time since the first request was sent.
 * @param random A number in [0, 1): exponential back-off with full jitter.
 */
export function retryDelay(
  failure: ProviderFailure,
  attempt: number,
  elapsedMs: number,
  random: number = Math.random(),
): number | null {
  if (!failure.retryable || attempt >= MAX_TRIES) return null;
  const wait = failure.retryAfterMs === undefined
    ? random * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempt - 1))
    : failure.retryAfterMs + random * SERVER_JITTER_MS;
  return elapsedMs + wait > RETRY_BUDGET_MS ? null : Math.round(wait);
}

/** Waits; true when the time has passed, false as soon as `signal` is aborted. */
export function waitFor(ms: number, signal: AbortSignal): Promise<boolean> {
  return pass(ms, true, { signal }).catch(() => false);
}

const UNIT_MS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const PART =
  "(\\d+(?:\\.\\d+)?)\\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)(?![a-z])";
/** "try again in 1.5s", "resets in 16 days", "wait 2 minutes and 5 seconds". */
const WAIT = new RegExp(
  "(?:(?:again|retry|resets?|available)[^.\\d]{0,30}?(?:in|after)|wait(?: for| at least| about)*)" +
    `((?:(?:\\s|,|and)*${PART})+)`,
  "i",
);

/** The wait that a sentence names, in milliseconds. */
export function waitInText(text: string): number | undefined {
  const wait = WAIT.exec(text)?.[1];
  if (wait === undefined) return undefined;
  let ms = 0;
  for (const [, number, unit = ""] of wait.matchAll(new RegExp(PART, "gi"))) {
    ms += Number(number) *
      (/^(ms|milli)/i.test(unit) ? 1 : UNIT_MS[unit.charAt(0).toLowerCase()] ?? 0);
  }
  return Math.round(ms);
}

/** The wait that headers name: `retry-after-ms`, or `retry-after` in seconds or as a date. */
export function retryAfter(headers: Headers, now: number = Date.now()): number | undefined {
  const ms = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  if (ms >= 0) return Math.round(ms);
  const value = headers.get("retry-after")?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(value)) return Math.round(Number(value) * 1000);
  const date = /^[a-z]{3}/i.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** A wait in words. */
export function spellWait(ms: number): string {
  const hours = ms / 3_600_000;
  if (hours >= 48) return `${Math.round(hours / 24)} days`;
  return hours >= 2 ? `${Math.round(hours)} hours` : `${Math.round(hours * 60)} minutes`;
}

/** The failure of a stream that ended without a terminal signal (`finish` is `incomplete`). */
export function cutFailure(): ProviderFailure {
  return {
    message: "The provider ended the reply before it was complete",
    code: "incomplete",
    retryable: true,
    hint: "Nothing of it was run. Try again.",
  };
}
