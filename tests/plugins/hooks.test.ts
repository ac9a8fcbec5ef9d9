import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { Hooks } from "../../src/plugins/hooks.ts";
import { openPlugins } from "../../src/plugins/open.ts";
import { LoadedPlugin } from "../../src/plugins/registry.ts";
import { TrustStore } from "../../src/plugins/trust.ts";
import type { AgentEvent } from "../../src/loop/events.ts";
import { bench, echoTool, scripted } from "../support/scripted.ts";
import { hookModule, manifest, type Places, places } from "./support.ts";

let at: Places;
let warnings: string[] = [];
beforeEach(() => {
  at = places();
  warnings = [];
});
afterEach(() => at.close());

const plugin = (name: string, hooks: object[], module = "") => {
  at.write(
    `home/plugins/${name}/plugin.json`,
    manifest(name, { ...(module === "" ? {} : { entry: "./index.js" }), contributes: { hooks } }),
  );
  if (module !== "") at.write(`home/plugins/${name}/index.js`, module);
};

async function hooks(): Promise<Hooks> {
  const { plugins } = await openPlugins([], at.folders, new TrustStore(at.home));
  return new Hooks(
    plugins.map((one) => new LoadedPlugin(one)),
    at.root,
    (line) => warnings.push(line),
  );
}

/** Plays one call of Echo with the hooks; what the tool was given, and the events. */
async function play(text = "hello") {
  const seen: string[] = [];
  const b = bench([
    echoTool({ run: ({ text }) => (seen.push(text), Promise.resolve({ output: text })) }),
  ]);
  const provider = scripted([{ calls: [{ name: "Echo", args: { text } }] }, { text: "ok" }]);
  const events = await b.run(provider, { hooks: await hooks() });
  b.close();
  const end = events.find((event): event is Extract<AgentEvent, { type: "call_end" }> =>
    event.type === "call_end"
  );
  return { seen, end, events };
}

const before = { event: "tool.before" };

describe("tool.before", () => {
  it("may deny with a reason that the model gets; the tool does not run", async () => {
    plugin("guard", [before], hookModule('return { deny: "not on Fridays" }'));
    const { seen, end } = await play();
    assert.deepEqual(seen, []);
    assert.equal(end?.status, "refused");
    assert.match(end?.text ?? "", /Refused by the plugin guard: not on Fridays/);
  });

  it("may change the arguments, which are checked again", async () => {
    plugin(
      "loud",
      [before],
      hookModule("return { args: { text: input.call.args.text.toUpperCase() } }"),
    );
    assert.deepEqual((await play()).seen, ["HELLO"]);
    plugin("wrong", [before], hookModule("return { args: { txet: 3 } }"));
    const { seen, end } = await play();
    assert.deepEqual(seen, []);
    assert.match(end?.text ?? "", /A hook changed the arguments, and they are wrong now/);
  });

  it("runs in order of names, sees what earlier ones changed, and the first denial ends it", async () => {
    plugin("a", [before], hookModule('return { args: { text: "from a" } }'));
    plugin(
      "b",
      [before],
      hookModule("if (input.call.args.text === 'from a') return { deny: 'b saw it' }"),
    );
    plugin("c", [before], hookModule("throw new Error('never asked')"));
    assert.match((await play()).end?.text ?? "", /plugin b: b saw it/);
    assert.deepEqual(warnings, []);
  });

  it("only for the tools of its matcher", async () => {
    plugin("guard", [{ ...before, matcher: "Bash|Edit" }], hookModule('return { deny: "no" }'));
    assert.deepEqual((await play()).seen, ["hello"]);
  });

  for (const onError of ["fail-open", "fail-closed"] as const) {
    for (
      const [what, body, extra] of [
        ["throws", "throw new Error('broken')", {}],
        ["takes too long", "return new Promise(() => {})", { timeoutMs: 50 }],
      ] as const
    ) {
      it(`that ${what} is ${onError}`, async () => {
        plugin("shaky", [{ ...before, onError, ...extra }], hookModule(body));
        const { seen, end } = await play();
        assert.deepEqual(seen, onError === "fail-open" ? ["hello"] : []);
        assert.equal(end?.status, onError === "fail-open" ? "ok" : "refused");
        assert.match(warnings[0] ?? "", /the hook tool\.before of the plugin shaky failed/);
      });
    }
  }
});

describe("a hook that is a command", () => {
  const command = (script: string, more: object = {}) =>
    plugin("script", [{ ...before, command: ["sh", "-c", script], ...more }]);

  it("gets JSON with the ids on stdin, and may answer with JSON", async () => {
    command(`cat > got.json; echo '{"args": {"text": "changed"}}'`);
    assert.deepEqual((await play()).seen, ["changed"]);
    const got = JSON.parse(readFileSync(join(at.root, "got.json"), "utf8"));
    assert.deepEqual(got.call, { id: "c1x0", tool: "Echo", args: { text: "hello" } });
    assert.deepEqual([got.event, got.session, got.turn, got.step], ["tool.before", "s", 1, 1]);
  });

  it("denies with exit 2 and its stderr as the reason", async () => {
    command("echo 'ask Ada first' >&2; exit 2");
    assert.match((await play()).end?.text ?? "", /plugin script: ask Ada first/);
  });

  it("fails with any other exit, with no program, with text that is no JSON, and when it hangs", async () => {
    for (const script of ["exit 1", "echo hello", "sleep 30"]) {
      warnings = [];
      command(script, { timeoutMs: 300 });
      assert.deepEqual((await play()).seen, ["hello"], script);
      assert.equal(warnings.length, 1, script);
    }
  });
});

describe("other events", () => {
  it("tool.after hears of the result, turn.end of the end, prompt.submit may refuse the turn", async () => {
    const log = (event: string) => ({ event, command: ["sh", "-c", `cat >> ${event}.json`] });
    plugin("log", [log("tool.after"), log("turn.end")]);
    await play();
    const after = JSON.parse(readFileSync(join(at.root, "tool.after.json"), "utf8"));
    assert.deepEqual(after.result, { status: "ok", text: "hello" });
    assert.equal(
      JSON.parse(readFileSync(join(at.root, "turn.end.json"), "utf8")).event,
      "turn.end",
    );
    plugin("no", [{ event: "prompt.submit", command: ["sh", "-c", "echo closed >&2; exit 2"] }]);
    const { seen, events } = await play();
    assert.deepEqual(seen, []);
    const end = events.find((event) => event.type === "turn_end");
    assert.match(end?.type === "turn_end" ? end.answer : "", /Refused by the plugin no: closed/);
  });
});
