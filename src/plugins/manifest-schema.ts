// The check of a stranger's plugin.json, and the JSON Schema that docs/ publishes, from one zod schema.
// An unknown field is reported and ignored; any other fault gives one clear line and the plugin is off.
// Loaded only when plugins lie on the disk: the bundled ones are checked by a test.

import { z } from "zod";
import { presetNamed } from "../provider/profiles.ts";
import { nearest } from "../runtime/nearest.ts";
import { VERSION } from "../version.ts";
import { satisfies } from "./engines.ts";
import { API_VERSIONS, EXTENSION, HOOK_EVENTS, type Manifest, PLUGIN_NAME } from "./manifest.ts";
import { fits } from "./settings.ts";

/** What OpenAI-style APIs take as the name of a function. */
export const TOOL_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Inside the plugin's folder: `./x/y.ts` or `x/y.ts`, no `..`, nothing absolute. */
const INSIDE = /^(?!\/)(?![A-Za-z]:)(?!.*(?:^|\/)\.\.(?:\/|$))[^\\\0]+$/;

const inside = z.string().regex(
  INSIDE,
  "must be a path inside the plugin's folder, like ./index.ts",
);
const named = z.string().regex(TOOL_NAME, "must be 1 to 64 letters, digits, _ or -");
const env = z.string().regex(ENV_NAME, "must be the name of an environment variable");
const strings = z.array(z.string().min(1));

/** A JSON Schema as every provider takes it: a plain object, no unions, no tuples, no references. */
const inputSchema = z.looseObject({ type: z.literal("object") }).superRefine((schema, context) => {
  const banned = forbiddenIn(schema);
  if (banned !== null) {
    context.addIssue({
      code: "custom",
      message: `must be a plain object schema: providers refuse ${banned}`,
    });
  }
  if (schema["additionalProperties"] !== false) {
    context.addIssue({
      code: "custom",
      message: 'must say "additionalProperties": false, so that a wrong name is noticed',
    });
  }
});

const effects = z.array(z.enum(["read", "write", "exec", "net", "spend"])).optional();

const tool = z.object({
  name: named,
  description: z.string().min(1).max(4000),
  inputSchema,
  effects,
  concurrencySafe: z.union([z.boolean(), z.literal("by-input")], {
    error: 'must be true, false or "by-input"',
  }).optional(),
});

const apiName = z.string().regex(PLUGIN_NAME, "must be lower-case letters, digits, - or .");

const provider = z.object({
  id: z.string().regex(PLUGIN_NAME, "must be lower-case letters, digits, - or ."),
  api: apiName,
  baseURL: z.url({ protocol: /^https?$/ }).optional(),
  keyEnv: env.optional(),
  cassette: inside.optional(),
  defaultModel: z.string().optional(),
});

const hook = z.object({
  event: z.enum(HOOK_EVENTS),
  matcher: z.string().min(1).optional(),
  command: z.array(z.string().min(1)).min(1).optional(),
  onError: z.enum(["fail-open", "fail-closed"]).optional(),
  timeoutMs: z.int().min(1).max(600_000).optional(),
});

const field = z.object({
  type: z.enum(["string", "integer", "number", "boolean"]),
  default: z.union([z.string(), z.number(), z.boolean()], {
    error: "must be a string, a number, true or false",
  }).optional(),
  description: z.string().optional(),
  secret: z.boolean().optional(),
});

