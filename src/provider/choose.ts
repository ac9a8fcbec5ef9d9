// Which provider and model answer (spec/providers §Choosing): what the user named, else the first key
// found. A key belongs to the provider it is configured for and goes nowhere else.

import { UserError } from "../runtime/errors.ts";
import { nearest } from "../runtime/nearest.ts";
import { type Fetch, isLoopback, normalizeBaseURL } from "./http.ts";
import { KEY_ORDER, presetFor, presetNamed, PRESETS, type Prices, profileFor } from "./profiles.ts";
import type { Connect, Provider } from "./provider.ts";

/** A provider of the user's config. */
export interface ConfiguredProvider {
  /** The API it speaks; default `chat`. */
  api?: string;
  baseURL: string;
  key?: string | { env: string } | { command: string[] };
  headers?: Record<string, string>;
  window?: number;
  prices?: Prices;
}

/** A provider that a plugin declares; `cassette` is the path of its recording. */
export interface DeclaredProvider {
  id: string;
  /** Name of an API that some plugin speaks: `chat`, `replay`, … */
  api: string;
  baseURL?: string;
  keyEnv?: string;
  cassette?: string;
  defaultModel?: string;
}

export interface Choice {
  /** `provider/model` or a bare model id, as the user gave it. */
  model?: string;
  providers: Record<string, ConfiguredProvider>;
  declared: readonly DeclaredProvider[];
  /** How an API is spoken. @throws {UserError} when nothing speaks it. */
  apis: (name: string) => Promise<Connect>;
  env: Readonly<Record<string, string | undefined>>;
  /** Sends requests in place of the global fetch. */
  fetch?: Fetch;
  /** Only the provider matters (`nanocode models`): a missing model is no fault. */
  listing?: boolean;
}

export interface Chosen {
  provider: Provider;
  model: string;
  window: number | null;
  prices: Prices | null;
}

/** Nothing says which model to use. `local` are model servers found on this machine. */
export class NoModelError extends UserError {
  readonly local: readonly { id: string; model: string }[];
  constructor(message: string, hint: string, local: readonly { id: string; model: string }[]) {
    super(message, hint);
    this.local = local;
  }
}

/** Chooses and connects. Throws a UserError that says what to set. */
export async function chooseModel(choice: Choice): Promise<Chosen> {
  const { id, model } = await named(choice);
  const declared = choice.declared.find((candidate) => candidate.id === id);
  if (model === "" && !choice.listing) {
    throw new UserError(
      `no model is named for the provider ${id}`,
      `Set OPENAI_MODEL or "model" in your config, or give --model ${id}/MODEL ` +
        `(nanocode models --model ${id}/ lists them).`,
    );
  }
  const configured = configuredIn(choice, id);
  const { baseURL, apiKey, keyEnv } = declared && !declared.baseURL && !configured
    ? { baseURL: "", apiKey: choice.env[declared.keyEnv ?? ""] ?? "", keyEnv: declared.keyEnv }
    : endpoint(id, configured, declared, choice.env);
  const profile = { ...profileFor(baseURL, model), keyEnv };
  const connect = await choice.apis(configured?.api ?? declared?.api ?? "chat");
  const { headers } = configured ?? {};
  const { cassette } = declared ?? {};
  const { fetch } = choice;
  return {
    provider: await connect({ id, baseURL, apiKey, headers, profile, cassette, fetch }),
    model,
    window: configured?.window ?? profile.window ?? null,
    prices: configured?.prices ?? profile.prices ?? null,
  };
}

/** A name that only JavaScript knows (`constructor`) is no provider. */
function configuredIn({ providers }: Choice, id: string): ConfiguredProvider | undefined {
  return Object.hasOwn(providers, id) ? providers[id] : undefined;
}

/**
 * The provider's id and the model ("" when none is named), split at the first `/` only if the head
 * is a known provider: ids hold slashes.
 */
async function named(choice: Choice): Promise<{ id: string; model: string }> {
  const { env, providers, declared } = choice;
  const asked = choice.model || env["OPENAI_MODEL"] || env["MODEL"];
  if (asked) {
    const [head = "", ...rest] = asked.split("/");
    const plugin = declared.find((candidate) => candidate.id === head);
    const preset = presetNamed(head);
    const isKnown = plugin || preset || configuredIn(choice, head);
    if (rest.length === 0 || !isKnown) return { id: ownerOf(asked, choice), model: asked };
    return { id: head, model: rest.join("/") || plugin?.defaultModel || preset?.model || "" };
  }
  if (env["OPENAI_BASE_URL"]) return { id: "openai", model: "" };
  for (const { env: name, provider } of KEY_ORDER) {
    const model = presetNamed(provider)?.model;
    if (env[name] && model) return { id: provider, model };
  }
  const [id] = Object.keys(providers);
  if (id === undefined) throw await noModel(env, declared);
  return { id, model: "" };
}

