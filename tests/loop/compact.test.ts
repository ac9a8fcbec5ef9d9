import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import type { AgentEvent } from "../../src/loop/events.ts";
import type { ChatRequest, Delta, Provider } from "../../src/provider/provider.ts";
import type { RequestRecord } from "../../src/session/records.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { type Bench, bench } from "../support/scripted.ts";

/** `Big {n}`: as many characters of output. */
const big: Tool = {
  name: "Big",
  description: "prints",
  input: z.strictObject({ n: z.number(), i: z.number() }),
  example: { n: 1, i: 1 },
  effects: () => [],
  isConcurrencySafe: () => true,
  run: (input) => {
    const { n, i } = input as { n: number; i: number };
    return Promise.resolve({ output: `${i} `.repeat(n / 4), bound: 1_000_000 });
  },
};

const isSummary = (request: ChatRequest) =>
  request.tools.length === 0 && request.messages[0]?.text.startsWith("You condense");

const tokensOf = ({ messages }: ChatRequest) =>
  Math.ceil(messages.reduce((sum, message) => sum + JSON.stringify(message).length, 0) / 4);

interface Model extends Provider {
  requests: ChatRequest[];
  summaries: ChatRequest[];
}

/**
 * A model that calls Big `steps` times a turn and then answers; `summary` answers the summariser's
 * request; a request of more than `refuseFrom` tokens is refused as too long.
 */
function model(
  { steps, size, summary, refuseFrom = Infinity, usage = true }: {
    steps: number;
    size: number;
    summary: (request: ChatRequest, signal: AbortSignal) => AsyncIterable<Delta> | Delta[];
    refuseFrom?: number;
    usage?: boolean;
  },
): Model {
  const requests: ChatRequest[] = [];
  const summaries: ChatRequest[] = [];
  let step = 0;
  return {
    id: "m",
    requests,
    summaries,
    async *stream(request, signal) {
      await Promise.resolve();
      if (isSummary(request)) {
        summaries.push(request);
        yield* summary(request, signal);
        return;
      }
      requests.push(request);
      if (tokensOf(request) > refuseFrom) {
        const failure = { message: "context length exceeded", code: 400, retryable: false };
        yield { type: "error", failure: { ...failure, tooLong: true } };
        return;
      }
      if (usage) {
        yield { type: "usage", usage: { input: tokensOf(request), output: 10, cached: 0 } };
      }
      if (step++ % (steps + 1) === steps) {
        yield { type: "text", text: `answer ${step}` };
        yield { type: "finish", reason: "stop", raw: null };
        return;
      }
      const args = JSON.stringify({ n: size, i: step });
      yield { type: "call", fragment: { index: 0, id: `c${step}`, name: "Big", args } };
      yield { type: "finish", reason: "tool_calls", raw: null };
    },
  };
}

const answer = (text: string): Delta[] => [
  { type: "text", text },
  { type: "usage", usage: { input: 50, output: 20, cached: 0 } },
  { type: "finish", reason: "stop", raw: null },
];
const GOOD = answer('{"summary":"one.txt was created","constraints":["never touch tests/"]}');

const ofType = <T extends AgentEvent["type"]>(events: AgentEvent[], type: T) =>
  events.filter((event): event is Extract<AgentEvent, { type: T }> => event.type === type);

async function turns(b: Bench, provider: Model, window: number | null, texts: string[]) {
  const events: AgentEvent[] = [];
  for (const text of texts) {
    events.push(
      ...await b.run(provider, {
        model: { provider, model: "m", window, prices: null },
        limits: { steps: 1000 },
      }, text),
    );
  }
  return events;
}

const textOf = (request: ChatRequest | undefined) =>
  (request?.messages ?? []).map(({ text }) => text).join("\n");

