// What a plugin's context gives beside files, programs and hosts: ids, a log, questions, worker threads.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { withPluginContext } from "../../src/plugins/context.ts";
import { LOG_BYTES } from "../../src/plugins/log.ts";
import type { PluginContext } from "../../src/plugins/sdk.ts";
import { masker } from "../../src/plugins/settings.ts";
import { type Question, type ToolContext, ToolError } from "../../src/tools/tool.ts";
import { toolBench } from "../support/tool-context.ts";
import { type Places, places } from "./support.ts";

let at: Places;
let bench: ReturnType<typeof toolBench>;
beforeEach(() => {
  at = places();
  bench = toolBench();
});
afterEach(() => {
  at.close();
  bench.close();
});

const folder = () => join(at.home, "plugins", "acme");
const data = () => join(at.home, "plugin-data", "acme");
/** Runs a piece of a plugin in a call. */
const within = <T>(run: (ctx: PluginContext) => T | Promise<T>, over: Partial<ToolContext> = {}) =>
  withPluginContext(
    {
      plugin: {
        manifest: { name: "acme" },
        tier: "user",
        folder: folder(),
        load: () => Promise.reject(new Error("not loaded")),
      },
      settings: {},
      mask: masker(["t0ps3cret"]),
      skills: () => [],
      data: data(),
    },
    [],
    bench.context(over),
    run,
  );

it("ids say project, session, turn, call and parent", async () => {
  const session = { id: "s1", root: "/w", cwd: "/w/x", parent: "s0" };
  assert.deepEqual(await within((ctx) => ctx.ids, { session }), {
    project: "/w",
    session: "s1",
    turn: 1,
    call: "c",
    parent: "s0",
  });
});

