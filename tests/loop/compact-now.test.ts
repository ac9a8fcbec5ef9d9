import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { historyOf } from "../../src/context/history.ts";
import { compactNow, previewCompaction, undoCompaction } from "../../src/loop/compact-now.ts";
import type { AgentEvent } from "../../src/loop/events.ts";
import { requestFor } from "../../src/loop/request.ts";
import type { ChatRequest, Delta, Provider } from "../../src/provider/provider.ts";
import type { CompactRecord } from "../../src/session/records.ts";
import { read } from "../../src/tools/read.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { type Bench, bench, echoTool, scripted } from "../support/scripted.ts";

type Summariser = (request: ChatRequest, signal: AbortSignal) => AsyncIterable<Delta> | Delta[];

/** Calls Echo with 2,000 characters and then answers; `summary` answers whoever offers no tools. */
function model(summary: Summariser): Provider & { requests: ChatRequest[]; summaries: number } {
  let step = 0;
  return {
    id: "p",
    requests: [],
    summaries: 0,
    async *stream(request, signal) {
      await Promise.resolve();
      if (request.tools.length === 0) {
        this.summaries++;
        return yield* summary(request, signal);
      }
      this.requests.push(structuredClone(request));
      step++;
      if (step % 2 === 1) {
        const args = JSON.stringify({ text: `${step} `.repeat(1000) });
        yield { type: "call", fragment: { index: 0, id: `c${step}`, name: "Echo", args } };
      } else {
        yield { type: "text", text: `answer ${step / 2}` };
      }
      yield { type: "usage", usage: { input: 900, output: 10, cached: 0 } };
      yield { type: "finish", reason: step % 2 === 1 ? "tool_calls" : "stop", raw: null };
    },
  };
}

const answer = (text: string): Delta[] => [
  { type: "text", text },
  { type: "finish", reason: "stop", raw: null },
];
const GOOD = () => answer('{"summary":"numbers were echoed","constraints":["never touch tests/"]}');

/** A window in which no turn is small enough to be kept. */
const SMALL = 10_000;
/** A window in which the newest turn is kept. */
const LARGE = 100_000;

async function talked(texts: string[], summary: Summariser = GOOD) {
  const b: Bench = bench([echoTool()]);
  const provider = model(summary);
  for (const text of texts) await b.run(provider, {}, text);
  const deps = (window: number, signal = new AbortController().signal) =>
    b.deps(provider, { model: { provider, model: "m", window, prices: null }, signal });
  const events: AgentEvent[] = [];
  return {
    ...b,
    provider,
    deps,
    events,
    now: (window: number, signal?: AbortSignal) =>
      compactNow(b.session, deps(window, signal), (event) => events.push(event)),
    /** What the model would read now. */
    async text() {
      const { request } = await requestFor(b.session, deps(LARGE), []);
      return request.messages.map(({ text }) => text).join("\n");
    },
    types: () => b.session.log.records.map(({ type }) => type),
  };
}

const compactions = (b: { session: Bench["session"] }) =>
  b.session.log.records.filter((record): record is CompactRecord => record.type === "compact");

