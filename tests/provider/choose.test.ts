// Which provider and model answer, and which key goes where.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { chatProvider } from "../../src/provider/chat.ts";
import { type Choice, chooseModel } from "../../src/provider/choose.ts";
import { connectReplay } from "../../src/provider/replay.ts";
import { UserError } from "../../src/runtime/errors.ts";

const WORK = { baseURL: "https://llm.example.com/v1", key: "sk-work" };
const DEMO = { id: "demo", api: "replay", cassette: "/nowhere/cassette.json" } as const;

/** As the bundled plugins bring them. */
const apis = (name: string) =>
  name === "chat" || name === "replay"
    ? Promise.resolve(name === "chat" ? chatProvider : connectReplay)
    : Promise.reject(new UserError(`no plugin speaks the API ${name}`));

function choice(changes: Partial<Choice>): Choice {
  return { providers: {}, declared: [], env: {}, apis, ...changes };
}

/** Provider, model, address and key of a request. */
async function sentTo(changes: Partial<Choice>): Promise<string> {
  let to = "";
  const { provider, model } = await chooseModel(choice({
    ...changes,
    fetch: (input, init) => {
      const url = input instanceof Request ? input.url : String(input);
      to = `${url} ${new Headers(init?.headers).get("authorization")}`;
      return Promise.reject(new Error("not sent"));
    },
  }));
  const request = { model, messages: [], tools: [] };
  for await (const _ of provider.stream(request, new AbortController().signal));
  return `${provider.id} ${model} ${to}`;
}

async function refusal(changes: Partial<Choice>): Promise<string> {
  const error = await chooseModel(choice(changes)).catch((thrown) => thrown);
  assert.ok(error instanceof UserError, String(error));
  return `${error.message} | ${error.hint}`;
}

describe("chooseModel: where a request goes", () => {
  const at = (id: string, model: string, baseURL: string, key: string | null) =>
    `${id} ${model} ${baseURL}/chat/completions ${key === null ? null : `Bearer ${key}`}`;
  const table: [name: string, changes: Partial<Choice>, sent: string][] = [
    [
      "a preset and its key",
      { model: "groq/openai/gpt-oss-120b", env: { GROQ_API_KEY: "g", OPENAI_API_KEY: "o" } },
      at("groq", "openai/gpt-oss-120b", "https://api.groq.com/openai/v1", "g"),
    ],
    [
      "a preset's default model",
      { model: "xai/", env: { XAI_API_KEY: "x" } },
      at("xai", "grok-4.7", "https://api.x.ai/v1", "x"),
    ],
    [
      "a slash whose head is no provider belongs to the id",
      { model: "zai-org/GLM-5.3", env: { DEEPSEEK_API_KEY: "d" } },
      at("deepseek", "zai-org/GLM-5.3", "https://api.deepseek.com", "d"),
    ],
    [
      "the server of the environment, its endpoint pasted along",
      {
        env: {
          OPENAI_BASE_URL: "https://x.example/v1/chat/completions",
          OPENAI_API_KEY: "o",
          OPENAI_MODEL: "m",
        },
      },
      at("openai", "m", "https://x.example/v1", "o"),
    ],
    [
      "MODEL where OPENAI_MODEL is empty",
      { env: { OPENAI_MODEL: "", MODEL: "m", OPENAI_API_KEY: "o" } },
      at("openai", "m", "https://api.openai.com/v1", "o"),
    ],
    [
      "the first key in the order of the spec",
      { env: { GEMINI_API_KEY: "g", MOONSHOT_API_KEY: "m" } },
      at("moonshot", "kimi-k3", "https://api.moonshot.ai/v1", "m"),
    ],
    [
      "a configured provider before the preset of that name",
      { model: "openai/m", providers: { openai: WORK }, env: { OPENAI_API_KEY: "o" } },
      at("openai", "m", "https://llm.example.com/v1", "sk-work"),
    ],
    [
      "a configured address of a preset, with that preset's key",
      {
        model: "g/m",
        providers: { g: { baseURL: "https://api.groq.com/openai/v1" } },
        env: { GROQ_API_KEY: "g", OPENAI_API_KEY: "o" },
      },
      at("g", "m", "https://api.groq.com/openai/v1", "g"),
    ],
    [
      "a key from a variable",
      { model: "w/m", providers: { w: { ...WORK, key: { env: "K" } } }, env: { K: "k" } },
      at("w", "m", "https://llm.example.com/v1", "k"),
    ],
    [
      "a key from a command",
      { model: "w/m", providers: { w: { ...WORK, key: { command: ["echo", "c"] } } } },
      at("w", "m", "https://llm.example.com/v1", "c"),
    ],
    [
      "a plugin's provider with its own key, not that of another name",
      {
        model: "acme/m",
        declared: [{ id: "acme", api: "chat", baseURL: "https://a.example/v1", keyEnv: "A" }],
        env: { A: "a", OPENAI_API_KEY: "o" },
      },
      at("acme", "m", "https://a.example/v1", "a"),
    ],
    [
      "a server on this machine, without a key",
      { model: "ollama/qwen3", env: { OPENAI_API_KEY: "o" } },
      at("ollama", "qwen3", "http://127.0.0.1:11434/v1", null),
    ],
  ];
  for (const [name, changes, sent] of table) {
    it(name, async () => assert.equal(await sentTo(changes), sent));
  }
});

