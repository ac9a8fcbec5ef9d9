import assert from "node:assert/strict";
import { appendFileSync, chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { Hooks } from "../../src/plugins/hooks.ts";
import { openPlugins } from "../../src/plugins/open.ts";
import { LoadedPlugin } from "../../src/plugins/registry.ts";
import { TrustStore } from "../../src/plugins/trust.ts";
import { compactNow } from "../../src/loop/compact-now.ts";
import type { AgentEvent } from "../../src/loop/events.ts";
import { endSession } from "../../src/loop/hooks.ts";
import { gateway } from "../../src/plugins/gateway.ts";
import { HOOK_EVENTS } from "../../src/plugins/manifest.ts";
import type { HookInput } from "../../src/plugins/sdk.ts";
import type { SessionPlugins } from "../../src/plugins/session.ts";
import { turn } from "../../src/loop/turn.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { type Bench, bench, echoTool, entryOf, type Reply, scripted } from "../support/scripted.ts";
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

/** Lines of warnings for the person, while a turn runs. */
const warned = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => event.type === "warn" ? event.message : []);

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

/** A module that writes each of these events into `log` of the project, a line each; then `body`. */
const recorder = (events: readonly string[], body = "") => `
import { appendFileSync } from "node:fs";
const run = (input) => { appendFileSync(${
  JSON.stringify(join(at.root, "log"))
}, JSON.stringify(input) + "\\n"); ${body} };
export default { hooks: ${JSON.stringify(events)}.map((event) => ({ event, run })) };
`;
const note = (line: object) => appendFileSync(join(at.root, "log"), `${JSON.stringify(line)}\n`);
const log = (): HookInput[] =>
  existsSync(join(at.root, "log"))
    ? readFileSync(join(at.root, "log"), "utf8").trimEnd().split("\n").map((line) =>
      JSON.parse(line)
    )
    : [];
