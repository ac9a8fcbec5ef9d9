// What plugins contribute to a session: tools by name and providers by id. Built from manifests; a
// plugin's module is imported when its first tool is called, and must register what it declared.

import { join } from "node:path";
import { shortHash } from "../runtime/hash.ts";
import type { Effect } from "../session/records.ts";
import type { Tool, ToolContext, ToolEntry } from "../tools/tool.ts";
import { pluginContext, type PluginRuntime } from "./context.ts";
import { definitionOf, importPlugin, PluginError } from "./load.ts";
import {
  extensionOf,
  type Plugin,
  type ProviderDeclaration,
  type ToolDeclaration,
} from "./manifest.ts";
import type { PluginDefinition, PluginTool } from "./sdk.ts";

/** A plugin with its module, which is imported once, when it is first needed. */
export class LoadedPlugin {
  readonly plugin: Plugin;
  readonly #generation: number;
  #definition: Promise<PluginDefinition> | undefined;

  constructor(plugin: Plugin, generation = 0) {
    this.plugin = plugin;
    this.#generation = generation;
  }

  /** Was its module imported? */
  get isLoaded(): boolean {
    return this.#definition !== undefined;
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
    const definition = await importPlugin(plugin, this.#generation);
    await checkRegistered(plugin, definition);
    return definition;
  }
}

/** What is registered must be what was declared: nobody agreed to anything else. @throws {PluginError} */
export async function checkRegistered(
  { manifest }: Plugin,
  { tools = [] }: PluginDefinition,
): Promise<void> {
  const { inputSchema } = await import("../tools/arguments.ts");
  const { name } = manifest;
  const declared = extensionOf({ manifest }).contributes?.tools ?? [];
  const fix = "make plugin.json and the code say the same";
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
  const missing = declared.find((one) => !tools.some((tool) => tool.name === one.name));
  if (missing) {
    throw new PluginError(name, `declares the tool ${missing.name} but does not define it; ${fix}`);
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
  const all = loaded.flatMap((owner) =>
    (extensionOf(owner.plugin).contributes?.tools ?? []).map((declared) => ({ owner, declared }))
  );
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

/** Providers that plugins declare, with the paths of their recordings resolved. */
export function pluginProviders(plugins: readonly Plugin[]): ProviderDeclaration[] {
  return plugins.flatMap((plugin) =>
    (extensionOf(plugin).contributes?.providers ?? []).map((declared) => ({
      ...declared,
      ...(declared.cassette === undefined
        ? {}
        : { cassette: join(plugin.folder, declared.cassette) }),
    }))
  );
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
  const plugin = runtime.plugin.manifest.name;
  const allowed = new Set<string>(declared.effects ?? []);
  /** What each call said it would do. */
  const said = new WeakMap<ToolContext["call"], readonly Effect[]>();
  return {
    name,
    description: tool.description,
    input: tool.input,
    example: tool.example,
    effects(input, ctx) {
      const effects = tool.effects?.(input) ?? [];
      const more = effects.find(({ kind }) => !allowed.has(kind));
      if (more) {
        throw new PluginError(
          plugin,
          `would ${more.kind} in ${name}, which its manifest does not declare for it`,
        );
      }
      said.set(ctx.call, effects);
      return effects;
    },
    isConcurrencySafe: (input) =>
      declared.concurrencySafe === "by-input"
        ? tool.isConcurrencySafe?.(input) ?? false
        : declared.concurrencySafe ?? false,
    run: (input, ctx) => tool.run(input, pluginContext(runtime, said.get(ctx.call) ?? [], ctx)),
  };
}
