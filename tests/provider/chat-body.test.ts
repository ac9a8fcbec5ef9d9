// What is sent: accepted by the strict server, shaped by the profile, stable from request to request.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { chatBody } from "../../src/provider/chat-body.ts";
import { type Profile, profileFor } from "../../src/provider/profiles.ts";
import type { ChatRequest, Message } from "../../src/provider/provider.ts";
import type { RequestBody } from "../support/strict-server.ts";
import { refusals } from "../../src/testing/strict-rules.ts";
import { startServer, type StrictServer } from "../support/strict-server.ts";
import { chatRequest, collect, providerAt, RUNS } from "./support.ts";

const PLAIN = profileFor("https://api.example.com/v1", "m");
const OPENAI = profileFor("https://api.openai.com/v1", "gpt-4.1");
const RULES = { allowFields: [], requireReasoning: false };

const TOOLS = ["Edit", "Read"].map((name) => ({
  name,
  description: `the tool ${name}`,
  schema: {
    type: "object",
    properties: { path: { type: "string" } },
    required: ["path"],
    additionalProperties: false,
  },
}));

const HISTORY: Message[] = [
  { role: "system", text: "be brief" },
  { role: "user", text: "fix it" },
  {
    role: "assistant",
    text: "",
    reasoning: "read first",
    calls: [
      {
        id: "c1",
        name: "Read",
        args: '{"path":"a"}',
        extra: { google: { thought_signature: "s" } },
      },
      { id: "c2", name: "Read", args: "{}" },
    ],
  },
  { role: "tool", callId: "c1", name: "Read", text: "A" },
  { role: "tool", callId: "c2", name: "Read", text: "" },
  { role: "assistant", text: "done", calls: [] },
  { role: "user", text: "thanks" },
];

function body(changes: Partial<ChatRequest>, profile: Profile): RequestBody {
  const request = chatRequest({ messages: HISTORY, tools: TOOLS, ...changes });
  return JSON.parse(chatBody(request, profile));
}

const sentCalls = (sent: RequestBody) =>
  sent.messages.flatMap((message) => message.tool_calls ?? []);

