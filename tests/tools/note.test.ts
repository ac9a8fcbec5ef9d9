// Note: its forms, its refusals, and through the door of the loop what becomes of a note.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  type Board,
  BOARD_TOKENS,
  boardOf,
  boardTokens,
  EMPTY_BOARD,
  noted,
} from "../../src/context/board.ts";
import type { NoteFields } from "../../src/session/records.ts";
import { parseToolArguments } from "../../src/tools/arguments.ts";
import { note } from "../../src/tools/note.ts";
import { ToolError, type ToolOutput } from "../../src/tools/tool.ts";
import { bench, scripted } from "../support/scripted.ts";
import { toolBench } from "../support/tool-context.ts";

const RUNS = Number(process.env["NANOCODE_RUNS"] ?? 1);

/** What a note of these arguments, valid or near-miss, is taken for. */
function parsed(args: unknown): NoteFields {
  const result = parseToolArguments(note, args);
  assert.ok(result.ok, JSON.stringify(result));
  return result.input as NoteFields;
}

async function write(fields: NoteFields, board: Board = EMPTY_BOARD): Promise<ToolOutput> {
  const tools = toolBench();
  try {
    return await note.run(parsed(fields) as never, tools.context({ board }));
  } finally {
    tools.close();
  }
}

const errorOf = async (fields: NoteFields, board?: Board) => {
  const error = await write(fields, board).then(() => null, (error: unknown) => error);
  assert.ok(error instanceof ToolError, "it should have been refused");
  return error.message;
};

const boardWith = (known: string[], rest: NoteFields = {}) =>
  noted(EMPTY_BOARD, { ...rest, known });

describe("Note: forms of arguments", () => {
  const forms: [name: string, args: unknown, right: NoteFields][] = [
    ["the advertised form", { goal: "g", plan: ["a"], known: ["b"], check: "c" }, {
      goal: "g",
      plan: ["a"],
      known: ["b"],
      check: "c",
    }],
    ["a plan as lines", { plan: "- [x] a\n\n2. b\n" }, { plan: ["- [x] a", "2. b"] }],
    ["a plan of one item with lines", { plan: ["[x] a\n[ ] b"] }, { plan: ["[x] a", "[ ] b"] }],
    ["a lone fact", { known: "one fact,\nof two lines" }, { known: ["one fact,\nof two lines"] }],
    ["facts as a list in a string", { known: "- a\n- b" }, { known: ["- a", "- b"] }],
    ["JSON in a string", { plan: '["a","b"]' }, { plan: ["a", "b"] }],
    ["todos of another agent", {
      todos: [
        { content: "a", status: "completed", activeForm: "doing a" },
        { id: 2, content: "b", status: "in_progress", priority: "high" },
        { content: "c", status: "pending" },
        { content: "d", status: "cancelled" },
      ],
    }, { plan: ["[x] a", "[~] b", "[ ] c", "[-] d"] }],
    ["steps with their status", {
      plan: [{ step: "a", status: "In Progress" }, { text: "b", done: true }, { title: "c" }],
    }, { plan: ["[~] a", "[x] b", "c"] }],
    ["a status nobody knows", { plan: [{ step: "a", status: "blocked" }] }, {
      plan: ["a (blocked)"],
    }],
    ["a lone step", { plan: { step: "a", status: "done" } }, { plan: ["[x] a"] }],
    ["facts under another name", { facts: ["a"] }, { known: ["a"] }],
    ["facts as objects", { known: [{ fact: "a" }] }, { known: ["a"] }],
    ["a check in parts", { check: ["test ok", "lint ok"] }, { check: "test ok; lint ok" }],
    ["null for what is left out", { goal: "g", plan: null, check: null }, { goal: "g" }],
  ];
  for (const [name, args, right] of forms) {
    it(`takes ${name}`, () => assert.deepEqual(parsed(args), right));
  }

  it("says what is wrong with what it cannot take, and how it is right", () => {
    for (const args of [{ plan: [{ a: 1 }] }, { goal: { a: 1 } }, { memo: "x" }, { known: [7] }]) {
      const result = parseToolArguments(note, args);
      assert.ok(!result.ok);
      assert.match(result.error, /^Note: .*\nNothing was done\. A correct call: \{"plan"/s);
    }
  });
});

describe("Note", () => {
  it("says in one line what changed", async () => {
    const { output, note } = await write({ goal: "g", plan: ["[x] a", "b"], known: ["f"] });
    assert.equal(output, "Noted: goal, plan (1/2 done), 1 fact added.");
    assert.deepEqual(note, { goal: "g", plan: ["[x] a", "b"], known: ["f"] });
    const board = boardWith(["one", "two"]);
    const struck = await write({ known: ["[-] one", "three", "four"], check: "ok" }, board);
    assert.equal(struck.output, "Noted: 2 facts added, 1 fact struck out, check.");
  });

  it("records nothing where nothing is new", async () => {
    const output = await write({ goal: "g", known: ["F."] }, boardWith(["f"], { goal: "g" }));
    assert.equal(output.status, "noop");
    assert.equal(output.note, undefined);
    assert.match(String(output.output), /^Nothing new/);
  });

  it("refuses an empty note and shows a right one", async () => {
    for (const empty of [{}, { known: [] }, { known: [" ", "[-] "] }]) {
      assert.match(await errorOf(empty), /nothing in it to note.*for example \{"plan":\[.*\}$/);
    }
  });

  it("says so where a strike matches no fact, or more than one", async () => {
    const board = boardWith(["port 80 is open", "port 81 is closed"]);
    assert.match(await errorOf({ known: ["[-] nonsense"] }, board), /begins with, "nonsense"/);
    assert.match(await errorOf({ known: ["[-] port"] }, board), /2 facts begin with "port"/);
    const both = await write({ known: ["[-] nonsense", "new"] }, board);
    assert.equal(both.status, "ok");
    assert.match(String(both.output), /^Noted: 1 fact added\. No fact is.*"nonsense"/);
    const inOne = await write({ known: ["x", "[-] x", "y"] }, board);
    assert.equal(inOne.output, "Noted: 1 fact added.");
  });

  it("tells how full the board is from three quarters on", async () => {
    const at = (tokens: number) => write({ known: ["x".repeat(4 * tokens)] });
    assert.doesNotMatch(String((await at(400)).output), /full/);
    assert.match(String((await at(500)).output), /The board is 8\d % full: strike out/);
  });

  it("refuses what passes the cap: how full, what takes most, how to strike out; nothing is written", async () => {
    const long = `the long one ${"x".repeat(1200)}`;
    const board = boardWith([long, "short"], { goal: "g", plan: ["a", "b"] });
    const message = await errorOf({ goal: "other", known: ["y".repeat(1300)] }, board);
    const [, has, would] = /has (\d+) of 600 tokens; with this note it would have (\d+)/.exec(
      message,
    )?.map(Number) ?? [];
    assert.equal(has, boardTokens(board));
    assert.ok((would ?? 0) > BOARD_TOKENS);
    assert.match(message, /nothing of it was written/);
    assert.match(message, /would take: known \(3 facts\) 6\d\d, plan \(2 items\) \d+, goal \d/);
    const [, example] = /by their beginning: (\{.*?\})/.exec(message) ?? [];
    const strike = parsed(JSON.parse(example ?? ""));
    assert.deepEqual(noted(board, strike).known, ["short"]);
    const better = { known: [...strike.known ?? [], "y".repeat(1300)] };
    assert.equal((await write(better, board)).status, "ok");
  });

  it("lets a board that is too full be made smaller", async () => {
    const board = boardWith(["a".repeat(2000), "b".repeat(2000), "c"]);
    assert.ok(boardTokens(board) > BOARD_TOKENS);
    assert.match(await errorOf({ known: ["d"] }, board), /nothing of it was written/);
    const output = await write({ known: ["[-] c"] }, board);
    assert.match(String(output.output), /1 fact struck out\. The board is 1\d\d % full/);
  });

  it("never lets the board pass its cap, and a refused note leaves no trace", async () => {
    const text = fc.string({ unit: "grapheme", maxLength: 400 });
    const fields = fc.record(
      { goal: text, plan: fc.array(text, { maxLength: 4 }), known: fc.array(text), check: text },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fields, { maxLength: 8 }), async (notes) => {
        const tools = toolBench();
        let board = EMPTY_BOARD;
        for (const one of notes) {
          const output = await note.run(one, tools.context({ board })).catch((error: unknown) => {
            assert.ok(error instanceof ToolError, String(error));
            return null;
          });
          if (output?.note) board = noted(board, output.note);
          assert.ok(boardTokens(board) <= BOARD_TOKENS);
        }
        tools.close();
      }),
      { numRuns: 20 * RUNS },
    );
  });
});

