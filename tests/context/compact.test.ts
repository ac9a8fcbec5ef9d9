import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import fc from "fast-check";
import { boardOf } from "../../src/context/board.ts";
import {
  limitsOf,
  type Plan,
  planCompaction,
  planFolds,
  replacement,
} from "../../src/context/compact.ts";
import { mechanicalSummary, parseSummary, summaryMessages } from "../../src/context/summary.ts";
import { compose } from "../../src/context/compose.ts";
import { estimateTokens } from "../../src/context/tokens.ts";
import type { SessionRecord } from "../../src/session/records.ts";
import { assertPaired, end, finishedTurn, header, record, reply, result, user } from "./support.ts";

const RUNS = Number(process.env["NANOCODE_RUNS"] ?? 1);

const messagesOf = (records: SessionRecord[]) =>
  compose({
    records,
    system: "system",
    today: "2026-01-02",
    files: [],
    placement: "inline",
    window: 100_000,
    image: () => null,
  }).messages;

/** The records with the compaction that a plan leads to. */
function compacted(records: SessionRecord[], plan: Plan, summary = mechanicalSummary(plan)) {
  const { texts } = replacement(plan, summary, [], records, 100_000);
  const through = plan.through;
  return [
    ...records,
    record({
      type: "compact",
      through,
      by: "mechanical",
      texts,
      results: [],
      tokens: { before: 2, after: 1 },
      turn: records.at(-1)?.turn ?? 1,
    }),
  ];
}

