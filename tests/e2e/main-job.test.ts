// The main job through the compiled binary: a scripted 12-step session against the strict server.

import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import {
  type Script,
  startServer,
  type Step,
  type StrictServer,
} from "../support/strict-server.ts";
import {
  anchor,
  join,
  modelEnv,
  readFileSync,
  records,
  run,
  type Sandbox,
  sandbox,
} from "./support.ts";

const FILES = {
  "src/add.ts": "export function add(a: number, b: number) {\n  return a - b;\n}\n",
  "src/mul.ts": "export function mul(a: number, b: number) {\n  return a + b;\n}\n",
  "src/zero.ts": "export const zero = 0;\n",
  "test.sh":
    "grep -q 'a + b' src/add.ts && grep -q 'a \\* b' src/mul.ts && echo 'all tests passed'\n",
};

/** Three reads, a search, two edits, a test run, a few more looks: twelve requests. */
function twelveSteps(work: string): Script {
  const edit = (path: string, line: number, content: string): Step => ({
    calls: [{
      name: "Edit",
      args: { path, edits: [{ op: "replace", start: anchor(join(work, path), line), content }] },
    }],
  });
  const steps: (() => Step)[] = [
    () => ({
      text: "Looking.",
      calls: [{ name: "Read", args: { files: [{ path: "src/add.ts" }] } }],
    }),
    () => ({ calls: [{ name: "Read", args: { files: [{ path: "src/mul.ts" }] } }] }),
    () => ({
      calls: [{ name: "Read", args: { files: [{ path: "src/zero.ts", ranges: [[1, 1]] }] } }],
    }),
    () => ({ calls: [{ name: "Search", args: { queries: [{ pattern: "return" }] } }] }),
    () => edit("src/add.ts", 2, "  return a + b;"),
    () => edit("src/mul.ts", 2, "  return a * b;"),
    () => ({ calls: [{ name: "Bash", args: { command: "sh test.sh" } }] }),
    () => ({
      calls: [{ name: "Read", args: { files: [{ path: "src/add.ts" }, { path: "src/mul.ts" }] } }],
    }),
    () => ({ calls: [{ name: "Bash", args: { command: "echo one; echo two >&2; exit 3" } }] }),
    () => ({ calls: [{ name: "Search", args: { queries: [{ pattern: "no such thing" }] } }] }),
    () => ({ calls: [{ name: "Read", args: { files: [{ path: "test.sh" }] } }] }),
    () => ({ text: "Both functions are right now; the test passes. 完成 🎉" }),
  ];
  return (_request, n) => steps[n]?.() ?? { status: 500, body: "the script is over" };
}

let box: Sandbox;
let server: StrictServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
  box.close();
});