describe("the body of a request", () => {
  it("is what the API takes", () => {
    assert.deepEqual(
      refusals(body({ maxTokens: 100, session: "s1", reasoning: "low" }, OPENAI), RULES),
      [],
    );
    assert.deepEqual(refusals(body({ tools: [] }, OPENAI), RULES), []);
  });

  it("has null for the content of an assistant that only calls", () => {
    const { messages } = body({}, PLAIN);
    assert.deepEqual(messages.map((message) => message.content), [
      "be brief",
      "fix it",
      null,
      "A",
      "",
      "done",
      "thanks",
    ]);
  });

  it("asks for a stream with usage, where the host knows that option", () => {
    assert.deepEqual(body({}, PLAIN).stream_options, { include_usage: true });
    assert.equal("stream_options" in body({}, { ...PLAIN, streamOptions: false }), false);
  });

  it("caps the answer in the host's field", () => {
    assert.equal(body({ maxTokens: 7 }, PLAIN).max_tokens, 7);
    assert.equal(body({ maxTokens: 7 }, OPENAI).max_completion_tokens, 7);
    assert.equal("max_tokens" in body({}, PLAIN), false);
  });

  it("routes by session where the host does", () => {
    assert.equal(body({ session: "s1" }, OPENAI).prompt_cache_key, "s1");
    assert.equal("prompt_cache_key" in body({ session: "s1" }, PLAIN), false);
  });

  it("puts extra data of a call back, except where it is refused", () => {
    assert.deepEqual(sentCalls(body({}, PLAIN))[0]?.extra_content, {
      google: { thought_signature: "s" },
    });
    assert.equal(sentCalls(body({}, PLAIN))[1]?.extra_content, undefined);
    assert.equal(sentCalls(body({}, OPENAI))[0]?.extra_content, undefined);
  });

  it("marks calls of another model for a host that wants signatures", () => {
    const gemini = profileFor(
      "https://generativelanguage.googleapis.com/v1beta/openai",
      "gemini-3.8-flash",
    );
    assert.equal(sentCalls(body({}, gemini))[1]?.extra_content, undefined);
    const foreign = HISTORY.map((message) =>
      message.role === "assistant"
        ? { ...message, calls: message.calls.map(({ extra: _extra, ...call }) => call) }
        : message
    );
    const calls = sentCalls(body({ messages: foreign }, gemini));
    assert.deepEqual(calls.map((call) => call.extra_content !== undefined), [true, false]);
  });

  it("carries images as data URLs", () => {
    const images = [{ mime: "image/png", base64: "AAAA" }];
    const sent = body({ messages: [{ role: "user", text: "see", images }] }, PLAIN);
    assert.deepEqual(sent.messages[0]?.content, [
      { type: "text", text: "see" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
    ]);
    assert.deepEqual(refusals(sent, RULES), []);
  });

  it("names tools so that any API takes the name back", () => {
    const calls = ["functions.Read", "Read<|call|>", "", "x".repeat(80)]
      .map((name, at) => ({ id: `c${at}`, name, args: "{}" }));
    const sent = body({ messages: [{ role: "assistant", text: "", calls }] }, PLAIN);
    assert.deepEqual(sentCalls(sent).map((call) => call.function.name), [
      "functions_Read",
      "Read_call_",
      "unnamed",
      "x".repeat(64),
    ]);
  });

  it("is well formed, arguments included", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }),
        fc.dictionary(fc.string({ unit: "binary" }), fc.string({ unit: "binary" })),
        (text, args) => {
          const lone = `${text}\ud83d`;
          const sent = body({
            messages: [
              { role: "user", text: lone },
              {
                role: "assistant",
                text: lone,
                calls: [{ id: "c", name: "Read", args: JSON.stringify({ ...args, lone }) }],
              },
              { role: "tool", callId: "c", name: "Read", text: lone },
            ],
          }, PLAIN);
          assert.deepEqual(refusals(sent, RULES), []);
        },
      ),
      { numRuns: 50 * RUNS },
    );
  });
});

describe("reasoning levels", () => {
  const fields = (url: string, model: string, reasoning: ChatRequest["reasoning"]) => {
    const sent = body({ model, ...(reasoning ? { reasoning } : {}) }, profileFor(url, model));
    const {
      reasoning_effort,
      reasoning: router,
      thinking,
      enable_thinking,
      thinking_budget,
      chat_template_kwargs,
    } = sent;
    return JSON.parse(
      JSON.stringify({
        reasoning_effort,
        reasoning: router,
        thinking,
        enable_thinking,
        thinking_budget,
        chat_template_kwargs,
      }),
    );
  };
  const table: [url: string, model: string, level: ChatRequest["reasoning"], fields: unknown][] = [
    ["https://api.openai.com/v1", "gpt-4.1", "high", {}],
    ["https://api.openai.com/v1", "o3", "off", { reasoning_effort: "low" }],
    ["https://api.openai.com/v1", "gpt-5.2", "xhigh", { reasoning_effort: "xhigh" }],
    ["https://api.openai.com/v1", "gpt-5.4", "high", {}],
    ["https://api.openai.com/v1", "gpt-5.6-terra", "high", { reasoning_effort: "none" }],
    ["https://api.openai.com/v1", "gpt-5.6", undefined, { reasoning_effort: "none" }],
    ["https://openrouter.ai/api/v1", "x/y", "off", { reasoning: { effort: "none" } }],
    ["https://openrouter.ai/api/v1", "x/y", "high", { reasoning: { effort: "high" } }],
    ["https://api.deepseek.com", "deepseek-flash", "off", { thinking: { type: "disabled" } }],
    ["https://api.deepseek.com", "deepseek-flash", "medium", {
      thinking: { type: "enabled" },
      reasoning_effort: "high",
    }],
    ["https://dashscope.aliyuncs.com/compatible-mode/v1", "qwen-plus", "low", {
      enable_thinking: true,
      thinking_budget: 4096,
    }],
    ["https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "qwen3.8-max", "medium", {
      reasoning_effort: "medium",
    }],
    ["https://api.moonshot.ai/v1", "kimi-k3", "xhigh", { reasoning_effort: "max" }],
    ["https://api.mistral.ai/v1", "mistral-small-latest", "high", {}],
    ["http://localhost:11434/v1", "qwen3", "medium", {}],
    ["http://localhost:11434/v1", "qwen3", "off", { reasoning_effort: "none" }],
    ["http://127.0.0.1:8080/v1", "any", "off", {
      chat_template_kwargs: { enable_thinking: false },
    }],
    ["https://api.example.com/v1", "any", "high", {}],
  ];
  for (const [url, model, level, expected] of table) {
    it(`${model} at ${new URL(url).host}: ${level ?? "none asked"}`, () => {
      assert.deepEqual(fields(url, model, level), expected);
    });
  }
});

