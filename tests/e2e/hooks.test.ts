import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { afterEach, describe, it } from "node:test";
import { HOOK_EVENTS } from "../../src/plugins/manifest.ts";
import type { HookInput } from "../../src/plugins/sdk.ts";
import { type RequestBody, startServer, type StrictServer } from "../support/strict-server.ts";
import {
  join,
  modelEnv,
  readFileSync,
  records,
  run,
  type Sandbox,
  sandbox,
  writeFileSync,
} from "./support.ts";

let box: Sandbox;
let server: StrictServer;
afterEach(async () => {
  await server?.close();
  box?.close();
});

const plugin = (name: string, hooks: object[], code = "") => {
  const folder = join(box.home, ".nanocode", "plugins", name);
  mkdirSync(folder, { recursive: true });
  const ours = { apiVersion: 1, ...(code === "" ? {} : { entry: "./index.ts" }) };
  writeFileSync(
    join(folder, "plugin.json"),
    JSON.stringify({
      name,
      version: "0.1.0",
      extensions: { "dev.nanocode": { ...ours, contributes: { hooks } } },
    }),
  );
  if (code !== "") writeFileSync(join(folder, "index.ts"), code);
};

const go = (args: string[]) =>
  run(["--yolo", "--config", join(box.home, "config.json"), "-p", ...args], {
    cwd: box.work,
    env: { ...box.env, ...modelEnv(server.url) },
  });

/** A sandbox with a small window. */
const small = () => {
  box = sandbox();
  writeFileSync(join(box.home, "config.json"), JSON.stringify({ context: { window: 24_000 } }));
};

const textOf = (body: RequestBody | undefined) =>
  body?.messages.map(({ content }) => String(content)).join("\n") ?? "";

