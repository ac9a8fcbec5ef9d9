import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { compose } from "../../src/context/compose.ts";
import type { NewRecord, SessionRecord } from "../../src/session/records.ts";
import { assertPaired } from "./support.ts";

const RUNS = Number(process.env["NANOCODE_RUNS"] ?? 1);
const of = (records: SessionRecord[]) =>
  compose({
    records,
    system: "system",
    today: "2026-01-02",
    files: [],
    placement: "inline",
    window: null,
    image: (blob) => blob === "gone" ? null : `data of ${blob}`,
  }).messages;

let n = 0;
const record = (fields: Record<string, unknown>) =>
  ({ v: 1, id: `${n++}`, t: "", turn: 1, step: 1, ...fields }) as unknown as SessionRecord;
const header = () => record({ type: "header", environment: "env" });
const user = (text: string) => record({ type: "user", text, source: "typed" });
const reply = (
  text: string,
  ids: string[],
  over: Partial<Extract<NewRecord, { type: "reply" }>> = {},
) =>
  record({
    type: "reply",
    text,
    reasoning: "",
    opaque: [],
    finish: "stop",
    calls: ids.map((id) => ({ id, name: "T", args: { id } })),
    ...over,
  });
const result = (call: string, over: Record<string, unknown> = {}) =>
  record({
    type: "result",
    call,
    tr: "tr.1",
    tool: "T",
    status: "ok",
    header: "T x",
    text: `result ${call}`,
    ms: 1,
    ...over,
  });

describe("compose", () => {
  it("lays out system, environment, history and a small tail", () => {
    const messages = of([
      header(),
      user("hi"),
      reply("look", ["a"]),
      result("a"),
      reply("done", []),
    ]);
    assert.deepEqual(messages.map((message) => message.role), [
      "system",
      "user",
      "user",
      "assistant",
      "tool",
      "assistant",
      "user",
    ]);
    assert.deepEqual(messages.at(-1), { role: "user", text: "--- Memory ---\nDate: 2026-01-02" });
    assert.deepEqual(messages[4], {
      role: "tool",
      callId: "a",
      name: "T",
      text: "tool tr.1 T x\nresult a",
    });
  });

  it("a call without result gets one, a result without call is left out, order follows the calls (CX-03, CX-04)", () => {
    const messages = of([
      header(),
      user("1"),
      reply("", ["a", "b"]),
      result("b"),
      user("2"),
      result("x"),
      reply("ok", []),
    ]);
    assertPaired(messages);
    const tools = messages.flatMap((message) => message.role === "tool" ? [message.text] : []);
    assert.match(tools[0] ?? "", /^Not run: no result was recorded/);
    assert.match(tools[1] ?? "", /result b/);
    assert.equal(tools.length, 2);
  });

  it("the same call id in two replies keeps each its own result", () => {
    const messages = of([
      header(),
      user("1"),
      reply("", ["call_0"]),
      result("call_0", { text: "one" }),
      reply("", ["call_0"]),
      result("call_0", { text: "two" }),
    ]);
    const tools = messages.flatMap((message) => message.role === "tool" ? [message.text] : []);
    assert.deepEqual(tools.map((text) => text.split("\n")[1]), ["one", "two"]);
  });

  it("broken arguments are sent back as {}, an empty reply not at all, a status is said", () => {
    const messages = of([
      header(),
      user("1"),
      reply("", []),
      reply("", [], { calls: [{ id: "a", name: "T", args: null, raw: '{"x' }] }),
      result("a", { status: "error", text: "cut" }),
    ]);
    const assistant = messages.filter((message) => message.role === "assistant");
    assert.equal(assistant.length, 1);
    assert.equal(assistant[0]?.role === "assistant" && assistant[0].calls[0]?.args, "{}");
    const tool = messages.find((message) => message.role === "tool");
    assert.equal(tool?.text, "tool tr.1 T x\nstatus: error\ncut");
  });

  it("images follow the results as a user message; one that is gone is left out", () => {
    const images = [{ mime: "image/png", blob: "b1" }, { mime: "image/png", blob: "gone" }];
    const messages = of([
      header(),
      user("1"),
      reply("", ["a", "b"]),
      result("a", { images }),
      result("b"),
      reply("ok", []),
    ]);
    assertPaired(messages.filter((message) => !(message.role === "user" && message.images)));
    const at = messages.findIndex((message) => message.role === "user" && message.images);
    assert.equal(messages[at - 1]?.role, "tool");
    const message = messages[at];
    assert.deepEqual(message?.role === "user" && message.images, [{
      mime: "image/png",
      base64: "data of b1",
    }]);
  });

  it("what it does not know is ignored", () => {
    assert.equal(of([header(), record({ type: "hologram" }), user("1")]).length, 4);
  });

  it("for random sessions: well paired, identical for identical input, and each request begins with the one before (property)", () => {
    const step = fc.record({
      ids: fc.uniqueArray(fc.constantFrom("a", "b", "c")),
      missing: fc.boolean(),
      text: fc.string(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const records: SessionRecord[] = [header(), user("go")];
        let before = of(records);
        for (const { ids, missing, text } of steps) {
          records.push(reply(text, ids));
          for (const id of ids) if (!(missing && id === "b")) records.push(result(id));
          if (missing && ids.includes("b")) records.push(result("b", { status: "interrupted" }));
          const now = of(records);
          assertPaired(now);
          assert.deepEqual(of(structuredClone(records)), now);
          assert.deepEqual(now.slice(0, before.length - 1), before.slice(0, -1));
          before = now;
        }
      }),
      { numRuns: 30 * RUNS },
    );
  });
});
