import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { jsonRenderer, streamJsonRenderer } from "../../src/ui/json.ts";
import { type Renderer, TurnTally } from "../../src/ui/renderer.ts";
import { at, end, fakeOut, start, turnEnd, usage } from "./fake.ts";

const HOSTILE = "\x1b[31m \u202e\u200b \x9b \ud83d 👩\u200d💻";

const EVENTS = [
  at({ type: "turn_start", text: "hi", source: "typed", model: "m", provider: "p" }),
  start("c1", "Bash", "rm -rf build"),
  end("c1", "Bash", "permission is needed", { status: "refused" }),
  usage(1000, 50, 400, 0.25),
  at({ type: "warn", message: "careful" }),
  at({ type: "compact", how: "mechanical", before: 9000, after: 3000, why: "no model" }),
  usage(1000, 50, 600, 0.25),
  turnEnd(HOSTILE),
];

const SUMMARY = {
  session: "s1",
  answer: HOSTILE,
  exit: 4,
  reason: "done",
  steps: 2,
  usage: { input: 2000, output: 100, cached: 1000 },
  cost: 0.5,
  denied: [{ tool: "Bash", title: "rm -rf build", reason: "permission is needed" }],
};

async function render(renderer: Renderer): Promise<void> {
  const tally = new TurnTally();
  for (const event of EVENTS) {
    tally.add(event);
    renderer.event(event);
  }
  await renderer.end(tally.summary(4));
}

describe("--output json", () => {
  it("is one object with everything a script needs, and warnings on stderr", async () => {
    const [stdout, stderr] = [fakeOut(), fakeOut()];
    await render(jsonRenderer({ stdout, stderr }));
    assert.deepEqual(JSON.parse(stdout.text), SUMMARY);
    assert.equal(stdout.text.indexOf("\n"), stdout.text.length - 1);
    assert.equal(stderr.text, "warning: careful\n");
  });
  it("has a null cost when one request had no price", () => {
    const tally = new TurnTally();
    for (const event of [usage(1, 1, 0, 0.5), usage(1, 1, 0, null), usage(1, 1, 0, 0.5)]) {
      tally.add(event);
    }
    assert.equal(tally.summary(0).cost, null);
  });
});

describe("--output stream-json", () => {
  it("is every event on a line, then the result", async () => {
    const stdout = fakeOut();
    await render(streamJsonRenderer({ stdout }));
    const lines = stdout.text.trimEnd().split("\n").map((line) => JSON.parse(line) as unknown);
    assert.deepEqual(lines.slice(0, -1), EVENTS);
    assert.deepEqual(lines.at(-1), { type: "result", version: 1, ...SUMMARY });
  });
  it("holds no invisible byte", async () => {
    const stdout = fakeOut();
    await render(streamJsonRenderer({ stdout }));
    assert.doesNotMatch(stdout.text, /[\0-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e]/);
  });
});
