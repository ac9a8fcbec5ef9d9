// Deltas → one reply: identity of calls, arguments, tags, halves of characters, finish reasons.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import fc from "fast-check";
import { Assembler, type Reply } from "../../src/provider/assemble.ts";
import { explainBroken } from "../../src/provider/argument-faults.ts";
import { parseArguments } from "../../src/provider/call-arguments.ts";
import type { CallFragment, Delta, FinishReason } from "../../src/provider/provider.ts";
import { RUNS } from "./support.ts";

function reply(deltas: Delta[]): Reply {
  const assembler = new Assembler();
  for (const delta of deltas) assembler.push(delta);
  return assembler.finish();
}

function finish(reason: FinishReason): Delta {
  return { type: "finish", reason, raw: null };
}

function callsOf(...fragments: CallFragment[]) {
  const deltas = fragments.map((fragment): Delta => ({ type: "call", fragment }));
  return reply([...deltas, finish("tool_calls")]).calls;
}

const brief = (...fragments: CallFragment[]) =>
  callsOf(...fragments).map(({ name, args }) => [name, args]);

describe("calls", () => {
  it("a name that differs begins a call, also without any id", () => {
    assert.deepEqual(
      brief(
        { index: 0, name: "A", args: "" },
        { index: 0, name: "B", args: "" },
      ),
      [["A", {}], ["B", {}]],
    );
  });

  it("a repeated name begins a call only with new arguments", () => {
    assert.deepEqual(
      brief(
        { index: 0, name: "A", args: '{"x":' },
        { index: 0, name: "A", args: "1}" },
        { index: 0, name: "A", args: "" },
        { index: 0, name: "A", args: '{"x":2}' },
      ),
      [["A", { x: 1 }], ["A", { x: 2 }]],
    );
  });

  it("the same call twice with one id is one call, without ids it is two", () => {
    const whole = { index: 0, name: "A", args: '{"x":1}' };
    assert.equal(callsOf({ ...whole, id: "a" }, { ...whole, id: "a" }).length, 1);
    assert.equal(callsOf(whole, whole).length, 2);
    const other = { ...whole, id: "a", args: '{"x":2}' };
    assert.equal(callsOf({ ...whole, id: "a" }, other).length, 2);
    const object = { index: 0, name: "A", args: { x: 1 } };
    assert.equal(callsOf({ ...object, id: "a" }, { ...object, id: "a" }).length, 1);
    assert.equal(callsOf({ ...object, id: "a" }, { ...object, id: "b" }).length, 2);
  });

  it("arguments sent twice are whole too: what comes then is another call", () => {
    const twice = (x: number) => [
      { index: 0, name: "A" },
      { index: 0, args: `{"x":${x}}` },
      { index: 0, args: `{"x":${x}}` },
    ];
    assert.deepEqual(
      brief(...twice(1), { index: 0, name: "A", args: '{"x":2}' }, { index: 0, args: '{"x":2}' }),
      [["A", { x: 1 }], ["A", { x: 2 }]],
    );
  });

  it("an id that changes with every fragment does not break a call up", () => {
    assert.deepEqual(
      brief(
        { index: 0, id: "r1", name: "A", args: '{"x"' },
        { index: 0, id: "r2", args: ":1" },
        { index: 0, id: "r3", args: "}" },
      ),
      [["A", { x: 1 }]],
    );
  });

  it("blanks between arguments are kept and begin nothing", () => {
    assert.deepEqual(
      brief(
        { index: 0, id: "a", name: "A", args: '{"x":"1' },
        { index: 0, args: " " },
        { index: 0, args: '2"}' },
        { index: 0, id: "a", name: "A", args: "\n" },
      ),
      [["A", { x: "1 2" }]],
    );
  });

  it("noise makes no call; a call without a name is still a call", () => {
    assert.deepEqual(brief({ index: 0 }, { index: 1, id: "" }, { index: 2, id: "x" }), []);
    assert.deepEqual(brief({ index: 0, args: '{"x":1}' }), [["unnamed", { x: 1 }]]);
  });

  it("duplicate and missing ids become fresh ones, others stay", () => {
    const calls = callsOf(
      { index: 0, id: "W", name: "W", args: "{}" },
      { index: 1, id: "W", name: "W", args: "{}" },
      { index: 2, name: "W", args: "{}" },
    );
    assert.equal(calls[0]?.id, "W");
    assert.equal(new Set(calls.map((call) => call.id)).size, 3);
    for (const call of calls.slice(1)) assert.match(call.id, /^[A-Za-z0-9]{9}$/);
  });

  it("extra data stays with its call", () => {
    const calls = callsOf(
      { index: 0, id: "a", name: "A", args: "{}", extra: { sig: 1 } },
      { index: 1, id: "b", name: "B", args: "{}" },
    );
    assert.deepEqual(calls.map((call) => call.extra), [{ sig: 1 }, undefined]);
  });

  it("arguments survive being cut anywhere, interleaved with another call's", () => {
    const value = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(value, value, fc.infiniteStream(fc.nat({ max: 9 })), (one, two, sizes) => {
        const rest = [JSON.stringify(one), JSON.stringify(two)];
        const fragments: CallFragment[] = [
          { index: 0, id: "a", name: "A" },
          { index: 1, id: "b", name: "B" },
        ];
        for (let turn = 0; rest.some((text) => text); turn++) {
          const size = sizes.next().value ?? 1;
          const index = turn % 2;
          fragments.push({ index, args: rest[index]?.slice(0, size) });
          rest[index] = rest[index]?.slice(size) ?? "";
        }
        assert.deepEqual(
          callsOf(...fragments).map((call) => JSON.stringify(call.args)),
          [JSON.stringify(one), JSON.stringify(two)],
        );
      }),
      { numRuns: 50 * RUNS },
    );
  });
});

