// kill -9 at any point: --continue goes on with nothing lost but the step under way.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { afterEach, describe, it } from "node:test";
import { startServer, type Step, type StrictServer } from "../support/strict-server.ts";
import {
  anchor,
  existsSync,
  join,
  modelEnv,
  readFileSync,
  records,
  run,
  type Sandbox,
  sandbox,
  start,
  until,
} from "./support.ts";

const RUNS = Number(process.env["NANOCODE_RUNS"] ?? 1);
let box: Sandbox;
let server: StrictServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
  box.close();
});

const contents = (messages: { role: string; content: unknown }[] | undefined, role: string) =>
  (messages ?? []).filter((message) => message.role === role).map((message) =>
    String(message.content)
  );

describe("kill -9", () => {
  it("while a command runs: the call is closed as interrupted and the model is told", async () => {
    box = sandbox({ "a.txt": "one\n" });
    const steps: Step[] = [
      { calls: [{ name: "Read", args: { path: "a.txt" } }] },
      {
        calls: [{ name: "Bash", args: { command: "touch started; sleep 30" } }, {
          name: "Read",
          args: { path: "a.txt" },
        }],
      },
      { text: "went on" },
    ];
    server = await startServer(steps);
    const env = { ...box.env, ...modelEnv(server.url) };
    const first = start(["-p", "first task", "--yolo"], { cwd: box.work, env });
    await until(() => existsSync(join(box.work, "started")), 20_000, "the command starts");
    first.child.kill("SIGKILL");
    await first.done;
    const second = await run(["-p", "go on", "-c", "--yolo"], { cwd: box.work, env });
    assert.equal(second.code, 0, second.stderr);
    assert.equal(second.stdout, "went on\n");
    assert.match(second.stderr, /cut during 2 calls/);
    const messages = server.requests[2]?.body.messages;
    assert.deepEqual(server.errors, []);
    assert.ok(
      contents(messages, "user").includes("first task") &&
        contents(messages, "user").includes("go on"),
    );
    assert.equal(
      contents(messages, "tool").filter((text) => /Interrupted: nanocode was stopped/.test(text))
        .length,
      2,
    );
    assert.match(contents(messages, "tool")[0] ?? "", /one/);
    assert.equal(
      records(box.home).filter((record) => record.type === "end")[0]?.["reason"],
      "crash",
    );
  });

  it("while the model answers: only that step is lost", async () => {
    box = sandbox({ "a.txt": "one\n" });
    const steps: Step[] = [
      {
        calls: [{
          name: "Edit",
          args: { path: "a.txt", edits: [{ op: "replace_all", old: "one", new: "two" }] },
        }],
      },
      { hang: "headers" },
      { text: "went on" },
    ];
    server = await startServer(steps);
    const env = { ...box.env, ...modelEnv(server.url) };
    const first = start(["-p", "first", "--yolo"], { cwd: box.work, env });
    await until(() => (server?.requests.length ?? 0) === 2, 20_000, "the second request");
    first.child.kill("SIGKILL");
    await first.done;
    assert.equal(readFileSync(join(box.work, "a.txt"), "utf8"), "two\n");
    const second = await run(["-p", "go on", "-c", "--yolo"], { cwd: box.work, env });
    assert.equal(second.stdout, "went on\n", second.stderr);
    assert.match(contents(server.requests[2]?.body.messages, "tool")[0] ?? "", /two/);
    assert.deepEqual(server.errors, []);
  });

  it("at random moments of a session of edits: whatever was said to be done is done", async () => {
    for (let round = 0; round < 3 * RUNS; round++) {
      box = sandbox({ "n.txt": "0\n" });
      const file = join(box.work, "n.txt");
      server = await startServer((_request, n): Step => {
        if (n === 0) return { calls: [{ name: "Read", args: { path: "n.txt" } }] };
        const edits = [{ op: "replace", start: anchor(file, 1), content: `${n}` }];
        return { calls: [{ name: "Edit", args: { path: "n.txt", edits } }] };
      });
      const env = { ...box.env, ...modelEnv(server.url) };
      const first = start(["-p", "count", "--yolo", "--max-steps", "40"], { cwd: box.work, env });
      const stop = 2 + Math.floor(Math.random() * 8);
      await until(() => (server?.requests.length ?? 0) > stop, 20_000, `request ${stop}`);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 15));
      first.child.kill("SIGKILL");
      await first.done;
      await server.close();
      server = await startServer([{ text: "fine" }]);
      const second = await run(["-p", "go on", "-c"], {
        cwd: box.work,
        env: { ...box.env, ...modelEnv(server.url) },
      });
      assert.equal(second.code, 0, `round ${round}: ${second.stderr}`);
      assert.deepEqual(server.errors, []);
      const value = readFileSync(file, "utf8");
      assert.match(value, /^\d+\n$/);
      const changes = records(box.home).filter((record) => record.type === "change");
      const left = readdirSync(box.work);
      assert.ok(
        changes.length <= Number(value) && Number(value) <= changes.length + 1,
        `${changes.length} changes, value ${value}`,
      );
      assert.ok(left.filter((name) => name !== "n.txt").length <= 1, left.join(" "));
      await server.close();
      server = undefined;
      if (round < 3 * RUNS - 1) box.close();
    }
  });

  it("SIGTERM ends the turn, its commands and the process", async () => {
    box = sandbox();
    server = await startServer([{
      calls: [{ name: "Bash", args: { command: "echo $$ > pid; sleep 60" } }],
    }]);
    const env = { ...box.env, ...modelEnv(server.url) };
    const { child, done } = start(["-p", "x", "--yolo"], { cwd: box.work, env });
    await until(
      () => existsSync(join(box.work, "pid")) && readFileSync(join(box.work, "pid"), "utf8") !== "",
      20_000,
      "the command starts",
    );
    const pid = Number(readFileSync(join(box.work, "pid"), "utf8"));
    child.kill("SIGTERM");
    const { code } = await done;
    assert.equal(code, 130);
    assert.throws(() => process.kill(pid, 0), /ESRCH/);
  });

  it("a session that another process holds is continued as a copy", async () => {
    box = sandbox();
    const steps: Step[] = [{ text: "one" }, { hang: "headers" }, { text: "copy" }];
    server = await startServer(steps);
    const env = { ...box.env, ...modelEnv(server.url) };
    await run(["-p", "first"], { cwd: box.work, env });
    const holder = start(["-p", "second", "-c"], { cwd: box.work, env });
    await until(() => (server?.requests.length ?? 0) === 2, 20_000, "the second request");
    const copy = await run(["-p", "third", "-c"], { cwd: box.work, env });
    holder.child.kill("SIGKILL");
    await holder.done;
    assert.equal(copy.stdout, "copy\n", copy.stderr);
    assert.match(copy.stderr, /open in another nanocode/);
    assert.ok(contents(server.requests[2]?.body.messages, "user").includes("first"));
  });
});