describe("Note in the loop", () => {
  const call = (...args: unknown[]) => ({ calls: args.map((args) => ({ name: "Note", args })) });

  it("is recorded, shown as Memory in the next request, and there after a resume", async () => {
    const b = bench([note as never]);
    const policy = { allow: [], ask: [], deny: [], yolo: false }; // it needs nobody's permission
    const first = scripted([
      call({ goal: "ship it", todos: [{ content: "a", status: "completed" }] }),
      call({ known: ["one"] }, { known: ["[-] one", "two"] }),
      { text: "done" },
    ]);
    const events = await b.run(first, { policy });
    const texts = events.flatMap((event) => event.type === "call_end" ? [event.text] : []);
    assert.deepEqual(texts, [
      "Noted: goal, plan (1/1 done).",
      "Noted: 1 fact added.",
      "Noted: 1 fact added, 1 fact struck out.",
    ]);
    const memory = (n: number) =>
      first.requests[n]?.messages.find(({ text }) => text.startsWith("--- Memory ---"))?.text ?? "";
    assert.match(memory(0), /^--- Memory ---\nDate: [\d-]+$/);
    assert.match(memory(1), /\nGoal: ship it\nPlan:\n- \[x\] a\nDate: /);
    assert.match(memory(2), /\nKnown:\n- two\nDate: /);
    const records = b.session.log.records;
    assert.equal(records.filter(({ type }) => type === "note").length, 3);
    const again = b.reload();
    assert.deepEqual(again.board, b.session.board);
    assert.deepEqual(boardOf(again.log.records), again.board);
    again.log.close();
    b.close();
  });

  it("does not record a note that is refused", async () => {
    const b = bench([note as never]);
    await b.run(scripted([call({ goal: "x".repeat(5000) }, {}, { goal: "y" }), { text: "done" }]));
    const results = b.session.log.records.flatMap((record) =>
      record.type === "result" ? [record.status] : []
    );
    assert.deepEqual(results, ["error", "error", "ok"]);
    assert.equal(b.session.log.records.filter(({ type }) => type === "note").length, 1);
    assert.equal(b.session.board.goal, "y");
    b.close();
  });
});
