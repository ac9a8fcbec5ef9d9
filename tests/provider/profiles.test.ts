// Which profile a URL and a model get; and that the table is in order.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { normalizeBaseURL } from "../../src/provider/http.ts";
import {
  KEY_ORDER,
  presetFor,
  presetNamed,
  PRESETS,
  profileFor,
} from "../../src/provider/profiles.ts";

describe("PRESETS", () => {
  const names = PRESETS.map((preset) => preset.name);

  it("has every host of the spec, once", () => {
    const wanted = [
      "openai",
      "openrouter",
      "deepseek",
      "dashscope",
      "moonshot",
      "mistral",
      "groq",
      "xai",
      "gemini",
      "azure",
      "together",
      "opencode",
      "zenmux",
      "llama.cpp",
      "ollama",
      "lmstudio",
      "vllm",
    ];
    assert.deepEqual(names.toSorted(), wanted.toSorted());
  });

  for (const preset of PRESETS) {
    it(`${preset.name} is found by its own URL, and can be used`, () => {
      if (preset.baseURL) {
        assert.equal(normalizeBaseURL(preset.baseURL), preset.baseURL);
        assert.equal(presetFor(preset.baseURL), preset);
      }
      assert.equal(presetNamed(preset.name), preset);
      assert.ok(preset.local || preset.keyEnv, "a key or a local server");
      assert.ok(preset.local || preset.name === "azure" || preset.model, "a default model");
    });
  }

  it("holds only host names, and prefixes in lower case", () => {
    for (const { hosts = [], models = {} } of PRESETS) {
      for (const host of hosts) assert.equal(new URL(`https://${host}`).hostname, host);
      for (const prefix of Object.keys(models)) assert.equal(prefix, prefix.toLowerCase());
    }
  });
});

describe("KEY_ORDER", () => {
  it("is that of the spec", () => {
    assert.deepEqual(KEY_ORDER.map(({ env }) => env.replace("_API_KEY", "")), [
      "OPENAI",
      "ANTHROPIC",
      "OPENROUTER",
      "DEEPSEEK",
      "DASHSCOPE",
      "MOONSHOT",
      "GROQ",
      "XAI",
      "MISTRAL",
      "GEMINI",
    ]);
  });
  it("names the variable of each preset", () => {
    for (const { env, provider } of KEY_ORDER) {
      if (provider !== "anthropic") assert.equal(presetNamed(provider)?.keyEnv, env);
    }
  });
});

describe("profileFor", () => {
  it("knows subdomains, ports of local servers, and strangers", () => {
    assert.equal(profileFor("https://eu.api.openai.com/v1", "x").name, "openai");
    assert.equal(profileFor("https://my.openai.azure.com/openai/v1", "x").name, "azure");
    assert.equal(profileFor("http://localhost:11434/v1", "x").name, "ollama");
    assert.equal(profileFor("http://[::1]:1234/v1", "x").name, "lmstudio");
    const unknown = profileFor("https://evil-api.openai.com.example/v1", "x");
    assert.equal(unknown.name, "custom");
    assert.equal(profileFor("http://127.0.0.1:9999/v1", "x").name, "custom");
    assert.equal(profileFor("no url", "x").name, "custom");
  });

  it("takes the longest prefix of the id or of its tail, in any case", () => {
    const openai = (model: string) => profileFor("https://api.openai.com/v1", model);
    assert.equal(openai("gpt-5.6-sol").window, 1_050_000);
    assert.equal(openai("gpt-5-mini").window, undefined);
    assert.equal(profileFor("https://api.together.xyz/v1", "zai-org/GLM-5.3").window, 1_048_575);
    assert.equal(
      profileFor("https://api.groq.com/openai/v1", "openai/gpt-oss-120b").window,
      131_072,
    );
  });

  it("knows the demands of open models at strange hosts, unless the host refuses them", () => {
    assert.equal(
      profileFor("https://host.example/v1", "deepseek-ai/DeepSeek-V4-Pro").replay,
      "reasoning_content",
    );
    assert.equal(profileFor("https://opencode.ai/zen/v1", "kimi-k2.6").replay, "reasoning_content");
    assert.equal(
      profileFor("https://api.groq.com/openai/v1", "moonshotai/kimi-k2-instruct").replay,
      "never",
    );
    assert.equal(
      profileFor("https://openrouter.ai/api/v1", "deepseek/deepseek-v4.1-flash").replay,
      "reasoning_details",
    );
    assert.equal(profileFor("http://localhost:8080/v1", "Devstral-Small-2").roles, "alternate");
  });

  it("lets the user override", () => {
    const profile = profileFor("https://api.openai.com/v1", "gpt-5.6", {
      replay: "reasoning_content",
      window: 1,
    });
    assert.deepEqual([profile.replay, profile.window, profile.name], [
      "reasoning_content",
      1,
      "openai",
    ]);
  });
});