describe("/compact", () => {
  it("summarises everything finished, keeps the user's words and goes on from there", async () => {
    const t = await talked(["first task", "second task"]);
    assert.equal(await t.now(SMALL), "compacted");
    const [event] = t.events;
    assert.ok(event?.type === "compact");
    assert.deepEqual([event.how, event.session, event.turn], ["model", "s", 2]);
    assert.ok(event.after < event.before);
    const [record] = compactions(t);
    assert.deepEqual(record?.tokens, { before: event.before, after: event.after });
    const text = await t.text();
    assert.match(
      text,
      /numbers were echoed[\s\S]*never touch tests\/[\s\S]*first task[\s\S]*second/,
    );
    assert.doesNotMatch(text, /answer 1|1 1 1/);
    await t.run(t.provider, {}, "third task");
    const sent = t.provider.requests.at(-1)?.messages.map(({ text }) => text).join("\n") ?? "";
    assert.match(sent, /numbers were echoed[\s\S]*third task/);
    assert.deepEqual(historyOf(t.reload().log.records).compact?.id, record?.id);
    t.close();
  });

  it("keeps the newest turn where it is small; the next time that goes too, then nothing is left", async () => {
    const t = await talked(["first task", "second task"]);
    assert.equal(await t.now(LARGE), "compacted");
    assert.doesNotMatch(await t.text(), /answer 1/);
    assert.match(await t.text(), /answer 2/);
    assert.equal(await t.now(LARGE), "compacted");
    assert.doesNotMatch(await t.text(), /answer 2/);
    const before = t.session.log.records.length;
    assert.equal(await t.now(LARGE), "nothing");
    assert.equal(t.session.log.records.length, before);
    assert.equal(t.provider.summaries, 2);
    t.close();
  });

  it("with nothing said there is nothing to leave out, and no model is asked", async () => {
    const t = await talked([]);
    assert.equal(await t.now(LARGE), "nothing");
    assert.equal(await previewCompaction(t.session, t.deps(LARGE)), null);
    assert.deepEqual([t.provider.summaries, t.events, t.types()], [0, [], ["header"]]);
    t.close();
  });

  it("a summary as long as the history is not taken", async () => {
    const t = await talked(
      ["first task"],
      () => answer(JSON.stringify({ summary: "long ".repeat(2000) })),
    );
    // Where no turn is small enough to be kept both plans are one: it is tried once.
    for (const [window, asked] of [[LARGE, 1], [SMALL, 2]] as const) {
      assert.equal(await t.now(window), "no gain");
      assert.equal(t.provider.summaries, asked);
    }
    assert.deepEqual([compactions(t), t.events], [[], []]);
    t.close();
  });

  it("a model that fails leaves a summary made of the records, and says why", async () => {
    const t = await talked(["first task"], () => answer("no json"));
    assert.equal(await t.now(SMALL), "compacted");
    const [event] = t.events;
    assert.ok(event?.type === "compact");
    assert.deepEqual([event.how, event.why], [
      "mechanical",
      "the model's summary could not be read",
    ]);
    assert.match(await t.text(), /the user asked: first task/);
    t.close();
  });

  it("shows lines of files again where they are now, and Edit may use them at once", async () => {
    const b = bench([read as unknown as Tool]);
    const path = join(b.folder, "a.txt");
    writeFileSync(path, "one\ntwo\n");
    const provider = scripted([
      { calls: [{ name: "Read", args: { path: "a.txt" } }] },
      { text: "word ".repeat(2000) },
      { text: '{"summary":"a.txt was read"}' },
    ]);
    await b.run(provider);
    writeFileSync(path, "zero\none\ntwo\n");
    assert.equal(await compactNow(b.session, b.deps(provider), () => {}), "compacted");
    const [record] = compactions(b);
    assert.match(record?.texts.at(-1) ?? "", /@@ a\.txt 2:3\n2:\w+\|one\n3:\w+\|two/);
    assert.equal(b.session.seen.views(path)[0]?.line(3), "two");
    assert.equal(b.reload().seen.views(path)[0]?.line(3), "two");
    b.close();
  });

  it("can be interrupted, and then nothing is recorded", async () => {
    const abort = new AbortController();
    const t = await talked(["first task"], async function* (_request, signal) {
      abort.abort();
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener("abort", () => resolve());
      });
      yield* GOOD();
    });
    const before = t.types();
    assert.equal(await t.now(SMALL, abort.signal), "interrupted");
    assert.deepEqual(t.types(), before);
    assert.deepEqual(t.events, []);
    t.close();
  });
});

describe("/compact --preview", () => {
  it("says what would go, changes nothing and asks no model", async () => {
    const t = await talked(["first task", "second task", "third task"]);
    const before = t.types();
    const preview = await previewCompaction(t.session, t.deps(LARGE));
    assert.ok(preview);
    assert.deepEqual(
      [preview.turns, preview.records, preview.words, preview.kept],
      [[1, 2], 8, 2, 1],
    );
    assert.ok(preview.goes > preview.before / 2 && preview.goes < preview.before);
    assert.ok(preview.after > preview.before - preview.goes && preview.after < preview.before);
    assert.deepEqual([t.types(), t.provider.summaries], [before, 0]);
    // What it announces is what happens, but for the summary's length.
    await t.now(LARGE);
    const [record] = compactions(t);
    assert.equal(record?.tokens.before, preview.before);
    const last = t.session.log.records.findLast(({ turn }) => turn === 2);
    assert.equal(record?.through, last?.id);
    t.close();
  });
  it("names everything when no turn is small enough to stay", async () => {
    const t = await talked(["first task", "second task"]);
    const preview = await previewCompaction(t.session, t.deps(SMALL));
    assert.deepEqual([preview?.turns, preview?.kept], [[1, 2], 0]);
    t.close();
  });
});

describe("/compact --undo", () => {
  it("brings the history back word for word, newest compaction first, also after a restart", async () => {
    const t = await talked(["first task", "second task"]);
    const original = await t.text();
    await t.now(LARGE);
    const once = await t.text();
    await t.now(LARGE);
    const undone = await undoCompaction(t.session, t.deps(LARGE));
    assert.deepEqual([undone?.turns, undone?.records, undone?.isFull], [[2, 2], 4, false]);
    assert.ok(undone && undone.after > undone.before);
    assert.equal(await t.text(), once);
    assert.deepEqual((await undoCompaction(t.session, t.deps(LARGE)))?.turns, [1, 1]);
    assert.equal(await t.text(), original);
    assert.equal(historyOf(t.reload().log.records).compact, null);
    assert.equal(await undoCompaction(t.session, t.deps(LARGE)), null);
    assert.equal(t.types().filter((type) => type === "uncompact").length, 2);
    t.close();
  });
  for (const [share, isFull] of [[1.2, true], [1.7, false]] as const) {
    it(`says whether the history fills the window again (window ${share} of it)`, async () => {
      const t = await talked(["first task", "second task"]);
      const { facts } = await requestFor(t.session, t.deps(LARGE), []);
      await t.now(SMALL);
      const undone = await undoCompaction(t.session, t.deps(Math.round(facts.estimate * share)));
      assert.equal(undone?.isFull, isFull);
      t.close();
    });
  }
  it("what was taken back can be compacted again", async () => {
    const t = await talked(["first task"]);
    await t.now(SMALL);
    await undoCompaction(t.session, t.deps(SMALL));
    assert.equal(await t.now(SMALL), "compacted");
    assert.equal(compactions(t).length, 2);
    t.close();
  });
});
