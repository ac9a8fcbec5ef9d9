// Error shapes of many servers → one clear line, whether to retry, and what to do.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  failureOf,
  httpFailure,
  notAnApi,
  ProviderError,
  thrownFailure,
} from "../../src/provider/failure.ts";
import type { ProviderFailure } from "../../src/provider/provider.ts";

const CONTEXT = {
  baseURL: "https://api.example.com/v1",
  model: "m-1",
  keyEnv: "EXAMPLE_API_KEY",
  apiKey: "sk-secret-0123456789",
};

const http = (status: number, body: unknown = "", headers: Record<string, string> = {}) =>
  httpFailure(
    status,
    new Headers(headers),
    typeof body === "string" ? body : JSON.stringify(body),
    CONTEXT,
  );
const openai = (message: string, code: string | null = null, type = "invalid_request_error") => ({
  error: { message, type, param: null, code },
});

describe("what a server says, whatever the shape", () => {
  const shapes: [name: string, body: unknown, message: string | RegExp, code?: unknown][] = [
    ["OpenAI", openai("no such thing", "bad"), "no such thing", "bad"],
    ["a string", { error: "plain words" }, "plain words"],
    ["flat", { message: "flat words", code: "C1" }, "flat words", "C1"],
    ["FastAPI text", { detail: "Not Found" }, "Not Found"],
    [
      "FastAPI list",
      { detail: [{ loc: ["body", "model"], msg: "field required", type: "value_error" }] },
      "field required (body.model)",
    ],
    ["errors list", { errors: [{ message: "first" }, { message: "second" }] }, "first; second"],
    [
      "Gemini's list",
      [{ error: { code: 400, message: "API key not valid", status: "INVALID_ARGUMENT" } }],
      "API key not valid",
      400,
    ],
    [
      "OpenRouter with the upstream's words",
      {
        error: {
          message: "Provider returned error",
          code: 400,
          metadata: { raw: '{"error":{"message":"bad schema"}}' },
        },
      },
      "Provider returned error: bad schema",
      400,
    ],
    ["JSON in the message", { error: { message: '{"error":{"message":"inner"}}' } }, "inner"],
    [
      "Mistral's object message",
      { object: "error", message: { detail: [{ msg: "extra" }] } },
      "extra",
    ],
    ["plain text", "upstream is on fire", "upstream is on fire"],
    [
      "a web page",
      "<!DOCTYPE html><html><head><title>502 Bad\nGateway</title></head></html>",
      "A web page came back, not an API's answer: 502 Bad Gateway",
    ],
    ["nothing", "", /answered 400 without saying why/],
    ["an empty object", {}, "{}"],
  ];
  for (const [name, body, message, code] of shapes) {
    it(name, () => {
      const failure = http(400, body);
      if (typeof message === "string") assert.equal(failure.message, message);
      else assert.match(failure.message, message);
      if (code !== undefined) assert.equal(failure.code, code);
      assert.equal(failure.status, 400);
      assert.equal(failure.retryable, false);
    });
  }

  it("is one line, short, and without the key", () => {
    const failure = http(
      401,
      openai(`bad key ${CONTEXT.apiKey}\n\nsee\u001b[31m docs ${"x".repeat(2000)}`),
    );
    assert.match(failure.message, /^bad key \[key\] see/);
    assert.ok(failure.message.length <= 500);
    assert.doesNotMatch(failure.message, /[\n\u001b]/);
  });

  it("is no error where there is none", () => {
    for (
      const value of [
        { choices: [] },
        { id: "x", usage: {} },
        { type: "ping" },
        { choices: [], error: null },
        null,
        7,
        "x",
      ]
    ) {
      assert.equal(failureOf(value, CONTEXT), null, JSON.stringify(value));
    }
  });
});