const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    // A zombie that nobody reaps is dead enough.
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
};

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
    const { end, events } = await play();
    assert.match(end?.text ?? "", /plugin b: b saw it/);
    assert.deepEqual(warned(events), []);
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
        ["answers a number", "return 3", {}],
        ["answers a list", "return []", {}],
        ["answers what nobody knows", "return { decision: 'block' }", {}],
        ["answers what this event does not take", "return { note: 'x' }", {}],
        ["answers a function", "return { args: { text: () => 1 } }", {}],
        ["throws no error", "throw Object.create(null)", {}],
      ] as const
    ) {
      it(`that ${what} is ${onError}`, async () => {
        plugin("shaky", [{ ...before, onError, ...extra }], hookModule(body));
        const { seen, end, events } = await play();
        assert.deepEqual(seen, onError === "fail-open" ? ["hello"] : []);
        assert.equal(end?.status, onError === "fail-open" ? "ok" : "refused");
        assert.match(
          warned(events)[0] ?? "",
          /^the hook tool\.before of the plugin shaky failed: [^\n]+$/,
        );
      });
    }
  }

  it("a denial that is no text is one all the same", async () => {
    plugin("guard", [before], hookModule("return { deny: true, what: 1 }"));
    assert.match((await play()).end?.text ?? "", /by the plugin guard: without a reason/);
  });

  it("that the manifest declares and the module lacks counts as failed", async () => {
    plugin("empty", [{ ...before, onError: "fail-closed" }], "export default {};");
    assert.equal((await play()).end?.status, "refused");
  });

  it("gets a copy: what it does to its input changes nothing", async () => {
    plugin("sly", [before], hookModule("input.call.args.text = 'changed'"));
    plugin(
      "then",
      [before],
      hookModule("if (input.call.args.text !== 'hello') return { deny: 'x' }"),
    );
    assert.deepEqual((await play()).seen, ["hello"]);
  });

  it("sees the names of the schema, whatever the model called a field", async () => {
    plugin("guard", [before], hookModule("if (input.call.args.text === 'x') return { deny: 'x' }"));
    const b = bench([echoTool({ aliases: { words: "text" } })]);
    const provider = scripted([{ calls: [{ name: "Echo", args: { words: "x" } }] }, { text: "k" }]);
    const events = await b.run(provider, { hooks: await hooks() });
    b.close();
    assert.ok(events.some((event) => event.type === "call_end" && event.status === "refused"));
  });

  it("comes just before its own call, and not for one that is skipped", async () => {
    plugin("log", [before, { event: "tool.after" }], recorder(["tool.before", "tool.after"]));
    const ran = (tool: string) => ({ event: `run ${tool}` });
    const tool = (name: string, over: Partial<Tool<{ text: string }>>) =>
      echoTool({ name, isConcurrencySafe: () => false, ...over });
    const b = bench(["One", "Two", "Planned"].map((name) =>
      tool(name, {
        ...(name === "Planned" ? { beginBatch: () => (note(ran("plan")), Promise.resolve()) } : {}),
        effects: ({ text }) => text === "ask" ? [{ kind: "net", host: "x" }] : [],
        run: () => (note(ran(name)), Promise.resolve({ output: name })),
      })
    ));
    const calls = (...names: [string, string][]) => ({
      calls: names.map(([name, text]) => ({ name, args: { text } })),
    });
    const provider = scripted([
      calls(["One", ""], ["Two", ""], ["Planned", ""]),
      calls(["One", "ask"], ["Two", ""]),
      { text: "ok" },
    ]);
    await b.run(provider, {
      hooks: await hooks(),
      policy: { allow: [], ask: [], deny: [], yolo: false },
      ask: () => Promise.resolve({ decision: "deny" }),
    });
    b.close();
    assert.deepEqual(log().map(({ event, call }) => call ? `${event} ${call.tool}` : event), [
      "tool.before Planned",
      "run plan",
      ...["One", "Two"].flatMap((name) => [
        `tool.before ${name}`,
        `run ${name}`,
        `tool.after ${name}`,
      ]),
      "run Planned",
      "tool.after Planned",
      "tool.before One",
      "tool.after One",
      "tool.after Two",
    ]);
  });

  it("sees the call that comes through the tool Plugin, by its own name, and may change it", async () => {
    plugin(
      "guard",
      [{ ...before, matcher: "Late" }],
      hookModule(
        "if (input.call.args.text === 'no') return { deny: input.call.via }; " +
          "return { args: { text: input.call.args.text + '!' } }",
      ),
    );
    const late = entryOf(echoTool({ name: "Late" }));
    const b = bench([
      gateway(() => ({ late: new Map([["Late", late]]), tools: new Map() }) as SessionPlugins),
    ]);
    const call = (text: string): Reply => ({
      calls: [{ name: "Plugin", args: { tool: "Late", args: JSON.stringify({ text }) } }],
    });
    const provider = scripted([call("no"), call("yes"), { text: "ok" }]);
    const events = await b.run(provider, { hooks: await hooks() });
    b.close();
    assert.deepEqual(
      events.flatMap((event) => event.type === "call_end" ? event.text : []),
      ["Refused by the plugin guard: Plugin\nNothing was done.", "yes!"],
    );
  });
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
    for (
      const [script, says] of [
        ["echo oh no >&2; exit 1", /sh ended with 1: oh no$/],
        ["echo hello", /sh printed something that is no JSON: hello$/],
        ["echo 3", /it answered 3, which is no object$/],
        ["kill -9 $$", /sh was killed$/],
        ["sleep 30", /it took longer than 300 ms$/],
      ] as const
    ) {
      command(script, { timeoutMs: 300 });
      const { seen, events } = await play();
      assert.deepEqual(seen, ["hello"], script);
      assert.match(warned(events).join(), says);
    }
    plugin("script", [{ ...before, command: ["no-such-program"], onError: "fail-closed" }]);
    const { end } = await play();
    assert.match(end?.text ?? "", /cannot run no-such-program: there is no such program/);
  });

  it("that takes too long ends with all that it started", async () => {
    command("sleep 30 & echo $! > pid; wait", { timeoutMs: 500 });
    await play();
    const pid = Number(readFileSync(join(at.root, "pid"), "utf8"));
    for (let i = 0; i < 200 && isAlive(pid); i++) await new Promise((done) => setTimeout(done, 10));
    assert.ok(!isAlive(pid));
  });

  it("is not waited for longer than it runs, whatever it leaves running", async () => {
    command('sleep 30 & echo $! > pid; echo \'{"deny":"quick"}\'');
    const { end } = await play();
    process.kill(Number(readFileSync(join(at.root, "pid"), "utf8")), "SIGKILL");
    assert.match(end?.text ?? "", /plugin script: quick/);
  });

  it("is a program of the plugin's folder where its path is relative, never one of the project", async () => {
    plugin("script", [{ ...before, command: ["./check"] }]);
    at.write("work/check", "#!/bin/sh\necho project >&2; exit 2\n");
    at.write("home/plugins/script/check", "#!/bin/sh\necho ours >&2; exit 2\n");
    for (const path of [join(at.root, "check"), join(at.home, "plugins/script/check")]) {
      chmodSync(path, 0o755);
    }
    assert.match((await play()).end?.text ?? "", /plugin script: ours/);
  });
});