describe("the main job", () => {
  it("drives a 12-step session to the right files", async () => {
    box = sandbox(FILES);
    server = await startServer(twelveSteps(box.work), { key: "x" });
    const { code, stdout, stderr } = await run(["-p", "fix the tests", "--yolo"], {
      cwd: box.work,
      env: { ...box.env, ...modelEnv(server.url) },
    });
    assert.equal(code, 0, stderr);
    assert.deepEqual(server.errors, []);
    assert.equal(server.requests.length, 12);
    assert.equal(
      readFileSync(join(box.work, "src/add.ts"), "utf8"),
      FILES["src/add.ts"].replace("a - b", "a + b"),
    );
    assert.equal(
      readFileSync(join(box.work, "src/mul.ts"), "utf8"),
      FILES["src/mul.ts"].replace("a + b", "a * b"),
    );
    assert.equal(stdout, "Both functions are right now; the test passes. 完成 🎉\n");
    assert.match(stderr, /● Read src\/add\.ts/);
    assert.match(stderr, /● Bash sh test\.sh/);
    const results = records(box.home).filter((record) => record.type === "result");
    assert.equal(results.length, 11);
    assert.match(String(results[6]?.["text"]), /all tests passed/);
    assert.match(String(results[8]?.["text"]), /exit="?3|exit 3/);
    assert.match(String(results[8]?.["text"]), /one\s+two/);
    assert.ok(!stderr.includes("\x1b"));
  });

  it("without --yolo edits and commands are refused, the model is told, and the exit code is 4", async () => {
    box = sandbox(FILES);
    server = await startServer(twelveSteps(box.work));
    const { code, stdout } = await run(["-p", "fix the tests", "--output", "json"], {
      cwd: box.work,
      env: { ...box.env, ...modelEnv(server.url) },
    });
    assert.equal(code, 4);
    const summary = JSON.parse(stdout);
    assert.equal(summary.exit, 4);
    assert.equal(summary.reason, "done");
    assert.equal(summary.steps, 12);
    assert.deepEqual(summary.denied.map((call: { tool: string }) => call.tool), [
      "Edit",
      "Edit",
      "Bash",
      "Bash",
    ]);
    assert.equal(readFileSync(join(box.work, "src/add.ts"), "utf8"), FILES["src/add.ts"]);
    const told = server.requests[5]?.body.messages.findLast((message) => message.role === "tool");
    assert.match(String(told?.content), /Refused: permission is needed.*--allow/s);
    assert.deepEqual(server.errors, []);
  });

  it("rules allow just what they name", async () => {
    box = sandbox(FILES);
    server = await startServer(twelveSteps(box.work));
    const { code, stdout } = await run(
      ["-p", "fix", "--output", "json", "--allow", "Edit(src/**)", "--allow", "Bash(sh test.sh)"],
      { cwd: box.work, env: { ...box.env, ...modelEnv(server.url) } },
    );
    assert.equal(code, 4); // the command with `;` and `>&2` is no plain one
    assert.deepEqual(JSON.parse(stdout).denied.map((call: { tool: string }) => call.tool), [
      "Bash",
    ]);
    assert.match(readFileSync(join(box.work, "src/add.ts"), "utf8"), /a \+ b/);
  });

  it("stream-json: every event a line, in order, and the result last", async () => {
    box = sandbox(FILES);
    server = await startServer(twelveSteps(box.work));
    const { stdout } = await run(["-p", "fix", "--yolo", "--output", "stream-json"], {
      cwd: box.work,
      env: { ...box.env, ...modelEnv(server.url) },
    });
    const lines = stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
    assert.equal(lines[0].type, "turn_start");
    assert.equal(lines.at(-1).type, "result");
    assert.equal(lines.at(-2).type, "turn_end");
    assert.equal(lines.filter((line) => line.type === "call_start").length, 11);
    assert.equal(lines.filter((line) => line.type === "call_end").length, 11);
    assert.ok(
      lines.filter((line) => line.type !== "result").every((line) =>
        line.session && line.time && line.turn === 1
      ),
    );
    assert.match(
      lines.filter((line) => line.type === "call_output").map((line) => line.text).join(""),
      /all tests passed/,
    );
  });

  it("each request begins with the one before it, minus its tail; no key is on the wire but the header", async () => {
    box = sandbox(FILES);
    server = await startServer(twelveSteps(box.work));
    await run(["-p", "fix", "--yolo"], {
      cwd: box.work,
      env: { ...box.env, ...modelEnv(server.url) },
    });
    const bodies = server.requests.map((request) => request.body);
    const messages = bodies.map((body) => body.messages);
    for (const [i, now] of messages.slice(1).entries()) {
      const isTail = ({ content }: { content: unknown }) =>
        /^--- (?:Memory|FILE STATE) ---/.test(String(content));
      const before = (messages[i] ?? []).filter((message) => !isTail(message));
      assert.deepEqual(now.slice(0, before.length), before);
      assert.ok(now.slice(0, -2).every((message) => !isTail(message)));
    }
    const names = bodies[0]?.tools?.map((tool) => tool.function.name);
    assert.deepEqual(names, [
      "Bash",
      "Edit",
      "List",
      "Note",
      "Plugin",
      "Read",
      "Recall",
      "Search",
      "Skill",
    ]);
    assert.equal(messages[0]?.[0]?.role, "system");
    assert.match(String(messages[0]?.[1]?.content), /^--- Environment ---\n- cwd: /);
  });

  it("--continue goes on with the session, and -r with a named one", async () => {
    box = sandbox(FILES);
    const steps: Step[] = [{ text: "one" }, { text: "two" }, { text: "three" }];
    server = await startServer(steps);
    const options = { cwd: box.work, env: { ...box.env, ...modelEnv(server.url) } };
    const first = await run(["-p", "first", "--output", "json"], options);
    await run(["-p", "second", "-c"], options);
    const { session } = JSON.parse(first.stdout);
    const third = await run(["-p", "third", "-r", session.slice(0, 12)], options);
    assert.equal(third.stdout, "three\n");
    const users = server.requests[2]?.body.messages.filter((message) => message.role === "user")
      .map((message) => message.content);
    assert.deepEqual(users?.slice(1, 4), ["first", "second", "third"]);
    const none = await run(["-p", "x", "-r", "0zzzzzz"], options);
    assert.equal(none.code, 2);
    assert.match(none.stderr, /no session of this project.*\n.*newest are/);
  });
});