describe("compaction", () => {
  it("happens by itself in the middle of a turn, which goes on with its words, the old ones marked done (CX-07, CX-08)", async () => {
    const b = bench([big]);
    const provider = model({ steps: 6, size: 6000, summary: () => GOOD });
    const events = await turns(b, provider, 24_000, [
      "create one.txt",
      "create two.txt",
      "rename foo to bar in src, never touch tests/",
    ]);
    assert.deepEqual(ofType(events, "turn_end").map(({ reason }) => reason), [
      "done",
      "done",
      "done",
    ]);
    assert.ok(provider.summaries.length >= 1);
    const last = textOf(provider.requests.at(-1));
    assert.match(last, /one\.txt was created/);
    assert.match(last, /\[turn 1, done\] create one\.txt/);
    assert.ok(
      last.indexOf("--- Prior Summary ---") <
        last.indexOf("rename foo to bar in src, never touch tests/"),
    );
    assert.ok(ofType(events, "compact").every(({ before, after }) => after < before));
    b.close();
  });

  const never = async function* (_: ChatRequest, signal: AbortSignal): AsyncGenerator<Delta> {
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    yield { type: "finish", reason: "interrupted", raw: null };
  };
  const failure = { message: "overloaded", code: 500, retryable: false };
  const bad: [
    string,
    (request: ChatRequest, signal: AbortSignal) => AsyncIterable<Delta> | Delta[],
    RegExp,
  ][] = [
    ["fails", () => [{ type: "error", failure }], /no summary: overloaded/],
    ["answers nothing", () => answer(""), /could not be read/],
    ["answers prose", () => answer("The user wanted a file."), /could not be read/],
    ["lies in its format", () => answer('{"summary": ["x"], "open": 7}'), /could not be read/],
    ["calls a tool", () => [
      { type: "call", fragment: { index: 0, id: "x", name: "Big", args: "{}" } },
      { type: "finish", reason: "tool_calls", raw: null },
    ], /could not be read/],
    [
      "breaks off",
      () => [{ type: "text", text: '{"summary": "a' }, { type: "error", failure }],
      /overloaded/,
    ],
  ];
  for (const [what, summary, why] of bad) {
    it(`a summariser that ${what} is replaced by a mechanical summary`, async () => {
      const b = bench([big]);
      const provider = model({ steps: 6, size: 6000, summary });
      const events = await turns(b, provider, 24_000, ["create one.txt", "two", "three"]);
      assert.deepEqual(ofType(events, "turn_end").map(({ reason }) => reason), [
        "done",
        "done",
        "done",
      ]);
      const [first] = ofType(events, "compact");
      assert.equal(first?.how, "mechanical");
      assert.match(first?.why ?? "", why);
      assert.match(textOf(provider.requests.at(-1)), /create one\.txt/);
      b.close();
    });
  }

  it("a summariser that hangs is not waited for longer than the limit", async () => {
    const b = bench([big]);
    const provider = model({ steps: 6, size: 6000, summary: never });
    const deps = {
      model: { provider, model: "m", window: 24_000, prices: null },
      limits: { steps: 100 },
      summaryMs: 50,
    };
    const events: AgentEvent[] = [];
    for (const text of ["a", "b", "c"]) events.push(...await b.run(provider, deps, text));
    assert.match(ofType(events, "compact")[0]?.why ?? "", /no summary within 0\.05 s/);
    assert.equal(ofType(events, "turn_end").at(-1)?.reason, "done");
    b.close();
  });

  it("Esc ends a turn that waits for a summary", async () => {
    const b = bench([big]);
    const abort = new AbortController();
    const provider = model({
      steps: 6,
      size: 6000,
      summary: (request, signal) => {
        setTimeout(() => abort.abort(), 20);
        return never(request, signal);
      },
    });
    const deps = {
      model: { provider, model: "m", window: 24_000, prices: null },
      limits: { steps: 100 },
    };
    let reason = "";
    for (const text of ["a", "b", "c", "d"]) {
      const events = await b.run(provider, { ...deps, signal: abort.signal }, text);
      reason = ofType(events, "turn_end")[0]?.reason ?? "";
      if (reason !== "done") break;
    }
    assert.equal(reason, "interrupt");
    b.close();
  });

  it("a window that nobody knows is learnt from the refusal: one compaction, and the turn goes on", async () => {
    const b = bench([big]);
    const provider = model({ steps: 6, size: 6000, summary: () => GOOD, refuseFrom: 16_000 });
    const events = await turns(b, provider, null, ["create one.txt", "two", "three", "four"]);
    assert.deepEqual(ofType(events, "turn_end").map(({ reason }) => reason), [
      "done",
      "done",
      "done",
      "done",
    ]);
    const refused = provider.requests.filter((request) => tokensOf(request) > 16_000);
    assert.equal(refused.length, 1, "it is not refused again and again");
    b.close();
  });

  it("a second refusal teaches from the request that was refused, not from the one before", async () => {
    const b = bench([big]);
    const provider = model({ steps: 6, size: 6000, summary: () => GOOD });
    await turns(b, provider, null, ["one", "two"]);
    const refusing = model({ steps: 6, size: 6000, summary: () => GOOD, refuseFrom: 0 });
    await turns(b, refusing, null, ["three"]);
    const sent = b.session.log.records.filter((record): record is RequestRecord =>
      record.type === "request"
    );
    const [first, second] = sent.slice(-refusing.requests.length).map(({ estimate }) => estimate);
    assert.ok(second !== undefined && first !== undefined && second < first);
    assert.ok((b.session.context.learnedWindow ?? Infinity) < second);
    b.close();
  });

  it("the oldest results of a turn that alone is too long fold; nothing is folded twice", async () => {
    const b = bench([big]);
    const provider = model({ steps: 60, size: 4000, summary: () => GOOD });
    const events = await turns(b, provider, 30_000, ["go through all files"]);
    assert.equal(ofType(events, "turn_end")[0]?.reason, "done");
    const folds = ofType(events, "compact");
    assert.ok(folds.length >= 2 && folds.length < 12, `${folds.length} folds`);
    const last = textOf(provider.requests.at(-1));
    assert.match(last, /go through all files/);
    assert.match(last, /tool tr\.60 .*\n60 60 60/);
    assert.match(last, /Recall \{"keys":\["tr\.1"\]\}/);
    const keys = b.session.log.records.flatMap((record) => record.type === "fold" ? record.tr : []);
    assert.equal(new Set(keys).size, keys.length);
    for (const request of provider.requests) assert.ok(tokensOf(request) < 30_000);
    b.close();
  });

  it("when nothing more can be left out the user is told once, and it is not tried again and again", async () => {
    const b = bench([big]);
    const provider = model({ steps: 3, size: 40_000, summary: () => GOOD });
    const events = await turns(b, provider, 10_000, ["look"]);
    assert.equal(
      ofType(events, "warn").filter(({ message }) => /the context is full/.test(message)).length,
      1,
    );
    assert.equal(provider.summaries.length, 0);
    b.close();
  });

  it("is gone and back with undo, and the same after resume", async () => {
    const b = bench([big]);
    const provider = model({ steps: 6, size: 6000, summary: () => GOOD });
    await turns(b, provider, 24_000, ["create one.txt", "two", "three"]);
    const reopened = b.reload();
    assert.deepEqual(reopened.log.records, b.session.log.records);
    assert.equal(reopened.context.calibration.ratio, b.session.context.calibration.ratio);
    reopened.log.close();
    b.close();
  });
});