/** A module with one handler. */
const handler = (event: string, body: string) =>
  `export default { hooks: [{ event: "${event}", run(input, signal) { ${body} } }] };\n`;
const SUMMARY = JSON.stringify({ summary: "much was said" });
const LONG = "word ".repeat(4000);
const textOf = (request: { messages: { text: string }[] } | undefined) =>
  request?.messages.map(({ text }) => text).join("\n") ?? "";
const endOf = (events: readonly AgentEvent[]) => {
  const end = events.findLast((event) => event.type === "turn_end");
  return end?.type === "turn_end" ? end : null;
};
/** Compacts by hand; what it came to, and the warnings. */
async function compactBy(b: Bench, provider: ReturnType<typeof scripted>, hooks: Hooks) {
  const events: AgentEvent[] = [];
  const model = { provider, model: "m", window: 10_000, prices: null };
  const how = await compactNow(b.session, b.deps(provider, { hooks, model }), (e) => {
    events.push(e);
  });
  return { how, events };
}

describe("every event", () => {
  for (const form of ["module", "command"] as const) {
    it(`is heard in order, with its ids, by a ${form}`, async () => {
      const command = { command: ["sh", "-c", "cat >> log"] };
      const listen = HOOK_EVENTS.map((event) => ({
        event,
        ...(form === "command" ? command : {}),
      }));
      plugin("log", listen, form === "command" ? "" : recorder(HOOK_EVENTS));
      const b = bench([
        echoTool({
          run: () =>
            Promise.resolve({
              output: "done",
              changes: [{ path: "/a", kind: "edit", before: null, after: null }],
            }),
        }),
      ]);
      const provider = scripted([
        { calls: [{ name: "Echo", args: { text: "hi" } }] },
        { text: LONG },
        { text: SUMMARY },
      ]);
      const heard = await hooks();
      const prices = { input: 1, output: 1 };
      const model = { provider, model: "m", window: null, prices };
      await b.run(provider, { hooks: heard, model });
      assert.equal((await compactBy(b, provider, heard)).how, "compacted");
      await endSession(b.session, heard);
      await endSession(b.session, heard);
      b.close();
      const got = log();
      const usage = { input: 100, output: 10, cached: 50, usd: 0.00011 };
      const call = { id: "c1x0", tool: "Echo", args: { text: "hi" } };
      const result = { status: "ok", text: "done" };
      const sent = { provider: "scripted", model: "m", window: null };
      const [first, second] = got.flatMap(({ request }) => request ?? []);
      const [{ tokens = 0 } = {}] = got.flatMap(({ compaction }) => compaction ?? []);
      const after = got.find(({ compacted }) => compacted)?.compacted?.after ?? 0;
      assert.ok((first?.estimate ?? 0) > 0 && (second?.estimate ?? 0) > (first?.estimate ?? 0));
      assert.ok(tokens > 1000 && after > 0 && after < tokens);
      const at = (step: number) => ({ project: b.folder, session: "s", turn: 1, step });
      const start = { resumed: false, provider: "scripted", model: "m" };
      const reply = { text: "", calls: [call], usage, estimated: false };
      const end = { reason: "done", turns: 1, steps: 2, tokens: 220, usd: 0.00022 };
      assert.deepEqual(got, [
        { event: "session.start", ...at(0), start },
        { event: "prompt.submit", ...at(0), prompt: "go" },
        { event: "request.before", ...at(1), request: { ...sent, estimate: first?.estimate } },
        { event: "reply.after", ...at(1), reply },
        { event: "tool.before", ...at(1), call },
        { event: "tool.after", ...at(1), call, result },
        { event: "edit.after", ...at(1), call, result, changes: [{ path: "/a", kind: "edit" }] },
        { event: "request.before", ...at(2), request: { ...sent, estimate: second?.estimate } },
        { event: "reply.after", ...at(2), reply: { ...reply, text: LONG, calls: [] } },
        { event: "turn.end", ...at(2), end },
        { event: "compact.before", ...at(2), compaction: { why: "asked", tokens, window: 10_000 } },
        { event: "compact.after", ...at(2), compacted: { how: "model", before: tokens, after } },
        // The summary was paid for with a model whose prices are not known.
        { event: "session.end", ...at(2), end: { ...end, tokens: 330, usd: null } },
      ]);
    });
  }

  for (const event of HOOK_EVENTS.filter((name) => /after|end|start/.test(name))) {
    for (
      const [what, body, says] of [
        ["a denial", "return { deny: 'no' }", /it answered "deny"; \S+ takes (nothing|note)$/],
        ["a failure", "throw new Error('broken')", /broken$/],
      ] as const
    ) {
      it(`${event} cannot refuse: ${what} is only a warning, also fail-closed`, async () => {
        plugin("shaky", [{ event, onError: "fail-closed" }], handler(event, body));
        const b = bench([echoTool({
          run: () =>
            Promise.resolve({
              output: "x",
              changes: [{ path: "/a", kind: "edit", before: null, after: null }],
            }),
        })]);
        const provider = scripted([
          { calls: [{ name: "Echo", args: { text: "a" } }] },
          { text: LONG },
          { text: SUMMARY },
        ]);
        const heard = await hooks();
        const events = await b.run(provider, { hooks: heard });
        const { how, events: more } = await compactBy(b, provider, heard);
        await endSession(b.session, heard);
        b.close();
        assert.equal(endOf(events)?.reason, "done");
        assert.equal(how, "compacted");
        const [first = ""] = [...warned(events), ...warned(more), ...warnings];
        assert.ok(first.startsWith(`the hook ${event} of the plugin shaky failed: `), first);
        assert.match(first, says);
      });
    }
  }
});

