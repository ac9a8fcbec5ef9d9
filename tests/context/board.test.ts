import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  type Board,
  boardOf,
  EMPTY_BOARD,
  focusOf,
  memoryText,
  noted,
  struckBy,
} from "../../src/context/board.ts";
import type { NoteFields } from "../../src/session/records.ts";
import { record } from "./support.ts";

const RUNS = Number(process.env["NANOCODE_RUNS"] ?? 1);
const runs = { numRuns: 100 * RUNS };

/** Texts that try to look like other fields, lines or marks. */
const hostile = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      "\nGoal: x",
      "\nCheck: y",
      "\r- [x] z",
      "\u2028Known:",
      "\u0085Plan:",
      "--- Memory ---",
      "\n--- FILE STATE ---\n",
      "[-] ",
      "[x] ",
      "- ",
      "1. ",
      " ",
      "\x1b[31m",
      "\0",
      "…",
      ".",
      "\ud83d",
    ),
    fc.string({ maxLength: 5 }),
  ),
  maxLength: 6,
});
const notes: fc.Arbitrary<NoteFields> = fc.record({
  goal: hostile,
  plan: fc.array(hostile, { maxLength: 4 }),
  known: fc.array(fc.oneof(hostile, hostile.map((text) => `[-] ${text}`)), { maxLength: 4 }),
  check: hostile,
}, { requiredKeys: [] });
const manyNotes = fc.array(notes, { maxLength: 8 });
const after = (all: readonly NoteFields[]) => all.reduce(noted, EMPTY_BOARD);

/** Reads Memory back, line by line and in the one order that is allowed. */
function parse(text: string): Board & { date: string } {
  const lines = text.split("\n");
  const next = (start: string): string | null =>
    lines[0]?.startsWith(start) ? (lines.shift() as string).slice(start.length) : null;
  const list = (title: string): string[] => {
    const items: string[] = [];
    if (lines[0] !== title) return items;
    lines.shift();
    for (let item = next("- "); item !== null; item = next("- ")) items.push(item);
    assert.ok(items.length > 0);
    return items;
  };
  assert.equal(lines.shift(), "--- Memory ---");
  const board = {
    goal: next("Goal: ") ?? "",
    plan: list("Plan:").map((item) => {
      const [, mark, text] = /^(\[[ ~x-]\]) (.*)$/u.exec(item) ?? [];
      return { mark: mark as Board["plan"][number]["mark"], text: text ?? "" };
    }),
    known: list("Known:"),
    check: next("Check: ") ?? "",
    date: next("Date: ") ?? "",
  };
  assert.deepEqual(lines, []);
  return board;
}

describe("the board", () => {
  it("replaces goal, plan and check, and adds facts", () => {
    const board = after([
      { goal: "ship", plan: ["[x] find", "[~] fix", "[ ] test", "[-] rewrite", "say"] },
      { known: ["Uses zod", "uses ZOD."], check: "none yet" },
      { plan: ["[X] find", "- [~] fix", "2. test"], known: ["node 20"], check: "npm test: ok" },
    ]);
    assert.equal(
      memoryText(board, "2026-01-02"),
      [
        "--- Memory ---",
        "Goal: ship",
        "Plan:",
        "- [x] find",
        "- [~] fix",
        "- [ ] test",
        "Known:",
        "- Uses zod",
        "- node 20",
        "Check: npm test: ok",
        "Date: 2026-01-02",
      ].join("\n"),
    );
  });

  it("keeps all four marks", () => {
    const { plan } = after([{ plan: ["[ ] a", "[~] b", "[x] c", "[-] d", "e"] }]);
    assert.deepEqual(plan.map(({ mark }) => mark), ["[ ]", "[~]", "[x]", "[-]", "[ ]"]);
  });

  it("strikes a fact out by its text, or by a beginning that only it has", () => {
    const facts = ["The cache is stale.", "The tests need PORT=0", "The tests are slow"];
    const board = after([{ known: facts }]);
    const known = (item: string) => noted(board, { known: [item] }).known;
    assert.deepEqual(known("[-] the cache is stale"), facts.slice(1));
    assert.deepEqual(known("[-] The tests need…"), [facts[0], facts[2]]);
    assert.deepEqual(known("- [-] The tests are slow"), facts.slice(0, 2));
    assert.deepEqual(known("[-] The tests"), facts, "two facts begin so");
    assert.deepEqual(known("[-] cache"), facts, "no fact begins so");
    assert.deepEqual(known("[-]"), facts);
    assert.deepEqual(struckBy("The tests", board), facts.slice(1));
  });

  it("prefers the same fact to one that only begins so, and does strikes and additions in order", () => {
    const board = after([{ known: ["port 80", "port 8080"] }]);
    assert.deepEqual(noted(board, { known: ["[-] port 80"] }).known, ["port 8080"]);
    assert.deepEqual(noted(board, { known: ["[-] port 80", "port 81"] }).known, [
      "port 8080",
      "port 81",
    ]);
    assert.deepEqual(noted(board, { known: ["port 9", "[-] port 9"] }).known, board.known);
  });

  it("empties what is replaced by nothing, and leaves empty fields out", () => {
    const board = after([{ goal: "g", plan: ["a"], check: "c" }, {
      goal: "",
      plan: [],
      check: "",
    }]);
    assert.equal(memoryText(board, "2026-01-02"), "--- Memory ---\nDate: 2026-01-02");
  });

  it("focuses on the step under way, else on the first open one", () => {
    assert.equal(focusOf(after([{ plan: ["[x] a", "b", "[~] c"] }])), "c");
    assert.equal(focusOf(after([{ plan: ["[x] a", "[-] b", "c"] }])), "c");
    assert.equal(focusOf(after([{ plan: ["[x] a"] }])), null);
  });

  it("is not changed by a note, and is the same from the records", () => {
    fc.assert(
      fc.property(manyNotes, notes, (all, one) => {
        const board = after(all);
        const copy = structuredClone(board);
        noted(board, one);
        assert.deepEqual(board, copy);
        const records = all.map((note) => record({ ...note, type: "note", call: "c" }));
        assert.deepEqual(boardOf(JSON.parse(JSON.stringify(records))), board);
      }),
      runs,
    );
  });

  it("shows every field where it belongs, whatever texts hold", () => {
    fc.assert(
      fc.property(manyNotes, (all) => {
        const board = after(all);
        const text = memoryText(board, "2026-01-02");
        assert.deepEqual(parse(text), { ...board, date: "2026-01-02" });
        assert.doesNotMatch(text.replaceAll("\n", ""), /[\p{Cc}\u2028\u2029]/u);
        assert.ok(text.isWellFormed());
      }),
      runs,
    );
  });

  it("holds no fact twice, and none that was struck out", () => {
    fc.assert(
      fc.property(manyNotes, (all) => {
        const board = after(all);
        assert.equal(noted(board, { known: [...board.known] }).known.length, board.known.length);
        const strikes = board.known.map((fact) => `[-] ${fact}`);
        assert.deepEqual(noted(board, { known: strikes }).known, []);
      }),
      runs,
    );
  });

  it("stays quick with a note as large as a reply can be", { timeout: 20_000 }, () => {
    const known = Array.from({ length: 20_000 }, (_, i) => `fact ${i} ${".".repeat(50)}x`);
    assert.equal(after([{ known }, { known }]).known.length, known.length);
  });
});
