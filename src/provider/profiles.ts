// What each host and model wants: pure data, looked up by URL host and model prefix. A new host is a
// new entry here, never a branch in code. Values are dated and name where they were read; what was
// not found stays undefined. How a request uses them is chat-body.ts.

import { type Fields, isLoopback } from "./http.ts";
import type { ReasoningLevel } from "./provider.ts";

/** US dollars per million tokens. */
export interface Prices {
  input: number;
  /** As `input` when absent. */
  cached?: number;
  cacheWrite?: number;
  output: number;
}

/** How one model at one host is spoken to. */
export interface Profile {
  /** Name of the preset, `custom` for an unknown host. */
  name: string;
  /** Environment variable its key usually comes from. */
  keyEnv?: string;
  /** Fields merged into the request body for a level; a level without entry sends none. */
  reasoning: Partial<Record<ReasoningLevel, Fields>>;
  /**
   * How reasoning of earlier replies goes back. `reasoning_content`: with every assistant message, ""
   * where there was none (DeepSeek answers 400 to any gap). `reasoning_details`: the blocks as they
   * came, to the model that made them. `never`: Groq and OpenAI answer 400 to the field.
   */
  replay: "never" | "reasoning_content" | "reasoning_details";
  /** Call ids it accepts: any, up to 40 characters, or exactly nine letters and digits. */
  ids: "any" | "max40" | "alnum9";
  maxTokensField: "max_tokens" | "max_completion_tokens";
  /** Takes `prompt_cache_key`. */
  cacheKey: boolean;
  /** Takes `stream_options.include_usage`; Mistral answers 422 (avante.nvim#2347). */
  streamOptions: boolean;
  /**
   * `alternate`: user messages are merged into the user or tool message before them, because the
   * model's template refuses two in a row (NousResearch/hermes-agent#20154).
   */
  roles: "free" | "alternate";
  /** Takes back the `extra_content` of a call. */
  callExtra: boolean;
  /** `extra_content` for calls that have none, e.g. of another model. */
  foreignExtra?: unknown;
  /** Fields sent with every request. */
  body: Fields;
  /** Tokens that prompt and answer share. */
  window?: number;
  prices?: Prices;
}

type Traits = Partial<Omit<Profile, "name" | "keyEnv">>;

/** Traits by prefix of the model's id, or of its part behind the last "/"; the longest one counts. */
type ModelTraits = Record<string, Traits>;

export interface Preset {
  name: string;
  /** Absent where every user has another one. It is recognised by the host, subdomains included. */
  baseURL?: string;
  /** Further hosts. */
  hosts?: string[];
  keyEnv?: string;
  /** Runs on this machine: no key needed, and offered when there is none. */
  local?: boolean;
  /** Used when the user names none. */
  model?: string;
  traits?: Traits;
  models?: ModelTraits;
}

const GENERIC: Omit<Profile, "name"> = {
  reasoning: {},
  replay: "never",
  ids: "any",
  maxTokensField: "max_tokens",
  cacheKey: false,
  streamOptions: true,
  roles: "free",
  callExtra: true,
  body: {},
};

const LEVELS: ReasoningLevel[] = ["off", "minimal", "low", "medium", "high", "xhigh"];

/** The provider's word for each level from `off` to `xhigh`, "-" for none, and the field it goes to. */
function levels(
  words: string,
  field: (word: string) => Fields = (word) => ({ reasoning_effort: word }),
): Profile["reasoning"] {
  return Object.fromEntries(
    words.split(" ").flatMap((word, at) => word === "-" ? [] : [[LEVELS[at], field(word)]]),
  );
}

const LOW_TO_HIGH = levels("low low low medium high high"); // it cannot be switched off
const NONE_OR_HIGH = levels("none none none high high high");
const NO_THINKING = { thinking: { type: "disabled" } };

const STRICT: Traits = { replay: "never", callExtra: false };
const OPENAI: Traits = {
  ...STRICT,
  ids: "max40",
  maxTokensField: "max_completion_tokens",
  cacheKey: true,
};

const REPLAYED: Traits = { replay: "reasoning_content" };
const ALTERNATE: Traits = { roles: "alternate" };

/** Open models with their own demands wherever they are served, unless a host refuses them. */
const FAMILIES: ModelTraits = {
  "deepseek-v4": REPLAYED,
  "deepseek-flash": REPLAYED,
  "deepseek-reasoner": REPLAYED,
  "kimi-k": REPLAYED,
  "mistral": ALTERNATE,
  "ministral": ALTERNATE,
  "devstral": ALTERNATE,
  "codestral": ALTERNATE,
  "magistral": ALTERNATE,
};

/** A service with its default model; the key's variable is named after it. */
function hosted(name: string, baseURL: string, model: string, more: Partial<Preset> = {}): Preset {
  return { name, baseURL, keyEnv: `${name.toUpperCase()}_API_KEY`, model, ...more };
}

