// What config.json says of a plugin: is it off, which of its contributions are used, its own settings, checked
// against the fields of its manifest. A project's config reaches only the project's plugins. Whatever is wrong is
// a warning, and what held before holds. Values of secret fields are in no message, and `masker` takes them out
// of everything that a plugin says. Not here: reading config files (config/config.ts).

import type { Only, PluginEntry } from "../config/config.ts";
import { nearest } from "../runtime/nearest.ts";
import { type ConfigField, extensionOf, type Plugin, type SettingValue } from "./manifest.ts";

/** A plugin's settings as the config files have them, without the manifest's defaults. */
export interface Settings {
  values: Readonly<Record<string, SettingValue>>;
  /** Values that nobody may see. */
  secrets: readonly string[];
  only: Only;
}

export const NO_SETTINGS: Settings = { values: {}, secrets: [], only: {} };

type Subject = Pick<Plugin, "manifest" | "tier">;

/** The entries that reach a plugin: the user's, and for a plugin of the project the project's, which win. */
function entriesFor(name: string, tier: Plugin["tier"], entries: readonly PluginEntry[]) {
  return entries.filter((entry) =>
    entry.name === name && (entry.tier === "user" || tier === "project")
  );
}

/**
 * Why a plugin is off, or null. What the user switched off stays off; a plugin that is named with --plugin was
 * asked for.
 */
export function switchedOff(
  name: string,
  tier: Plugin["tier"],
  entries: readonly PluginEntry[],
): string | null {
  if (tier === "flag") return null;
  const entry = entriesFor(name, tier, entries).find(({ enabled }) => enabled === false);
  return entry === undefined ? null : `switched off in ${entry.file}`;
}

/** Lines about entries of the project that reach no plugin of the project. */
export function strayEntries(
  entries: readonly PluginEntry[],
  plugins: readonly { name: string; tier: Plugin["tier"] }[],
): string[] {
  return entries.filter(({ tier, source, enabled, config, only }) =>
    tier === "project" && source === undefined &&
    (enabled !== undefined || config !== undefined || only !== undefined)
  ).flatMap(({ name, file }) => {
    const same = plugins.filter((plugin) => plugin.name === name);
    if (same.some(({ tier }) => tier === "project")) return [];
    const why = same.length > 0
      ? "that plugin is not the project's, and only your own config may change it"
      : `the project has no plugin of this name${nearName(name, plugins.map((one) => one.name))}`;
    return [`${file}: plugins.${name} is ignored: ${why}`];
  });
}

/** The settings of a plugin, and what of the config files was not taken. */
export function settingsOf(
  plugin: Subject,
  entries: readonly PluginEntry[],
  env: Readonly<Record<string, string | undefined>>,
): { settings: Settings; warnings: string[] } {
  const { name } = plugin.manifest;
  const { config: fields = {}, capabilities = {} } = extensionOf(plugin);
  const values: Record<string, SettingValue> = {};
  const secrets = new Set<string>();
  const only: Only = {};
  const warnings: string[] = [];
  for (const entry of entriesFor(name, plugin.tier, entries)) {
    narrow(only, entry.only ?? {});
    warnings.push(...unknownTools(plugin, entry));
    for (const [key, given] of Object.entries(entry.config ?? {})) {
      const where = `${entry.file}: plugins.${name}.config.${key}`;
      const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
      if (field === undefined) {
        const names = Object.keys(fields);
        const has = names.length === 0 ? "no settings" : `the settings ${names.join(", ")}`;
        warnings.push(`${where} is ignored: ${name} has ${has}${nearName(key, names)}`);
        continue;
      }
      const read = valueOf(field, given, entry.tier, capabilities.env ?? [], env);
      if ("fault" in read) {
        warnings.push(`${where} ${read.fault}: ${whatHolds(field, key, values)}`);
        continue;
      }
      values[key] = read.value;
      if (field.secret) secrets.add(String(read.value));
    }
  }
  return { settings: { values, secrets: [...secrets], only }, warnings };
}

