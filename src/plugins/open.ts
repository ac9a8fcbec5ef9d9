// Which plugins a session has: those of the binary, the user's, the project's that are trusted, and those
// of --plugin, without what the config files switch off. Every other one is off with a reason. No code of a
// plugin runs here.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PRESETS } from "../provider/profiles.ts";
import type { PluginEntry } from "../config/config.ts";
import { nearest } from "../runtime/nearest.ts";
import { UserError } from "../runtime/errors.ts";
import { discover, type Found, type PluginFolders } from "./discover.ts";
import {
  type Capabilities,
  extensionOf,
  type Manifest,
  type Plugin,
  type Tier,
} from "./manifest.ts";
import { NO_SETTINGS, type Settings, settingsOf, strayEntries, switchedOff } from "./settings.ts";
import { treeOf } from "./tree-hash.ts";
import { digestOf, type TrustItem, type TrustStore } from "./trust.ts";

/** A plugin and whether it is used; `why` it is not, in one line. */
export interface PluginState {
  name: string;
  tier: Tier;
  folder: string;
  version: string;
  why: string | null;
  /** What the config files set, where it is used. */
  settings?: Settings;
}

/** What config files say of plugins. */
export interface Configured {
  /** Plugins from elsewhere: fetched and pinned ones. */
  found: readonly Found[];
  entries: readonly PluginEntry[];
}

export interface OpenedPlugins {
  /** In use: built-in, user, project, flag. */
  plugins: Plugin[];
  states: PluginState[];
  /** Everything of the project that needs trust, and what was not yet answered for. */
  items: TrustItem[];
  pending: TrustItem[];
  /** Those of `items` that are not trusted, for whatever reason. */
  refused: Set<TrustItem>;
  warnings: string[];
}

/** Later tiers win over earlier ones of the same name. */
const ORDER: readonly Tier[] = ["built-in", "user", "project", "flag"];

/**
 * @param trust What was answered for the project's plugins.
 * @param options `digest` trusts for this run what it is the digest of; `env` is what settings may name.
 */
export async function openPlugins(
  bundled: readonly Plugin[],
  folders: PluginFolders,
  trust: TrustStore,
  { digest, configured, env = process.env }: {
    digest?: string | undefined;
    configured?: Configured | undefined;
    env?: Readonly<Record<string, string | undefined>>;
  } = {},
): Promise<OpenedPlugins> {
  const entries = configured?.entries ?? [];
  const all = [...await discover(folders), ...configured?.found ?? []];
  const out: OpenedPlugins = {
    plugins: [],
    states: [],
    items: [],
    pending: [],
    refused: new Set(),
    warnings: [],
  };
  // What is switched off is not asked about, and nothing more is said of it.
  const isOn = (one: Parameters<typeof stateOf>[0]) => {
    const why = switchedOff(one.name, one.tier, entries);
    if (why !== null) out.states.push({ ...stateOf(one), why });
    return why === null;
  };
  const usable = bundled.filter((plugin) => isOn({ name: plugin.manifest.name, ...plugin }));
  const found = all.filter(isOn);
  const { items, faults } = projectItems(found, folders.root, trust, digest, out);
  for (const one of found) {
    const why = one.fault ?? faults.get(one) ?? null;
    for (const warning of one.warnings) out.warnings.push(`plugin ${one.name}: ${warning}`);
    if (why !== null) {
      out.states.push({ ...stateOf(one), why });
      out.warnings.push(`plugin ${one.name} is off: ${why}`);
      continue;
    }
    const { manifest, tier, folder } = one as Found & { manifest: Manifest };
    const load = () => Promise.reject(new Error("loaded by load.ts"));
    const tree = items.get(one)?.sha256 ?? one.tree;
    usable.push({ manifest, tier, folder, load, ...(tree === undefined ? {} : { tree }) });
  }
  const byName = new Map<string, Plugin>();
  for (const plugin of usable.toSorted((a, b) => ORDER.indexOf(a.tier) - ORDER.indexOf(b.tier))) {
    const { name } = plugin.manifest;
    const before = byName.get(name);
    if (before?.tier === "built-in" && !extensionOf(plugin).replaces?.includes(name)) {
      const why =
        `a built-in plugin has this name, and its manifest does not say "replaces": ["${name}"]`;
      out.states.push({ ...stateOf({ name, ...plugin }), why });
      out.warnings.push(`plugin ${name} in ${plugin.folder} is off: ${why}`);
      continue;
    }
    if (before) {
      const why = before.tier === plugin.tier
        ? `another one of this name is used: ${plugin.folder}`
        : `the ${plugin.tier} has one of this name`;
      out.states.push({ ...stateOf({ name, ...before }), why });
      out.warnings.push(`plugin ${name} in ${before.folder} is off: ${why}`);
    }
    byName.set(name, plugin);
  }
  out.plugins = [...byName.values()].map((plugin) => {
    const { settings, warnings } = settingsOf(plugin, entries, env);
    out.warnings.push(...warnings);
    return { ...plugin, settings };
  });
  out.states.push(...out.plugins.map((plugin) => ({
    ...stateOf({ name: plugin.manifest.name, ...plugin }),
    why: null,
    settings: plugin.settings ?? NO_SETTINGS,
  })));
  const known = [...bundled.map(({ manifest: { name }, tier }) => ({ name, tier })), ...all];
  out.warnings.push(...strayEntries(entries, known));
  missing(entries, known, out);
  return out;
}

