// A hostile repository before anybody trusted it: headless, at the question of a terminal, and with every
// command that only looks. strace says what was started, connected to and written.

import assert from "node:assert/strict";
import { mkdirSync, readdirSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { afterEach, beforeEach, describe, it } from "node:test";
import { type Deeds, deedsIn, makeHostile, straceArgs } from "../support/hostile.ts";
import { startServer, type Step, type StrictServer } from "../support/strict-server.ts";
import { Tmux } from "../support/tmux.ts";
import { BINARY, join, modelEnv, run, type Sandbox, sandbox } from "./support.ts";

let box: Sandbox;
let marks: string;
let trace: string;
let server: StrictServer | undefined;
let terminal: Tmux | undefined;
/** Where everything in the repository points to. */
let trap: Server;
let caught: number;
beforeEach(async () => {
  box = sandbox();
  marks = join(box.home, "marks");
  trace = join(box.home, "trace");
  mkdirSync(marks);
  caught = 0;
  trap = createServer((socket) => {
    caught++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => trap.listen(0, "127.0.0.1", resolve));
  const { port } = trap.address() as { port: number };
  makeHostile(box.work, marks, `http://127.0.0.1:${port}`);
});
afterEach(async () => {
  terminal?.kill();
  terminal = undefined;
  await server?.close();
  server = undefined;
  await new Promise((resolve) => trap.close(resolve));
  box.close();
});

/** The binary below strace, and what it did. */
async function traced(args: string[], env: Record<string, string> = {}) {
  const finished = await run([...straceArgs(trace), BINARY, ...args], {
    cwd: box.work,
    env: { ...box.env, ...env },
    binary: "strace",
  });
  return { ...finished, deeds: deedsIn(trace, box.work) };
}

/** The same in a terminal. */
function tracedTerminal(env: Record<string, string>): Tmux {
  const variables = Object.entries({ ...box.env, ...env })
    .map(([name, value]) => `${name}='${value}'`).join(" ");
  const command = ["strace", ...straceArgs(trace), BINARY].map((word) => `'${word}'`).join(" ");
  return terminal = new Tmux(
    `env -i TERM=xterm-256color LANG=C.UTF-8 ${variables} ${command}; echo "exit=$?"; exec cat`,
    { columns: 120, rows: 60, cwd: box.work },
  );
}

/** Files of the repository that a start may read; whatever else is there is none of its business. */
const READS =
  /^(?:|\/(?:\.nanocode|\.git\/HEAD|\.agents|tools\/local|AGENTS\.md|CLAUDE\.md)(?:\/.*)?)$/;

/** Nothing of the repository ran, and nothing was done that the user did not ask for. */
function assertHarmless(
  what: string,
  { started, listened, connected, written, read }: Deeds,
): void {
  assert.deepEqual(readdirSync(marks), [], `${what}: code of the repository ran`);
  assert.equal(caught, 0, `${what}: connected to where the repository says`);
  assert.deepEqual(started, [], `${what}: started a program`);
  assert.deepEqual(listened, [], `${what}: listens`);
  const model = server ? `127.0.0.1:${new URL(server.url).port}` : "";
  assert.deepEqual(connected.filter((to) => to !== model), [], `${what}: connected`);
  const own = (path: string) =>
    path === box.home || path.startsWith(join(box.home, ".nanocode")) ||
    /^\/(?:dev|proc)\//.test(path);
  assert.deepEqual(written.filter((path) => !own(path)), [], `${what}: wrote`);
  const foreign = read.filter((path) => path.startsWith(box.work))
    .filter((path) => !READS.test(path.slice(box.work.length)));
  assert.deepEqual(foreign, [], `${what}: read`);
  assert.ok(read.length > 0, `${what}: the trace is empty`);
}

it("the traps of the hostile repository are live: once it is trusted, they are seen to spring", async () => {
  server = await startServer(() => ({ text: "done" }), { key: "x" });
  await run(["trust", "--all"], { cwd: box.work, env: box.env });
  const { stderr, deeds } = await traced(["-p", "go"], modelEnv(server.url));
  const sprung = readdirSync(marks);
  for (const way of ["plugin-by-path", "hook-prompt.submit"]) {
    assert.ok(sprung.includes(way), `${way} is not among ${sprung}\n${stderr}`);
  }
  assert.ok(deeds.started.some((text) => text.includes("touch ")), "strace sees programs");
  assert.ok(deeds.written.includes(join(marks, "plugin-by-path")), "strace sees files");
  assert.ok(deeds.connected.length > 0, "strace sees connections");
  assert.throws(() => assertHarmless("trusted", deeds));
});

describe("a hostile repository that nobody trusted", () => {
  it("runs nothing headless, and the key goes where the user's environment says (CVE-2026-12537, GHSA-wpqr-6v78-jr5g, CVE-2026-21852, opencode#6361, opencode#7163, PM-08)", async () => {
    const steps: Step[] = [
      { calls: [{ name: "Read", args: { files: [{ path: "AGENTS.md" }] } }] },
      {
        text: "done",
      },
    ];
    server = await startServer(steps, { key: "x" });
    const { code, stdout, stderr, deeds } = await traced(["-p", "go"], modelEnv(server.url));
    assert.deepEqual([code, stdout], [0, "done\n"], stderr);
    assertHarmless("-p", deeds);
    assert.deepEqual(server.requests.map(({ headers }) => headers.authorization), [
      "Bearer x",
      "Bearer x",
    ]);
    assert.deepEqual(server.requests.map(({ headers }) => headers["x-evil"]), [
      undefined,
      undefined,
    ]);
    for (const name of ["evil", "skills", "local"]) {
      assert.match(stderr, new RegExp(`plugin ${name} is off: .*not trusted yet`));
    }
    assert.match(stderr, /plugin thief is off: .*would send OPENAI_API_KEY, your key for openai/);
    assert.match(stderr, /plugin usurper is off: .*deepseek, which nanocode knows already/);
    for (const key of ["providers.openai", "permissions.yolo", "registry", "bash.env"]) {
      assert.match(stderr, new RegExp(`may not set "${key.replace(".", "\\.")}"`));
    }
    assert.ok(!stderr.includes("\x1b") && !stderr.includes("\x07"), "shown escaped");
  });

  it("runs nothing for a prompt that is one of its commands, and --require-trust ends at once", async () => {
    server = await startServer(() => ({ text: "done" }), { key: "x" });
    const command = await traced(["-p", "/go x"], modelEnv(server.url));
    assert.equal(command.code, 0, command.stderr);
    assertHarmless("-p /go", command.deeds);
    const required = await traced(["-p", "go", "--require-trust"], modelEnv(server.url));
    assert.equal(required.code, 6);
    assertHarmless("--require-trust", required.deeds);
    assert.equal(server.requests.length, 1);
  });

  const looks: [args: string[], exit: number][] = [
    [["--version"], 0],
    [["--help"], 0],
    [["config"], 0],
    [["context"], 2],
    [["plugin", "list"], 0],
    [["plugin", "list", "--json"], 0],
    [["plugin", "verify"], 2],
    [["plugin", "sync", "--frozen"], 2],
    [["trust"], 0],
    [["trust", "--list"], 0],
    [["trust", "--digest"], 0],
    [["trust", "--revoke"], 0],
  ];
  for (const [args, exit] of looks) {
    it(`runs nothing with ${args.join(" ")} (bunfig.toml and .env autoload)`, async () => {
      const { code, stdout, stderr, deeds } = await traced(args, modelEnv("http://127.0.0.1:9/v1"));
      assert.equal(code, exit, stdout + stderr);
      assertHarmless(args.join(" "), deeds);
      assert.ok(!(stdout + stderr).includes("\x1b"), "shown escaped");
    });
  }

  it("plugin test and sync-manifest refuse to load what is not trusted", async () => {
    for (const command of ["test", "sync-manifest"]) {
      const { code, stderr, deeds } = await traced(["plugin", command, "evil"]);
      assert.notEqual(code, 0, command);
      assert.match(stderr, /trust/, command);
      assertHarmless(command, deeds);
    }
  });

  it("runs nothing while the question waits, nor after Enter, which is No (CVE-2025-59536, CVE-2025-65099, CVE-2025-59828, TrustFall)", async () => {
    server = await startServer(() => ({ text: "done" }), { key: "x" });
    const t = tracedTerminal(modelEnv(server.url));
    await t.until(/Trust it\?[\s\S]*No/);
    assertHarmless("the question", deedsIn(trace, box.work));
    t.press("Enter");
    await t.until(/\/help lists the commands/);
    assertHarmless("Enter", deedsIn(trace, box.work));
    t.press("C-c");
    t.press("C-c");
    await t.until(/exit=0/);
    assertHarmless("a session", deedsIn(trace, box.work));
    assert.equal(server.requests.length, 0);
    const { stdout } = await run(["trust", "--list"], { cwd: box.work, env: box.env });
    assert.equal(stdout, "nothing is trusted yet\n");
  });

  it("runs nothing when the question is left by Ctrl-C (CVE-2025-59536)", async () => {
    const t = tracedTerminal(modelEnv("http://127.0.0.1:9/v1"));
    await t.until(/Trust it\?/);
    t.press("C-c");
    await t.until(/\/help lists the commands|exit=/);
    assertHarmless("Ctrl-C", deedsIn(trace, box.work));
  });
});
