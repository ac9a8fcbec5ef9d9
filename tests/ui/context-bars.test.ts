import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { LedgerLine } from "../../src/context/ledger.ts";
import type { ContextReport } from "../../src/context/report.ts";
import { previewLines, undoneLines } from "../../src/ui/compact-lines.ts";
import { makeTheme } from "../../src/ui/colors.ts";
import { type ContextDrawing, contextLines } from "../../src/ui/context-bars.ts";
import { width } from "../../src/ui/text.ts";
import { PLAIN } from "../../src/ui/theme.ts";

function line(n: number, more: Partial<LedgerLine> = {}): LedgerLine {
  return {
    turn: 1,
    step: n,
    t: "2026-01-01T00:00:00.000Z",
    model: "some-model",
    window: 100_000,
    blocks: [
      { name: "tools", tokens: 1000, hash: "0" },
      { name: "system", tokens: 500, hash: "1" },
      { name: "results", tokens: 8000, hash: "2" },
      { name: "memory", tokens: 10, hash: "3" },
      { name: "files", tokens: 490, hash: "4" },
    ],
    raw: 10_000,
    estimate: 10_000,
    predicted: 8000,
    tail: [],
    input: 10_500,
    cached: 7350,
    output: 100,
    ...more,
  };
}

function report(requests: LedgerLine[], more: Partial<ContextReport> = {}): ContextReport {
  return {
    session: "0abc",
    window: 100_000,
    requests,
    compactions: [],
    totals: {
      requests: requests.length,
      counted: requests.length,
      input: 21_000,
      cached: 14_700,
      output: 200,
      estimate: 20_000,
      predicted: 16_000,
      predictedOf: 20_000,
      broken: 0,
    },
    ...more,
  };
}

const draw = (drawing: Partial<ContextDrawing> & { report: ContextReport }, columns = 80) =>
  contextLines({ all: "--json has all", ...drawing }, PLAIN, columns);

