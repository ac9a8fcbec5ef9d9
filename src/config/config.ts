// Configuration in layers: built-in < user < project (only what a project may set) < flags. Every
// effective value knows where it came from. A bad file is one clear error and nothing of it counts.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ParseError } from "jsonc-parser";
import type { z } from "zod";
import { nearest } from "../runtime/nearest.ts";
import { UserError } from "../runtime/errors.ts";
import type { ConfigFile, ProviderConfig } from "./schema.ts";

export interface Config {
  model?: string;
  reason: NonNullable<ConfigFile["reason"]>;
  providers: Record<string, ProviderConfig>;
  limits: { steps: number; budgetUsd?: number; budgetTokens?: number; timeout?: number };
  context: {
    window?: number;
    outputTokens: number;
    readTokens: number;
    files: "inline" | "tail";
    bashTimeout: number;
  };
  permissions: { allow: string[]; ask: string[]; deny: string[]; yolo: boolean };
  bash: { env: string[] };
  registry?: string;
  catalogues: string[];
}

/** What of a plugin's contributions is used; absent: all of a kind. */
export interface Only {
  tools?: readonly string[] | undefined;
  skills?: readonly string[] | undefined;
  rules?: readonly string[] | undefined;
}

/** What one config file says of a plugin; both layers may name one, and the project's may be untrusted. */
export interface PluginEntry {
  name: string;
  tier: "user" | "project";
  /** Path of the config file. */
  file: string;
  /** Absent: for a plugin that comes from elsewhere. */
  source?: string | undefined;
  enabled?: boolean | undefined;
  /** As written; the plugin's manifest says what is right. */
  config?: Readonly<Record<string, unknown>> | undefined;
  only?: Only | undefined;
}

/** A plugin that a config file asks for. */
export type ConfiguredPlugin = Pick<PluginEntry, "name" | "tier"> & { source: string };

export interface LoadedConfig {
  config: Config;
  /** Dotted key → where its value came from (`built-in`, a file's path, `flags`). */
  origins: ReadonlyMap<string, string>;
  /** What of the project's file was not taken, for people. */
  warnings: string[];
  /** The user's, then the project's. */
  plugins: PluginEntry[];
}

/** Those that come from a source. */
export function withSource(entries: readonly PluginEntry[]): ConfiguredPlugin[] {
  return entries.flatMap(({ name, tier, source }) =>
    source === undefined ? [] : [{ name, tier, source }]
  );
}

export const DEFAULTS: Config = {
  reason: "medium",
  providers: {},
  limits: { steps: 200 },
  context: { outputTokens: 2500, readTokens: 6000, files: "inline", bashTimeout: 60 },
  permissions: { allow: [], ask: [], deny: [], yolo: false },
  bash: { env: [] },
  catalogues: [],
};

/** Keys that a project's own `.nanocode/config.json` may set: what it may only narrow or choose. */
const PROJECT_KEYS: readonly string[] = [
  "$schema",
  "model",
  "reason",
  "limits.steps",
  "limits.budgetUsd",
  "limits.budgetTokens",
  "limits.timeout",
  "context.window",
  "context.outputTokens",
  "context.readTokens",
  "context.files",
  "context.bashTimeout",
  "permissions.ask",
  "permissions.deny",
];

export interface ConfigSources {
  /** `~/.nanocode`. */
  home: string;
  /** Workspace root. */
  root: string;
  /** Another file in place of the user's (`--config`); it must exist. */
  file?: string;
  /** What flags set; they win. */
  flags?: ConfigFile;
}

/** Loads and merges all layers. Throws a UserError for the first bad file. */
export async function loadConfig(
  { home, root, file, flags = {} }: ConfigSources,
): Promise<LoadedConfig> {
  const origins = new Map<string, string>();
  const warnings: string[] = [];
  const config = structuredClone(DEFAULTS);
  mark(DEFAULTS, "built-in", origins);

  const userPath = file ?? join(home, "config.json");
  const user = await readConfigFile(userPath, file !== undefined);
  if (user) apply(config, user, userPath, origins);

  const projectPath = join(root, ".nanocode", "config.json");
  // In $HOME both are the same file, which is then the user's.
  const project = projectPath === join(home, "config.json")
    ? null
    : await readConfigFile(projectPath, false);
  if (project) apply(config, narrow(project, config, projectPath, warnings), projectPath, origins);

  apply(config, flags, "flags", origins);
  const plugins = [
    ...entriesOf(user, "user", userPath),
    ...entriesOf(project, "project", projectPath),
  ];
  return { config, origins, warnings, plugins };
}

function entriesOf(
  layer: ConfigFile | null,
  tier: PluginEntry["tier"],
  file: string,
): PluginEntry[] {
  return Object.entries(layer?.plugins ?? {}).map(([name, value]) => ({
    name,
    tier,
    file,
    ...(typeof value === "string" ? { source: value } : value),
  }));
}