describe("replay of reasoning (ST-21)", () => {
  let demanding: StrictServer;
  let refusing: StrictServer;
  before(async () => {
    demanding = await startServer(() => ({ text: "ok" }), { requireReasoning: true });
    refusing = await startServer(() => ({ text: "ok" }));
  });
  after(async () => {
    await demanding.close();
    await refusing.close();
  });

  const replaying = { ...PLAIN, replay: "reasoning_content" } as const;
  const mixed: Message[] = [
    ...HISTORY.slice(0, 5),
    // A reply of another model: no reasoning, but a call.
    { role: "assistant", text: "", calls: [{ id: "c9", name: "Edit", args: "{}" }] },
    { role: "tool", callId: "c9", name: "Edit", text: "ok" },
  ];

  it("goes with every assistant message where the profile demands it", async () => {
    const request = chatRequest({ messages: mixed, tools: TOOLS });
    const { reply } = await collect(
      providerAt(demanding.url, { profile: { ...replaying, callExtra: false } }),
      request,
    );
    assert.deepEqual([reply.text, demanding.errors], ["ok", []]);
    const sent = demanding.requests[0]?.body.messages.filter((message) =>
      message.role === "assistant"
    );
    assert.deepEqual(sent?.map((message) => message.reasoning_content), ["read first", ""]);
  });

  it("is an error there when it is left out", async () => {
    const messages = mixed.with(5, {
      role: "assistant",
      text: "",
      calls: [{ id: "c9", name: "Edit", args: "{}" }],
    });
    const sent = body({ messages }, replaying);
    delete sent.messages[5]?.reasoning_content;
    assert.match(
      refusals(sent, {
        allowFields: ["reasoning_content", "extra_content"],
        requireReasoning: true,
      }).join(),
      /must be passed back/,
    );
  });

  it("goes nowhere else", async () => {
    const request = chatRequest({ messages: mixed, tools: TOOLS });
    const { reply } = await collect(
      providerAt(refusing.url, { profile: { ...PLAIN, callExtra: false } }),
      request,
    );
    assert.deepEqual([reply.text, refusing.errors], ["ok", []]);
  });

  it("of a router goes back in blocks, to the model that made them", async () => {
    const step = (details: unknown, finish: string | null = null) =>
      `data: ${
        JSON.stringify({
          choices: [{ delta: { reasoning_details: details }, finish_reason: finish }],
        })
      }\n\n`;
    const server = await startServer([{
      sse: step([{ type: "reasoning.text", text: "Let", index: 0, format: "f" }]) +
        step([{ type: "reasoning.text", text: " me", index: 0 }, {
          type: "reasoning.encrypted",
          data: "E",
          index: 1,
        }]) +
        step([{ type: "reasoning.text", signature: "S", index: 0 }], "stop") +
        "data: [DONE]\n\n",
    }]);
    const { reply } = await collect(providerAt(server.url));
    await server.close();
    assert.equal(reply.reasoning, "Let me");
    const details = [
      { type: "reasoning.text", text: "Let me", index: 0, format: "f", signature: "S" },
      { type: "reasoning.encrypted", data: "E", index: 1 },
    ];
    assert.deepEqual(reply.opaque, [{ type: "reasoning_details", model: "test-model", details }]);
    const messages: Message[] = [{
      role: "assistant",
      text: "hi",
      opaque: reply.opaque,
      calls: [],
    }];
    const router: Profile = { ...PLAIN, replay: "reasoning_details" };
    assert.deepEqual(body({ messages }, router).messages[0]?.reasoning_details, details);
    assert.equal(
      body({ messages, model: "other" }, router).messages[0]?.reasoning_details,
      undefined,
    );
    assert.equal(body({ messages }, PLAIN).messages[0]?.reasoning_details, undefined);
  });
});