describe("the ledger", () => {
  const requestsOf = (b: Bench) =>
    b.session.log.records.filter((record): record is RequestRecord => record.type === "request");

  it("predicts that a request begins with the one before, and names what broke it", async () => {
    const b = bench([big]);
    const provider = model({ steps: 6, size: 6000, summary: () => GOOD });
    await turns(b, provider, 24_000, ["one", "two", "three"]);
    const requests = requestsOf(b);
    assert.equal(requests.length, provider.requests.length);
    assert.equal(requests[0]?.predicted, 0);
    const compacted = requests.filter(({ broke }) => broke);
    assert.ok(compacted.length >= 1);
    for (const { broke } of compacted) {
      assert.match(broke?.why ?? "", /compacted|folded/);
      assert.notEqual(broke?.block, "system");
    }
    for (const [i, request] of requests.entries()) {
      if (i === 0 || request.broke) continue;
      assert.ok(request.predicted > (requests[i - 1]?.predicted ?? 0) * 0.8);
      assert.ok(request.predicted < request.estimate);
    }
    const system = new Set(
      requests.map(({ blocks }) => blocks.find(({ name }) => name === "system")?.hash),
    );
    assert.equal(system.size, 1);
    b.close();
  });

  it("another model means another cache", async () => {
    const b = bench([big]);
    const provider = model({ steps: 1, size: 100, summary: () => GOOD });
    await b.run(provider);
    await b.run(provider, { model: { provider, model: "other", window: null, prices: null } });
    const broke = requestsOf(b).map((request) => request.broke?.why);
    assert.deepEqual(broke, [undefined, undefined, "the model changed (m)", undefined]);
    b.close();
  });

  it("estimates are within 15 % after two replies, in Chinese too", async () => {
    const b = bench([big]);
    const chinese: Tool = {
      ...big,
      run: () =>
        Promise.resolve({ output: "这是一个测试文件的内容。".repeat(400), bound: 1_000_000 }),
    };
    const c = bench([chinese]);
    for (const [at, perByte] of [[b, 1 / 3.2], [c, 1 / 4.4]] as const) {
      const counted: number[] = [];
      const inner = model({ steps: 6, size: 3000, summary: () => GOOD, usage: false });
      const provider: Model = {
        ...inner,
        async *stream(request, signal) {
          const input = Math.round(Buffer.byteLength(JSON.stringify(request.messages)) * perByte);
          counted.push(input);
          yield { type: "usage", usage: { input, output: 1, cached: 0 } };
          yield* inner.stream(request, signal);
        },
      };
      await turns(at, provider, null, ["读取所有文件"]);
      const estimates = requestsOf(at).map(({ estimate }) => estimate);
      for (let i = 2; i < counted.length; i++) {
        const off = Math.abs((estimates[i] ?? 0) / (counted[i] ?? 1) - 1);
        assert.ok(off < 0.15, `request ${i}: ${estimates[i]} estimated, ${counted[i]} counted`);
      }
      at.close();
    }
  });
});