/** Reads and validates one file; null when it is absent. Comments, trailing commas and a BOM are fine. */
export async function readConfigFile(
  path: string,
  required: boolean,
): Promise<ConfigFile | null> {
  let text: string;
  try {
    text = new TextDecoder().decode(readFileSync(path));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (!required && (code === "ENOENT" || code === "ENOTDIR")) return null;
    throw new UserError(`cannot read ${path}: ${message}`, "Check the path and its permissions.");
  }
  // Only who has a config file pays for its schema.
  const [{ parse, printParseErrorCode }, { configSchema }] = await Promise.all([
    import("jsonc-parser"),
    import("./schema.ts"),
  ]);
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, {
    allowTrailingComma: true,
    allowEmptyContent: true,
  });
  const first = errors[0];
  if (first) {
    const before = text.slice(0, first.offset).split("\n");
    const where = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
    throw new UserError(
      `${path} is not valid JSON (${where}: ${printParseErrorCode(first.error)})`,
      "Comments and trailing commas are allowed; fix the place named above.",
    );
  }
  const parsed = configSchema.safeParse(value ?? {});
  if (!parsed.success) {
    const issue = parsed.error.issues[0] as z.core.$ZodIssue;
    throw new UserError(
      `${path}: ${explain(issue, value, configSchema)}`,
      "Nothing of this file was used. `nanocode config` shows every key.",
    );
  }
  return parsed.data;
}

/** Leaves out what a project may not set, or may only lower. */
function narrow(project: ConfigFile, config: Config, path: string, warnings: string[]): ConfigFile {
  const out = structuredClone(project);
  for (const [key, value] of leaves(project)) {
    // What they name is used once it is trusted (plugins/trust.ts), what they set is checked there, too.
    if (key.startsWith("plugins.")) continue;
    if (!PROJECT_KEYS.includes(key)) {
      remove(out, key);
      warnings.push(`${path} may not set "${key}" (only your own config can): ignored`);
      continue;
    }
    const current = leaves(config).find(([name]) => name === key)?.[1];
    if (key.startsWith("limits.") && typeof current === "number" && Number(value) > current) {
      remove(out, key);
      warnings.push(`${path} may only lower "${key}" (${current}): ignored`);
    }
  }
  return out;
}

function apply(
  config: Config,
  layer: ConfigFile,
  origin: string,
  origins: Map<string, string>,
): void {
  for (const [key, value] of leaves(layer)) {
    if (key === "$schema" || key.startsWith("plugins.")) continue;
    const [head = "", ...rest] = key.split(".");
    const target = rest.length === 0 ? config : config[head as keyof Config];
    const name = rest.length === 0 ? head : rest.join(".");
    const fields = target as unknown as Record<string, unknown>;
    const old = fields[name];
    // Rules of all tiers hold together: a later layer adds, it never removes.
    fields[name] = Array.isArray(old) && Array.isArray(value) ? [...old, ...value] : value;
    origins.set(key, origin);
  }
}

function mark(layer: object, origin: string, origins: Map<string, string>): void {
  for (const [key] of leaves(layer)) origins.set(key, origin);
}

/** Dotted keys with their values, two levels deep; a provider is one value. */
export function leaves(config: object): [key: string, value: unknown][] {
  return Object.entries(config).flatMap(([key, value]): [string, unknown][] => {
    if (value === undefined) return [];
    if (typeof value !== "object" || value === null || Array.isArray(value)) return [[key, value]];
    return Object.entries(value).filter(([, inner]) => inner !== undefined)
      .map(([name, inner]) => [`${key}.${name}`, inner]);
  });
}

function remove(config: ConfigFile, key: string): void {
  const [head = "", name] = key.split(".");
  const fields = config as Record<string, unknown>;
  if (name === undefined) delete fields[head];
  else if (head === "providers") delete (fields[head] as Record<string, unknown>)[name];
  else delete (fields[head] as Record<string, unknown>)[name];
}

function explain(given: z.core.$ZodIssue, value: unknown, schema: z.ZodType): string {
  const issue = innerIssue(given);
  const path = issue.path.map(String).join(".");
  if (issue.code === "unrecognized_keys") {
    const key = issue.keys[0] ?? "";
    const full = path === "" ? key : `${path}.${key}`;
    const near = nearest(key, knownKeys(schema, issue.path));
    return `unknown key "${full}"${near ? ` (did you mean "${near}"?)` : ""}`;
  }
  let at: unknown = value;
  for (const key of issue.path) at = (at as Record<PropertyKey, unknown> | undefined)?.[key];
  const shown = JSON.stringify(at) ?? "nothing";
  return `"${path || "the file"}" is ${shown.slice(0, 80)}, but ${
    issue.message.replace(/^Invalid input: /, "")
  }`;
}

/** Of a choice: what is wrong within the alternative that is of the right kind at all. */
function innerIssue(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== "invalid_union") return issue;
  const near = issue.errors.find(([first]) =>
    first !== undefined && (first.path.length > 0 || first.code !== "invalid_type")
  )?.[0];
  return near ? { ...near, path: [...issue.path, ...near.path] } : issue;
}

function knownKeys(root: z.ZodType, path: PropertyKey[]): string[] {
  let schema: unknown = root;
  for (const key of path) {
    const inner = unwrap(schema);
    schema = inner?.shape?.[String(key)] ?? inner?.valueType;
  }
  return Object.keys(unwrap(schema)?.shape ?? {});
}

interface ObjectLike {
  shape?: Record<string, unknown>;
  valueType?: unknown;
  options?: unknown[];
}

/** Looks through `.optional()`, and into the objects of a choice. */
function unwrap(schema: unknown): ObjectLike | undefined {
  const optional = schema as { unwrap?: () => unknown } & ObjectLike;
  if (optional?.unwrap && !optional.shape) return unwrap(optional.unwrap());
  return optional?.options?.map(unwrap).find((option) => option?.shape) ?? optional;
}