describe("ids", () => {
  const ids = (form: Profile["ids"], given: string[]) => {
    const calls = given.map((id) => ({ id, name: "Read", args: "{}" }));
    const results = given.map((callId): Message => ({
      role: "tool",
      callId,
      name: "Read",
      text: "",
    }));
    const sent = body({ messages: [{ role: "assistant", text: "", calls }, ...results] }, {
      ...PLAIN,
      ids: form,
    });
    const called = sentCalls(sent).map((call) => call.id);
    assert.deepEqual(sent.messages.slice(1).map((message) => message.tool_call_id), called);
    return called;
  };

  it("are kept where any will do", () => {
    const long = "x".repeat(100);
    assert.deepEqual(ids("any", ["call_1", long]), ["call_1", long]);
  });

  it("become nine letters and digits where nothing else is taken, each time the same", () => {
    const given = ["call_1", "abcDEF123", "call_2", "x".repeat(100)];
    const sent = ids("alnum9", given);
    for (const id of sent) assert.match(id, /^[A-Za-z0-9]{9}$/);
    assert.equal(sent[1], "abcDEF123");
    assert.equal(new Set(sent).size, given.length);
    assert.deepEqual(ids("alnum9", given), sent);
  });

  it("are shortened to forty characters for OpenAI", () => {
    const sent = ids("max40", ["call_1", "x".repeat(41), "x".repeat(42)]);
    assert.equal(sent[0], "call_1");
    assert.ok(sent.every((id) => id.length <= 40));
    assert.equal(new Set(sent).size, 3);
  });

  it("stay distinct for any ids", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 50 }),
        (given) => {
          assert.equal(new Set(ids("alnum9", given)).size, given.length);
        },
      ),
      { numRuns: 20 * RUNS },
    );
  });
});

describe("alternating roles", () => {
  it("merges user messages into the user or tool message before them", () => {
    const messages: Message[] = [
      { role: "system", text: "s" },
      { role: "user", text: "env" },
      { role: "user", text: "do" },
      { role: "assistant", text: "", calls: [{ id: "c", name: "Read", args: "{}" }] },
      { role: "tool", callId: "c", name: "Read", text: "out" },
      { role: "user", text: "memory" },
      { role: "user", text: "files" },
    ];
    const sent = body({ messages }, { ...PLAIN, roles: "alternate" });
    assert.deepEqual(sent.messages.map(({ role, content }) => [role, content]), [
      ["system", "s"],
      ["user", "env\n\ndo"],
      ["assistant", null],
      ["tool", "out\n\nmemory\n\nfiles"],
    ]);
    assert.deepEqual(refusals(sent, RULES), []);
    assert.equal(body({ messages }, PLAIN).messages.length, 7);
  });
});
