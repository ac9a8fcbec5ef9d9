// A plugin's manifest (plugin.json, Agent Plugins 1.0.0) and our part of it under
// extensions["dev.nanocode"]: the types. Strangers' manifests are checked by manifest-schema.ts, which
// also gives the JSON Schema of docs/; what plugins contribute to a session is registry.ts.

import type { DeclaredProvider } from "../provider/choose.ts";
import type { ToolSpec } from "../provider/provider.ts";
import type { Effect } from "../session/records.ts";
import type { Settings } from "./settings.ts";

export const EXTENSION = "dev.nanocode";
export const MANIFEST_FILE = "plugin.json";
/** Agent Plugins 1.0.0: 1 to 64 of a-z 0-9 - . with a letter or digit at both ends, no `--`, no `..`. */
export const PLUGIN_NAME = /^(?=.{1,64}$)(?!.*(?:--|\.\.))[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/;
/** Versions of our part that this release understands. */
export const API_VERSIONS: readonly number[] = [1];

/** A tool as declared: what the model sees, so that no code is imported to build the tool list. */
export interface ToolDeclaration {
  name: string;
  description: string;
  inputSchema: ToolSpec["schema"];
  /** The most that a call may do; more is a fault of the plugin. */
  effects?: Effect["kind"][];
  /** `by-input`: the code's function decides. */
  concurrencySafe?: boolean | "by-input";
}

/** A provider as declared; `cassette` is a recording inside the plugin's folder. */
export type ProviderDeclaration = DeclaredProvider;

/** Events that hooks can listen to. */
export const HOOK_EVENTS = [
  "session.start",
  "session.end",
  "prompt.submit",
  "request.before",
  "reply.after",
  "tool.before",
  "tool.after",
  "edit.after",
  "compact.before",
  "compact.after",
  "turn.end",
] as const;
export type HookEvent = typeof HOOK_EVENTS[number];

export interface HookDeclaration {
  event: HookEvent;
  /** A tool's name, or several with `|`; absent: every tool. */
  matcher?: string;
  /** A program and its arguments, in place of a handler of the module. Stdin and stdout are JSON. */
  command?: string[];
  /** What holds when the hook fails or takes too long; default `fail-open`. */
  onError?: "fail-open" | "fail-closed";
  /** Milliseconds; default 10,000. */
  timeoutMs?: number;
}

export interface CommandDeclaration {
  name: string;
  description: string;
  /** The most that it may do; more is a fault of the plugin. */
  effects?: Effect["kind"][];
}

export interface RuleDeclaration {
  /** Relative to the plugin's folder. */
  path: string;
  globs?: string[];
}

/** What a plugin's code may do through the SDK. In-process code is not sandboxed: docs/plugins.md. */
export interface Capabilities {
  fs?: { read?: string[]; write?: string[] };
  /** Host names, `*.example.com` for those below one. */
  net?: string[];
  /** Names of programs. */
  exec?: string[];
  /** Names of environment variables. */
  env?: string[];
}

export type SettingValue = string | number | boolean;

/** A setting of the plugin. */
export interface ConfigField {
  type: "string" | "integer" | "number" | "boolean";
  default?: SettingValue;
  description?: string;
  /** Never shown, never written into a log. */
  secret?: boolean;
}

export interface Extension {
  apiVersion: number;
  engines?: { nanocode?: string };
  /** Module with the code, relative to the plugin's folder; absent for a plugin of data only. */
  entry?: string;
  activation?: string[];
  contributes?: {
    tools?: ToolDeclaration[];
    /** APIs of providers that the module speaks. */
    apis?: string[];
    providers?: ProviderDeclaration[];
    hooks?: HookDeclaration[];
    commands?: CommandDeclaration[];
    rules?: RuleDeclaration[];
  };
  capabilities?: Capabilities;
  config?: Record<string, ConfigField>;
  /** Built-in tools that this plugin's tools of the same name stand in for. */
  replaces?: string[];
}

export interface Manifest {
  $schema?: string;
  name: string;
  version?: string;
  description?: string;
  license?: string;
  extensions?: { [EXTENSION]?: Extension; [other: string]: unknown };
}

/** Where a plugin comes from; later ones win for content, earlier ones for power (spec/security). */
export type Tier = "built-in" | "user" | "project" | "flag";

/** A plugin: its declared manifest, where it lies, and its module, imported when first needed. */
export interface Plugin {
  manifest: Manifest;
  tier: Tier;
  /** Folder of the plugin; inside the binary it is a path of the embedded file system. */
  folder: string;
  /** Tree hash that was trusted or pinned: its code is used only as that. Absent: the user's own, as it is. */
  tree?: string;
  /** What the config files set; absent: nothing. */
  settings?: Settings;
  load(): Promise<PluginModule>;
}

/** What a plugin's entry module exports. */
export interface PluginModule {
  default: unknown;
}

const NOTHING: Extension = { apiVersion: 1 };

/** Our part of a manifest; a plugin without one contributes only its folders (skills, rules, commands). */
export function extensionOf({ manifest }: Pick<Plugin, "manifest">): Extension {
  return manifest.extensions?.[EXTENSION] ?? NOTHING;
}