const extension = z.object({
  apiVersion: z.int(),
  engines: z.object({ nanocode: z.string().optional() }).optional(),
  entry: inside.optional(),
  activation: z.array(
    z.string().regex(
      /^on(?:Startup|(?:Tool|Command|Hook|Provider|Api|File):.+)$/,
      "must be like onTool:NAME or onStartup",
    ),
  ).optional(),
  contributes: z.object({
    tools: z.array(tool).optional(),
    apis: z.array(apiName).optional(),
    providers: z.array(provider).optional(),
    hooks: z.array(hook).optional(),
    commands: z.array(z.object({ name: named, description: z.string(), effects })).optional(),
    rules: z.array(z.object({ path: inside, globs: strings.optional() })).optional(),
  }).optional(),
  capabilities: z.object({
    fs: z.object({ read: strings.optional(), write: strings.optional() }).optional(),
    net: strings.optional(),
    exec: strings.optional(),
    env: z.array(env).optional(),
  }).optional(),
  config: z.record(z.string().regex(/^[A-Za-z][A-Za-z0-9_-]*$/), field).optional(),
  replaces: strings.optional(),
});

export const manifestSchema = z.object({
  $schema: z.string().optional(),
  name: z.string().regex(
    PLUGIN_NAME,
    "must be 1 to 64 of a-z, 0-9, - and ., with a letter or digit at both ends",
  ),
  version: z.string().regex(/^\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?$/, "must be like 1.2.3")
    .optional(),
  description: z.string().max(2000).optional(),
  author: z.object({
    name: z.string(),
    email: z.string().optional(),
    url: z.string().optional(),
  }).optional(),
  license: z.string().optional(),
  homepage: z.string().optional(),
  repository: z.string().optional(),
  keywords: z.array(z.string()).optional(),
  extensions: z.looseObject({ [EXTENSION]: extension.optional() }).optional(),
});

export type Checked =
  /** `warnings`: fields that nobody knows, one line each. */
  | { ok: true; manifest: Manifest; warnings: string[] }
  | { ok: false; fault: string };

/** Checks the text of a plugin.json. The fault is one line: where, what is wrong, what is right. */
export function checkManifest(text: string): Checked {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch (error) {
    return { ok: false, fault: `is not valid JSON: ${(error as Error).message}` };
  }
  // Said first: another version may look otherwise in every other part.
  const version = apiVersionIn(value);
  if (Number.isInteger(version) && !API_VERSIONS.includes(version as number)) {
    return {
      ok: false,
      fault: `extensions["${EXTENSION}"].apiVersion is ${version}; this nanocode knows ${
        API_VERSIONS.join(", ")
      }`,
    };
  }
  const parsed = manifestSchema.safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0] as z.core.$ZodIssue;
    const at = issue.path.map((part) => typeof part === "number" ? `[${part}]` : `.${String(part)}`)
      .join("").replace(/^\./, "");
    return { ok: false, fault: `${at || "the file"} ${wordsFor(issue, value)}` };
  }
  const manifest = parsed.data as Manifest;
  const fault = faultOf(manifest);
  if (fault !== null) return { ok: false, fault };
  return { ok: true, manifest, warnings: unknownFields(value, manifestSchema, "") };
}

function apiVersionIn(value: unknown): unknown {
  const { extensions } = (value ?? {}) as { extensions?: Record<string, unknown> | null };
  return (extensions?.[EXTENSION] as { apiVersion?: unknown } | null | undefined)?.apiVersion;
}

function wordsFor(issue: z.core.$ZodIssue, value: unknown): string {
  let at: unknown = value;
  for (const key of issue.path) at = (at as Record<PropertyKey, unknown> | undefined)?.[key];
  if (at === undefined) return "is missing";
  const given = JSON.stringify(at)?.slice(0, 80) ?? "nothing";
  if (issue.code === "invalid_value") {
    const choices = issue.values.map(String);
    const near = typeof at === "string" ? nearest(at, choices) : null;
    return `is ${given}; it can be ${choices.join(", ")}${near ? ` (did you mean ${near}?)` : ""}`;
  }
  return `is ${given}, but ${issue.message.replace(/^Invalid input: /, "")}`;
}

