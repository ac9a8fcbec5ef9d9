import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { contextCommands } from "../../src/cli/context-commands.ts";
import type { AgentEvent } from "../../src/loop/events.ts";
import type { CommandContext } from "../../src/ui/terminal/commands.ts";
import { PLAIN } from "../../src/ui/theme.ts";
import { bench, type Reply, scripted } from "../support/scripted.ts";

const TURN: Reply[] = [
  { calls: [{ name: "Echo", args: { text: "word ".repeat(400) } }] },
  { text: "done" },
];
const SUMMARY: Reply = { text: '{"summary":"a word was echoed"}' };

/** The commands on a session; `type` is what the terminal does with a line, and gives what it shows. */
function commands(replies: Reply[], begun = true) {
  const b = bench();
  const provider = scripted(replies);
  const over = { model: { provider, model: "m", window: 50_000, prices: null } };
  const list = contextCommands(
    () => begun ? b.session : null,
    (signal) => b.deps(provider, { ...over, signal }),
  );
  const events: AgentEvent[] = [];
  return {
    ...b,
    provider,
    events,
    list,
    turn: () => b.run(provider, over),
    async type(name: string, args = ""): Promise<string> {
      const shown: string[] = [];
      const context: CommandContext = {
        print: (text) => void shown.push(text),
        show: (lines) => void shown.push(...lines),
        event: (event) => void events.push(event),
        theme: PLAIN,
        columns: 80,
        ask: () => Promise.resolve({ decision: "deny" }),
        signal: new AbortController().signal,
      };
      await list.find((command) => command.name === name)?.run(args, context);
      return shown.join("\n");
    },
  };
}

describe("/context", () => {
  it("draws the next request, then the requests that were sent", async () => {
    const t = commands(TURN);
    await t.turn();
    const text = await t.type("context");
    assert.match(text, /^Session s · 2 requests · m\n/);
    assert.match(text, /Next request: about \S+ of 50\.0k tokens/);
    assert.match(text, /results +█/);
    assert.match(text, /\n +1\.1 .*\n +1\.2 .*\n\ntotal: 200 tokens in, 20 out · 50% cached/);
    assert.equal(t.provider.requests.length, 2);
    t.close();
  });
  it("while a turn runs, draws the request under way", async () => {
    const t = commands(TURN);
    const { log } = t.session;
    await t.turn();
    log.append({ type: "user", turn: 2, step: 0, text: "more", source: "typed" });
    assert.match(await t.type("context"), /Last request: about/);
    assert.equal(t.list.find(({ name }) => name === "context")?.anytime, true);
    t.close();
  });
  it("follows a compaction at once", async () => {
    const t = commands([...TURN, SUMMARY]);
    await t.turn();
    await t.type("compact");
    const text = await t.type("context");
    assert.match(text, /compacted once, last \S+ → \S+ tokens/);
    assert.match(text, /\n {2}summary +/);
    assert.doesNotMatch(text, /\n {2}results /);
    t.close();
  });
});

describe("/compact", () => {
  it("compacts, and takes it back", async () => {
    const t = commands([...TURN, SUMMARY]);
    await t.turn();
    assert.match(await t.type("compact", "--preview"), /turn 1 \(4 records\).*\n.*your message\./);
    assert.equal(t.provider.requests.length, 2);
    assert.equal(await t.type("compact"), "");
    assert.deepEqual(t.events.map(({ type }) => type), ["compact"]);
    assert.match(await t.type("compact"), /^Nothing can be left out/);
    assert.match(await t.type("compact", "--preview"), /^Nothing can be left out/);
    assert.match(await t.type("compact", "--undo"), /^Taken back: turn 1 \(4 records\)/);
    assert.match(await t.type("compact", "--undo"), /^Nothing to take back/);
    t.close();
  });
  it("lists what it takes when it is given something else", async () => {
    const t = commands([]);
    const wrong = /\/compact does not know "--unddo": it takes nothing, --preview or --undo/;
    await assert.rejects(t.type("compact", "--unddo"), wrong);
    await assert.rejects(t.type("context", "all"), /\/context takes no argument/);
    t.close();
  });
  for (const [name, args] of [["context", ""], ["compact", ""], ["compact", "--undo"]] as const) {
    it(`/${name} ${args} before the first turn says so and makes no session`, async () => {
      const t = commands([], false);
      await assert.rejects(t.type(name, args), /the session has not begun/);
      t.close();
    });
  }
});