describe("the context as bars", () => {
  it("80 columns: window, parts with tokens and share of the window, requests, totals", () => {
    const lines = draw({
      report: report([
        line(1, { predicted: 0, cached: 0 }),
        line(2, { broke: { block: "summary", why: "the history was compacted" } }),
      ]),
    });
    assert.deepEqual(lines, [
      "Session 0abc · 2 requests · some-model",
      "",
      "Last request: about 10.0k of 100.0k tokens (10%), compacted from 71.4k on",
      `              ████▉${"░".repeat(44)}`,
      "  part        bar: share of the request                          tokens  window",
      `  tools       ████▉${" ".repeat(44)}    1.0k      1%`,
      `  system      ██▌${" ".repeat(46)}     500      1%`,
      `  results     ${"█".repeat(39)}▎${" ".repeat(9)}    8.0k      8%`,
      `  memory      ▏${" ".repeat(48)}      10      0%`,
      `  files       ██▍${" ".repeat(46)}     490      0%`,
      "",
      "  step estimate reported cached (expected)",
      "   1.1    10.0k    10.5k      0% (–)",
      "   1.2    10.0k    10.5k   70% (80%)  broke: summary (the history was compacted)",
      "",
      "total: 21.0k tokens in, 200 out · 70% cached · 80% expected",
    ]);
  });

  for (const columns of [40, 80, 200]) {
    it(`no line is wider than ${columns} columns, coloured or not, and colours change no text`, () => {
      const drawing: ContextDrawing = {
        report: report([
          line(1, {
            model: "m".repeat(300),
            broke: { block: "tools", why: `the model changed (${"漢".repeat(300)})` },
          }),
        ]),
        all: "a".repeat(300),
      };
      const plain = contextLines(drawing, PLAIN, columns);
      for (const text of plain) assert.ok(width(text) <= columns, text);
      const painted = contextLines(drawing, makeTheme(true), columns);
      assert.ok(painted.join("").includes("\x1b["));
      assert.deepEqual(painted.map((text) => text.replaceAll(/\x1b\[\d+m/g, "")), plain);
      assert.ok(!plain.join("").includes("\x1b"));
    });
  }

  it("a wide terminal has longer bars, but no endless ones", () => {
    const longest = (columns: number) =>
      Math.max(...draw({ report: report([line(1)]) }, columns).map(width));
    assert.equal(longest(80), 79);
    assert.equal(longest(200), 90);
  });

  it("lists the newest requests and says how many are left out", () => {
    const lines = draw({ report: report(Array.from({ length: 25 }, (_, i) => line(i + 1))) });
    assert.ok(lines.includes("  … 5 earlier left out; --json has all"));
    assert.ok(!lines.some((text) => text.startsWith("   1.5 ")));
    assert.ok(lines.some((text) => text.startsWith("   1.6 ")));
    assert.ok(lines.some((text) => text.startsWith("  1.25 ")));
  });

  it("without window or reported tokens it shows what is known", () => {
    const requests = [line(1, { input: null, cached: null, output: null, window: null })];
    const bare = report(requests, { window: null });
    bare.totals.counted = 0;
    const text = draw({ report: bare }).join("\n");
    assert.match(text, /about 10\.0k tokens \(window not known\)/);
    assert.match(text, /tokens {3}share\n/);
    assert.match(text, /8\.0k {5}80%/);
    assert.match(text, /10\.0k {8}– {5}– \(80%\)/);
    assert.match(text, /total: 20\.0k tokens in \(estimated\)$/);
    assert.ok(!text.includes("░"));
  });

  it("a session without requests says so, with the next request it draws that", () => {
    const empty = report([], { window: null });
    assert.match(draw({ report: empty }).join("\n"), /0 requests\nNo request has been sent/);
    const next = draw({ report: empty, next: line(1) }).join("\n");
    assert.match(next, /Next request: about 10\.0k/);
    assert.doesNotMatch(next, /reported|total/);
  });

  it("names compactions, also one that was taken back", () => {
    const compaction = {
      turn: 1,
      step: 1,
      t: "",
      by: "mechanical" as const,
      before: 9e4,
      after: 1e4,
    };
    const text = (undone: boolean) =>
      draw({ report: report([line(1)], { compactions: [{ ...compaction, undone }] }) })[1];
    assert.equal(
      text(false),
      "compacted once, last 90.0k → 10.0k tokens (summary made without the model)",
    );
    assert.equal(text(true), "compacted once, last 90.0k → 10.0k tokens (taken back)");
  });

  it("text of records cannot steer the terminal", () => {
    const evil = "\x1b]0;owned\x07\u202e";
    const broke = { block: "tools" as const, why: evil };
    const blocks = [{ name: evil as "tools", tokens: 1, hash: "" }]; // of a newer release
    const request = line(1, { model: evil, broke, blocks });
    const text = draw({ report: report([request], { session: evil }) }, 200).join("\n");
    assert.ok(text.includes("\\x1b]0;owned\\x07\\u202e"));
    assert.ok(!/[\x1b\x07\u202e]/.test(text));
  });
});

describe("compaction in words", () => {
  const preview = {
    turns: [1, 3] as [number, number],
    records: 14,
    words: 3,
    kept: 1,
    before: 112_000,
    goes: 80_000,
    after: 33_000,
  };
  it("the preview says what goes, what is kept, and that nothing happened", () => {
    assert.deepEqual(previewLines(preview), [
      "/compact would put a summary in the place of turns 1 to 3 (14 records): about 80.0k of 112.0k tokens.",
      "Kept word for word: your 3 messages and the newest turn.",
      "Memory, FILE STATE, rules and the system prompt are not touched.",
      "After it about 33.0k tokens, if the summary is as long as one made without the model.",
      "Nothing was changed, and no model was asked.",
    ]);
    assert.match(previewLines({ ...preview, kept: 0 })[1] ?? "", /your 3 messages\.$/);
    assert.match(
      previewLines({ ...preview, after: 112_000 }).join("\n"),
      /nothing would be gained/,
    );
    assert.match(previewLines(null).join("\n"), /Nothing can be left out/);
  });
  it("taking back says what is back, and when it will not last", () => {
    const undone = { turns: [2, 2] as [number, number], records: 1, before: 3e4, after: 9e4 };
    assert.deepEqual(undoneLines({ ...undone, isFull: false }), [
      "Taken back: turn 2 (1 record) word for word again, about 30.0k → 90.0k tokens.",
    ]);
    assert.match(undoneLines({ ...undone, isFull: true })[1] ?? "", /compact it again/);
    assert.match(undoneLines(null)[0] ?? "", /Nothing to take back/);
  });
});
