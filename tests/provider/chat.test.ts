// The Chat Completions provider against a server that misbehaves: silence, resets, endless error bodies,
// pages in place of an API; and that it takes nothing from the environment.

import assert from "node:assert/strict";
import { createServer, type RequestListener, type Server } from "node:http";
import process from "node:process";
import { after, afterEach, before, describe, it } from "node:test";
import { Assembler, type Reply } from "../../src/provider/assemble.ts";
import { ProviderError } from "../../src/provider/failure.ts";
import { type Fetch, Patience, Silence } from "../../src/provider/http.ts";
import { profileFor } from "../../src/provider/profiles.ts";
import type { ProviderFailure } from "../../src/provider/provider.ts";
import { EXIT, UserError } from "../../src/runtime/errors.ts";
import { startServer, type Step, type StrictServer } from "../support/strict-server.ts";
import { chatRequest, collect, KEY, providerAt } from "./support.ts";
import { heavy } from "../support/heavy.ts";

let server: StrictServer;
let steps: Step[] = [];

before(async () => {
  server = await startServer(() => steps.shift() ?? { text: "default" }, { key: KEY });
});

after(() => server.close());

/** A server that does exactly what a test says, beyond what the strict one offers. */
async function bareServer(
  listener: RequestListener,
): Promise<{ url: string; close(): Promise<void> }> {
  const bare: Server = createServer(listener);
  await new Promise<void>((resolve) => bare.listen(0, "127.0.0.1", () => resolve()));
  const address = bare.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    close: () =>
      new Promise((resolve) => {
        bare.close(() => resolve());
        bare.closeAllConnections();
      }),
  };
}

/** Lets the server break the connection once the reader has seen text. */
async function brokenOff(step: Step): Promise<{ reply: Reply }> {
  let seen: () => void = () => {};
  const until = new Promise<void>((resolve) => seen = resolve);
  steps = [{ ...step, reset: true, until }];
  const assembler = new Assembler();
  for await (
    const delta of providerAt(server.url).stream(chatRequest(), new AbortController().signal)
  ) {
    assembler.push(delta);
    if (delta.type === "text") seen();
  }
  return { reply: assembler.finish() };
}

function failureFrom(failure: ProviderFailure | null): ProviderFailure {
  assert.ok(failure, "the reply should have failed");
  return failure;
}

describe("a reply", () => {
  it("streams text, reasoning, calls and usage", async () => {
    steps = [{
      reasoning: "let me see",
      text: "Reading two files.",
      calls: [{ id: "c1", name: "Read", args: { path: "a" } }, {
        name: "Read",
        args: '{"path":"b"}',
      }],
    }];
    const { reply } = await collect(providerAt(server.url));
    assert.equal(reply.text, "Reading two files.");
    assert.equal(reply.reasoning, "let me see");
    assert.deepEqual(reply.calls.map((call) => call.args), [{ path: "a" }, { path: "b" }]);
    assert.equal(reply.finish, "tool_calls");
    assert.ok(reply.usage && reply.usage.input > 0);
  });

  it("reports cached tokens of a prefix sent before", async () => {
    const request = chatRequest({ messages: [{ role: "user", text: "same ".repeat(100) }] });
    await collect(providerAt(server.url), request);
    const { reply } = await collect(providerAt(server.url), request);
    assert.ok(reply.usage && reply.usage.cached > 100 && reply.usage.cached <= reply.usage.input);
  });

  it("counts reasoning tokens that stand only in the total (xAI, Gemini)", async () => {
    steps = [{
      text: "x",
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 40, cached_tokens: 99 },
    }];
    const { reply } = await collect(providerAt(server.url));
    assert.deepEqual(reply.usage, { input: 10, output: 30, cached: 10 });
  });

  it("is complete after the finish reason, even when the connection is then lost", async () => {
    const { reply } = await brokenOff({
      sse: 'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n',
    });
    assert.deepEqual([reply.text, reply.finish, reply.failure], ["x", "stop", null]);
  });

  it("is complete after the finish reason, even when the connection stays open", async () => {
    steps = [{
      sse: 'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n',
      hang: "body",
    }];
    const { reply } = await collect(providerAt(server.url, { stallMs: 100 }));
    assert.deepEqual([reply.text, reply.finish], ["x", "stop"]);
  });

  it("ends at [DONE], also when the connection stays open", async () => {
    steps = [{ sse: "data: [DONE]\n\n", hang: "body" }];
    const start = performance.now();
    const { reply } = await collect(providerAt(server.url));
    assert.equal(reply.finish, "stop");
    assert.ok(performance.now() - start < 2000);
  });

  it("keeps the connection for the next request", async () => {
    const ports = new Set<number | undefined>();
    const bare = await bareServer((request, response) => {
      ports.add(request.socket.remotePort);
      request.resume().on("end", () => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end(
          'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
        );
      });
    });
    const provider = providerAt(bare.url);
    for (let n = 0; n < 3; n++) await collect(provider);
    await bare.close();
    assert.equal(ports.size, 1);
  });
});

