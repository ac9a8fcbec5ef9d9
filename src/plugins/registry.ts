// What plugins contribute to a session: tools by name. Built from manifests; a plugin's module is imported
// when its first tool is called, and must register what it declared. Providers are providers.ts.

import { shortHash } from "../runtime/hash.ts";
import type { Effect } from "../session/records.ts";
import { type Tool, type ToolContext, type ToolEntry, ToolError } from "../tools/tool.ts";
import { type PluginRuntime, withPluginContext } from "./context.ts";
import { definitionOf, type ImportOptions, importPlugin, PluginError } from "./load.ts";
import {
  type CommandDeclaration,
  extensionOf,
  type Plugin,
  type ToolDeclaration,
} from "./manifest.ts";
import type { PluginCommand, PluginDefinition, PluginTool } from "./sdk.ts";
import { changedSince, snapshotOf } from "./tree-hash.ts";

/** A plugin with its module, which is imported once, when it is first needed. */
export class LoadedPlugin {
  #plugin: Plugin;
  readonly #options: ImportOptions;
  #definition: Promise<PluginDefinition> | undefined;
  readonly #made = Date.now();
  /** Its files when they were looked at: when its module was imported, or at a first reload. */
  #snapshot: string | null = null;

  constructor(plugin: Plugin, options: ImportOptions = {}) {
    this.#plugin = plugin;
    this.#options = options;
  }

  get plugin(): Plugin {
    return this.#plugin;
  }