/** Settings of the user's for a plugin that is not here: another project may have it, or its name is mistyped. */
function missing(
  entries: readonly PluginEntry[],
  known: readonly { name: string }[],
  out: OpenedPlugins,
): void {
  const names = known.map(({ name }) => name);
  for (const { name, tier, file } of entries) {
    if (tier === "project" || names.includes(name)) continue;
    const near = nearest(name, names);
    const why = `${file} names it, and there is none here${near ? ` (did you mean ${near}?)` : ""}`;
    out.states.push({ ...stateOf({ name, tier, folder: "", manifest: null }), why });
    if (near !== null) out.warnings.push(`plugin ${name}: ${why}`);
  }
}

function stateOf(
  { name, tier, folder, manifest }: {
    name: string;
    tier: Tier;
    folder: string;
    manifest: Manifest | null;
  },
): Omit<PluginState, "why"> {
  return { name, tier, folder, version: manifest?.version ?? "" };
}

/** What trusting the project's plugins means, and why some may not be used yet. */
function projectItems(
  found: readonly Found[],
  root: string | null,
  trust: TrustStore,
  digest: string | undefined,
  out: OpenedPlugins,
): { items: Map<Found, TrustItem>; faults: Map<Found, string> } {
  const faults = new Map<Found, string>();
  const items = new Map<Found, TrustItem>();
  if (root === null) return { items, faults };
  for (const one of found) {
    if (one.tier !== "project" || one.manifest === null) continue;
    const taken = keyTaken(one.manifest);
    if (taken !== null) {
      faults.set(one, taken);
      continue;
    }
    try {
      items.set(one, trustItemOf({ manifest: one.manifest, folder: one.folder }));
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      faults.set(one, error.message);
    }
  }
  out.items.push(...items.values());
  if (digest !== undefined && digest === digestOf(out.items)) return { items, faults };
  for (const [one, item] of items) {
    const standing = trust.standing(root, item);
    if (standing === "yes") continue;
    out.refused.add(item);
    if (standing !== "no") out.pending.push(item);
    faults.set(one, WHY[standing]);
  }
  return { items, faults };
}

/** A project, trusted or not, never says where a known provider's key goes (spec/security). */
function keyTaken(manifest: Manifest): string | null {
  for (
    const { id, keyEnv, baseURL = "its server" }
      of extensionOf({ manifest }).contributes?.providers ?? []
  ) {
    const owner = PRESETS.find((preset) => preset.keyEnv === keyEnv && keyEnv !== undefined);
    if (owner) {
      return `its provider ${id} would send ${keyEnv}, your key for ${owner.name}, to ${baseURL}; a project's plugin must name a variable of its own`;
    }
  }
  return null;
}

const WHY = {
  no: "it was not trusted (nanocode trust)",
  changed: "it changed since it was trusted (nanocode trust shows how)",
  unknown: "it is the project's and was not trusted yet (nanocode trust)",
};