describe("silence (ST-19)", () => {
  for (const hang of ["headers", "body", "comments"] as const) {
    it(`${hang}: ends as a failure that may be retried`, async () => {
      steps = [{ text: "one two three", hang }];
      const { reply } = await collect(providerAt(server.url, { stallMs: 150 }));
      const failure = failureFrom(reply.failure);
      assert.equal(failure.code, "stalled");
      assert.equal(failure.retryable, true);
      assert.match(failure.message, /sent nothing for 0\.\d+ s/);
      assert.equal(reply.runnable, false);
      assert.equal(reply.text, hang === "body" ? "one two three" : "");
    });
  }

  it("that has lasted long enough ends a wait, whatever keeps coming", async () => {
    const patience = new Patience(new AbortController().signal);
    assert.equal(await patience.wait(Promise.resolve("x"), 100, 99), "x");
    await assert.rejects(patience.wait(Promise.resolve("x"), 100, 100), Silence);
    patience.end();
  });

  it("is counted anew for each wait, also where a longer limit came before", async () => {
    const patience = new Patience(new AbortController().signal);
    const after = (ms: number) => new Promise<string>((done) => setTimeout(() => done("x"), ms));
    for (let n = 0; n < 3; n++) assert.equal(await patience.wait(after(40), 100), "x");
    assert.equal(await patience.wait(after(1), 60_000), "x");
    await after(1);
    const start = performance.now();
    await assert.rejects(patience.wait(new Promise(() => {}), 50), Silence);
    assert.ok(performance.now() - start < 5_000);
    patience.end();
  });

  it("ends a wait when the signal aborts, and every later one at once", async () => {
    const abort = new AbortController();
    const patience = new Patience(abort.signal);
    const waiting = patience.wait(new Promise(() => {}), 60_000);
    abort.abort(new Error("enough"));
    await assert.rejects(waiting, /enough/);
    await assert.rejects(patience.wait(Promise.resolve("x"), 60_000), /enough/);
    patience.end();
  });

  it("does not come from a slow reader", async () => {
    steps = [{ text: "a long text in several pieces", split: 7 }];
    const provider = providerAt(server.url, { stallMs: 200 });
    let text = "";
    for await (const delta of provider.stream(chatRequest(), new AbortController().signal)) {
      if (delta.type === "error") assert.fail(delta.failure.message);
      if (delta.type !== "text") continue;
      text += delta.text;
      if (text.length < 20) await new Promise((resolve) => setTimeout(resolve, 150));
    }
    assert.equal(text, "a long text in several pieces");
  });
});

describe("abort", () => {
  for (const hang of ["headers", "body", "comments"] as const) {
    it(`${hang}: ends at once, as interrupted`, async () => {
      steps = [{ text: "one", hang }];
      const abort = new AbortController();
      const start = performance.now();
      setTimeout(() => abort.abort(), 50);
      const { reply } = await collect(providerAt(server.url), chatRequest(), abort.signal);
      assert.ok(performance.now() - start < 1000);
      assert.deepEqual([reply.finish, reply.failure, reply.runnable], ["interrupted", null, false]);
    });
  }

  it("before the request sends nothing", async () => {
    const sent = server.requests.length;
    const { reply } = await collect(providerAt(server.url), chatRequest(), AbortSignal.abort());
    assert.equal(reply.finish, "interrupted");
    assert.equal(server.requests.length, sent);
  });

  it("closes the connection when the reader walks away", async () => {
    let isClosed: (() => void) | undefined;
    const closed = new Promise<void>((resolve) => isClosed = resolve);
    const bare = await bareServer((request, response) => {
      response.on("close", () => isClosed?.());
      request.resume();
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write('data: {"choices":[{"delta":{"content":"x"}}]}\n\n');
    });
    for await (
      const _ of providerAt(bare.url).stream(chatRequest(), new AbortController().signal)
    ) break;
    await closed;
    await bare.close();
  });
});

