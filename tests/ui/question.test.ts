import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AskRequest } from "../../src/loop/permit.ts";
import type { Question } from "../../src/tools/tool.ts";
import { makeTheme } from "../../src/ui/colors.ts";
import { Asks } from "../../src/ui/terminal/asks.ts";
import { parseReply, questionBox } from "../../src/ui/terminal/question.ts";
import { fakeClock } from "./fake.ts";

const QUESTION: Question = {
  from: "the plugin paint",
  text: "Which \x1b[31mcolour\u202e?\n(for the door)",
  choices: ["Red", "2", "deep\nblue"],
};
const PERMISSION: AskRequest = {
  call: "c2",
  tool: "Bash",
  title: "ls",
  effects: [],
  preview: "ls",
  reason: "",
  scope: "",
};
const asking = (question: Question): AskRequest => ({ ...PERMISSION, preview: "", question });

function desk() {
  const shown: string[] = [];
  const clock = fakeClock();
  const asks = new Asks({
    theme: makeTheme(false),
    clock,
    size: () => ({ columns: 80, rows: 24 }),
    show: (lines) => void shown.push(...lines),
    changed: () => {},
  });
  clock.pass(1000);
  return { shown, asks };
}

describe("a question of a plugin", () => {
  it("says who asks, and is escaped", () => {
    assert.deepEqual(questionBox(QUESTION, makeTheme(false)), [
      "the plugin paint asks:",
      "  Which \\x1b[31mcolour\\u202e?",
      "  (for the door)",
      "  1  Red",
      "  2  2",
      "  3  deep\\nblue",
    ]);
  });

  const replies: [typed: string, text: string | null][] = [
    ["1", "Red"],
    [" red ", "Red"],
    ["2", "2"],
    ["3", "deep\nblue"],
    ["0", null],
    ["4", null],
    ["1.5", null],
    ["", null],
    ["y", null],
    ["constructor", null],
  ];
  for (const [typed, text] of replies) {
    it(`with choices takes one of them: ${JSON.stringify(typed)}`, () => {
      const expected = text === null ? null : { decision: "allow", text };
      assert.deepEqual(parseReply(typed, QUESTION), expected);
    });
  }

  it("without choices takes any words, and nothing is no answer", () => {
    const open = { from: "x", text: "Why?" };
    assert.deepEqual(parseReply(" y ", open), { decision: "allow", text: "y" });
    assert.deepEqual(parseReply(" ", open), { decision: "deny" });
  });

  it("waits its turn among permissions, and allows nothing but itself", async () => {
    const { asks, shown } = desk();
    const { signal } = new AbortController();
    const first = asks.ask(asking(QUESTION), signal);
    const second = asks.ask(PERMISSION, signal);
    assert.deepEqual(asks.question(), ["Your answer [1-3]"]);
    asks.answer("y"); // no choice: asked again
    assert.deepEqual(asks.question(), ["Your answer [1-3]"]);
    asks.answer("3");
    assert.deepEqual(await first, { decision: "allow", text: "deep\nblue" });
    assert.deepEqual(asks.question(), ["Allow? [Y/n/a or reason]"]);
    asks.answer("n");
    assert.deepEqual(await second, { decision: "deny" });
    assert.equal(shown.filter((line) => line.includes("asks:")).length, 1);
  });

  it("ends unanswered with the turn", async () => {
    const { asks } = desk();
    const abort = new AbortController();
    const answer = asks.ask(asking(QUESTION), abort.signal);
    abort.abort();
    assert.deepEqual(await answer, { decision: "deny" });
    assert.equal(asks.open, false);
  });
});