describe("what is compacted", () => {
  const three = () => [
    header(),
    ...finishedTurn(1, 3),
    ...finishedTurn(2, 3),
    user("never touch tests/", 3),
    reply("", ["now"], 3),
    result("now", 9001, 3),
  ];

  it("finished turns, but not the newest where it is small, and never the turn under way", () => {
    const records = three();
    const plan = planCompaction(records, 100_000, "keep latest");
    assert.deepEqual([...new Set(plan?.old.map(({ turn }) => turn))], [1]);
    const all = planCompaction(records, 100_000, "finished");
    assert.deepEqual([...new Set(all?.old.map(({ turn }) => turn))], [1, 2]);
    const text = JSON.stringify(messagesOf(compacted(records, all as Plan)));
    assert.match(text, /\[turn 1, done\] request 1/);
    assert.ok(!text.includes("c1x0 c1x0"), "the old results are gone");
    assert.match(text, /never touch tests\//);
  });

  it("a large newest turn goes too", () => {
    const records = [header(), ...finishedTurn(1, 2), ...finishedTurn(2, 4, 20_000), user("x", 3)];
    const plan = planCompaction(records, 100_000, "keep latest");
    assert.deepEqual([...new Set(plan?.old.map(({ turn }) => turn))], [1, 2]);
  });

  it("nothing where there is no finished turn; the turn under way only as the last resort, never its last eight steps", () => {
    const one = [header(), ...finishedTurn(1, 20, 2000).slice(0, -2)];
    assert.equal(planCompaction(one, 100_000, "keep latest"), null);
    assert.equal(planCompaction(one, 100_000, "finished"), null);
    const plan = planCompaction(one, 100_000, "in turn");
    assert.equal(plan?.openTurn, 1);
    assert.equal(plan?.old.filter(({ type }) => type === "reply").length, 12);
    const messages = messagesOf(compacted(one, plan as Plan));
    assertPaired(messages);
    assert.match(JSON.stringify(messages), /\[turn 1, under way\] request 1/);
    assert.equal(planCompaction([header(), user("1")], 100_000, "in turn"), null);
  });

  it("for random sessions and every reach: pairs stay whole, the user's words stay, undo restores every byte (CX-01, property)", () => {
    const turns = fc.array(
      fc.record({
        steps: fc.integer({ min: 0, max: 12 }),
        size: fc.integer({ min: 5, max: 3000 }),
      }),
      {
        minLength: 1,
        maxLength: 6,
      },
    );
    fc.assert(
      fc.property(turns, fc.boolean(), (sizes, isOpen) => {
        let records: SessionRecord[] = [header()];
        for (const [i, { steps, size }] of sizes.entries()) {
          records.push(...finishedTurn(i + 1, steps, size));
          if (isOpen && i === sizes.length - 1) records = records.slice(0, -2);
          for (const reach of ["keep latest", "finished", "in turn"] as const) {
            const plan = planCompaction(records, 5000, reach);
            if (!plan) continue;
            const before = messagesOf(records);
            const after = compacted(records, plan);
            const messages = messagesOf(after);
            assertPaired(messages);
            for (let turn = 1; turn <= i + 1; turn++) {
              assert.ok(messages.some(({ text }) => text.includes(`request ${turn}`)));
            }
            const back = record({ type: "uncompact", compact: after.at(-1)?.id });
            assert.deepEqual(messagesOf([...after, back]), before);
            if (i % 2 === 1) records = after;
          }
        }
      }),
      { numRuns: 20 * RUNS },
    );
  });

  it("every cut of the recorded history of CX-01 keeps its pairs", () => {
    const history = readFileSync(
      new URL("../cases/files/CX-01/files/history.jsonl", import.meta.url),
      "utf8",
    )
      .trim().split("\n").map((line) => JSON.parse(line) as Record<string, unknown>);
    const records: SessionRecord[] = [header()];
    let tr = 0;
    for (const message of history) {
      const { role, content, tool_calls: calls, tool_call_id: id } = message;
      if (role === "user") records.push(user(String(content)));
      if (role === "tool") records.push(result(String(id), ++tr, 1, { text: String(content) }));
      if (role === "assistant") {
        const ids = ((calls ?? []) as { id: string }[]).map((call) => call.id);
        records.push(reply(String(content ?? ""), ids));
      }
    }
    for (let cut = 2; cut < records.length; cut++) {
      const part = records.slice(0, cut);
      for (const reach of ["finished", "in turn"] as const) {
        const plan = planCompaction(part, 100_000, reach);
        if (plan) assertPaired(messagesOf(compacted(part, plan)));
      }
    }
  });
});

describe("the summariser's request", () => {
  it("fits whatever the history holds, and shows head and tail of long results (CX-18)", () => {
    const log = Array.from({ length: 3000 }, (_, i) => `ok test ${i}`).join("\n") +
      "\nFAILED: expected 4, got 5\n";
    const records = [
      header(),
      user("why does it fail?"),
      reply("", ["a"]),
      result("a", 7, 1, { header: "Bash npm test", text: log }),
      ...Array.from(
        { length: 200 },
        (_, i) => [reply("", [`b${i}`]), result(`b${i}`, 100 + i, 1, { text: log })],
      )
        .flat(),
      reply("done"),
      end(),
    ];
    const plan = planCompaction(records, 32_000, "finished") as Plan;
    const messages = summaryMessages(plan, 32_000);
    assert.ok(messages.reduce((sum, { text }) => sum + estimateTokens(text), 0) < 18_000);
    const small = summaryMessages(
      planCompaction(records.slice(0, 4).concat(end()), 32_000, "finished") as Plan,
      32_000,
    );
    const text = small[1]?.text ?? "";
    assert.match(text, /tool tr\.7 Bash npm test/);
    assert.match(text, /ok test 0\n/);
    assert.match(text, /FAILED: expected 4, got 5/);
  });
});

describe("a summary", () => {
  const keys = new Set(["tr.1", "tr.2"]);

  it("is read from plain, fenced and talkative answers; wrong types and unknown keys are left out", () => {
    const json =
      `{"summary":"s","decisions":"one","open":["a",3,null,"b"],"results":["tr.1 the log","tr.99"]}`;
    for (
      const text of [json, "```json\n" + json + "\n```", `Here you are:\n${json}\nAnything else?`]
    ) {
      const summary = parseSummary(text, keys);
      assert.equal(summary?.summary, "s");
      assert.deepEqual(summary?.decisions, ["one"]);
      assert.deepEqual(summary?.open, ["a", "b"]);
      assert.deepEqual(summary?.results, ["tr.1"]);
    }
  });

  it("is none where the answer is empty, cut, a list, without summary, or no JSON", () => {
    for (
      const text of [
        "",
        "{",
        '{"summary": "s',
        "[]",
        '{"summary": ""}',
        '{"summary": 3}',
        "I cannot.",
      ]
    ) {
      assert.equal(parseSummary(text, keys), null, text);
    }
  });

  it("without a model says what was asked, touched, run and how it ended", () => {
    const records = [
      header(),
      user("fix the parser"),
      reply("", ["a"]),
      result("a", 1, 1, {
        observations: [{
          path: "/repo/a.ts",
          version: "1",
          kind: "edit",
          total: 1,
          ranges: [],
          texts: [],
        }],
      }),
      reply("", ["b"]),
      result("b", 2, 1, { header: "Bash npm test", ran: { command: "npm test", exit: 1 } }),
      reply("The parser works."),
      end(),
    ];
    const { summary, files } = mechanicalSummary(
      planCompaction(records, 100_000, "finished") as Plan,
    );
    assert.match(summary, /fix the parser/);
    assert.match(summary, /ran npm test: exit 1/);
    assert.match(summary, /The parser works\./);
    assert.deepEqual(files, ["/repo/a.ts: edited"]);
  });
});

describe("the user's words", () => {
  it("stay verbatim under the cap; over it the newest are shortened, the oldest last", () => {
    const words = [
      `FIRST ${"a".repeat(8000)} FIRST-END`,
      `SECOND ${"b".repeat(80_000)} SECOND-END`,
    ];
    const records = [
      header(),
      user(words[0] ?? "", 1),
      reply("x", [], 1),
      end(1),
      user(words[1] ?? "", 2),
      reply("y", [], 2),
      end(2),
    ];
    const plan = planCompaction(records, 50_000, "finished") as Plan;
    const { texts } = replacement(plan, mechanicalSummary(plan), [], records, 50_000);
    assert.ok(texts[1]?.includes(words[0] ?? "-"));
    assert.ok(!texts[1]?.includes(words[1] ?? "-"));
    assert.match(texts[1] ?? "", /SECOND b+/);
    assert.match(texts[1] ?? "", /b SECOND-END/);
    assert.ok(estimateTokens(texts[1] ?? "") < 10_500);
  });
});

describe("folding", () => {
  it("takes the oldest results first, as many as are needed, never those of the last eight steps", () => {
    const records = [header(), ...finishedTurn(1, 20, 4000).slice(0, -2)];
    const all = planFolds(records, 100_000, 0, 1);
    assert.equal(all.length, 12);
    assert.deepEqual(all.slice(0, 2), ["tr.1000", "tr.1001"]);
    const some = planFolds(records, 20_000, 18_000, 1);
    assert.equal(some.length, 3);
    const folded = [...records, record({ type: "fold", tr: some })];
    const messages = messagesOf(folded);
    assertPaired(messages);
    assert.match(
      messages.find(({ role }) => role === "tool")?.text ?? "",
      /^tool tr\.1000 T c1x0\n\[folded .*Recall/,
    );
    assert.deepEqual(planFolds(folded, 100_000, 0, 1), all.slice(3));
    assert.deepEqual(planFolds([...folded, record({ type: "fold", tr: all })], 100_000, 0, 1), []);
  });
});

it("a small window keeps a part of itself free for the answer", () => {
  assert.deepEqual(limitsOf(128_000), { full: 112_000 * 0.85, roomy: 112_000 * 0.6 });
  assert.deepEqual(limitsOf(8000), { full: 6000 * 0.85, roomy: 6000 * 0.6 });
});

it("the board is outside: a compaction leaves it as it is (CX-07)", () => {
  const records = [
    header(),
    ...finishedTurn(1, 2),
    record({ type: "note", goal: "ship it", known: ["the user wants tabs"], call: "n" }),
    ...finishedTurn(2, 2),
  ];
  const after = compacted(records, planCompaction(records, 100_000, "finished") as Plan);
  assert.deepEqual(boardOf(after), boardOf(records));
  assert.match(messagesOf(after).at(-1)?.text ?? "", /Goal: ship it/);
});