describe("connections that break", () => {
  it("before the headers", async () => {
    steps = [{ reset: true }];
    const { reply } = await collect(providerAt(server.url));
    assert.equal(failureFrom(reply.failure).retryable, true);
  });

  it("in the middle of the reply", async () => {
    const { reply } = await brokenOff({ text: "one" });
    assert.equal(reply.text, "one");
    const failure = failureFrom(reply.failure);
    assert.match(failure.message, /^The connection to http:\/\/127\.0\.0\.1:\d+ failed/);
    assert.equal(failure.retryable, true);
  });

  it("never begin where nothing listens", async () => {
    const bare = await bareServer(() => {});
    await bare.close();
    const { reply } = await collect(providerAt(bare.url));
    const failure = failureFrom(reply.failure);
    assert.equal(failure.retryable, false);
    assert.match(failure.message, /^No server answers at http:\/\/127\.0\.0\.1:\d+$/);
  });
});

describe("error answers", () => {
  it("carry the server's words, status and a hint", async () => {
    steps = [{
      status: 401,
      body: { error: { message: "Incorrect API key provided", code: "invalid_api_key" } },
    }];
    const profile = { ...profileFor(server.url, "m"), keyEnv: "SOME_API_KEY" };
    const { reply } = await collect(providerAt(server.url, { profile }));
    assert.deepEqual(JSON.parse(JSON.stringify(failureFrom(reply.failure))), {
      message: "Incorrect API key provided",
      code: "invalid_api_key",
      status: 401,
      retryable: false,
      hint: "The key was refused. Check SOME_API_KEY.",
    });
  });

  it("CX-11: name the wait in a header", async () => {
    steps = [{ status: 429, body: "slow down", headers: { "retry-after-ms": "300" } }];
    const { reply } = await collect(providerAt(server.url));
    const failure = failureFrom(reply.failure);
    assert.deepEqual([failure.retryAfterMs, failure.retryable], [300, true]);
  });

  heavy("CX-13: are read for 5 s at most", { timeout: 20_000 }, async () => {
    steps = [{ status: 429, body: { error: { message: "Too many requests" } }, hang: "body" }];
    const start = performance.now();
    const { reply } = await collect(providerAt(server.url));
    const took = performance.now() - start;
    assert.match(failureFrom(reply.failure).message, /Too many requests/);
    assert.ok(took > 4000 && took < 8000, `${took}`);
  });

  it("CX-13: are read up to 64 KB", async () => {
    let isClosed: (() => void) | undefined;
    const closed = new Promise<void>((resolve) => isClosed = resolve);
    const bare = await bareServer((request, response) => {
      request.resume();
      response.writeHead(500, { "content-type": "text/plain" });
      const timer = setInterval(() => response.write("e".repeat(16 * 1024)), 1);
      response.on("close", () => {
        clearInterval(timer);
        isClosed?.();
      });
    });
    const start = performance.now();
    const { reply } = await collect(providerAt(bare.url));
    assert.ok(performance.now() - start < 4000);
    assert.match(failureFrom(reply.failure).message, /^e+…$/);
    await closed;
    await bare.close();
  });

  it("that redirect are not followed, and get no key", async () => {
    let followed = false;
    const target = await bareServer((request, response) => {
      followed = true;
      request.resume();
      response.end();
    });
    steps = [{ status: 307, body: "", headers: { location: `${target.url}/chat/completions` } }];
    const { reply } = await collect(providerAt(server.url));
    await target.close();
    assert.match(failureFrom(reply.failure).message, /redirects to/);
    assert.equal(followed, false);
  });
});