describe("parseArguments", () => {
  const value = (text: string) => {
    const parsed = parseArguments(text);
    assert.ok(parsed, text);
    return parsed.value;
  };
  const error = (text: string) => {
    assert.equal(parseArguments(text), null);
    return explainBroken(text);
  };

  it("takes nothing and null for no arguments", () => {
    for (const text of ["", "  ", "null", "{}", '""', '"null"']) assert.deepEqual(value(text), {});
  });

  it("unwraps JSON in JSON, but leaves strings inside alone", () => {
    assert.deepEqual(value('"{\\"a\\":\\"b\\"}"'), { a: "b" });
    assert.deepEqual(value(JSON.stringify(JSON.stringify(JSON.stringify({ a: 1 })))), { a: 1 });
    assert.deepEqual(value('{"a":"{\\"b\\":1}"}'), { a: '{"b":1}' });
  });

  it("takes the fence off", () => {
    assert.deepEqual(value('```json\n{"a":1}\n```'), { a: 1 });
  });

  it("ST-10: repairs raw control characters inside strings, to the text that was meant", () => {
    const raw = readFileSync(
      new URL("../cases/files/ST-10/files/args.raw", import.meta.url),
      "utf8",
    );
    assert.deepEqual(value(raw), {
      path: "a.txt",
      edits: [{ op: "create", content: "line one\nline\ttwo\n" }],
    });
    assert.deepEqual(value(JSON.stringify(raw)), value(raw));
    assert.deepEqual(value('{"a":"x\\\\\ny"}'), { a: "x\\\ny" });
    assert.deepEqual(value('{"a":"x \\\ny"}'), { a: "x \\\ny" });
  });

  it("keeps text with backslashes as it is", () => {
    assert.deepEqual(value('{"a":"\\\\n \\\\u00e9"}'), { a: "\\n \\u00e9" });
  });

  it("takes the same object twice for one, two different ones for an error", () => {
    assert.deepEqual(value('{"a":1}{"a": 1}'), { a: 1 });
    assert.match(error('{"a":1}{"a":2}'), /more text after the JSON value at character 7/);
  });

  it("says where broken JSON breaks", () => {
    assert.match(
      error('{"a": 1,\n "b": oops}'),
      /^invalid symbol at character 15 \(line 2, column 7\), near: .*oops/,
    );
  });

  it("complains about the real fault, not about control characters that it would repair", () => {
    assert.match(error('{"a":"x\ny", b}'), /at character 12 \(line 2, column 5\)/);
  });

  it("says when the text was cut off", () => {
    const whole = JSON.stringify({ path: "a", list: [1, { b: "c\n" }], t: true, n: null });
    for (let length = 1; length < whole.length; length++) {
      const cut = error(whole.slice(0, length));
      assert.match(cut, new RegExp(`^the JSON was cut off after ${length} characters`));
    }
  });

  it("does not break on what no parser's stack can hold", () => {
    const deep = `{"a":${"[".repeat(200_000)}`;
    assert.match(error(deep), /nested too deeply/);
    const { calls } = reply([{ type: "call", fragment: { name: "A", args: deep } }]);
    assert.deepEqual([calls[0]?.args, calls[0]?.raw], [null, deep]);
  });

  it("gives back any object, raw controls or not", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue()), (object) => {
        const text = JSON.stringify(object);
        const raw = text.replace(/(?<!\\)((?:\\\\)*)\\n/g, "$1\n").replace(
          /(?<!\\)((?:\\\\)*)\\t/g,
          "$1\t",
        );
        assert.equal(JSON.stringify(value(text)), JSON.stringify(JSON.parse(text)));
        assert.equal(JSON.stringify(value(raw)), JSON.stringify(JSON.parse(text)));
      }),
      { numRuns: 100 * RUNS },
    );
  });
});

