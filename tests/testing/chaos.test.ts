// Whatever the chaos does, a turn comes to the same end, every tool runs exactly once, and the same seed
// does the same.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  type ChaosFault,
  chaosProvider,
  runSession,
  type ScriptedCall,
  scriptedProvider,
  temporaryWorkspace,
} from "../../src/testing/mod.ts";
import { ChatStream } from "../../src/provider/chat-stream.ts";
import { randomFrom } from "../../src/testing/chaos.ts";
import { plugin, ran } from "./support.ts";
import { heavy } from "../support/heavy.ts";

const RUNS = Number(process.env["NANOCODE_RUNS"] ?? 1);
const add = (a: number, b: number): ScriptedCall => ({ name: "Add", args: { a, b } });
const ANSWER = "Fertig 🎉: größer als 3 — 漢字 ✓";
const STEPS = [
  { text: "Erst das. ü", calls: [add(1, 2), add(3, 4), add(5, 6)] },
  { reasoning: "hm 🤔", calls: [add(7, 8)] },
  ANSWER,
];

async function run(seed: number, faults?: ChaosFault[], rate?: number) {
  await using workspace = await temporaryWorkspace();
  const inner = scriptedProvider(STEPS);
  const provider = chaosProvider(seed, inner, {
    ...(faults === undefined ? {} : { faults }),
    ...(rate === undefined ? {} : { rate }),
  });
  ran.length = 0;
  const done = await runSession({ workspace, plugins: [{ plugin }], provider, prompt: "go" });
  return { ...done, ran: [...ran], happened: provider.happened, asked: inner.requests.length };
}

describe("the chaos provider", () => {
  it("changes neither the end of a turn nor how often a tool runs, for any seed", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 1e9 }), async (seed) => {
        const { answer, reason, ran, asked } = await run(seed);
        assert.deepEqual([answer, reason, asked], [ANSWER, "done", 3]);
        assert.deepEqual(ran.sort(), ["1+2", "3+4", "5+6", "7+8"]);
      }),
      { numRuns: 6 * RUNS },
    );
  });

  it("does the same for the same seed, and other things for another", async () => {
    const [one, again, ...others] = await Promise.all([7, 7, 8, 9, 10].map((seed) => run(seed)));
    assert.deepEqual(again?.happened, one?.happened);
    assert.equal(again?.transcript, one?.transcript);
    assert.ok(others.some(({ happened }) => `${happened}` !== `${one?.happened}`));
  });

  const each: [fault: ChaosFault, shows: (done: Awaited<ReturnType<typeof run>>) => void][] = [
    ["rate-limit", ({ events, happened }) => {
      const retries = events.filter((event) => event.type === "retry");
      assert.equal(retries.length, happened.filter((what) => what === "rate-limit").length);
      assert.match(retries[0]?.reason ?? "", /Rate limit reached/);
      assert.ok(retries.every(({ waitMs }) => waitMs <= 20 + 250));
    }],
    ["cut", ({ events }) => {
      const retries = events.filter((event) => event.type === "retry");
      assert.match(retries[0]?.reason ?? "", /ended the reply before it was complete/);
    }],
    ["split", ({ events, happened }) => {
      assert.deepEqual(new Set(happened), new Set(["split"]));
      const said = events.flatMap((event) => event.type === "text" ? [event.text] : []).join("");
      assert.equal(said, `Erst das. ü${ANSWER}`);
    }],
    ["slow", ({ happened }) => assert.deepEqual(happened, ["slow", "slow", "slow"])],
    ["duplicate-ids", ({ events, happened }) => {
      assert.deepEqual(happened, ["duplicate-ids", "nothing", "nothing"]);
      const ids = events.flatMap((event) => event.type === "call_end" ? [event.call] : []);
      assert.equal(new Set(ids).size, 4, "the loop made them different");
    }],
    ["broken-arguments", ({ events }) => {
      const texts = events.flatMap((event) => event.type === "call_end" ? [event.text] : []);
      assert.match(texts.join("\n"), /the arguments are not valid JSON/);
    }],
  ];
  for (const [fault, shows] of each) {
    heavy(`${fault} is seen, and survived`, async () => {
      const done = await run(3, [fault], 1);
      assert.ok(done.happened.includes(fault), `${done.happened}`);
      assert.deepEqual([done.answer, done.ran.length], [ANSWER, 4]);
      shows(done);
    });
  }

  it("splits bytes, not only events: the real decoder gets 1 to 7 at a time", async () => {
    const { push } = ChatStream.prototype;
    const sizes: number[] = [];
    ChatStream.prototype.push = function (bytes) {
      sizes.push(bytes.length);
      return push.call(this, bytes);
    };
    try {
      assert.equal((await run(3, ["split"], 1)).answer, ANSWER);
    } finally {
      ChatStream.prototype.push = push;
    }
    assert.ok(sizes.length > 100 && sizes.every((size) => size >= 1 && size <= 7));
  });

  it("fails at most twice in a row, and lets the errors of the wrapped one through", async () => {
    const { happened } = await run(1, ["rate-limit"], 1);
    assert.equal(happened.join(" "), Array(3).fill("rate-limit rate-limit nothing").join(" "));
    await using workspace = await temporaryWorkspace();
    const provider = chaosProvider(1, scriptedProvider([]), { rate: 1 });
    await assert.rejects(
      runSession({ workspace, plugins: [], provider, prompt: "go" }),
      /the script has 0 steps/,
    );
  });

  it("draws numbers that are spread from 0 to 1", () => {
    const random = randomFrom(42);
    const numbers = Array.from({ length: 1000 }, random);
    assert.ok(numbers.every((number) => number >= 0 && number < 1));
    const mean = numbers.reduce((sum, number) => sum + number, 0) / 1000;
    assert.ok(mean > 0.45 && mean < 0.55, `${mean}`);
  });
});