/** Whose model a bare id is: the OpenAI-style endpoint of the environment, else the first key's owner. */
function ownerOf(model: string, { env, providers }: Choice): string {
  if (env["OPENAI_BASE_URL"] || env["OPENAI_API_KEY"]) return "openai";
  const keyed = KEY_ORDER.find(({ env: name, provider }) => env[name] && presetNamed(provider));
  const owner = Object.keys(providers)[0] ?? keyed?.provider;
  if (owner !== undefined) return owner;
  const [head = "", ...rest] = model.split("/");
  const near = rest.length > 0 ? nearest(head, PRESETS.map((preset) => preset.name)) : null;
  throw new UserError(
    `no provider is known for the model ${model}`,
    near
      ? `Did you mean ${near}/${rest.join("/")}?`
      : "Set OPENAI_API_KEY (and OPENAI_BASE_URL for another server), or give --model PROVIDER/MODEL.",
  );
}

/** Address, key and the variable it came from; "" for a server on this machine that needs no key. */
function endpoint(
  id: string,
  configured: ConfiguredProvider | undefined,
  declared: DeclaredProvider | undefined,
  env: Choice["env"],
): { baseURL: string; apiKey: string; keyEnv?: string } {
  const preset = presetNamed(id);
  const given = id === "openai" ? env["OPENAI_BASE_URL"] : undefined;
  const [url, name] = configured
    ? [configured.baseURL, `providers.${id}.baseURL`]
    : given
    ? [given, "OPENAI_BASE_URL"]
    : [declared?.baseURL ?? preset?.baseURL, `the baseURL of ${id}`];
  if (!url) {
    throw new UserError(
      `the provider ${id} has no fixed address`,
      `Set "providers": {"${id}": {"baseURL": "https://…/v1"}} in your config.`,
    );
  }
  const baseURL = normalizeBaseURL(url, name);
  const key = configured?.key ??
    { env: configured ? presetFor(baseURL)?.keyEnv : (declared ?? preset)?.keyEnv };
  if (typeof key === "string") return { baseURL, apiKey: key };
  if ("command" in key) return { baseURL, apiKey: commandKey(id, key.command) };
  const apiKey = env[key.env ?? ""];
  if (apiKey) return { baseURL, apiKey, keyEnv: key.env };
  if (!configured?.key && isLoopback(baseURL)) return { baseURL, apiKey: "" };
  throw key.env === undefined
    ? new UserError(`no key is configured for ${baseURL}`, 'Set its "key" in your config.')
    : new UserError(`${key.env} is not set`, `Set it to your key for ${new URL(baseURL).host}.`);
}

function commandKey(id: string, command: string[]): string {
  const [program = "", ...args] = command;
  try {
    const { execFileSync } = process.getBuiltinModule("node:child_process");
    const key = execFileSync(program, args, {
      encoding: "utf8",
      timeout: 15_000,
      stdio: ["ignore", "pipe", "pipe"],
    }).trim();
    if (key !== "") return key;
    throw new Error("it printed nothing");
  } catch (error) {
    const why = (error as Error).message.split("\n")[0];
    throw new UserError(
      `the key command of ${id} failed: ${why}`,
      `Run it by hand: ${command.join(" ")}`,
    );
  }
}

async function noModel(env: Choice["env"], declared: Choice["declared"]): Promise<NoModelError> {
  const local = await localModels();
  const hasDemo = declared.some((provider) => provider.id === "demo");
  const demo = hasDemo ? ", or try the demo: nanocode --demo" : "";
  const [first] = local;
  if (first) {
    return new NoModelError(
      "no key is set, but a model server runs on this machine",
      `Use it with --model ${first.id}/${first.model}${demo}.`,
      local,
    );
  }
  const only = env["ANTHROPIC_API_KEY"]
    ? " (ANTHROPIC_API_KEY alone is not enough: this release speaks the OpenAI-style API)"
    : "";
  const others = KEY_ORDER.slice(2).map(({ env: name }) => name).join(", ");
  return new NoModelError(
    `no model to talk to${only}`,
    "Set OPENAI_API_KEY (with OPENAI_BASE_URL and OPENAI_MODEL for any other OpenAI-style server), " +
      `or one of ${others}${demo}.`,
    [],
  );
}

/** Models of the usual local servers; loopback only, and only asked when there is no key. */
async function localModels(): Promise<{ id: string; model: string }[]> {
  const lists = await Promise.all(
    PRESETS.filter((preset) => preset.local).map(async ({ name, baseURL }) => {
      try {
        const response = await fetch(`${baseURL}/models`, {
          signal: AbortSignal.timeout(500),
          redirect: "error",
        });
        const { data = [] } = await response.json() as { data?: { id?: unknown }[] };
        return data.flatMap(({ id }) => typeof id === "string" ? [{ id: name, model: id }] : []);
      } catch {
        return [];
      }
    }),
  );
  return lists.flat();
}