/**
 * A server on this machine. Its models vary, so a level is not turned into a field that the loaded
 * model may refuse (Ollama does); only "off" is said, in a field that all of them take.
 */
function local(name: string, port: number, off?: Fields): Preset {
  const traits: Traits = off ? { reasoning: { off } } : {};
  return { name, baseURL: `http://127.0.0.1:${port}/v1`, local: true, traits };
}

/** Known hosts. Model ids, windows and prices: models.dev data, read 2026-11, unless noted. */
export const PRESETS: readonly Preset[] = [
  hosted("openai", "https://api.openai.com/v1", "gpt-5.6", { // 2026-07-09
    traits: OPENAI,
    models: {
      "o1": { reasoning: LOW_TO_HIGH, window: 200_000 },
      "o3": { reasoning: LOW_TO_HIGH, window: 200_000 },
      "o4": { reasoning: LOW_TO_HIGH, window: 200_000 },
      "gpt-5": { reasoning: levels("minimal minimal low medium high high") },
      "gpt-5-chat": {},
      "gpt-5.1": { reasoning: levels("none low low medium high high") },
      "gpt-5.2": { reasoning: levels("none low low medium high xhigh") },
      // From 5.4 on, Chat Completions refuses reasoning together with tools; 5.6 demands "none"
      // (openai/openai-openapi#541, BerriAI/litellm#34569). Reasoning needs the Responses API.
      "gpt-5.3": {},
      "gpt-5.4": { window: 1_050_000 },
      "gpt-5.5": { window: 1_050_000 },
      "gpt-5.6": {
        body: { reasoning_effort: "none" },
        window: 1_050_000,
        prices: { input: 2, cached: 0.2, cacheWrite: 2.5, output: 10 }, // up to 272k tokens
      },
    },
  }),
  // 2026-10
  hosted("openrouter", "https://openrouter.ai/api/v1", "deepseek/deepseek-v4.1-flash", {
    traits: {
      replay: "reasoning_details",
      // openrouter.ai/docs/use-cases/reasoning-tokens: one field for all models, ignored by others.
      reasoning: levels(
        "none minimal low medium high xhigh",
        (effort) => ({ reasoning: { effort } }),
      ),
    },
  }),
  // V4.1, 2026-10-17; api-docs.deepseek.com: quick_start/pricing, guides/thinking_mode
  hosted("deepseek", "https://api.deepseek.com", "deepseek-flash", {
    traits: {
      ...REPLAYED, // by every assistant message (opencode#17523, hermes-agent#15228)
      reasoning: {
        off: NO_THINKING,
        ...levels("- low low high high max", (reasoning_effort) => ({
          thinking: { type: "enabled" },
          reasoning_effort,
        })),
      },
      window: 1_000_000,
    },
    models: {
      // The peak price; outside China's office hours it is half.
      "deepseek-flash": { prices: { input: 0.3, cached: 0.006, output: 1.2 } },
    },
  }),
  // 2026-08-03
  hosted("dashscope", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "qwen3.8-max", {
    hosts: ["dashscope.aliyuncs.com", "dashscope-us.aliyuncs.com"],
    traits: {
      body: { parallel_tool_calls: true }, // off by default there
      // alibabacloud.com/help/en/model-studio/deep-thinking: a switch and a budget in tokens.
      reasoning: {
        off: { enable_thinking: false },
        ...levels("- 1024 4096 8192 16384 32768", (tokens) => ({
          enable_thinking: true,
          thinking_budget: Number(tokens),
        })),
      },
    },
    models: {
      "qwen3-coder": { reasoning: {} },
      "qwen3.8": {
        reasoning: { off: { enable_thinking: false }, ...levels("- low low medium xhigh xhigh") },
        window: 991_000,
        prices: { input: 2, output: 6 },
      },
    },
  }),
  hosted("moonshot", "https://api.moonshot.ai/v1", "kimi-k3", { // 2026-07-16
    hosts: ["api.moonshot.cn"],
    traits: { ...REPLAYED, maxTokensField: "max_completion_tokens", cacheKey: true },
    models: {
      "kimi-k3": {
        reasoning: levels("low low low high high max"), // it cannot be switched off
        window: 1_048_576,
        prices: { input: 3, cached: 0.3, output: 15 },
      },
      "kimi-k2.5": { reasoning: { off: NO_THINKING }, window: 262_144 },
      "kimi-k2.6": { reasoning: { off: NO_THINKING }, window: 262_144 },
      "kimi-k2.7": { window: 262_144 },
    },
  }),
  hosted("groq", "https://api.groq.com/openai/v1", "openai/gpt-oss-120b", { // 2025-08-05
    traits: { ...STRICT, maxTokensField: "max_completion_tokens" },
    models: {
      "gpt-oss": {
        reasoning: LOW_TO_HIGH,
        window: 131_072,
        prices: { input: 0.15, cached: 0.075, output: 0.6 },
      },
    },
  }),
  // 2026-09-21; docs.x.ai/developers/models/grok-4.7
  hosted("xai", "https://api.x.ai/v1", "grok-4.7", {
    traits: { ...STRICT, maxTokensField: "max_completion_tokens" },
    models: {
      "grok-4.7": {
        reasoning: levels("low low low medium high xhigh"),
        window: 500_000,
        prices: { input: 2, cached: 0.5, output: 6 }, // up to 200k tokens
      },
    },
  }),
  // 2026-04-29; docs.mistral.ai/models/mistral-medium-3-5-26-04
  hosted("mistral", "https://api.mistral.ai/v1", "mistral-medium-3-5", {
    traits: { ...STRICT, ...ALTERNATE, ids: "alnum9", streamOptions: false },
    models: {
      "mistral-medium-3-5": {
        reasoning: NONE_OR_HIGH,
        window: 262_144,
        prices: { input: 1.5, output: 7.5 },
      },
      "mistral-large-4": {
        reasoning: NONE_OR_HIGH,
        prices: { input: 1.36, cached: 0.14, output: 4.18 },
      },
    },
  }),
  // 2026-09-02; ai.google.dev/gemini-api/docs/models/gemini-3.8-flash
  hosted("gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "gemini-3.8-flash", {
    traits: {
      reasoning: LOW_TO_HIGH,
      // ai.google.dev/gemini-api/docs/thought-signatures: the word for calls of other models.
      foreignExtra: { google: { thought_signature: "skip_thought_signature_validator" } },
    },
    models: {
      "gemini-3.8-flash": {
        window: 1_048_576,
        prices: { input: 1.5, cached: 0.15, output: 7.5 }, // half of it until 2026-12-31
      },
    },
  }),
  hosted("together", "https://api.together.xyz/v1", "zai-org/GLM-5.3", { // 2026-09-23
    hosts: ["api.together.ai"],
    models: {
      "glm-5.3": {
        reasoning: { off: { reasoning: { enabled: false } }, ...levels("- low low high high max") },
        window: 1_048_575,
        prices: { input: 1.4, cached: 0.26, output: 4.4 },
      },
    },
  }),
  hosted("opencode", "https://opencode.ai/zen/v1", "deepseek-v4.1-flash"), // 2026-10
  hosted("zenmux", "https://zenmux.ai/api/v1", "deepseek/deepseek-v4.1-flash"), // 2026-10
  {
    // learn.microsoft.com, "v1 API": the key goes as a bearer token, the model is the deployment.
    name: "azure",
    hosts: ["openai.azure.com", "services.ai.azure.com"],
    keyEnv: "AZURE_OPENAI_API_KEY",
    traits: OPENAI,
  },
  local("llama.cpp", 8080, { chat_template_kwargs: { enable_thinking: false } }),
  local("ollama", 11434, { reasoning_effort: "none" }),
  local("lmstudio", 1234),
  local("vllm", 8000, { chat_template_kwargs: { enable_thinking: false } }),
];

