// What can go wrong around the agent: each one clear line, what and what to do, and the right exit code.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, it } from "node:test";
import { startServer, type Step, type StrictServer } from "../support/strict-server.ts";
import { type Finished, join, modelEnv, run, type Sandbox, sandbox } from "./support.ts";

let box: Sandbox;
let server: StrictServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
  box?.close();
});

/** Runs one turn against a server with this script and environment. */
async function turn(script: Step[], args: string[] = [], key = "x"): Promise<Finished> {
  box = sandbox();
  server = await startServer(script, { key: "x" });
  return await run(["-p", "hi", ...args], {
    cwd: box.work,
    env: { ...box.env, ...modelEnv(server.url), OPENAI_API_KEY: key },
  });
}

function assertClear(result: Finished, code: number, what: RegExp): void {
  assert.equal(result.code, code, result.stderr);
  assert.match(result.stderr, what);
  assert.ok(!/\n\s+at /.test(result.stderr), `a stack trace: ${result.stderr}`);
  assert.ok(result.stderr.trim().split("\n").length <= 4, result.stderr);
}

describe("failures are one clear line", () => {
  it("wrong key", async () => {
    assertClear(await turn([{ text: "x" }], [], "wrong"), 1, /key/i);
  });

  it("wrong URL: nobody listens", async () => {
    box = sandbox();
    const free = createServer();
    await new Promise<void>((resolve) => free.listen(0, "127.0.0.1", resolve));
    const { port } = free.address() as AddressInfo;
    await new Promise((resolve) => free.close(resolve));
    const started = performance.now();
    const result = await run(["-p", "hi", "--timeout", "3"], {
      cwd: box.work,
      env: { ...box.env, ...modelEnv(`http://127.0.0.1:${port}/v1`) },
    });
    assert.ok(performance.now() - started < 15_000);
    assert.ok(result.code === 1 || result.code === 5, String(result.code));
    assert.match(result.stderr, new RegExp(`${port}`));
    assert.ok(!/\n\s+at /.test(result.stderr));
  });

  it("wrong URL: the path is unknown there", async () => {
    box = sandbox();
    server = await startServer([{ text: "x" }]);
    const result = await run(["-p", "hi"], {
      cwd: box.work,
      env: { ...box.env, ...modelEnv(server.url.replace("/v1", "/api")) },
    });
    assertClear(result, 1, /404|address|URL/i);
  });

  it("an address that is none", async () => {
    box = sandbox();
    const result = await run(["-p", "hi"], {
      cwd: box.work,
      env: { ...box.env, ...modelEnv("localhost") },
    });
    assertClear(result, 2, /OPENAI_BASE_URL is "localhost"/);
  });

  it("a web page instead of an API", async () => {
    assertClear(
      await turn([{
        status: 200,
        contentType: "text/html",
        body: "<!doctype html><html><title>Welcome</title></html>",
      }]),
      1,
      /web page/i,
    );
  });

  it("no such model", async () => {
    assertClear(
      await turn([{
        status: 404,
        body: { error: { message: "The model `m` does not exist", code: "model_not_found" } },
      }]),
      1,
      /model `m` does not exist/,
    );
  });

  it("no model, no key, no server: one line names the variables and the demo", async () => {
    box = sandbox();
    const result = await run(["-p", "hi"], { cwd: box.work, env: box.env });
    assertClear(result, 2, /OPENAI_API_KEY[\s\S]*--demo/);
    const named = await run(["-p", "hi"], {
      cwd: box.work,
      env: { ...box.env, OPENAI_BASE_URL: "http://127.0.0.1:1/v1" },
    });
    assertClear(named, 2, /OPENAI_MODEL/);
    const keyless = await run(["-p", "hi", "--model", "deepseek/x"], {
      cwd: box.work,
      env: box.env,
    });
    assertClear(keyless, 2, /DEEPSEEK_API_KEY/);
  });

  it("invalid config", async () => {
    box = sandbox();
    mkdirSync(join(box.home, ".nanocode"));
    writeFileSync(join(box.home, ".nanocode", "config.json"), '{"limts": {}}');
    const result = await run(["-p", "hi"], {
      cwd: box.work,
      env: { ...box.env, ...modelEnv("http://127.0.0.1:1/v1") },
    });
    assertClear(result, 2, /unknown key "limts" \(did you mean "limits"\?\)/);
  });

  it("wrong usage", async () => {
    box = sandbox();
    const options = { cwd: box.work, env: box.env };
    assertClear(await run(["--yollo"], options), 2, /no option --yollo[\s\S]*--yolo/);
    assertClear(await run(["-p"], options), 2, /needs a prompt/);
    assertClear(await run([], options), 2, /no terminal/);
    assertClear(
      await run(["-p", "x", "--allow", "rm"], {
        ...options,
        env: { ...box.env, ...modelEnv("http://127.0.0.1:1/v1") },
      }),
      2,
      /not a permission rule/,
    );
    assertClear(await run(["-p", "x", "--cwd", "/no/such/folder"], options), 2, /no folder/);
  });

  it("a quota that does not come back soon is not waited for (CX-10)", async () => {
    const started = performance.now();
    const result = await turn([{
      status: 429,
      headers: { "retry-after": "1382400" },
      body: { error: { message: "monthly quota exhausted" } },
    }]);
    assertClear(result, 1, /quota/);
    assert.ok(performance.now() - started < 10_000);
  });

  it("a short rate limit is waited for, and the message stands once (CX-11)", async () => {
    const limited: Step = {
      status: 429,
      headers: { "retry-after-ms": "300" },
      body: { error: { message: "slow down" } },
    };
    const result = await turn([limited, limited, { text: "fine" }]);
    assert.equal(result.code, 0, result.stderr);
    assert.equal(result.stdout, "fine\n");
    const users = server?.requests.at(-1)?.body.messages.filter((message) =>
      message.content === "hi"
    );
    assert.equal(users?.length, 1);
  });

  it("limits end a turn with their own exit codes", async () => {
    const look: Step = { calls: [{ name: "Read", args: { path: "." } }] };
    assertCode(await turn([look, look, look], ["--max-steps", "2"]), 3, /--max-steps/);
    await server?.close();
    box.close();
    assertCode(
      await turn([look, look, look, look], ["--budget-tokens", "10"]),
      5,
      /--budget-tokens/,
    );
    await server?.close();
    box.close();
    assertCode(await turn([{ hang: "headers" }], ["--timeout", "1"]), 5, /--timeout/);
  });

  it("a budget in USD without known prices is refused at the start", async () => {
    assertClear(await turn([{ text: "x" }], ["--budget-usd", "1"]), 2, /prices of m are not known/);
  });
});

function assertCode(result: Finished, code: number, what: RegExp): void {
  assert.equal(result.code, code, result.stderr);
  assert.match(result.stderr, what);
}