/** What no schema says: versions, and things that contradict each other. */
function faultOf({ extensions }: Manifest): string | null {
  const ours = extensions?.[EXTENSION];
  if (!ours) return null;
  const where = `extensions["${EXTENSION}"]`;
  const range = ours.engines?.nanocode;
  if (range !== undefined && satisfies(VERSION, range) !== true) {
    const isRange = satisfies(VERSION, range) !== null;
    return isRange
      ? `needs nanocode ${range}, this is ${VERSION}`
      : `${where}.engines.nanocode is ${JSON.stringify(range)}, which is no version range`;
  }
  const misfit = Object.entries(ours.config ?? {}).find(([, field]) =>
    field.default !== undefined && !fits(field, field.default)
  );
  if (misfit) {
    const [name, { default: value, type }] = misfit;
    return `${where}.config.${name}.default is ${JSON.stringify(value)}, but its type is ${type}`;
  }
  const { tools = [], commands = [], apis = [], providers = [], hooks = [] } = ours.contributes ??
    {};
  for (
    const [what, names] of [
      ["tool", tools.map(({ name }) => name)],
      ["command", commands.map(({ name }) => name)],
      ["provider", providers.map(({ id }) => id)],
      ["API", apis],
    ] as const
  ) {
    const twice = names.find((name, i) => names.indexOf(name) !== i);
    if (twice !== undefined) return `declares the ${what} ${twice} twice`;
  }
  // Its key would go to another address.
  const preset = providers.find(({ id }) => presetNamed(id))?.id;
  if (preset !== undefined) {
    return `declares the provider ${preset}, which nanocode knows already: give it another id`;
  }
  const needsCode = apis.length > 0 || tools.length > 0 || commands.length > 0 ||
    hooks.some(({ command }) => command === undefined);
  if (needsCode && ours.entry === undefined) {
    return `${where}.entry is missing: tools, commands, APIs and hooks without a command need a module`;
  }
  return null;
}

/** Dotted names of fields that the schema does not know, with the nearest one it does. */
function unknownFields(value: unknown, schema: z.ZodType, path: string): string[] {
  const inner = schema instanceof z.ZodOptional ? schema.unwrap() as z.ZodType : schema;
  if (inner instanceof z.ZodArray && Array.isArray(value)) {
    return value.flatMap((item, i) =>
      unknownFields(item, inner.element as z.ZodType, `${path}[${i}]`)
    );
  }
  if (!(inner instanceof z.ZodObject) || typeof value !== "object" || value === null) return [];
  const shape = inner.shape as Record<string, z.ZodType>;
  const isOpen = inner.def.catchall !== undefined;
  return Object.entries(value).flatMap(([key, field]) => {
    const name = path === "" ? key : `${path}.${key}`;
    const known = Object.hasOwn(shape, key) ? shape[key] : undefined;
    if (known) return unknownFields(field, known, name);
    if (isOpen) return [];
    const near = nearest(key, Object.keys(shape));
    return [`unknown field ${name}, ignored${near ? ` (did you mean ${near}?)` : ""}`];
  });
}

const BANNED = ["anyOf", "oneOf", "allOf", "not", "$ref", "$defs", "prefixItems"];

/** The first keyword in a schema that some provider refuses, or null. */
function forbiddenIn(schema: unknown): string | null {
  if (typeof schema !== "object" || schema === null) return null;
  if (Array.isArray(schema)) {
    return schema.map(forbiddenIn).find((found) => found !== null) ?? null;
  }
  for (const [key, value] of Object.entries(schema)) {
    if (BANNED.includes(key)) return key;
    if (key === "type" && Array.isArray(value)) return "a list of types";
    // Under `properties` stand names of the tool's own choosing.
    const inner = key === "properties" && typeof value === "object" && value !== null
      ? Object.values(value).map(forbiddenIn).find((found) => found !== null) ?? null
      : key === "enum" || key === "const" || key === "default" || key === "examples"
      ? null
      : forbiddenIn(value);
    if (inner !== null) return inner;
  }
  return null;
}

/** The JSON Schema of a manifest, as docs/plugin.schema.json has it. */
export function manifestJsonSchema(): object {
  return z.toJSONSchema(manifestSchema, { io: "input" });
}