describe("log", () => {
  const read = (name = "log.txt") => readFileSync(join(data(), name), "utf8");

  it("is one private line each, with time and ids, escaped, without secrets", async () => {
    await within((ctx) => {
      ctx.log("first\nsecond \x1b[2J\u202e t0ps3cret 日本");
      ctx.log("third");
    });
    const lines = read().split("\n");
    assert.equal(lines.length, 3);
    assert.match(
      lines[0] ?? "",
      /^\d{4}-\d\d-\d\dT\S+Z s 1 c first\\nsecond \\u\{1b\}\[2J\\u\{202e\} \*\*\* 日本$/,
    );
    assert.equal(statSync(join(data(), "log.txt")).mode & 0o777, 0o600);
  });

  it("keeps a bound: one file and one older one, long lines cut", async () => {
    await within((ctx) => {
      for (let i = 0; i < 400; i++) ctx.log(`${i} ${"x".repeat(10_000)}`);
    });
    for (const name of ["log.txt", "log.old.txt"]) {
      assert.ok(statSync(join(data(), name)).size <= LOG_BYTES, name);
    }
    assert.match(read(), / 399 x+… \(10004 characters\)\n$/);
    const first = / c (\d+) x/.exec(read())?.[1];
    assert.match(
      read("log.old.txt").trimEnd().split("\n").at(-1) ?? "",
      new RegExp(` c ${Number(first) - 1} x`),
    );
  });

  it("that cannot be written is told once a line, and the call goes on", async () => {
    mkdirSync(join(data(), "log.txt"), { recursive: true });
    assert.equal(await within((ctx) => (ctx.log("x"), "done")), "done");
    assert.match(bench.emitted.join(), /the plugin acme cannot write its log: /);
  });
});

describe("ask", () => {
  const asked: Question[] = [];
  const person = (answer: string | null) => (question: Question) => {
    asked.push(question);
    return Promise.resolve(answer);
  };

  it("gives the person's answer, names the plugin, and shows no secret", async () => {
    const ask = person("red");
    const question = "Which colour for t0ps3cret?";
    assert.equal(
      await within((ctx) => ctx.ask(question, { choices: ["red", "blue"] }), { ask }),
      "red",
    );
    assert.deepEqual(asked.pop(), {
      from: "the plugin acme",
      text: "Which colour for ***?",
      choices: ["red", "blue"],
    });
  });

  const failing: [string, Partial<ToolContext>, string, RegExp][] = [
    ["where there is no terminal", {}, "Why?", /nobody can be asked here.*The question was: Why\?/],
    ["without an answer", { ask: person(null) }, "Why?", /the user gave no answer to: Why\?/],
    ["about nothing", { ask: person("x") }, "  ", /cannot be put/],
    ["at great length", { ask: person("x") }, "?".repeat(5000), /cannot be put/],
  ];
  for (const [when, over, question, says] of failing) {
    it(`${when} is an error for the model`, async () => {
      await assert.rejects(within((ctx) => ctx.ask(question), over), (error: Error) => {
        assert.ok(error instanceof ToolError);
        assert.match(error.message, says);
        return true;
      });
    });
  }
});

describe("worker", () => {
  const module = (text: string) => at.write("home/plugins/acme/work/w.ts", text);
  const request = (message: unknown, options = {}, over: Partial<ToolContext> = {}) =>
    within((ctx) => ctx.worker("./work/w.ts").request(message, options), over);

  it("answers requests beside the session: TypeScript, relative imports, nanocode", async () => {
    at.write(
      "home/plugins/acme/work/add.ts",
      "enum N { One = 1 }\nexport const add = (n: number): number => n + N.One;\n",
    );
    module(
      'import { add } from "./add.ts";\nimport { ToolError } from "nanocode";\n' +
        "export default async ({ n }: { n: number }) => ({ n: add(n), kind: typeof ToolError });\n",
    );
    const answers = await within(async (ctx) => {
      const worker = ctx.worker("work/w.ts");
      return await Promise.all([1, 2, 3].map((n) => worker.request({ n })));
    });
    assert.deepEqual(answers, [2, 3, 4].map((n) => ({ n, kind: "function" })));
  });

  const faults: [string, string, object, RegExp][] = [
    [
      "throws",
      'export default () => { throw new Error("no luck"); };',
      {},
      /w\.ts of the plugin acme failed: no luck/,
    ],
    ["rejects with a text", 'export default () => Promise.reject("why");', {}, /failed: why/],
    ["cannot be read", "export default {", {}, /failed: /],
    ["has no function", "export default 3;", {}, /no function as its default export/],
    ["throws when loaded", 'throw new Error("early");', {}, /failed: early/],
    ["answers what cannot be sent", "export default () => () => {};", {}, /failed: /],
    ["leaves", "export default () => process.exit(3);", {}, /ended by itself/],
    [
      "throws later",
      'export default () => new Promise(() => setTimeout(() => { throw new Error("late"); }));',
      {},
      /failed: .*late/,
    ],
    [
      "is too slow",
      "export default () => { while (true); };",
      { timeoutMs: 300 },
      /did not answer within 300 ms/,
    ],
  ];
  for (const [what, text, options, says] of faults) {
    it(`that ${what} is the error of the request`, { timeout: 20_000 }, async () => {
      module(text);
      await assert.rejects(request(1, options), (error: Error) => {
        assert.ok(error instanceof ToolError);
        assert.match(error.message, says);
        return true;
      });
    });
  }

  it("is refused what cannot be sent to it", async () => {
    module("export default (n) => n;\n");
    await assert.rejects(request(() => {}), /cannot be sent this/);
  });

  it("ends with the call, with an interrupt, and when told", { timeout: 20_000 }, async () => {
    module("export default () => { while (true); };\n");
    let kept: { request(message: unknown): Promise<unknown> } | undefined;
    let pending: Promise<unknown> | undefined;
    await within((ctx) => {
      kept = ctx.worker("work/w.ts");
      pending = kept.request(1).catch((error: Error) => error.message);
    });
    assert.match(String(await pending), /was ended/);
    await assert.rejects(async () => await kept?.request(2), /was ended/);
    const abort = new AbortController();
    const interrupted = request(1, {}, { signal: abort.signal });
    abort.abort();
    await assert.rejects(interrupted, /was ended/);
    await within(async (ctx) => {
      const worker = ctx.worker("work/w.ts");
      const one = new AbortController();
      const waits = worker.request(1, { signal: one.signal });
      one.abort();
      await assert.rejects(waits, /was interrupted/);
      await worker.terminate();
      await assert.rejects(worker.request(2), /was ended/);
    });
    let late: PluginContext | undefined;
    await within((ctx) => void (late = ctx));
    assert.throws(() => late?.worker("work/w.ts"), /cannot start: its call is over/);
  });

  for (const path of ["../other/w.ts", "/etc/hostname", "gone.ts", "link.ts", "."]) {
    it(`is no module outside of the plugin's folder: ${path}`, async () => {
      at.write("home/plugins/other/w.ts", "export default () => 1;\n");
      mkdirSync(folder(), { recursive: true });
      symlinkSync(join(at.home, "plugins/other/w.ts"), join(folder(), "link.ts"));
      await assert.rejects(within((ctx) => ctx.worker(path)), /the plugin acme has no file /);
      assert.ok(!existsSync(data()));
    });
  }
});
