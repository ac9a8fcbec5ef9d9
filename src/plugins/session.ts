// The plugins of a running session: their tools and hooks, and reloading them. The names and schemas that
// the model was told stay as they are until the next session, so that the cached prefix holds; what a
// reload adds is reached through the one tool Plugin (gateway.ts).

import { join } from "node:path";
import type { Connect } from "../provider/provider.ts";
import type { ToolEntry } from "../tools/tool.ts";
import { type CommandEntry, pluginCommands } from "./commands.ts";
import type { PluginRuntime, Surroundings } from "./context.ts";
import type { PluginFolders } from "./discover.ts";
import { Hooks } from "./hooks.ts";
import { extensionOf, type Plugin } from "./manifest.ts";
import { type Configured, type OpenedPlugins, openPlugins } from "./open.ts";
import { pluginApis } from "./providers.ts";
import type { ImportOptions } from "./load.ts";
import { LoadedPlugin, pluginTools } from "./registry.ts";
import type { PluginSkill } from "./sdk.ts";
import { masker, NO_SETTINGS } from "./settings.ts";
import type { TrustItem, TrustStore } from "./trust.ts";

/** Nobody's leaving is delayed for longer by what plugins hold (milliseconds). */
const DISPOSE_MS = 1000;

export interface SessionPluginsInput {
  bundled: readonly Plugin[];
  folders: PluginFolders;
  trust: TrustStore;
  /** Trusts for this run what has this digest. */
  digest?: string | undefined;
  /** What the config files say of plugins, as they are now. */
  configured?(): Promise<Configured>;
  skills(ctx: Surroundings): readonly PluginSkill[];
  /** Looks for rules and skills again, also those of plugins; gives lines for the person. */
  reloadKnowledge?(): Promise<string[]>;
  core: readonly ToolEntry[];
  warn(message: string): void;
}

/** What a reload did, a line each. */
export interface Reloaded {
  lines: string[];
  /** What would have to be trusted first. */
  pending: TrustItem[];
}

export class SessionPlugins {
  /** Tools as the model was told of them. */
  readonly tools = new Map<string, ToolEntry>();
  /** Tools that came with a reload. */
  readonly late = new Map<string, ToolEntry>();
  readonly warnings: string[];
  #opened: OpenedPlugins;
  #loaded = new Map<string, LoadedPlugin>();
  #hooks: Hooks | null = null;
  #generation = 0;
  readonly #input: SessionPluginsInput;

  private constructor(input: SessionPluginsInput, opened: OpenedPlugins) {
    this.#input = input;
    this.#opened = opened;
    this.warnings = [...opened.warnings];
    for (const plugin of opened.plugins) {
      this.#loaded.set(plugin.manifest.name, new LoadedPlugin(plugin, this.#importing));
    }
    const { entries, warnings } = this.#entries();
    this.warnings.push(...warnings);
    for (const entry of [...input.core, ...entries]) this.tools.set(entry.spec.name, entry);
    this.#hook();
  }

  static async open(input: SessionPluginsInput): Promise<SessionPlugins> {
    return new SessionPlugins(input, await SessionPlugins.#openedBy(input));
  }

  get #importing(): ImportOptions {
    const { folders: { home, root }, warn } = this.#input;
    return { home, root, warn };
  }

  get opened(): OpenedPlugins {
    return this.#opened;
  }

