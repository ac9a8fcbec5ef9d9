// Every Chat Completions transcript of tests/cases/sse, over real HTTP with its status and content
// type: whole, byte by byte, and split at random.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { explainBroken } from "../../src/provider/argument-faults.ts";
import type { Reply } from "../../src/provider/assemble.ts";
import type { Fetch } from "../../src/provider/http.ts";
import type { RecordedCall } from "../../src/session/records.ts";
import { startServer, type Step, type StrictServer } from "../support/strict-server.ts";
import { byteFetch, collect, providerAt, RUNS } from "./support.ts";

interface ExpectedCall {
  id: string;
  name: string;
  args: unknown;
  argsError?: boolean;
  extra?: unknown;
}

interface Case {
  id: string;
  title: string;
  api: string;
  http: { status: number; contentType: string };
  expect: {
    text: string;
    reasoning: string;
    toolCalls: ExpectedCall[];
    finish: string;
    usage: unknown;
    error: { message: string; code: unknown; retryable: boolean } | null;
    runnable: boolean;
  };
}

const FOLDER = new URL("../cases/sse/", import.meta.url);
const FILES = new URL("../cases/files/", import.meta.url);

const cases: Case[] = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".json"))
  .map((name): Case => JSON.parse(readFileSync(new URL(name, FOLDER), "utf8")))
  .filter((one) => one.api === "chat");

let server: StrictServer;
let step: Step;

before(async () => {
  server = await startServer(() => step);
});

after(() => server.close());

async function replay(
  next: Step,
  fetch?: Fetch,
): Promise<{ reply: Reply; shown: string }> {
  step = next;
  return await collect(providerAt(server.url, fetch ? { fetch } : {}));
}

function check(one: Case, reply: Reply): void {
  const { expect } = one;
  const calls = reply.calls.map((call, at): ExpectedCall => ({
    id: expect.toolCalls[at]?.id === "*" ? checkFresh(call, reply.calls) : call.id,
    name: call.name,
    args: call.args,
    ...(call.raw === undefined ? {} : { argsError: true }),
    ...(call.extra === undefined ? {} : { extra: call.extra }),
  }));
  const { failure } = reply;
  assert.deepEqual({
    text: reply.text,
    reasoning: reply.reasoning,
    toolCalls: calls,
    finish: reply.finish,
    usage: reply.usage,
    error: failure && {
      message: expect.error?.message === "*" ? "*" : failure.message,
      code: failure.code,
      retryable: failure.retryable,
    },
    runnable: reply.runnable,
  }, expect);
}

/** A generated id: nine letters or digits, used by no other call. */
function checkFresh(call: RecordedCall, calls: RecordedCall[]): string {
  assert.match(call.id, /^[A-Za-z0-9]{9}$/);
  assert.equal(calls.filter((other) => other.id === call.id).length, 1);
  return "*";
}

describe("transcripts of tests/cases/sse", () => {
  it("are all here", () => assert.equal(cases.length, 62));

  for (const one of cases) {
    const sse = readFileSync(new URL(`${one.id}.txt`, FOLDER));
    const http = { sse, status: one.http.status, contentType: one.http.contentType };

    it(`${one.id}: ${one.title}`, async () => {
      const { reply, shown } = await replay({ ...http, split: "whole" });
      check(one, reply);
      assert.equal(shown, reply.text);
    });

    it(`${one.id}, byte by byte`, async () => {
      check(one, (await replay(http, byteFetch)).reply);
    });

    it(`${one.id}, split at random`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 0, max: 2 ** 31 }), async (seed) => {
          check(one, (await replay({ ...http, split: seed })).reply);
        }),
        { numRuns: 2 * RUNS },
      );
    });
  }

  it("leave the server with nothing to refuse", () => assert.deepEqual(server.errors, []));
});

describe("streams of bugs.md", () => {
  const file = (name: string) => readFileSync(new URL(name, FILES));
  const calls = (reply: Reply) => reply.calls.map(({ name, args }) => ({ name, args }));

  it("ST-02: cut arguments do not become a call, whatever the finish reason says", async () => {
    const { reply } = await replay({ sse: file("ST-02/files/stream.sse") });
    const [call] = reply.calls;
    assert.equal(call?.args, null);
    assert.match(explainBroken(call?.raw ?? ""), /cut off/);
  });

  it("ST-03: a stream that just ends is incomplete and runs nothing", async () => {
    const { reply } = await replay({ sse: file("ST-03/files/stream.sse") });
    assert.equal(reply.finish, "incomplete");
    assert.equal(reply.runnable, false);
  });

  it("ST-04: one index, three ids: three calls", async () => {
    const { reply } = await replay({ sse: file("ST-04/files/stream.sse") });
    assert.deepEqual(calls(reply), [
      { name: "Read", args: { path: "f1.txt" } },
      { name: "Read", args: { path: "f2.txt" } },
      { name: "Read", args: { path: "f3.txt" } },
    ]);
  });

  it("ST-05: no index: two calls", async () => {
    const { reply } = await replay({ sse: file("ST-05/files/stream.sse") });
    assert.deepEqual(calls(reply), [
      { name: "Read", args: { path: "a" } },
      { name: "Read", args: { path: "b" } },
    ]);
  });

  it("ST-06: interleaved fragments go to their index", async () => {
    const { reply } = await replay({ sse: file("ST-06/files/stream.sse") });
    assert.deepEqual(calls(reply).map((call) => call.args), [{ path: "a" }, { path: "b" }]);
  });

  it("ST-14: reasoning without text is kept", async () => {
    const { reply } = await replay({ sse: file("ST-14/files/stream.sse") });
    assert.equal(reply.reasoning, "The answer is 42.");
    assert.equal(reply.text, "");
    assert.equal(reply.finish, "stop");
  });

  for (
    const name of ["ST-15/files/stream.sse", "ST-15/files/nospace.sse", "ST-16/files/stream.sse"]
  ) {
    it(`${name}: framing`, async () => {
      const { reply } = await replay({ sse: file(name), split: "bytes" });
      assert.equal(reply.text, name.startsWith("ST-15") ? "hello" : "hi");
      assert.equal(reply.finish, "stop");
    });
  }

  it("ST-20: an error inside the stream, with the wait it names", async () => {
    const { reply } = await replay({ sse: file("ST-20/files/stream.sse") });
    assert.equal(reply.finish, "error");
    assert.equal(reply.failure?.retryable, true);
    assert.equal(reply.failure?.retryAfterMs, 1500);
    assert.match(reply.failure?.message ?? "", /^Rate limit reached/);
  });
});