describe("hooks of a user's plugin", () => {
  it("hear every event of a session with a call, a compaction and an end, in order, in a module and as a command", async () => {
    small();
    const log = join(box.home, "log");
    plugin(
      "inside",
      HOOK_EVENTS.map((event) => ({ event })),
      `import { definePlugin, type HookInput } from "nanocode";
       import { appendFileSync } from "node:fs";
       const run = (input: HookInput) => {
         appendFileSync(${JSON.stringify(log)}, JSON.stringify({ by: "module", ...input }) + "\\n");
         if (input.event === "session.start") return { note: "The answer is 42." };
       };
       export default definePlugin({ hooks: ${
        JSON.stringify(HOOK_EVENTS)
      }.map((event) => ({ event, run })) });`,
    );
    const command = ["sh", "-c", `cat >> '${log}'`];
    plugin("shell", HOOK_EVENTS.map((event) => ({ event, command })));
    const file = { path: "a.txt", edits: [{ op: "create", content: "hello\n" }] };
    let step = 0;
    server = await startServer(({ body }) => {
      if (body.tools === undefined) return { text: JSON.stringify({ summary: "much was said" }) };
      step++;
      if (step === 1) return { calls: [{ name: "Edit", args: file }] };
      return { text: step === 2 ? "word ".repeat(12_000) : "short" };
    });
    const first = await go(["write it"]);
    assert.equal(first.code, 0, first.stderr);
    const second = await go(["-c", "go on"]);
    assert.equal(second.code, 0, second.stderr);
    assert.deepEqual(server.errors, []);
    const all: (HookInput & { by?: string })[] = readFileSync(log, "utf8").trimEnd().split("\n")
      .map((line) => JSON.parse(line));
    // Each first by the module, whose plugin's name comes first, then by the command; else the same.
    const heard = all.filter(({ by }) => by === "module");
    assert.deepEqual(
      all,
      heard.flatMap((input) => {
        const { by: _, ...same } = input;
        return [input, same];
      }),
    );
    const { session = "", root = "" } = records(box.home)[0] as { session?: string; root?: string };
    assert.ok(heard.every((input) => input.session === session && input.project === root));
    assert.deepEqual(heard.map(({ event, turn, step }) => `${event} ${turn}.${step}`), [
      "session.start 1.0",
      "prompt.submit 1.0",
      "request.before 1.1",
      "reply.after 1.1",
      "tool.before 1.1",
      "tool.after 1.1",
      "edit.after 1.1",
      "request.before 1.2",
      "reply.after 1.2",
      "turn.end 1.2",
      "session.end 1.2",
      "session.start 2.0",
      "prompt.submit 2.0",
      "compact.before 2.1",
      "compact.after 2.1",
      "request.before 2.1",
      "reply.after 2.1",
      "turn.end 2.1",
      "session.end 2.1",
    ]);
    const of = (event: string) => heard.filter((input) => input.event === event);
    assert.deepEqual(of("session.start").map(({ start }) => start?.resumed), [false, true]);
    assert.deepEqual(of("edit.after")[0]?.changes, [{
      path: join(box.work, "a.txt"),
      kind: "create",
    }]);
    const [{ compaction }, { compacted }] = [of("compact.before")[0], of("compact.after")[0]] as [
      HookInput,
      HookInput,
    ];
    assert.equal(compaction?.why, "full");
    assert.equal(compacted?.before, compaction?.tokens);
    assert.ok((compacted?.after ?? 0) < (compacted?.before ?? 0));
    const [end] = of("session.end");
    assert.equal(end?.end?.reason, "done");
    const tokens = of("reply.after").slice(0, 2).reduce(
      (sum, { reply }) => sum + (reply?.usage.input ?? 0) + (reply?.usage.output ?? 0),
      0,
    );
    assert.deepEqual([end?.end?.turns, end?.end?.steps, end?.end?.tokens], [1, 2, tokens]);
    const last = textOf(server.requests.at(-1)?.body);
    assert.equal(last.split("The answer is 42.").length, 2, "the note is there once");
  });

  for (const event of ["prompt.submit", "request.before"] as const) {
    it(`a refusal by ${event} sends nothing and ends with exit code 4 and the reason`, async () => {
      small();
      plugin("guard", [{ event, command: ["sh", "-c", "echo 'not today' >&2; exit 2"] }]);
      server = await startServer([{ text: "never" }]);
      const { code, stdout, stderr } = await go(["--output", "json", "do it"]);
      assert.equal(code, 4, stderr);
      const { answer, reason } = JSON.parse(stdout);
      assert.deepEqual([answer, reason], ["Refused by the plugin guard: not today", "permission"]);
      const plain = await go(["do it"]);
      assert.equal(plain.code, 4);
      assert.match(plain.stdout + plain.stderr, /Refused by the plugin guard: not today/);
      assert.equal(server.requests.length, 0);
    });
  }

  it("a refused compaction of a request that the provider refuses ends the turn", async () => {
    small();
    plugin("keep", [{
      event: "compact.before",
      command: ["sh", "-c", "echo 'all of it' >&2; exit 2"],
    }]);
    const tooLong = {
      status: 400,
      body: { error: { message: "too long", code: "context_length_exceeded" } },
    };
    server = await startServer([{ text: "word ".repeat(12_000) }, tooLong, { text: "never" }]);
    assert.equal((await go(["one"])).code, 0);
    const { code, stdout, stderr } = await go(["-c", "two"]);
    assert.equal(code, 4, stderr);
    assert.match(stderr, /warning: the context is full .*Refused by the plugin keep: all of it/);
    assert.match(stdout + stderr, /the history may not be compacted\. Refused by the plugin keep/);
    assert.equal(server.requests.length, 2);
  });

  it("hooks that hang, crash or are missing hold up neither the turn nor the way out", async () => {
    small();
    const missing = { command: ["no-such-program"] };
    const hang =
      "export default { hooks: [{ event: 'turn.end', run: () => new Promise(() => {}) }," +
      " { event: 'session.end', run: () => new Promise(() => {}) }] };";
    plugin("a", [{ event: "turn.end", timeoutMs: 300 }, { event: "session.end" }], hang);
    plugin("b", [{ event: "request.before", ...missing }, { event: "session.start", ...missing }]);
    server = await startServer([{ text: "fine" }]);
    const started = performance.now();
    const { code, stdout, stderr } = await go(["one"]);
    const ms = performance.now() - started;
    assert.equal(code, 0, stderr);
    assert.match(stdout, /fine/);
    assert.ok(ms > 1200 && ms < 10_000, `${ms} ms`);
    const lines = stderr.split("\n").filter((line) => line.startsWith("warning: the hook "));
    assert.deepEqual(lines, [
      "warning: the hook session.start of the plugin b failed: cannot run no-such-program: there is no such program",
      "warning: the hook request.before of the plugin b failed: cannot run no-such-program: there is no such program",
      "warning: the hook turn.end of the plugin a failed: it took longer than 300 ms",
    ]);
    assert.doesNotMatch(stderr, /\n +at /);
  });
});