  /** How a provider's API is spoken, see `pluginApis`. */
  get apis(): (name: string) => Promise<Connect> {
    return pluginApis([...this.#loaded.values()]);
  }

  /** Null, and nothing is loaded, when no plugin has any. */
  get hooks(): Hooks | null {
    return this.#hooks;
  }

  /**
   * What lies on the disk now and is not trusted yet, and the names of plugins whose files are not those
   * that are loaded.
   */
  async survey(): Promise<{ pending: TrustItem[]; changed: string[] }> {
    const { pending, plugins } = await this.#open();
    const changed = plugins.filter((plugin) =>
      this.#loaded.get(plugin.manifest.name)?.differsFrom(plugin) ?? true
    );
    return { pending, changed: changed.map(({ manifest }) => manifest.name) };
  }

  /**
   * Reads manifests and modules again. A plugin that fails keeps its old generation; what is not trusted
   * stays out.
   *
   * @param trusted Items that are trusted with this reload: whoever asks for it was asked.
   */
  async reload(trusted: readonly TrustItem[] = []): Promise<Reloaded> {
    const { folders, trust, core } = this.#input;
    if (trusted.length > 0 && folders.root !== null) trust.answer(folders.root, trusted, "yes");
    const opened = await this.#open();
    const lines: string[] = [];
    const next = new Map<string, LoadedPlugin>();
    const replaced: LoadedPlugin[] = [];
    for (const plugin of opened.plugins) {
      const { name } = plugin.manifest;
      const before = this.#loaded.get(name);
      if (before && !before.differsFrom(plugin)) {
        if (before.configure(plugin)) lines.push(`took up the settings of ${name}`);
        next.set(name, before);
        continue;
      }
      const owner = new LoadedPlugin(plugin, {
        ...this.#importing,
        generation: ++this.#generation,
      });
      try {
        if (extensionOf(plugin).entry !== undefined) await owner.definition();
        next.set(name, owner);
        if (before) replaced.push(before);
        lines.push(`${before ? "reloaded" : "added"} ${name}`);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        lines.push(before ? `kept the old ${name}: ${why}` : `left out ${name}: ${why}`);
        if (before) next.set(name, before);
      }
    }
    for (const [name, owner] of this.#loaded) {
      if (next.has(name)) continue;
      lines.push(`removed ${name}`);
      replaced.push(owner);
    }
    for (const { name, why } of opened.states) {
      if (why !== null) lines.push(`${name} is off: ${why}`);
    }
    this.#opened = opened;
    this.#loaded = next;
    this.#hook();
    this.#exchange(core);
    lines.push(...await this.#input.reloadKnowledge?.() ?? []);
    for (const owner of replaced) await owner.dispose().catch(() => {});
    return { lines: lines.length === 0 ? ["nothing has changed"] : lines, pending: opened.pending };
  }

  /** Lets go of what the plugins hold. */
  async close(): Promise<void> {
    const all = Promise.all(this.#owners.map((owner) => owner.dispose().catch(() => {})));
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, DISPOSE_MS);
    await Promise.race([all, late]);
    clearTimeout(timer);
  }

  #open(): Promise<OpenedPlugins> {
    return SessionPlugins.#openedBy(this.#input);
  }

  static async #openedBy(
    { bundled, folders, trust, digest, configured }: SessionPluginsInput,
  ): Promise<OpenedPlugins> {
    return await openPlugins(bundled, folders, trust, { digest, configured: await configured?.() });
  }

  /** Commands of the plugins as they are now. @param taken Names that keep their meaning. */
  commands(taken: ReadonlySet<string>): CommandEntry[] {
    return pluginCommands(this.#owners, taken, (plugin) => this.#runtimeOf(plugin));
  }

  get #owners(): LoadedPlugin[] {
    return [...this.#loaded.values()];
  }

  #runtimeOf(plugin: Plugin): PluginRuntime {
    const { skills, folders } = this.#input;
    const { values, secrets } = plugin.settings ?? NO_SETTINGS;
    return {
      plugin,
      settings: values,
      mask: masker(secrets),
      skills,
      data: join(folders.home, "plugin-data", plugin.manifest.name),
    };
  }

  #entries() {
    const core = new Set(this.#input.core.map(({ spec }) => spec.name));
    return pluginTools(this.#owners, core, (plugin) => this.#runtimeOf(plugin));
  }

  /** Puts the new generation behind the names that the model knows, and the rest into `late`. */
  #exchange(core: readonly ToolEntry[]): void {
    const fixed = new Set(core.map(({ spec }) => spec.name));
    const entries = new Map(this.#entries().entries.map((entry) => [entry.spec.name, entry]));
    this.late.clear();
    for (const [name, { spec }] of this.tools) {
      if (fixed.has(name) && !entries.has(name)) continue;
      const entry = entries.get(name);
      const gone = () => Promise.reject(new Error(`its plugin was removed by a reload`));
      this.tools.set(name, { spec, load: entry?.load ?? gone });
      entries.delete(name);
    }
    for (const [name, entry] of entries) this.late.set(name, entry);
  }

  #hook(): void {
    const owners = this.#owners.filter(({ plugin }) =>
      extensionOf(plugin).contributes?.hooks?.length
    );
    const { folders, warn } = this.#input;
    this.#hooks = owners.length === 0 ? null : new Hooks(owners, folders.cwd, warn);
  }
}
