// When to try again and how long to wait.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { ProviderFailure } from "../../src/provider/provider.ts";
import {
  cutFailure,
  isRetryableStatus,
  MAX_TRIES,
  RETRY_BUDGET_MS,
  retryAfter,
  retryDelay,
  waitFor,
  waitInText,
} from "../../src/provider/retry.ts";
import { RUNS } from "./support.ts";

const failure = (changes: Partial<ProviderFailure> = {}): ProviderFailure => ({
  message: "x",
  code: null,
  retryable: true,
  ...changes,
});

describe("retryDelay", () => {
  it("gives up at once on what does not pass", () => {
    assert.equal(retryDelay(failure({ retryable: false }), 1, 0, 0.5), null);
  });

  it("grows, with full jitter", () => {
    const ceilings = [1, 2, 3, 4, 5, 6, 7].map((attempt) => retryDelay(failure(), attempt, 0, 1));
    assert.deepEqual(ceilings, [500, 1000, 2000, 4000, 8000, 16_000, 32_000]);
    assert.equal(retryDelay(failure(), 5, 0, 0), 0);
    assert.equal(retryDelay(failure(), 5, 0, 0.25), 2000);
  });

  it("ends after eight tries or five minutes", () => {
    assert.equal(retryDelay(failure(), MAX_TRIES, 0, 0), null);
    assert.notEqual(retryDelay(failure(), MAX_TRIES - 1, 0, 0), null);
    assert.equal(retryDelay(failure(), 1, RETRY_BUDGET_MS + 1, 0), null);
  });

  it("waits as told, plus a little", () => {
    assert.equal(retryDelay(failure({ retryAfterMs: 1500 }), 1, 0, 0), 1500);
    assert.equal(retryDelay(failure({ retryAfterMs: 0 }), 1, 0, 0), 0);
    const jittered = retryDelay(failure({ retryAfterMs: 1500 }), 1, 0, 0.99) ?? 0;
    assert.ok(jittered > 1500 && jittered <= 1750);
  });

  it("CX-10: fails at once when told to wait longer than it would try", () => {
    assert.equal(retryDelay(failure({ retryAfterMs: 1_382_400_000 }), 1, 0, 0), null);
    assert.equal(retryDelay(failure({ retryAfterMs: 200_000 }), 3, 150_000, 0), null);
    assert.equal(retryDelay(failure({ retryAfterMs: 200_000 }), 3, 90_000, 0), 200_000);
  });

  it("never waits past the budget and never tries more than eight times", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            wait: fc.option(fc.nat({ max: 400_000 })),
            random: fc.double({ min: 0, max: 0.999, noNaN: true }),
          }),
          { minLength: 20, maxLength: 20 },
        ),
        (failures) => {
          let elapsed = 0;
          let tries = 1;
          for (const { wait, random } of failures) {
            const delay = retryDelay(
              failure(wait === null ? {} : { retryAfterMs: wait }),
              tries,
              elapsed,
              random,
            );
            if (delay === null) break;
            elapsed += delay;
            tries++;
          }
          assert.ok(tries <= MAX_TRIES && elapsed <= RETRY_BUDGET_MS + 1);
        },
      ),
      { numRuns: 50 * RUNS },
    );
  });

  it("tries a cut reply again", () => assert.notEqual(retryDelay(cutFailure(), 1, 0, 0), null));
});

describe("isRetryableStatus", () => {
  it("is true for what passes by itself", () => {
    for (const status of [408, 409, 425, 429, 500, 502, 503, 504, 524, 529]) {
      assert.ok(isRetryableStatus(status));
    }
    for (const status of [200, 301, 400, 401, 402, 403, 404, 405, 413, 422, 451, 600]) {
      assert.ok(!isRetryableStatus(status));
    }
  });
});

describe("waits in headers", () => {
  const wait = (headers: Record<string, string>) =>
    retryAfter(new Headers(headers), Date.parse("2026-01-01T00:00:00Z"));
  it("in seconds, milliseconds, as a date", () => {
    assert.equal(wait({ "retry-after": "20" }), 20_000);
    assert.equal(wait({ "retry-after": "1.5" }), 1500);
    assert.equal(wait({ "retry-after-ms": "300", "retry-after": "20" }), 300);
    assert.equal(wait({ "retry-after": "Thu, 01 Jan 2026 00:01:00 GMT" }), 60_000);
    assert.equal(wait({ "retry-after": "Wed, 31 Dec 2025 00:00:00 GMT" }), 0);
  });
  it("or not at all", () => {
    for (const value of ["", "soon", "-5"]) {
      assert.equal(wait({ "retry-after": value }), undefined, value);
    }
    assert.equal(wait({}), undefined);
  });
});

describe("waits in words", () => {
  const table: [string, number | undefined][] = [
    ["Rate limit reached. Please try again in 1.5s.", 1500],
    ["Please try again in 300ms", 300],
    ["try again in 0.3s", 300],
    ["Please retry after 20 seconds.", 20_000],
    ["Please retry in 32.497s.", 32_497],
    ["try again in 6m0s", 360_000],
    ["try again in 1h2m3.5s", 3_723_500],
    ["Try again in 2 minutes and 5 seconds", 125_000],
    ["RETRY AFTER 2 MINUTES", 120_000],
    ["quota exhausted, resets in 16 days", 16 * 86_400_000],
    ["Please wait 30 seconds before trying again", 30_000],
    ["limit resets after 5 min", 300_000],
    ["try again later", undefined],
    ["Limit 30000, Used 28000, Requested 4000", undefined],
    ["the 3 models are available", undefined],
    ["retry in 5 apples", undefined],
  ];
  for (const [text, ms] of table) it(text, () => assert.equal(waitInText(text), ms));
});

describe("waitFor", () => {
  it("waits, and stops waiting when aborted", async () => {
    assert.equal(await waitFor(1, new AbortController().signal), true);
    const abort = new AbortController();
    const waiting = waitFor(60_000, abort.signal);
    abort.abort();
    assert.equal(await waiting, false);
    assert.equal(await waitFor(60_000, abort.signal), false);
  });
});
