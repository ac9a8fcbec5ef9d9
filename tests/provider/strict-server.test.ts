// The strict server refuses what the real API refuses; every rule is seen failing here.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { refusals } from "../../src/testing/strict-rules.ts";
import { startServer } from "../support/strict-server.ts";

const RULES = { allowFields: [], requireReasoning: false };
const call = (id: string, args: unknown = "{}") => ({
  id,
  type: "function",
  function: { name: "Read", arguments: args },
});
const calling = (...calls: unknown[]) => ({ role: "assistant", content: null, tool_calls: calls });
const result = (id: string) => ({ role: "tool", tool_call_id: id, content: "x" });
const user = { role: "user", content: "hi" };
const tool = (
  name: string,
  parameters: unknown = { type: "object", properties: {}, additionalProperties: false },
) => ({
  type: "function",
  function: { name, description: "d", parameters },
});
const body = (messages: unknown[], more: Record<string, unknown> = {}) => ({
  model: "m",
  messages,
  ...more,
});
const schema = (inner: unknown) =>
  body([user], {
    tools: [tool("A", { type: "object", properties: { x: inner }, additionalProperties: false })],
  });

describe("refusals", () => {
  const fine: [string, unknown][] = [
    ["a plain request", body([user])],
    [
      "calls and their results, in any order",
      body([user, calling(call("a"), call("b")), result("b"), result("a"), user]),
    ],
    ["sorted tools", body([user], { tools: [tool("A"), tool("B")] })],
    [
      "arrays of arrays",
      schema({ type: "array", items: { type: "array", items: { type: "number" } } }),
    ],
    ["usage of a stream", body([user], { stream: true, stream_options: { include_usage: true } })],
  ];
  for (const [name, value] of fine) {
    it(`none for ${name}`, () => assert.deepEqual(refusals(value, RULES), []));
  }

  const wrong: [name: string, value: unknown, words: RegExp][] = [
    ["no model", { messages: [user] }, /model/],
    ["no messages", body([]), /non-empty array/],
    ["a strange role", body([{ role: "function", content: "x" }]), /role must be/],
    [
      "a strange field",
      body([user], { thinking: {} }),
      /Unrecognized request argument supplied: thinking/,
    ],
    [
      "a strange field in a message",
      body([{ ...user, reasoning_content: "x" }]),
      /reasoning_content' is unsupported/,
    ],
    ["user content that is no text", body([{ role: "user", content: null }]), /content must be/],
    [
      "an assistant with nothing",
      body([user, { role: "assistant", content: "" }]),
      /needs content or tool_calls/,
    ],
    ["no calls in tool_calls", body([user, calling()]), /non-empty array/],
    ["a call without result", body([user, calling(call("a"))]), /without a response: a/],
    [
      "a call without result before the next message",
      body([calling(call("a")), user]),
      /must be followed by tool messages/,
    ],
    ["an orphan result", body([user, result("a")]), /must be a response to a preceding message/],
    ["a result twice", body([calling(call("a")), result("a"), result("a")]), /must be a response/],
    ["a duplicate call id", body([calling(call("a"), call("a")), result("a")]), /duplicate/],
    ["a long call id", body([calling(call("x".repeat(41)))]), /maximum length 40/],
    [
      "arguments that are no string",
      body([calling(call("a", {})), result("a")]),
      /arguments must be a string/,
    ],
    [
      "arguments that are no JSON",
      body([calling(call("a", '{"x')), result("a")]),
      /not valid JSON/,
    ],
    ["a lone surrogate", body([{ role: "user", content: "\ud83d" }]), /lone surrogate/],
    [
      "a lone surrogate in arguments",
      body([calling(call("a", '{"x":"\\ud83d"}')), result("a")]),
      /lone surrogate/,
    ],
    [
      "stream_options without stream",
      body([user], { stream_options: {} }),
      /only allowed when stream/,
    ],
    [
      "parallel_tool_calls without tools",
      body([user], { parallel_tool_calls: true }),
      /only allowed when tools/,
    ],
    ["no tools in tools", body([user], { tools: [] }), /non-empty array/],
    ["unsorted tools", body([user], { tools: [tool("B"), tool("A")] }), /not sorted/],
    [
      "two tools of one name",
      body([user], { tools: [tool("A"), tool("A")] }),
      /duplicate tool name/,
    ],
    ["a tool name with a dot", body([user], { tools: [tool("a.b")] }), /does not match/],
    [
      "parameters that are no object",
      body([user], { tools: [tool("A", { type: "string" })] }),
      /type object/,
    ],
    ["anyOf", schema({ anyOf: [] }), /'anyOf' is not permitted/],
    ["$ref", schema({ $ref: "#/x" }), /'\$ref' is not permitted/],
    [
      "prefixItems",
      schema({ type: "array", items: {}, prefixItems: [] }),
      /'prefixItems' is not permitted/,
    ],
    [
      "an open object deep inside",
      schema({ type: "array", items: { type: "object", properties: {} } }),
      /items: 'additionalProperties' is required to be false/,
    ],
    ["an array of anything", schema({ type: "array" }), /missing items/],
  ];
  for (const [name, value, words] of wrong) {
    it(`for ${name}`, () => assert.match(refusals(value, RULES).join("\n"), words));
  }
});