  /** Takes up the settings of the same plugin as it was read again; says whether they are others. */
  configure(same: Plugin): boolean {
    const isOther = JSON.stringify(this.#plugin.settings) !== JSON.stringify(same.settings);
    this.#plugin = same;
    return isOther;
  }

  /** Would this plugin, as it was read again, be another one than what is loaded? */
  differsFrom(now: Plugin): boolean {
    const { tier, folder, tree, manifest } = this.plugin;
    if (tier === "built-in" && now.tier === tier) return false;
    if (folder !== now.folder || tree !== now.tree) return true;
    if (JSON.stringify(manifest) !== JSON.stringify(now.manifest)) return true;
    const snapshot = snapshotOf(folder);
    // A start looks at no files, so that it is fast; what changed since then has a newer time.
    const differs = this.#snapshot === null
      ? changedSince(folder, this.#made)
      : this.#snapshot !== snapshot;
    if (!differs) this.#snapshot = snapshot;
    return differs;
  }

  /** @throws {PluginError} */
  definition(): Promise<PluginDefinition> {
    return this.#definition ??= this.#import();
  }

  /** Lets go of what the module holds; nothing when it was never loaded. */
  async dispose(): Promise<void> {
    const definition = await this.#definition?.catch(() => undefined);
    await definition?.dispose?.();
  }

  async #import(): Promise<PluginDefinition> {
    const { plugin } = this;
    if (plugin.tier === "built-in") {
      return definitionOf(plugin.manifest.name, (await plugin.load()).default);
    }
    this.#snapshot = snapshotOf(plugin.folder);
    const definition = await importPlugin(plugin, this.#options);
    await checkRegistered(plugin, definition);
    return definition;
  }
}

const fix = "make plugin.json and the code say the same";

/** What is registered must be what was declared: nobody agreed to anything else. @throws {PluginError} */
export async function checkRegistered(
  { manifest }: Plugin,
  { tools = [], apis = {}, commands = [] }: PluginDefinition,
): Promise<void> {
  const { inputSchema } = await import("../tools/arguments.ts");
  const { name } = manifest;
  const contributes = extensionOf({ manifest }).contributes ?? {};
  const declared = contributes.tools ?? [];
  for (const tool of tools) {
    const same = declared.find((one) => one.name === tool.name);
    if (!same) {
      throw new PluginError(
        name,
        `defines the tool ${tool.name}, which its manifest does not declare; ${fix}`,
      );
    }
    if (tool.description !== same.description) {
      throw new PluginError(
        name,
        `describes the tool ${tool.name} otherwise than its manifest; ${fix}`,
      );
    }
    if (canonical(inputSchema(tool)) !== canonical(same.inputSchema)) {
      throw new PluginError(
        name,
        `takes other arguments for ${tool.name} than its manifest says; ${fix}`,
      );
    }
  }
  const more = Object.keys(apis).find((api) => !contributes.apis?.includes(api));
  if (more !== undefined) {
    throw new PluginError(
      name,
      `speaks the API ${more}, which its manifest does not declare; ${fix}`,
    );
  }
  checkCommands(name, contributes.commands ?? [], commands);
  const missing = declared.find((one) => !tools.some((tool) => tool.name === one.name));
  if (missing) {
    throw new PluginError(name, `declares the tool ${missing.name} but does not define it; ${fix}`);
  }
}

/** @throws {PluginError} */
function checkCommands(
  plugin: string,
  declared: readonly CommandDeclaration[],
  defined: readonly PluginCommand[],
): void {
  const isIn = (list: readonly { name: string }[], name: string) =>
    list.some((one) => one.name === name);
  const more = defined.find(({ name }) => !isIn(declared, name));
  if (more) {
    const what = `defines the command ${more.name}, which its manifest does not declare; ${fix}`;
    throw new PluginError(plugin, what);
  }
  const missing = declared.find(({ name }) => !isIn(defined, name));
  if (missing) {
    const what = `declares the command ${missing.name} but does not define it; ${fix}`;
    throw new PluginError(plugin, what);
  }
}

/** JSON with sorted keys. */
function canonical(value: unknown): string {
  return JSON.stringify(
    value,
    (_, inner) =>
      typeof inner === "object" && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
  );
}

export interface ToolNames {
  entries: ToolEntry[];
  /** Lines for the person about names that clash. */
  warnings: string[];
}

/**
 * Tools of the plugins under the names that the model uses: the bare name while it is unique, else
 * `plugin__Tool`. A core tool keeps its name unless the plugin says that it replaces it.
 */
export function pluginTools(
  loaded: readonly LoadedPlugin[],
  core: ReadonlySet<string>,
  runtimeOf: (plugin: Plugin) => PluginRuntime,
): ToolNames {
  const warnings: string[] = [];
  const all = loaded.flatMap((owner) => {
    const { tools = [] } = extensionOf(owner.plugin).contributes ?? {};
    const only = owner.plugin.settings?.only.tools;
    return tools.filter(({ name }) => only?.includes(name) ?? true)
      .map((declared) => ({ owner, declared }));
  });
  const entries = all.map(({ owner, declared }): ToolEntry => {
    const { manifest, tier } = owner.plugin;
    const others = all.filter((other) =>
      other.declared.name === declared.name && other.owner !== owner
    );
    const replaces = extensionOf(owner.plugin).replaces?.some((name) =>
      [declared.name, `builtin/${declared.name}`].includes(name)
    ) ?? false;
    const clashes = others.some(({ owner: { plugin } }) =>
      tier !== "built-in" || plugin.tier === "built-in"
    ) ||
      (core.has(declared.name) && !replaces);
    const name = clashes ? wireName(manifest.name, declared.name) : declared.name;
    if (clashes) {
      const rival = core.has(declared.name)
        ? "a core tool"
        : `the plugin ${others[0]?.owner.plugin.manifest.name}`;
      warnings.push(
        `the tool ${declared.name} of the plugin ${manifest.name} has the name of a tool of ${rival}: it is called ${name}`,
      );
    }
    return {
      spec: { name, description: declared.description, schema: declared.inputSchema },
      load: async () =>
        adapt(name, await findTool(owner, declared.name), declared, runtimeOf(owner.plugin)),
    };
  });
  return { entries, warnings };
}

/** `plugin__Tool` as APIs take it: at most 64 characters of letters, digits, _ and -. */
function wireName(plugin: string, tool: string): string {
  const name = `${plugin.replaceAll(".", "_")}__${tool}`;
  return name.length <= 64 ? name : `${name.slice(0, 55)}_${shortHash(name)}`;
}

async function findTool(owner: LoadedPlugin, name: string): Promise<PluginTool> {
  const { tools = [] } = await owner.definition();
  const tool = tools.find((candidate) => candidate.name === name);
  if (!tool) {
    throw new PluginError(
      owner.plugin.manifest.name,
      `declares the tool ${name} but does not define it`,
    );
  }
  return tool;
}

/** A plugin's tool as the loop knows tools. */
function adapt(
  name: string,
  tool: PluginTool,
  declared: ToolDeclaration,
  runtime: PluginRuntime,
): Tool {
  /** What each call said it would do. */
  const said = new WeakMap<ToolContext["call"], readonly Effect[]>();
  return {
    name,
    description: tool.description,
    input: tool.input,
    example: tool.example,
    effects(input, ctx) {
      const effects = tool.effects?.(input) ?? [];
      checkEffects(runtime.plugin, name, declared.effects, effects);
      said.set(ctx.call, effects);
      return effects;
    },
    isConcurrencySafe: (input) =>
      declared.concurrencySafe === "by-input"
        ? tool.isConcurrencySafe?.(input) ?? false
        : declared.concurrencySafe ?? false,
    async run(input, ctx) {
      const { mask = (text: string) => text } = runtime;
      try {
        const effects = said.get(ctx.call) ?? [];
        const { output, summary } = await withPluginContext(
          runtime,
          effects,
          ctx,
          (own) => tool.run(input, own),
        );
        const line = summary === undefined ? {} : { summary: mask(summary) };
        return { output: mask(output), ...line };
      } catch (error) {
        throw masked(error, mask);
      }
    },
  };
}

/** What is announced must have been declared. @throws {PluginError} */
export function checkEffects(
  { manifest }: Plugin,
  name: string,
  declared: readonly Effect["kind"][] = [],
  effects: readonly Effect[],
): void {
  const more = effects.find(({ kind }) => !declared.includes(kind));
  if (more) {
    throw new PluginError(
      manifest.name,
      `would ${more.kind} in ${name}, which its manifest does not declare for it`,
    );
  }
}

/** The same fault without secrets; what is no fault of the tool's own words stays as it is. */
export function masked(error: unknown, mask: (text: string) => string): unknown {
  const message = error instanceof Error ? error.message : String(error);
  const clean = mask(message);
  if (clean === message) return error;
  return error instanceof ToolError ? new ToolError(clean, error.observations) : new Error(clean);
}