/** What trusting a plugin means, line by line. @throws {UserError} for a folder that cannot be hashed. */
export function trustItemOf({ manifest, folder }: Pick<Plugin, "manifest" | "folder">): TrustItem {
  const { hash, files } = treeOf(folder);
  const extension = extensionOf({ manifest });
  const { tools = [], apis = [], providers = [], hooks = [], commands = [] } =
    extension.contributes ?? {};
  return {
    kind: "plugin",
    id: manifest.name,
    sha256: hash,
    files: Object.fromEntries(files.map(({ path, sha256 }) => [path, sha256])),
    shows: [
      ...(extension.entry === undefined ? [] : [`runs ${extension.entry}`]),
      ...tools.map(({ name, effects }) => `tool ${name}${inBrackets(effects)}`),
      ...commands.map(({ name, effects }) => `command /${name}${inBrackets(effects)}`),
      ...hooks.map(({ event, matcher, command }) =>
        `hook ${event}${matcher ? ` on ${matcher}` : ""}${
          command ? `: ${command.map(quoted).join(" ")}` : ""
        }`
      ),
      ...apis.map((api) => `speaks to providers (API ${api})`),
      ...providers.map(({ id, baseURL, keyEnv }) =>
        `provider ${id}${baseURL ? ` at ${baseURL}` : ""}${
          keyEnv ? ` with the key in ${keyEnv}` : ""
        }`
      ),
      ...(extension.replaces ?? []).map((name) => `stands in for ${name}`),
      ...powersOf(extension.capabilities ?? {}),
      ...undeclaredPowers(folder, files.map(({ path }) => path), extension.capabilities ?? {}),
    ],
  };
}

/** A word of a command so that it can be told from its neighbours. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word);
}
const inBrackets = (effects: readonly string[] = []) =>
  effects.length > 0 ? ` (${effects.join(", ")})` : "";

function powersOf({ fs = {}, net = [], exec = [], env = [] }: Capabilities): string[] {
  return [
    ...(fs.read ?? []).map((place) => `reads ${place}`),
    ...(fs.write ?? []).map((place) => `writes ${place}`),
    ...net.map((host) => `talks to ${host}`),
    ...exec.map((program) => `runs ${program}`),
    ...env.map((name) => `sees the variable ${name}`),
  ];
}

/** Ways around the SDK that a look at the source finds; it proves nothing, but it is worth a line. */
const AROUND: readonly [
  pattern: RegExp,
  what: string,
  covered: (powers: Capabilities) => boolean,
][] = [
  [
    /\b(?:node:)?child_process\b|\bBun\.spawn|\bDeno\.Command|\bBun\.\$/,
    "starts programs by itself",
    () => false,
  ],
  [
    /["'](?:node:)?fs(?:\/promises)?["']|\bBun\.(?:file|write)\b|\bDeno\.(?:read|write|open)/,
    "opens files by itself",
    () => false,
  ],
  [
    /["'](?:node:)?(?:net|tls|dgram|https?|http2)["']|\bnew WebSocket\b/,
    "opens connections by itself",
    () => false,
  ],
  [/(?<![.\w])fetch\s*\(/, "calls fetch by itself", () => false],
  [
    /\bprocess\.env\b|\bBun\.env\b|\bDeno\.env\b/,
    "reads environment variables",
    ({ env = [] }) => env.length > 0,
  ],
  [/\beval\s*\(|\bnew Function\b/, "runs text as code", () => false],
  [/\b(?:import|require)\s*\(\s*[^"'\s)]/, "loads modules that it names as it runs", () => false],
];
const MAX_SCANNED = 1024 * 1024;

function undeclaredPowers(
  folder: string,
  paths: readonly string[],
  powers: Capabilities,
): string[] {
  const found = new Map<string, string>();
  for (const path of paths) {
    if (!/\.[cm]?[jt]sx?$/.test(path) || path.startsWith("node_modules/")) continue;
    const text = readFileSync(join(folder, path), "utf8").slice(0, MAX_SCANNED);
    for (const [pattern, what, covered] of AROUND) {
      if (!found.has(what) && !covered(powers) && pattern.test(text)) found.set(what, path);
    }
  }
  const packages = paths.some((path) => path.startsWith("node_modules/"))
    ? ["brings packages of its own, which were not looked at"]
    : [];
  return [...[...found].map(([what, path]) => `not declared: ${path} ${what}`), ...packages];
}