/**
 * Whose key is taken first when the user names no model (spec/providers, Choosing). `anthropic` is not
 * a preset here: the bundled plugin of that name serves it.
 */
export const KEY_ORDER: readonly { env: string; provider: string }[] =
  "openai anthropic openrouter deepseek dashscope moonshot groq xai mistral gemini"
    .split(" ").map((provider) => ({ env: `${provider.toUpperCase()}_API_KEY`, provider }));

/** The preset of that name. */
export function presetNamed(name: string): Preset | undefined {
  return PRESETS.find((preset) => preset.name === name);
}

/** The preset that a base URL belongs to: by host, on this machine by port. */
export function presetFor(baseURL: string): Preset | undefined {
  if (!URL.canParse(baseURL)) return undefined;
  const { hostname, port } = new URL(baseURL);
  return PRESETS.find((preset) => {
    const own = preset.baseURL === undefined ? null : new URL(preset.baseURL);
    if (preset.local) return isLoopback(baseURL) && own?.port === port;
    return [...own ? [own.hostname] : [], ...preset.hosts ?? []]
      .some((host) => `.${hostname}`.endsWith(`.${host}`));
  });
}

/** How `model` at `baseURL` is spoken to; `overrides` are the user's own settings and win. */
export function profileFor(baseURL: string, model: string, overrides: Traits = {}): Profile {
  const preset = presetFor(baseURL);
  return {
    ...GENERIC,
    ...traitsOf(model, FAMILIES),
    ...preset?.traits,
    ...traitsOf(model, preset?.models),
    ...overrides,
    name: preset?.name ?? "custom",
    keyEnv: preset?.keyEnv,
  };
}

function traitsOf(model: string, table: ModelTraits = {}): Traits {
  const id = model.toLowerCase();
  const tail = id.slice(id.lastIndexOf("/") + 1);
  const prefixes = Object.keys(table)
    .filter((prefix) => id.startsWith(prefix) || tail.startsWith(prefix))
    .sort((a, b) => b.length - a.length);
  return table[prefixes[0] ?? ""] ?? {};
}