describe("answers with status 200 that are no stream", () => {
  const shapes: [name: string, step: Step, message: RegExp][] = [
    [
      "a web page",
      { body: "<!DOCTYPE html><title>Sign in</title>", contentType: "text/html" },
      /^A web page came back, not an API's answer: Sign in$/,
    ],
    [
      "a web page called a stream",
      { sse: "\n<html><title>x</title></html>" },
      /A web page came back/,
    ],
    [
      "an error as a stream of JSON",
      { sse: '{"error":{"message":"quota is gone","code":402}}' },
      /^quota is gone$/,
    ],
    [
      "an error over several lines",
      { sse: '{\n  "error": {\n    "message": "no such model"\n  }\n}\n' },
      /^no such model$/,
    ],
    [
      "JSON of something else",
      { body: '{"ok":true}', contentType: "application/json" },
      /not that of a model's API: \{"ok":true\}/,
    ],
    [
      "a sentence",
      { body: "It works!", contentType: "text/plain" },
      /not that of a model's API: It works!/,
    ],
  ];
  for (const [name, step, message] of shapes) {
    it(name, async () => {
      steps = [step];
      const { reply } = await collect(providerAt(server.url));
      const failure = failureFrom(reply.failure);
      assert.match(failure.message, message);
      assert.equal(failure.retryable, false);
    });
  }

  it("an error without a field name behind a broken stream is an error", async () => {
    const chunk = 'data: {"choices":[{"delta":{"content":"x"}}]}\n\n';
    steps = [
      { sse: `${chunk}{"error":{"message":"upstream died","code":502}}\n` },
      { sse: `${chunk}gibberish\n` },
    ];
    const failed = (await collect(providerAt(server.url))).reply;
    assert.deepEqual([failed.text, failed.failure?.message], ["x", "upstream died"]);
    assert.equal(failed.failure?.retryable, true);
    assert.equal((await collect(providerAt(server.url))).reply.finish, "incomplete");
  });

  it("nothing at all is a cut reply", async () => {
    steps = [{ sse: "" }];
    assert.equal((await collect(providerAt(server.url))).reply.finish, "incomplete");
  });

  it("a stream cut inside its first word is a cut reply, and no strange answer", async () => {
    const starts = ["d", "dat", "data", "data:", "event", "ev"];
    steps = [...starts, "dog"].map((sse) => ({ sse }));
    for (const start of starts) {
      const { reply } = await collect(providerAt(server.url));
      assert.deepEqual([reply.finish, reply.failure], ["incomplete", null], start);
    }
    const strange = (await collect(providerAt(server.url))).reply;
    assert.match(strange.failure?.message ?? "", /is not that of a model's API: dog/);
  });

  it("damage in mid-stream may pass, a cut at the end is a cut", async () => {
    const chunk = 'data: {"choices":[{"delta":{"content":"x"}}]}\n\n';
    steps = [{ sse: `${chunk}data: {"choices":[{"del\n\n${chunk}` }, {
      sse: `${chunk}data: {"choices":[{"del`,
    }];
    const damaged = (await collect(providerAt(server.url))).reply;
    assert.match(damaged.failure?.message ?? "", /The stream is damaged/);
    assert.equal(damaged.failure?.retryable, true);
    const cut = (await collect(providerAt(server.url))).reply;
    assert.deepEqual([cut.text, cut.finish, cut.failure], ["x", "incomplete", null]);
  });
});

describe("base URL", () => {
  for (
    const tail of ["/chat/completions", "/chat/completions/", "/responses", "/messages", "/", ""]
  ) {
    it(`is accepted with ${JSON.stringify(tail)} at its end`, async () => {
      const { reply } = await collect(providerAt(server.url + tail));
      assert.equal(reply.text, "default");
    });
  }

  it("keeps its query", async () => {
    let path: string | undefined;
    const bare = await bareServer((request, response) => {
      path = request.url;
      request.resume();
      response.end('data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n');
    });
    await collect(providerAt(`${bare.url}/chat/completions?api-version=2026-01-01`));
    await bare.close();
    assert.equal(path, "/v1/chat/completions?api-version=2026-01-01");
  });

  it("is refused when it is none", () => {
    for (const url of ["", "ftp://x/v1", "http://", "https://user:pw@x/v1"]) {
      assert.throws(() => providerAt(url), /base URL/, url);
    }
  });
});

describe("the environment", () => {
  const names = [
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_ORG_ID",
    "OPENAI_PROJECT_ID",
    "OPENAI_CUSTOM_HEADERS",
    "OPENAI_LOG",
    "OPENAI_ADMIN_KEY",
  ];
  const saved = new Map(names.map((name) => [name, process.env[name]]));
  const log = console.log;

  afterEach(() => {
    for (const [name, value] of saved) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    Object.assign(console, { log });
  });

  it("is not read: no header, no log line, no other server", async () => {
    Object.assign(process.env, {
      OPENAI_API_KEY: "sk-from-environment",
      OPENAI_ADMIN_KEY: "sk-admin",
      OPENAI_BASE_URL: "http://127.0.0.1:9/v1",
      OPENAI_ORG_ID: "org-x",
      OPENAI_PROJECT_ID: "proj-x",
      OPENAI_CUSTOM_HEADERS: "X-Evil: 1\nAuthorization: Bearer stolen",
      OPENAI_LOG: "debug",
    });
    const lines: unknown[] = [];
    const keep = (...line: unknown[]) => void lines.push(line);
    Object.assign(console, { log: keep });
    const { debug, info, warn, error } = console;
    Object.assign(console, { debug: keep, info: keep, warn: keep, error: keep });
    try {
      await collect(providerAt(server.url, { headers: { "X-Own": "yes" } }));
    } finally {
      Object.assign(console, { debug, info, warn, error });
    }
    const { headers } = server.requests.at(-1) ?? assert.fail("no request");
    assert.equal(headers.authorization, `Bearer ${KEY}`);
    assert.equal(headers["x-own"], "yes");
    assert.equal(headers["user-agent"], "nanocode");
    const foreign = Object.keys(headers).filter((name) => /openai|stainless|evil/i.test(name));
    assert.deepEqual([foreign, lines], [[], []]);
  });

  it("does not give a local server a key", async () => {
    let authorization: string | undefined = "?";
    const bare = await bareServer((request, response) => {
      authorization = request.headers.authorization;
      request.resume();
      response.end('data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n');
    });
    process.env.OPENAI_API_KEY = "sk-from-environment";
    await collect(providerAt(bare.url, { apiKey: "" }));
    await bare.close();
    assert.equal(authorization, undefined);
  });
});

describe("nothing is thrown", () => {
  it("not by a fetch that throws, whatever it throws", async () => {
    for (const thrown of [new Error("boom"), "boom", undefined, { circular: {} }]) {
      const broken: Fetch = () => Promise.reject(thrown);
      const { reply } = await collect(providerAt(server.url, { fetch: broken }));
      assert.equal(reply.finish, "error");
    }
  });

  it("but a key or header that cannot be sent is refused beforehand, without showing it", () => {
    for (const apiKey of ["sk-secret\n", "sk secret", "“sk-secret”"]) {
      assert.throws(
        () => providerAt(server.url, { apiKey }),
        (error) => error instanceof UserError && !error.message.includes("secret"),
      );
    }
    assert.throws(() => providerAt(server.url, { headers: { "X-A": "a\nb" } }), /header "X-A"/);
  });
});

describe("models()", () => {
  const list = (url: string, signal = new AbortController().signal, changes = {}) =>
    providerAt(url, changes).models?.(signal) ?? assert.fail("no models()");

  it("lists ids", async () => assert.deepEqual(await list(server.url), ["test-model"]));

  it("rejects with words for users", async () => {
    await assert.rejects(
      list(server.url, undefined, { apiKey: "sk-wrong" }),
      (error) =>
        error instanceof ProviderError && error.exit === EXIT.failure &&
        /^HTTP 401: Incorrect API key provided/.test(error.message),
    );
    await assert.rejects(
      list(`${server.url}/nowhere`),
      (error) =>
        error instanceof UserError && /^HTTP 404: Unknown request URL/.test(error.message) &&
        /base URL/.test(error.hint ?? ""),
    );
  });

  it("understands other lists, and pages in their place", async () => {
    const bodies = [
      '[{"id":"c"}]',
      "<html></html>",
      '{"error":{"message":"no"}}',
    ];
    const bare = await bareServer((request, response) => {
      request.resume();
      response.end(bodies.shift());
    });
    assert.deepEqual(await list(bare.url), ["c"]);
    await assert.rejects(list(bare.url), /web page/);
    await assert.rejects(list(bare.url), /^ProviderError: no/);
    await bare.close();
  });

  it("stops when aborted", async () => {
    const bare = await bareServer((request) => void request.resume());
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 20);
    await assert.rejects(list(bare.url, abort.signal), /Interrupted/);
    await bare.close();
  });
});
