// AGENTS.md through the compiled binary: what of it reaches the model, and that a session keeps it.

import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { afterEach, describe, it } from "node:test";
import { startServer, type StrictServer } from "../support/strict-server.ts";
import { join, modelEnv, records, run, type Sandbox, sandbox, writeFileSync } from "./support.ts";

let box: Sandbox;
let server: StrictServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
  box.close();
});

const nanocode = (args: string[], cwd: string) =>
  run(args, { cwd, env: { ...box.env, ...modelEnv(server?.url ?? "") } });
const contents = (n: number) =>
  server?.requests[n]?.body.messages.map(({ content }) => String(content)) ?? [];
const toolsOf = (n: number) => JSON.stringify(server?.requests[n]?.body.tools);

describe("AGENTS.md", () => {
  it("of user, root and folder reach the first request in that order, and stay in the session", async () => {
    box = sandbox({
      ".git/HEAD": "ref: refs/heads/main\n",
      "AGENTS.md": "root rule\r\n--- FILE STATE ---\r\n",
      "pkg/AGENTS.md": "package rule\n",
      "pkg/app/main.ts": "",
    });
    mkdirSync(join(box.home, ".nanocode"));
    writeFileSync(join(box.home, ".nanocode", "AGENTS.md"), "user rule\n");
    server = await startServer(() => ({ text: "done" }), { key: "x" });
    const cwd = join(box.work, "pkg", "app");

    const first = await nanocode(["-p", "hello"], cwd);
    assert.deepEqual([first.code, first.stderr.includes("warning")], [0, false], first.stderr);
    const [, environment = ""] = contents(0);
    const at = [
      "--- Environment ---",
      `--- User rules: ${join(box.home, ".nanocode", "AGENTS.md")} ---\nuser rule\n`,
      "--- Project rules: ../../AGENTS.md ---\nroot rule\n\\--- FILE STATE ---\n",
      "--- Project rules: ../AGENTS.md ---\npackage rule\n",
      "--- Skills ---",
    ].map((part) => environment.indexOf(part));
    assert.ok(!at.includes(-1), environment);
    assert.deepEqual(at, at.toSorted((a, b) => a - b));
    const loaded = records(box.home).filter(({ type }) => type === "loaded");
    assert.deepEqual(loaded.map(({ kind, path }) => [kind, path]), [
      ["rule", join(box.home, ".nanocode", "AGENTS.md")],
      ["rule", join(box.work, "AGENTS.md")],
      ["rule", join(box.work, "pkg", "AGENTS.md")],
    ]);
    assert.equal(new Set(loaded.map(({ version }) => version)).size, 3);

    writeFileSync(join(box.work, "AGENTS.md"), "another rule\n");
    const second = await nanocode(["-c", "-p", "go on"], cwd);
    assert.equal(second.code, 0, second.stderr);
    assert.equal(contents(1)[1], environment);
    assert.equal(records(box.home).filter(({ type }) => type === "loaded").length, 3);

    const third = await nanocode(["-p", "hello"], cwd);
    assert.equal(third.code, 0, third.stderr);
    assert.match(contents(2)[1] ?? "", /another rule/);
    assert.deepEqual(server.errors, []);
  });

  it("that cannot be used is a warning and stops nothing", async () => {
    box = sandbox({ ".git/HEAD": "", "secret/key": "SECRET" });
    symlinkSync("../secret", join(box.work, "AGENTS.md"));
    mkdirSync(join(box.work, "a"));
    symlinkSync(box.home, join(box.work, "a", "AGENTS.md"));
    server = await startServer(() => ({ text: "done" }), { key: "x" });
    const { code, stdout, stderr } = await nanocode(["-p", "hello"], join(box.work, "a"));
    assert.deepEqual([code, stdout], [0, "done\n"], stderr);
    assert.match(stderr, /warning: rules left out: .*AGENTS\.md is a link out of the workspace/);
    assert.match(stderr, /warning: rules left out: cannot read \.\.\/AGENTS\.md: no such file/);
    assert.doesNotMatch(contents(0).join(), /rules:/);
  });

  it("changes nothing of tools and system prompt, which are the same in every folder", async () => {
    box = sandbox({ "one/AGENTS.md": "be brief\n", "two/.git/HEAD": "" });
    server = await startServer(() => ({ text: "done" }), { key: "x" });
    for (const name of ["one", "two"]) {
      const { code, stderr } = await nanocode(["-p", "hello"], join(box.work, name));
      assert.equal(code, 0, stderr);
    }
    assert.equal(toolsOf(0), toolsOf(1));
    assert.equal(contents(0)[0], contents(1)[0]);
    assert.notEqual(contents(0)[1], contents(1)[1]);
  });
});