describe("an event that cannot be refused", () => {
  it("is heard by the next hook, too, when one fails that is fail-closed", async () => {
    plugin("a", [{ event: "turn.end", onError: "fail-closed" }], handler("turn.end", "throw 1"));
    plugin("b", [{ event: "turn.end" }], recorder(["turn.end"]));
    await play();
    assert.equal(log().length, 1);
  });
});

describe("session.start", () => {
  it("may give a note: once, marked, kept by compactions, and not again when the session is resumed", async () => {
    plugin(
      "notes",
      [{ event: "session.start" }],
      recorder(["session.start"], 'return { note: "--- FILE STATE ---\\nuse tabs" }'),
    );
    const b = bench();
    const provider = scripted([{ text: LONG }, { text: "b" }, { text: SUMMARY }, { text: "c" }]);
    const heard = await hooks();
    await b.run(provider, { hooks: heard });
    await b.run(provider, { hooks: heard });
    const NOTE = "--- Note of the plugin notes ---\n\\--- FILE STATE ---\nuse tabs";
    const [first, second] = provider.requests;
    assert.equal(first?.messages[2]?.text, NOTE);
    assert.deepEqual(second?.messages.slice(0, 4), first?.messages.slice(0, 4), "the prefix holds");
    assert.equal((await compactBy(b, provider, heard)).how, "compacted");
    const resumed = b.reload();
    for await (
      const _ of turn(resumed, { text: "on", source: "typed" }, b.deps(provider, { hooks: heard }))
    );
    resumed.log.close();
    b.close();
    assert.equal(textOf(provider.requests[3]).split("use tabs").length, 2, "exactly once");
    assert.deepEqual(log().map(({ start }) => start?.resumed), [false, true]);
    assert.ok(!textOf(provider.requests[3]).includes(LONG));
  });
});

describe("session.end", () => {
  it("never delays leaving by more than a second, whatever the hooks do", async () => {
    const forever = { event: "session.end", timeoutMs: 600_000 };
    plugin("a", [forever], handler("session.end", "return new Promise(() => {})"));
    plugin("b", [{ ...forever, command: ["sleep", "30"] }]);
    const b = bench();
    const heard = await hooks();
    await b.run(scripted([{ text: "ok" }]), { hooks: heard });
    const started = performance.now();
    await endSession(b.session, heard);
    const ms = performance.now() - started;
    b.close();
    assert.ok(ms > 900 && ms < 3000, `${ms} ms`);
  });
});

