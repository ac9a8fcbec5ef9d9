import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type Message,
  runSession,
  scriptedProvider,
  type ScriptedStep,
} from "../../src/testing/mod.ts";
import { place, plugin } from "./support.ts";

const add = (a: number, b: number) => ({ name: "Add", args: { a, b } });

describe("runSession", () => {
  it("runs a whole turn: calls, hooks, errors that the model reads, and an answer", async () => {
    await using workspace = await place({ "a.txt": "text\n" });
    const provider = scriptedProvider([
      { text: "Let me see.", calls: [add(1, 2), add(666, 1)] },
      { calls: [{ name: "Copy", args: { from: "a.txt", to: "b.txt" } }] },
      { calls: [{ name: "Fail", args: { how: "ToolError" } }] },
      "It is 3.",
    ]);
    const { manifest } = workspace;
    const run = await runSession({
      workspace,
      plugins: [{ plugin, manifest, config: { greeting: "ave" } }],
      provider,
      prompt: "What is 1 + 2?",
    });
    assert.deepEqual([run.reason, run.answer, run.warnings], ["done", "It is 3.", []]);
    assert.equal(
      run.transcript,
      [
        "user: What is 1 + 2?",
        "model: Let me see.",
        'call: Add {"a":1,"b":2}',
        'call: Add {"a":666,"b":1}',
        "result of Add, ok: 3",
        "result of Add, refused: Refused by the plugin samples: not that one",
        "  Nothing was done.",
        'call: Copy {"from":"a.txt","to":"b.txt"}',
        "result of Copy, ok: Copied to b.txt, ave.",
        'call: Fail {"how":"ToolError"}',
        "result of Fail, error: There is no such thing. Try another.",
        "model: It is 3.",
        "end: done",
        "",
      ].join("\n"),
    );
    assert.equal(await workspace.read("b.txt"), "text\n");
    assert.equal(run.events.filter(({ type }) => type === "call_end").length, 4);
    assert.equal(provider.requests.length, 4);
    const names = provider.requests[0]?.tools.map(({ name }) => name);
    assert.deepEqual(names, ["Add", "Copy", "Fail", "Run"]);
  });

  it("refuses what the rules do not allow, and goes on", async () => {
    await using workspace = await place({ "a.txt": "" });
    const { manifest } = workspace;
    const { transcript } = await runSession({
      workspace,
      plugins: [{ plugin, manifest }],
      provider: scriptedProvider([
        { calls: [{ name: "Copy", args: { from: "a.txt", to: "b.txt" } }] },
        "I may not.",
      ]),
      prompt: "copy",
      allow: [],
    });
    assert.match(transcript, /^result of Copy, refused: Refused: permission is needed/m);
  });

  it("rejects when the script is over, and disposes the plugin all the same", async () => {
    await using workspace = await place();
    let disposed = 0;
    await assert.rejects(
      runSession({
        workspace,
        plugins: [{ plugin: { ...plugin, dispose: () => void disposed++ } }],
        provider: scriptedProvider([{ calls: [add(1, 2)] }]),
        prompt: "go",
      }),
      /HTTP 400: the script has 1 step, and this is request 2\nAdd the reply to it/,
    );
    assert.equal(disposed, 1);
  });
});

const user: Message = { role: "user", text: "hi" };
const called = (...ids: string[]): Message => ({
  role: "assistant",
  text: "",
  calls: ids.map((id) => ({ id, name: "Add", args: "{}" })),
});
const result = (callId: string): Message => ({ role: "tool", callId, name: "Add", text: "1" });

/** What the provider says to these messages. */
async function answerTo(
  messages: Message[],
  steps: (string | ScriptedStep)[],
  tools: object[] = [],
) {
  const provider = scriptedProvider(steps);
  const deltas = [];
  const request = { model: "m", messages, tools } as Parameters<typeof provider.stream>[0];
  for await (const delta of provider.stream(request, new AbortController().signal)) {
    deltas.push(delta);
  }
  return { provider, deltas };
}

describe("the scripted provider", () => {
  const refusals: [what: string, messages: Message[], says: RegExp, tools?: object[]][] = [
    ["no message", [], /messages must be a non-empty array/],
    ["a call without its result", [user, called("a", "b"), result("a")], /without a response: b/],
    [
      "a call without its result in the middle",
      [user, called("a"), user],
      /must be followed by tool messages responding to each 'tool_call_id': a/,
    ],
    ["a result without a call", [user, result("a")], /must be a response to a preceding message/],
    ["a result twice", [user, called("a"), result("a"), result("a")], /tool_call_id "a"/],
    ["an id twice", [user, called("a", "a"), result("a")], /is a duplicate: a/],
    [
      "an unknown role",
      [user, { role: "critic", text: "no" } as unknown as Message],
      /messages\[1\]\.role must be one of system, user, assistant, tool/,
    ],
    [
      "a schema that no provider takes",
      [user],
      /'anyOf' is not permitted/,
      [{ name: "A", description: "a", schema: { type: "object", anyOf: [] } }],
    ],
  ];
  for (const [what, messages, says, tools] of refusals) {
    it(`refuses ${what}, without using up a step`, async () => {
      const { deltas: [delta], provider } = await answerTo(messages, ["fine"], tools);
      assert.ok(delta?.type === "error");
      assert.match(delta.failure.message, says);
      assert.deepEqual([delta.failure.status, delta.failure.retryable], [400, false]);
      assert.equal(provider.requests.length, 1);
      const request = { model: "m", messages: [user], tools: [] };
      const texts = [];
      for await (const next of provider.stream(request, new AbortController().signal)) {
        if (next.type === "text") texts.push(next.text);
      }
      assert.deepEqual(texts, ["fine"]);
    });
  }

  it("answers with text, reasoning, calls and usage, or with raw deltas; takes what is paired", async () => {
    const paired = [user, called("a", "b"), result("b"), result("a"), called("a"), result("a")];
    const usage = { input: 1, output: 2, cached: 0 };
    const step = { reasoning: "hm", text: "so", calls: [{ name: "X", args: { y: 1 } }], usage };
    assert.deepEqual((await answerTo(paired, [step])).deltas, [
      { type: "reasoning", text: "hm" },
      { type: "text", text: "so" },
      { type: "call", fragment: { index: 0, id: "c1x0", name: "X", args: '{"y":1}' } },
      { type: "usage", usage },
      { type: "finish", reason: "tool_calls", raw: null },
    ]);
    const deltas = [{ type: "text", text: "cut" }] as const;
    assert.deepEqual((await answerTo([user], [{ deltas }])).deltas, deltas);
  });
});