describe("startServer", () => {
  const post = (url: string, value: unknown, headers: Record<string, string> = {}) =>
    fetch(`${url}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer k", ...headers },
      body: typeof value === "string" ? value : JSON.stringify(value),
    });

  it("answers in OpenAI's shape, remembers requests and refusals", async () => {
    const server = await startServer([{ text: "one" }], { key: "k" });
    const missing = await fetch(`${server.url}/chat/completions`, { method: "POST", body: "{}" });
    assert.equal(missing.status, 401);
    assert.equal(
      (await post(server.url, body([user]), { authorization: "Bearer other" })).status,
      401,
    );
    assert.equal((await post(server.url, "{")).status, 400);
    const refused = await post(server.url, body([]));
    assert.equal(refused.status, 400);
    assert.match((await refused.json()).error.message, /messages/);
    const answered = await (await post(server.url, body([user]))).json();
    assert.equal(answered.choices[0].message.content, "one");
    assert.ok(answered.usage.prompt_tokens > 0);
    assert.equal((await post(server.url, body([user]))).status, 400, "the script is over");
    await server.close();
    assert.equal(server.requests.length, 3);
    assert.equal(server.errors.length, 5);
  });

  it("refuses tools that change, unless told otherwise", async () => {
    for (const allowToolChange of [false, true]) {
      const server = await startServer(() => ({ text: "x" }), { allowToolChange });
      const status = async (...names: string[]) =>
        (await post(server.url, body([user], { tools: names.map((name) => tool(name)) }))).status;
      const statuses = [await status("A"), await status("A"), await status("A", "B")];
      await server.close();
      assert.deepEqual(statuses, [200, 200, allowToolChange ? 200 : 400]);
    }
  });

  it("runs by itself", async () => {
    const folder = mkdtempSync(join(tmpdir(), "nanocode-strict-"));
    const script = join(folder, "script.json");
    writeFileSync(script, JSON.stringify([{ text: "alone" }]));
    const file = fileURLToPath(new URL("../support/strict-server.ts", import.meta.url));
    const runner = "Deno" in globalThis
      ? ["run", "-A", "--no-check", file, script]
      : [file, script];
    const child = spawn(process.execPath, runner, { stdio: ["ignore", "pipe", "inherit"] });
    try {
      const url = await new Promise<string>((resolve, reject) => {
        child.stdout.once("data", (data) => resolve(String(data).trim()));
        child.once("exit", (code) => reject(new Error(`it ended with ${code}`)));
      });
      const answered = await (await post(url, body([user]))).json();
      assert.equal(answered.choices[0].message.content, "alone");
    } finally {
      child.removeAllListeners("exit");
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill();
      await ended;
      rmSync(folder, { recursive: true });
    }
  });
});