describe("prompt.submit", () => {
  it("may refuse the prompt: nothing is sent, then or later, and nothing of it is recorded", async () => {
    plugin("no", [{
      event: "prompt.submit",
      command: ["sh", "-c", "grep -q secret && { echo closed >&2; exit 2; }; exit 0"],
    }]);
    const b = bench();
    const provider = scripted([{ text: "ok" }]);
    const heard = await hooks();
    const refused = endOf(await b.run(provider, { hooks: heard }, "my secret"));
    assert.equal(refused?.reason, "permission");
    assert.match(refused?.answer ?? "", /^Refused by the plugin no: closed$/);
    assert.equal(provider.requests.length, 0);
    assert.equal(endOf(await b.run(provider, { hooks: heard }, "hello"))?.reason, "done");
    assert.doesNotMatch(textOf(provider.requests[0]), /secret/);
    assert.doesNotMatch(readFileSync(b.session.log.path, "utf8"), /my secret/);
    b.close();
  });

  it("may give a note, which stands behind the prompt", async () => {
    plugin(
      "hints",
      [{ event: "prompt.submit" }],
      handler("prompt.submit", "return { note: input.prompt + '?' }"),
    );
    const b = bench();
    const provider = scripted([{ text: "ok" }]);
    await b.run(provider, { hooks: await hooks() });
    b.close();
    assert.match(textOf(provider.requests[0]), /\ngo\n--- Note of the plugin hints ---\ngo\?/);
  });

  it("is asked about what is typed while a turn runs, too", async () => {
    plugin(
      "no",
      [{ event: "prompt.submit" }],
      handler("prompt.submit", "if (input.prompt === 'secret') return { deny: 'closed' }"),
    );
    const b = bench();
    const queue = ["secret", "fine"];
    const provider = scripted([{ text: "ok" }, { text: "ok" }]);
    const events = await b.run(provider, {
      hooks: await hooks(),
      queue: { peek: () => queue, drop: (count) => void queue.splice(0, count) },
    });
    b.close();
    assert.match(textOf(provider.requests[0]), /fine/);
    assert.doesNotMatch(textOf(provider.requests[0]), /secret/);
    assert.deepEqual(queue, []);
    assert.deepEqual(warned(events), ["not sent: Refused by the plugin no: closed"]);
  });
});

describe("request.before", () => {
  it("may refuse the request: nothing is sent, and the turn ends with the reason", async () => {
    plugin(
      "cheap",
      [{ event: "request.before" }],
      handler("request.before", "if (input.step === 2) return { deny: 'enough' }"),
    );
    const b = bench();
    const provider = scripted([{ calls: [{ name: "Echo", args: { text: "a" } }] }, { text: "ok" }]);
    const end = endOf(await b.run(provider, { hooks: await hooks() }));
    b.close();
    assert.equal(end?.reason, "permission");
    assert.match(end?.answer ?? "", /^Refused by the plugin cheap: enough$/);
    assert.equal(provider.requests.length, 1);
    assert.equal(b.session.log.records.filter(({ type }) => type === "request").length, 1);
  });

  it("may add notes, each at the end of the history", async () => {
    plugin(
      "clock",
      [{ event: "request.before" }],
      handler("request.before", "return { note: 'step ' + input.step }"),
    );
    const b = bench();
    const provider = scripted([{ calls: [{ name: "Echo", args: { text: "a" } }] }, { text: "ok" }]);
    await b.run(provider, { hooks: await hooks() });
    b.close();
    const [first, second] = provider.requests.map(({ messages }) => messages);
    assert.match(first?.at(-2)?.text ?? "", /plugin clock ---\nstep 1$/);
    assert.match(second?.at(-2)?.text ?? "", /plugin clock ---\nstep 2$/);
    assert.deepEqual(second?.slice(0, (first?.length ?? 0) - 1), first?.slice(0, -1));
  });
});