describe("text", () => {
  const textDeltas = (...texts: string[]) => texts.map((text): Delta => ({ type: "text", text }));

  it("is reasoning between tags that open the message", () => {
    const got = reply([
      ...textDeltas("\n<think>why</think>\n\nso <think>x</think>"),
      finish("stop"),
    ]);
    assert.equal(got.reasoning, "why");
    assert.equal(got.text, "so <think>x</think>");
  });

  it("is text when a tag comes later, or only looks like one", () => {
    for (const text of ["a <think>b</think>", "<thinker>x", "<thin", "<", "</think>x"]) {
      const got = reply([...textDeltas(text), finish("stop")]);
      assert.deepEqual([got.text, got.reasoning], [text, ""]);
    }
  });

  it("is all reasoning when the tag never closes", () => {
    const got = reply([...textDeltas("<think>a</th"), finish("stop")]);
    assert.deepEqual([got.text, got.reasoning], ["", "a</th"]);
  });

  it("is the same however it is cut, and so is what is shown", () => {
    const part = fc.constantFrom("<think>", "</think>", "\n", "x", "🚀", "<", "thi");
    const text = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, fc.array(fc.nat({ max: 40 })), (whole, cuts) => {
        const places = [...cuts.map((cut) => Math.min(cut, whole.length)), whole.length].sort((
          a,
          b,
        ) => a - b);
        const pieces = places.map((place, at) => whole.slice(places[at - 1] ?? 0, place));
        const assembler = new Assembler();
        let shown = "";
        for (const delta of textDeltas(...pieces)) {
          for (const piece of assembler.push(delta)) {
            assert.ok(piece.text.isWellFormed());
            shown += `${piece.type}:${piece.text}`;
          }
        }
        for (const piece of assembler.flush()) shown += `${piece.type}:${piece.text}`;
        const got = assembler.finish();
        const expected = reply(textDeltas(whole));
        assert.deepEqual([got.text, got.reasoning], [expected.text, expected.reasoning]);
        assert.equal(shown.replaceAll(/(text|reasoning):/g, ""), got.reasoning + got.text);
      }),
      { numRuns: 200 * RUNS },
    );
  });

  it("is well formed even when half a character is all that came", () => {
    const got = reply([...textDeltas("a\ud83d"), { type: "reasoning", text: "\ude80" }]);
    assert.deepEqual([got.text, got.reasoning], ["a\ufffd", "\ufffd"]);
  });
});

describe("how a reply ends", () => {
  const call: Delta = { type: "call", fragment: { index: 0, id: "a", name: "A", args: "{}" } };

  it("stop with calls means calls, calls without calls means stop", () => {
    assert.equal(reply([call, finish("stop")]).finish, "tool_calls");
    assert.equal(reply([finish("tool_calls")]).finish, "stop");
  });

  for (const reason of ["length", "content_filter", "interrupted"] as const) {
    it(`${reason} runs nothing and is not undone by a later reason`, () => {
      const got = reply([call, finish(reason), finish("stop")]);
      assert.deepEqual([got.finish, got.runnable, got.calls.length], [reason, false, 1]);
    });
  }

  it("no terminal signal: incomplete, nothing runs", () => {
    const got = reply([call]);
    assert.deepEqual([got.finish, got.runnable], ["incomplete", false]);
  });

  it("an error wins over everything, the first one counts", () => {
    const failure = (message: string): Delta => ({
      type: "error",
      failure: { message, code: null, retryable: false },
    });
    const got = reply([call, finish("stop"), failure("one"), failure("two")]);
    assert.deepEqual([got.finish, got.runnable, got.failure?.message], ["error", false, "one"]);
  });

  it("usage is the last one, opaque items are kept in order", () => {
    const usage = (output: number): Delta => ({
      type: "usage",
      usage: { input: 5, output, cached: 0 },
    });
    const got = reply([usage(1), { type: "opaque", item: 1 }, usage(2), {
      type: "opaque",
      item: 2,
    }]);
    assert.deepEqual(got.usage, { input: 5, output: 2, cached: 0 });
    assert.deepEqual(got.opaque, [1, 2]);
  });
});
