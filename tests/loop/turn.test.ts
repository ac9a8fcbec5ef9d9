import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AgentEvent } from "../../src/loop/events.ts";
import { repair } from "../../src/loop/session.ts";
import { compose } from "../../src/context/compose.ts";
import type { Message } from "../../src/provider/provider.ts";
import { ToolError } from "../../src/tools/tool.ts";
import { bench, echoTool, scripted } from "../support/scripted.ts";

const ofType = <T extends AgentEvent["type"]>(events: AgentEvent[], type: T) =>
  events.filter((event): event is Extract<AgentEvent, { type: T }> => event.type === type);

const endOf = (events: AgentEvent[]) => ofType(events, "turn_end")[0];

/** Pairing as the Chat Completions API demands it. */
function assertPaired(messages: Message[]): void {
  let waiting: string[] = [];
  for (const message of messages) {
    if (message.role === "tool") {
      assert.ok(waiting.includes(message.callId), `orphan result ${message.callId}`);
      waiting = waiting.filter((id) => id !== message.callId);
      continue;
    }
    assert.deepEqual(waiting, [], "calls without result");
    if (message.role === "assistant") waiting = message.calls.map((call) => call.id);
  }
  assert.deepEqual(waiting, []);
}

describe("turn", () => {
  it("runs calls until a reply has none, and answers with its text", async () => {
    const b = bench();
    const provider = scripted([
      { text: "first", calls: [{ name: "Echo", args: { text: "one" } }] },
      { text: "done" },
    ]);
    const events = await b.run(provider);
    assert.equal(endOf(events)?.reason, "done");
    assert.equal(endOf(events)?.answer, "done");
    assert.equal(endOf(events)?.steps, 2);
    assert.equal(ofType(events, "call_end")[0]?.text, "one");
    const tool = provider.requests[1]?.messages.find((message) => message.role === "tool");
    assert.match(tool?.text ?? "", /^tool tr\.1 Echo .*\none$/s);
    b.close();
  });

  it("each request begins with the one before it, minus its tail", async () => {
    const b = bench();
    const provider = scripted([
      { calls: [{ name: "Echo", args: { text: "1" } }] },
      { calls: [{ name: "Echo", args: { text: "2" } }, { name: "Echo", args: { text: "3" } }] },
      { text: "ok" },
    ]);
    await b.run(provider);
    for (let i = 1; i < provider.requests.length; i++) {
      const before = provider.requests[i - 1]?.messages.slice(0, -1) ?? [];
      assert.deepEqual(provider.requests[i]?.messages.slice(0, before.length), before);
      assert.deepEqual(provider.requests[i]?.tools, provider.requests[0]?.tools);
    }
    b.close();
  });

  it("neighbouring safe calls run together, at most four; an unsafe one runs alone, in order", async () => {
    let running = 0;
    let most = 0;
    const log: string[] = [];
    const slow = (name: string, safe: boolean) =>
      echoTool({
        name,
        isConcurrencySafe: () => safe,
        run: async ({ text }) => {
          running++;
          most = Math.max(most, running);
          if (!safe) assert.equal(running, 1);
          log.push(`start ${text}`);
          await new Promise((resolve) => setTimeout(resolve, 5));
          running--;
          log.push(`end ${text}`);
          return { output: text };
        },
      });
    const b = bench([slow("Safe", true), slow("Alone", false)]);
    const calls = [1, 2, 3, 4, 5].map((n) => ({ name: "Safe", args: { text: `s${n}` } }));
    calls.push({ name: "Alone", args: { text: "a" } }, { name: "Safe", args: { text: "s6" } });
    const events = await b.run(scripted([{ calls }, { text: "ok" }]));
    assert.equal(most, 4);
    assert.ok(log.indexOf("start a") > log.indexOf("end s5"));
    assert.ok(log.indexOf("start s6") > log.indexOf("end a"));
    assert.deepEqual(ofType(events, "call_end").map((event) => event.text), [
      "s1",
      "s2",
      "s3",
      "s4",
      "s5",
      "a",
      "s6",
    ]);
    b.close();
  });

  it("a tool that throws anything becomes one error result and the loop goes on (ST-23)", async () => {
    const throwing = (name: string, value: unknown) =>
      echoTool({ name, run: () => Promise.reject(value) });
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    const tools = [
      throwing("A", "a string"),
      throwing("B", undefined),
      throwing("C", circular),
      throwing("D", new ToolError("my words")),
      echoTool({
        name: "E",
        effects: () => {
          throw new Error("in effects");
        },
      }),
    ];
    const b = bench(tools);
    const events = await b.run(scripted([
      { calls: tools.map((tool) => ({ name: tool.name, args: { text: "x" } })) },
      { text: "ok" },
    ]));
    assert.deepEqual(
      ofType(events, "call_end").map((event) => event.status),
      Array(5).fill("error"),
    );
    assert.equal(ofType(events, "call_end")[3]?.text, "my words");
    assert.match(ofType(events, "call_end")[4]?.text ?? "", /in effects/);
    assert.equal(endOf(events)?.reason, "done");
    b.close();
  });

  it("unknown tools, wrong fields and broken JSON get errors from which the next call can succeed", async () => {
    const b = bench();
    const provider = scripted([
      { calls: [{ name: "Ecco", args: {} }] },
      { calls: [{ name: "Echo", args: { txet: "a" } }] },
      {
        deltas: [
          { type: "call", fragment: { index: 0, id: "x", name: "Echo", args: '{"text":"cut' } },
          { type: "finish", reason: "tool_calls", raw: null },
        ],
      },
      { text: "ok" },
    ]);
    const events = await b.run(provider);
    const [unknown, field, cut] = ofType(events, "call_end").map((event) => event.text);
    assert.match(unknown ?? "", /no tool "Ecco".*Echo/);
    assert.match(field ?? "", /txet.*accepted: text/s);
    assert.match(field ?? "", /\{"text":"hi"\}/);
    assert.match(cut ?? "", /not valid JSON/);
    const replayed = provider.requests[3]?.messages.findLast((message) =>
      message.role === "assistant"
    );
    assert.equal(replayed?.role === "assistant" && replayed.calls[0]?.args, "{}");
    b.close();
  });

  it("a reply cut by length runs none of its calls, and each gets a result", async () => {
    let ran = false;
    const b = bench([echoTool({
      run: () => {
        ran = true;
        return Promise.resolve({ output: "" });
      },
    })]);
    const provider = scripted([
      {
        deltas: [
          { type: "call", fragment: { index: 0, id: "x", name: "Echo", args: '{"text":"a"}' } },
          { type: "finish", reason: "length", raw: "length" },
        ],
      },
      { text: "ok" },
    ]);
    const events = await b.run(provider);
    assert.equal(ran, false);
    assert.equal(ofType(events, "call_end")[0]?.status, "skipped");
    for (const request of provider.requests) assertPaired(request.messages);
    b.close();
  });

  it("an empty reply is asked once more, then reported; reasoning alone counts as empty (ST-14)", async () => {
    const b = bench();
    const empty = {
      deltas: [{ type: "reasoning", text: "hm" }, { type: "finish", reason: "stop", raw: "stop" }],
    } as const;
    const provider = scripted([{ deltas: [...empty.deltas] }, { deltas: [...empty.deltas] }]);
    const events = await b.run(provider);
    assert.equal(provider.requests.length, 2);
    assert.equal(endOf(events)?.reason, "provider");
    assert.equal(ofType(events, "reasoning").length, 2);
    const again = await b.run(scripted([{ deltas: [...empty.deltas] }, { text: "here" }]));
    assert.equal(endOf(again)?.answer, "here");
    b.close();
  });

  it("a cut stream is retried, nothing runs twice, and the message stands once (ST-03)", async () => {
    let runs = 0;
    const b = bench([echoTool({
      run: () => {
        runs++;
        return Promise.resolve({ output: "x" });
      },
    })]);
    const call = {
      type: "call",
      fragment: { index: 0, id: "x", name: "Echo", args: '{"text":"a"}' },
    } as const;
    const provider = scripted([
      { deltas: [{ type: "text", text: "half" }, call] },
      { deltas: [call, { type: "finish", reason: "tool_calls", raw: null }] },
      { text: "ok" },
    ]);
    const events = await b.run(provider);
    assert.equal(runs, 1);
    assert.equal(ofType(events, "retry").length, 1);
    assert.equal(b.session.log.records.filter((record) => record.type === "user").length, 1);
    assert.equal(b.session.log.records.filter((record) => record.type === "reply").length, 2);
    b.close();
  });

  it("stops at the step limit, says which, and stays resumable", async () => {
    const b = bench();
    const calls = (n: number) => [{ name: "Echo", args: { text: `${n}` } }];
    const events = await b.run(
      scripted([{ calls: calls(1) }, { calls: calls(2) }, { text: "no" }]),
      { limits: { steps: 2 } },
    );
    assert.equal(endOf(events)?.reason, "steps");
    assert.match(endOf(events)?.detail ?? "", /2 steps.*--max-steps/);
    assert.match(endOf(events)?.answer ?? "", /2 steps.*--max-steps/);
    const after = await b.run(scripted([{ text: "fine" }]));
    assert.equal(endOf(after)?.answer, "fine");
    b.close();
  });

  it("holds token and money budgets, warning at 80 %", async () => {
    const b = bench();
    const calls = (n: number) => ({ calls: [{ name: "Echo", args: { text: `${n}` } }] });
    const tokens = await b.run(scripted([calls(1), calls(2), calls(3)]), {
      limits: { steps: 9, budgetTokens: 220 },
    });
    assert.equal(endOf(tokens)?.reason, "budget");
    assert.equal(endOf(tokens)?.steps, 2);
    assert.equal(ofType(tokens, "warn").length, 1);
    const provider = scripted([calls(1), calls(2)]);
    const model = {
      provider,
      model: "m",
      window: null,
      prices: { input: 1000, cached: 100, output: 4000 },
    };
    const money = await b.run(provider, { model, limits: { steps: 9, budgetUsd: 0.09 } });
    assert.equal(endOf(money)?.reason, "budget");
    // 50 fresh at 1000, 50 cached at 100, 10 out at 4000 USD per million
    assert.equal(ofType(money, "usage")[0]?.costUsd, 0.095);
    b.close();
  });

  it("ends at the wall-time limit", async () => {
    const b = bench([echoTool({
      isConcurrencySafe: () => false,
      run: (_, ctx) =>
        new Promise((_resolve, reject) =>
          ctx.signal.addEventListener("abort", () => reject(new Error("cut")))
        ),
    })]);
    const events = await b.run(scripted([{ calls: [{ name: "Echo", args: { text: "x" } }] }]), {
      limits: { steps: 9, timeout: 0.05 },
    });
    assert.equal(endOf(events)?.reason, "timeout");
    b.close();
  });

  it("an interrupt gives each call a result, and the next request is well paired (CX-04)", async () => {
    const interrupt = new AbortController();
    const b = bench([echoTool({
      isConcurrencySafe: () => false,
      run: ({ text }) => {
        if (text === "2") interrupt.abort();
        return text === "2"
          ? Promise.reject(new Error("aborted"))
          : Promise.resolve({ output: text });
      },
    })]);
    const calls = ["1", "2", "3"].map((text) => ({ name: "Echo", args: { text } }));
    const events = await b.run(scripted([{ calls }]), { signal: interrupt.signal });
    assert.equal(endOf(events)?.reason, "interrupt");
    assert.deepEqual(ofType(events, "call_end").map((event) => event.status), [
      "ok",
      "interrupted",
      "interrupted",
    ]);
    const next = scripted([{ text: "ok" }]);
    await b.run(next);
    assertPaired(next.requests[0]?.messages ?? []);
    b.close();
  });

  it("keeps the text of an interrupted reply and none of its calls", async () => {
    const interrupt = new AbortController();
    const b = bench();
    const provider = scripted([{
      text: "partial",
      calls: [{ name: "Echo", args: { text: "x" } }],
    }]);
    const stream = provider.stream;
    provider.stream = async function* (request, signal) {
      for await (const delta of stream.call(provider, request, signal)) {
        yield delta;
        interrupt.abort();
      }
    };
    const events = await b.run(provider, { signal: interrupt.signal });
    assert.equal(endOf(events)?.answer, "partial");
    const reply = b.session.log.records.find((record) => record.type === "reply");
    assert.deepEqual(reply?.type === "reply" && [reply.text, reply.calls, reply.finish], [
      "partial",
      [],
      "interrupted",
    ]);
    b.close();
  });

  it("tells a model that repeats itself at three, and ends the turn at five", async () => {
    const b = bench();
    const same = { calls: [{ name: "Echo", args: { text: "again" } }] };
    const events = await b.run(scripted(Array(9).fill(same)));
    const texts = ofType(events, "call_end").map((event) => event.text);
    assert.equal(texts.length, 5);
    assert.equal(texts[1], "again");
    assert.match(texts[2] ?? "", /3 times in a row/);
    assert.equal(endOf(events)?.reason, "repeat");
    b.close();
  });

  it("notices circles of several calls, and one error whatever the arguments (CX-16)", async () => {
    const failing = echoTool({
      name: "Fail",
      run: () => Promise.reject(new ToolError("no anchor has this form; the lines are 1:abc|x")),
    });
    const b = bench([echoTool(), failing]);
    const call = (name: string, text: string) => ({ calls: [{ name, args: { text } }] });
    const turns = Array.from({ length: 20 }, (_, i) => call(i % 2 ? "Echo" : "Fail", "same"));
    const events = await b.run(scripted(turns));
    assert.equal(endOf(events)?.reason, "repeat");
    assert.equal(endOf(events)?.steps, 10);
    const provider = scripted(Array.from({ length: 9 }, (_, i) => call("Fail", `${i}`)));
    const others = await b.run(provider, { limits: { steps: 8 } });
    const texts = ofType(others, "call_end").map((event) => event.text);
    assert.doesNotMatch(texts[1] ?? "", /in a row/);
    assert.match(texts[2] ?? "", /This error came 3 times in a row/);
    assert.equal(endOf(others)?.reason, "steps");
    assert.match(
      provider.requests[4]?.messages.at(-1)?.text ?? "",
      /Recent tool errors:(\n- .*){4}/,
    );
    b.close();
  });

  it("queued text enters before the next request and leaves the queue only when that succeeded", async () => {
    const b = bench();
    const waiting = ["and this"];
    const queue = { peek: () => waiting, drop: (count: number) => void waiting.splice(0, count) };
    const broken = {
      deltas: [{ type: "error", failure: { message: "no", code: 401, retryable: false } }],
    } as const;
    await b.run(scripted([{ deltas: [...broken.deltas] }]), { queue });
    assert.deepEqual(waiting, ["and this"]);
    const provider = scripted([{ text: "ok" }]);
    const events = await b.run(provider, { queue });
    assert.deepEqual(waiting, []);
    assert.equal(ofType(events, "steer")[0]?.text, "and this");
    const users = provider.requests[0]?.messages.filter((message) => message.role === "user").map((
      message,
    ) => message.text);
    assert.ok(users?.includes("and this"));
    const sources = b.session.log.records.flatMap((record) =>
      record.type === "user" ? [record.source] : []
    );
    assert.deepEqual(sources, ["typed", "typed", "queued"]);
    b.close();
  });

  it("what was queued stays queued when the turn is interrupted before the model was heard", async () => {
    const b = bench();
    const waiting = ["later"];
    const queue = { peek: () => waiting, drop: (count: number) => void waiting.splice(0, count) };
    const interrupt = new AbortController();
    const provider = scripted([{ text: "never" }]);
    provider.stream = async function* () {
      interrupt.abort();
      await Promise.resolve();
      yield { type: "finish", reason: "interrupted", raw: null };
    };
    const events = await b.run(provider, { queue, signal: interrupt.signal });
    assert.equal(endOf(events)?.reason, "interrupt");
    assert.deepEqual(waiting, ["later"]);
    assert.equal(ofType(events, "steer").length, 0);
    assert.equal(b.session.log.records.some((record) => record.type === "reply"), false);
    b.close();
  });

  it("a call that a crash left open is closed on load, and the end is noted", async () => {
    const b = bench();
    await b.run(
      scripted([{ calls: [{ id: "k", name: "Echo", args: { text: "x" } }] }, { text: "ok" }]),
    );
    const { log } = b.session;
    log.append({ type: "user", turn: 2, step: 0, text: "more", source: "typed" });
    log.append({
      type: "reply",
      turn: 2,
      step: 1,
      text: "",
      reasoning: "",
      opaque: [],
      finish: "tool_calls",
      usage: null,
      provider: "p",
      model: "m",
      ms: 1,
      calls: [{ id: "k", name: "Echo", args: { text: "y" } }],
    });
    const session = b.reload();
    assert.equal(repair(session), 1);
    const { messages } = compose({
      records: session.log.records,
      system: "s",
      today: "2026-01-01",
      files: [],
      placement: "inline",
      window: null,
      image: () => null,
    });
    assertPaired(messages);
    assert.equal(session.log.records.at(-1)?.type, "end");
    assert.equal(repair(session), 0);
    session.log.close();
    b.close();
  });
});