describe("whether to try again (CX-12)", () => {
  const table: [name: string, failure: ProviderFailure, retryable: boolean][] = [
    ["401", http(401, openai("Incorrect API key")), false],
    ["402", http(402, openai("Payment required")), false],
    ["403", http(403, openai("Country not supported")), false],
    ["404 model", http(404, openai("The model `x` does not exist", "model_not_found")), false],
    [
      "400 schema",
      http(400, openai("Invalid schema for function", "invalid_function_parameters")),
      false,
    ],
    [
      "400 that is called api_error",
      http(400, openai("Corrupted thought signature.", null, "api_error")),
      false,
    ],
    [
      "429 insufficient_quota",
      http(
        429,
        openai(
          "You exceeded your current quota, please check your plan",
          "insufficient_quota",
          "insufficient_quota",
        ),
      ),
      false,
    ],
    ["429 quota in words only", http(429, "monthly quota exhausted, resets in 16 days"), false],
    ["429", http(429, openai("Rate limit reached", "rate_limit_exceeded")), true],
    [
      "429 of Google, quota a minute",
      http(429, [{
        error: {
          code: 429,
          message: "You exceeded your current quota. Please retry in 12.5s.",
          status: "RESOURCE_EXHAUSTED",
        },
      }]),
      true,
    ],
    [
      "429 for one request that is too large",
      http(
        429,
        openai(
          "Request too large for m on tokens per min (TPM): Limit 30000, Requested 40000",
          "rate_limit_exceeded",
        ),
      ),
      false,
    ],
    [
      "429 of DashScope, whose code for a rate ends in quota",
      http(429, openai("Requests rate limit exceeded", "Throttling.RateQuota")),
      true,
    ],
    ["408", http(408), true],
    ["409", http(409), true],
    ["425", http(425), true],
    ["500", http(500), true],
    ["503", http(503, "<html><title>503</title></html>"), true],
    ["524", http(524), true],
    [
      "529",
      http(529, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
      true,
    ],
    [
      "reset",
      thrownFailure(Object.assign(new Error("socket hang up"), { code: "ECONNRESET" }), CONTEXT),
      true,
    ],
    [
      "unknown host",
      thrownFailure(Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" }), CONTEXT),
      true,
    ],
    [
      "certificate",
      thrownFailure(
        Object.assign(new Error("self signed"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" }),
        CONTEXT,
      ),
      false,
    ],
  ];
  for (const [name, failure, retryable] of table) {
    it(`${name}: ${retryable ? "yes" : "no"}`, () => {
      assert.equal(failure.retryable, retryable, JSON.stringify(failure));
      assert.ok(failure.message.length > 0);
    });
  }

  it("a refused connection on this machine means that no server runs", () => {
    const local = { baseURL: "http://localhost:11434/v1" };
    const error = Object.assign(new Error("Connection error."), {
      cause: Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }),
    });
    const failure = thrownFailure(error, local);
    assert.equal(failure.retryable, false);
    assert.equal(failure.message, "No server answers at http://localhost:11434");
    assert.match(failure.hint ?? "", /Start the model server/);
    assert.equal(thrownFailure(error, CONTEXT).retryable, true);
  });
});

describe("too long", () => {
  const long: [string, ProviderFailure][] = [
    [
      "OpenAI",
      http(
        400,
        openai(
          "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
          "context_length_exceeded",
        ),
      ),
    ],
    [
      "llama.cpp",
      http(400, {
        error: {
          code: 400,
          message: "the request exceeds the available context size",
          type: "exceed_context_size_error",
        },
      }),
    ],
    [
      "Anthropic",
      http(400, {
        error: {
          type: "invalid_request_error",
          message: "prompt is too long: 210000 tokens > 200000 maximum",
        },
      }),
    ],
    ["DashScope", http(400, openai("Range of input length should be [1, 129024]"))],
    [
      "vLLM",
      http(400, {
        object: "error",
        message:
          "This model's maximum context length is 8192 tokens. Please reduce the length of the messages.",
        code: 400,
      }),
    ],
    ["413", http(413)],
  ];
  for (const [name, failure] of long) {
    it(name, () => {
      assert.equal(failure.tooLong, true);
      assert.equal(failure.retryable, false);
      assert.match(failure.hint ?? "", /compact/);
    });
  }
  it("is not said of a rate limit that counts tokens", () => {
    const failure = http(429, openai("Too many tokens, please wait before trying again."));
    assert.deepEqual([failure.tooLong, failure.retryable], [undefined, true]);
  });
});

describe("what to do", () => {
  const hint = (failure: ProviderFailure) => failure.hint ?? "";
  it("names the variable of a wrong key", () => {
    assert.match(hint(http(401)), /EXAMPLE_API_KEY/);
    assert.match(hint(httpFailure(401, new Headers(), "", { baseURL: CONTEXT.baseURL })), /key/);
  });
  it("names a missing model, and else doubts the URL", () => {
    assert.match(
      hint(http(404, openai("The model does not exist", "model_not_found"))),
      /"m-1" is not offered/,
    );
    assert.match(
      hint(http(404, "404 page not found")),
      /base URL \(https:\/\/api\.example\.com\/v1\)/,
    );
    assert.match(hint(http(405)), /base URL/);
  });
  it("points at credit for a quota", () => assert.match(hint(http(402)), /credit/));
  it("says how long the provider wants to wait when that is too long", () => {
    const failure = http(429, openai("Slow down"), { "retry-after": "1382400" });
    assert.equal(failure.retryAfterMs, 1_382_400_000);
    assert.match(hint(failure), /16 days/);
  });
  it("does not follow redirects with a key", () => {
    const failure = http(308, "", { location: "https://other.example/v1" });
    assert.match(failure.message, /redirects to https:\/\/other\.example\/v1/);
    assert.equal(failure.retryable, false);
  });
  it("recognises a web page in the place of an API", () => {
    const failure = notAnApi("<html><title>Welcome</title>", CONTEXT);
    assert.match(failure.message, /web page came back, not an API's answer: Welcome/);
    assert.match(hint(failure), /base URL/);
  });
  it("comes with status, words and hint where it is thrown", () => {
    const error = new ProviderError(http(401, openai("Incorrect API key")));
    assert.equal(error.message, "HTTP 401: Incorrect API key");
    assert.equal(error.hint, "The key was refused. Check EXAMPLE_API_KEY.");
  });
});