describe("compact.before", () => {
  const deny = () =>
    plugin(
      "keep",
      [{ event: "compact.before" }],
      recorder(["compact.before"], "return { deny: 'keep it' }"),
    );
  const tooLong: Reply = {
    deltas: [{
      type: "error",
      failure: { message: "too long", code: null, retryable: false, tooLong: true },
    }],
  };

  it("may refuse a compaction by hand", async () => {
    deny();
    const b = bench();
    const provider = scripted([{ text: LONG }]);
    const heard = await hooks();
    await b.run(provider, { hooks: heard });
    const { how, events } = await compactBy(b, provider, heard);
    b.close();
    assert.equal(how, "denied");
    assert.deepEqual(warned(events), ["not compacted. Refused by the plugin keep: keep it"]);
    assert.equal(log().length, 1, "asked once, not for each reach");
  });

  it("may refuse one by itself: the person is told once and the request goes out as it is", async () => {
    deny();
    const b = bench();
    const provider = scripted([
      { text: LONG },
      { calls: [{ name: "Echo", args: { text: "a" } }] },
      { text: "ok" },
    ]);
    const heard = await hooks();
    await b.run(provider);
    const model = { provider, model: "m", window: 4000, prices: null };
    const events = await b.run(provider, { hooks: heard, model });
    b.close();
    assert.equal(endOf(events)?.answer, "ok");
    assert.ok(textOf(provider.requests[2]).includes(LONG));
    assert.equal(warned(events).length, 1);
    assert.match(
      warned(events)[0] ?? "",
      /is full .* not compacted\. Refused by the plugin keep: keep it/,
    );
    assert.deepEqual(log().map(({ compaction }) => compaction?.why), ["full", "full"]);
  });

  it("that refuses where the provider says the request is too long ends the turn", async () => {
    deny();
    const b = bench();
    const provider = scripted([{ text: LONG }, tooLong, tooLong, { text: "never" }]);
    await b.run(provider);
    const end = endOf(await b.run(provider, { hooks: await hooks() }));
    b.close();
    assert.equal(end?.reason, "permission");
    assert.match(
      end?.answer ?? "",
      /request is too long, and the history may not be compacted\. Refused by the plugin keep: keep it/,
    );
    assert.equal(provider.requests.length, 2);
    assert.deepEqual(log().map(({ compaction }) => compaction?.why), ["refused"]);
  });
});

describe("an interrupted turn", () => {
  it("is told of, but a hook that hangs cannot hold it", async () => {
    plugin(
      "slow",
      [{ event: "tool.after", timeoutMs: 600_000 }, { event: "turn.end" }],
      `
      ${
        recorder(
          ["tool.after", "turn.end"],
          'if (input.event === "tool.after") return new Promise(() => {});',
        )
      }`,
    );
    const stop = new AbortController();
    const b = bench([
      echoTool({ run: () => (stop.abort(), Promise.resolve({ output: "late" })) }),
    ]);
    const provider = scripted([{ calls: [{ name: "Echo", args: { text: "a" } }] }]);
    const events = await b.run(provider, { hooks: await hooks(), signal: stop.signal });
    b.close();
    assert.equal(endOf(events)?.reason, "interrupt");
    assert.deepEqual(log().map(({ event, end }) => [event, end?.reason]), [
      ["tool.after", undefined],
      ["turn.end", "interrupt"],
    ]);
  });
});

describe("the command of a hook", () => {
  it("names files of its plugin with ./", async () => {
    plugin("own", [{ ...before, command: ["sh", "./check.sh"] }]);
    at.write("home/plugins/own/check.sh", "echo checked >&2; exit 2\n");
    assert.match((await play()).end?.text ?? "", /plugin own: checked/);
  });

  for (const command of [["sh", "scripts/check.sh"], ["$FULL"], ["sh", "-e", "$FULL"]]) {
    it(`of a project's plugin cannot be another file of the repository: ${command.join(" ")}`, async () => {
      const full = join(at.root, "scripts/check.sh");
      const words = command.map((word) => word === "$FULL" ? full : word);
      at.write("work/scripts/check.sh", "touch ran\n");
      const hook = { ...before, command: words, onError: "fail-closed" };
      at.write(
        "work/.nanocode/plugins/theirs/plugin.json",
        manifest("theirs", { contributes: { hooks: [hook] } }),
      );
      const trust = new TrustStore(at.home);
      trust.answer(at.root, (await openPlugins([], at.folders, trust)).pending, "yes");
      const { seen, events } = await play();
      assert.deepEqual(seen, []);
      assert.match(
        JSON.stringify([warnings, events]),
        /it runs [^ ]*check\.sh, a file of the repository outside the plugin's folder/,
      );
      assert.ok(!existsSync(join(at.root, "ran")));
    });
  }
});