describe("chooseModel: what it refuses", () => {
  const table: [name: string, changes: Partial<Choice>, words: RegExp][] = [
    ["a preset without its key", { model: "deepseek/x" }, /DEEPSEEK_API_KEY is not set/],
    [
      "a configured server whose key is another provider's",
      {
        model: "w/m",
        providers: { w: { baseURL: "https://api.other.example/v1" } },
        env: { OPENAI_API_KEY: "o" },
      },
      /no key is configured for https:\/\/api\.other\.example\/v1/,
    ],
    [
      "a configured server that only has the name of the key's owner",
      {
        model: "openai/m",
        providers: { openai: { baseURL: "https://api.other.example/v1" } },
        env: { OPENAI_API_KEY: "o" },
      },
      /no key is configured for https:\/\/api\.other\.example\/v1/,
    ],
    [
      "a variable that is not set",
      { model: "w/m", providers: { w: { ...WORK, key: { env: "K" } } } },
      /K is not set \| Set it to your key for llm\.example\.com/,
    ],
    [
      "a key command that fails",
      { model: "w/m", providers: { w: { ...WORK, key: { command: ["false"] } } } },
      /key command of w failed: .* \| Run it by hand: false/,
    ],
    [
      "an address that is none",
      { model: "w/m", providers: { w: { ...WORK, baseURL: "llm.example.com" } } },
      /providers\.w\.baseURL is "llm\.example\.com", which is no http\(s\) address/,
    ],
    ["azure, which has no address of its own", { model: "azure/x" }, /"baseURL"/],
    [
      "no model at the environment's server",
      { env: { OPENAI_BASE_URL: "https://x.example/v1", GROQ_API_KEY: "g" } },
      /no model is named for the provider openai \| Set OPENAI_MODEL/,
    ],
    ["no model at a configured provider", { providers: { w: WORK } }, /--model w\/MODEL/],
    ["a provider that is mistyped", { model: "grok/x" }, /Did you mean groq\/x\?/],
    ["a name that only JavaScript knows", { model: "constructor/x" }, /no provider is known/],
    [
      "a recording that is not there",
      { model: "demo/x", declared: [DEMO] },
      /the recording \/nowhere\/cassette\.json cannot be read/,
    ],
    [
      "an API that nothing speaks",
      { model: "w/m", providers: { w: { ...WORK, api: "telepathy" } } },
      /no plugin speaks the API telepathy/,
    ],
  ];
  for (const [name, changes, words] of table) {
    it(name, async () => assert.match(await refusal(changes), words));
  }

  it("but not a missing model when models are only listed", async () => {
    const { provider, model } = await chooseModel(
      choice({ providers: { w: WORK }, listing: true }),
    );
    assert.deepEqual([provider.id, model], ["w", ""]);
  });
});