function narrow(only: Only, by: Only): void {
  for (const kind of ["tools", "skills", "rules"] as const) {
    const names = by[kind];
    if (names === undefined) continue;
    only[kind] = only[kind]?.filter((name) => names.includes(name)) ?? names;
  }
}

/** Of tools the manifest knows all names; skills and rules are found later. */
function unknownTools(plugin: Subject, { file, only }: PluginEntry): string[] {
  const { name } = plugin.manifest;
  const tools = (extensionOf(plugin).contributes?.tools ?? []).map((tool) => tool.name);
  return (only?.tools ?? []).filter((tool) => !tools.includes(tool)).map((tool) =>
    `${file}: plugins.${name}.only.tools names ${tool}, and ${name} has ${
      tools.length === 0 ? "no tools" : `the tools ${tools.join(", ")}`
    }${nearName(tool, tools)}`
  );
}

function valueOf(
  field: ConfigField,
  given: unknown,
  tier: PluginEntry["tier"],
  granted: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): { value: SettingValue } | { fault: string } {
  const variable = variableOf(given);
  if (tier === "project") {
    const owner = "your own config.json can";
    if (field.secret) return { fault: `is secret, and a project's file may not set it (${owner})` };
    if (variable !== null) {
      return { fault: `names a variable, and a project's file may not do that (${owner})` };
    }
  }
  if (variable === null) {
    if (fits(field, given)) return { value: given };
    const shown = field.secret ? "of another type" : JSON.stringify(given)?.slice(0, 80);
    return { fault: `is ${shown}, but must be ${WANTED[field.type]}` };
  }
  if (!granted.includes(variable)) {
    return {
      fault: `names the variable ${variable}, which is not in capabilities.env of its manifest`,
    };
  }
  const text = env[variable];
  if (text === undefined || text === "") {
    return { fault: `names the variable ${variable}, which is not set` };
  }
  const value = field.type === "string" ? text : parsed(text);
  return fits(field, value)
    ? { value }
    : { fault: `names the variable ${variable}, whose value is not ${WANTED[field.type]}` };
}

const WANTED: Readonly<Record<ConfigField["type"], string>> = {
  string: "a string",
  integer: "an integer",
  number: "a number",
  boolean: "true or false",
};

/** The NAME of `{"env": "NAME"}`; null for anything else. */
function variableOf(given: unknown): string | null {
  if (typeof given !== "object" || given === null) return null;
  const { env, ...rest } = given as { env?: unknown };
  return typeof env === "string" && Object.keys(rest).length === 0 ? env : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Is it a value of the field's type? */
export function fits({ type }: ConfigField, value: unknown): value is SettingValue {
  if (type === "integer") return Number.isSafeInteger(value);
  if (type === "number") return Number.isFinite(value);
  const kind: string = typeof value;
  return kind === type;
}

function whatHolds(
  { default: standard, secret }: ConfigField,
  key: string,
  before: Readonly<Record<string, SettingValue>>,
): string {
  if (Object.hasOwn(before, key)) return "your own value holds";
  if (standard === undefined) return "ignored, it is not set";
  return secret ? "the default holds" : `the default ${JSON.stringify(standard)} holds`;
}

function nearName(name: string, names: readonly string[]): string {
  const near = nearest(name, names);
  return near === null ? "" : ` (did you mean ${near}?)`;
}

/** Takes secrets out of a text, also as JSON and in addresses. */
export function masker(secrets: readonly string[]): (text: string) => string {
  const forms = secrets.filter((secret) => secret !== "").flatMap((secret) => [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret.toWellFormed()),
  ]);
  // A secret that begins with another one must go as a whole.
  const all = [...new Set(forms)].sort((a, b) => b.length - a.length);
  return (text) => all.reduce((masked, form) => masked.replaceAll(form, "***"), text);
}
