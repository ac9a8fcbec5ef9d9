// `nanocode plugin add | remove | update | sync`: what changes config.json, the lock and the cache. Before
// anything new may be used, its powers are shown and asked for; without a terminal only with --yes.

import { existsSync, realpathSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import {
  type ConfiguredPlugin,
  loadConfig,
  type LoadedConfig,
  type PluginEntry,
  withSource,
} from "../config/config.ts";
import { setInConfig } from "../config/edit.ts";
import { isInside } from "../permission/paths.ts";
import { PluginCache } from "../plugins/cache.ts";
import { readPlugin } from "../plugins/discover.ts";
import { type ConfiguredPlaces, lockPath } from "../plugins/fetched.ts";
import type { RegistrySettings } from "../plugins/fetch-npm.ts";
import { install, type Installed } from "../plugins/install.ts";
import { changeLock, type LockEntry, readLock } from "../plugins/lock.ts";
import type { Manifest } from "../plugins/manifest.ts";
import { trustItemOf } from "../plugins/open.ts";
import { parseSource } from "../plugins/sources.ts";
import { TrustStore } from "../plugins/trust.ts";
import { EXIT, UserError } from "../runtime/errors.ts";
import { agree, itemOf, say, showPlugin } from "./plugin-consent.ts";
import { checkName, drift, each } from "./plugin-faults.ts";
import { projectRoot, type Workspace } from "./workspace.ts";

type Tier = ConfiguredPlugin["tier"];

/** The registry of npm as the person set it. */
export function registrySettings(config: LoadedConfig["config"]): RegistrySettings {
  return { configured: config.registry, env: process.env, home: process.env["HOME"] };
}

export class PluginSources {
  readonly #places: ConfiguredPlaces;
  readonly #cwd: string;
  readonly #loaded: LoadedConfig;
  readonly #cache: PluginCache;
  readonly #yes: boolean;

  private constructor(workspace: Workspace, loaded: LoadedConfig, yes: boolean) {
    const { home, cwd } = workspace;
    this.#places = { home, root: projectRoot(workspace) };
    this.#cwd = cwd;
    this.#loaded = loaded;
    this.#cache = new PluginCache(home);
    this.#yes = yes;
  }

  static async open(workspace: Workspace, yes: boolean): Promise<PluginSources> {
    const { home, root } = workspace;
    return new PluginSources(workspace, await loadConfig({ home, root }), yes);
  }

  /** Fetches (or takes a folder), shows, asks, pins. The same source again fetches what the lock pins. */
  async add(text: string, forUser: boolean): Promise<number> {
    const tier: Tier = forUser || this.#places.root === null ? "user" : "project";
    const source = parseSource(text, true);
    if (source.kind === "path") return await this.#addFolder(resolve(this.#cwd, source.path), tier);
    const { plugins } = readLock(this.#lockPath(tier));
    const pinned = Object.values(plugins).find((entry) => entry.source === text) ?? null;
    const installed = await this.#install(text, pinned, true);
    const { name } = installed.manifest;
    const before = Object.hasOwn(plugins, name) ? plugins[name] as LockEntry : null;
    const isSame = before?.tree === installed.entry.tree && before.source === text &&
      this.#configured(name, tier)?.source === text;
    if (isSame && await this.#agreed(tier, before) !== null) {
      say(`${name} ${installed.entry.version ?? ""} is there, as the lock pins it`);
      return EXIT.done;
    }
    await showPlugin(installed, await this.#agreed(tier, before), this.#cache);
    if (!await agree(`Add ${name}?`, this.#yes)) return EXIT.permission;
    await this.#pin(tier, name, installed);
    await this.#configure(tier, name, text);
    this.#trust(tier, installed);
    say(`added ${name}; the next session has it, a running one after /reload`);
    return EXIT.done;
  }

  async #addFolder(path: string, tier: Tier): Promise<number> {
    const { root } = this.#places;
    const within = tier === "project" ? root : null;
    const found = await readPlugin({ tier, folder: path, within });
    if (found.fault !== null) throw new UserError(`${path} cannot be used: ${found.fault}`);
    const { name, folder, manifest } = found;
    const text = within === null ? folder : `./${relative(within, folder)}`;
    const item = trustItemOf({ manifest, folder });
    say(
      [`${name} ${manifest.version ?? ""} from ${text}`, ...item.shows.map((line) => `  ${line}`)]
        .join("\n"),
    );
    if (!await agree(`Add ${name}?`, this.#yes)) return EXIT.permission;
    await this.#configure(tier, name, text);
    await changeLock(this.#lockPath(tier), this.#locks, (plugins) => delete plugins[name]);
    this.#trust(tier, { manifest, folder });
    say(`added ${name}; it is read where it lies`);
    return EXIT.done;
  }

  /** Takes it out of config.json and the lock. Cached files stay: other projects may use them. */
  async remove(name: string, forUser: boolean): Promise<number> {
    const tiers: Tier[] = forUser ? ["user"] : ["project", "user"];
    const tier = tiers.find((one) => this.#configured(name, one));
    if (tier === undefined) {
      const folder = [this.#places.root && join(this.#places.root, ".nanocode"), this.#places.home]
        .flatMap((base) => base ? [join(base, "plugins", name)] : []).find(existsSync);
      const names = [...new Set(this.#configuredAll.map((one) => one.name))].join(", ") || "none";
      throw new UserError(
        folder
          ? `${name} is a folder, not named by a config.json`
          : `no config.json names a plugin ${name}`,
        folder ? `Remove ${folder} yourself.` : `They name: ${names}.`,
      );
    }
    await setInConfig(this.#configPath(tier), ["plugins", name], undefined, this.#locks);
    await changeLock(this.#lockPath(tier), this.#locks, (plugins) => delete plugins[name]);
    say(`removed ${name} from ${this.#configPath(tier)}`);
    return EXIT.done;
  }

  /** Resolves sources anew. What wants more than before is asked for, the rest is taken. */
  async update(name: string | undefined): Promise<number> {
    const wanted = this.#configuredAll.filter((one) => name === undefined || one.name === name);
    if (wanted.length === 0) {
      throw new UserError(
        name === undefined
          ? "no config.json names a plugin"
          : `no config.json names a plugin ${name}`,
      );
    }
    return await each(wanted, (plugin) => this.#update(plugin));
  }

  async #update({ name, source: text, tier }: ConfiguredPlugin): Promise<number> {
    const source = parseSource(text, tier === "user");
    const { plugins } = readLock(this.#lockPath(tier));
    const before = Object.hasOwn(plugins, name) ? plugins[name] as LockEntry : null;
    const isFixed = source.kind === "path" || source.kind === "tarball" ||
      (source.kind === "git" && "rev" in source.ref);
    if (isFixed && (before !== null || source.kind === "path")) {
      say(
        `${name} stays: ${
          source.kind === "path"
            ? "it is read where it lies"
            : "its source names the content itself"
        }`,
      );
      return EXIT.done;
    }
    const installed = await this.#install(text, null, tier === "user");
    checkName(name, installed.manifest);
    const { version, tree } = installed.entry;
    if (before?.tree === tree) {
      say(`${name} ${version ?? ""} is up to date`);
      return EXIT.done;
    }
    const { wantsMore } = await showPlugin(
      installed,
      await this.#agreed(tier, before),
      this.#cache,
    );
    if (wantsMore && !await agree(`Update ${name}?`, this.#yes)) return EXIT.permission;
    await this.#pin(tier, name, installed);
    this.#trust(tier, installed);
    say(`updated ${name}`);
    return EXIT.done;
  }

  /**
   * Makes cache and lock fit config.json: what is pinned is fetched exactly so, what is not pinned is resolved
   * and asked for. `frozen`: the lock does not change; what does not fit is an error.
   */
  async sync(frozen: boolean): Promise<number> {
    const configured = this.#configuredAll;
    const exit = await each(configured, (plugin) => this.#sync(plugin, frozen));
    for (const tier of ["project", "user"] as const) {
      if (tier === "project" && this.#places.root === null) continue;
      const path = this.#lockPath(tier);
      const isAsked = (name: string) =>
        configured.some((one) => one.tier === tier && one.name === name);
      const left = Object.keys(readLock(path).plugins).filter((name) => !isAsked(name));
      if (left.length === 0) continue;
      if (frozen) throw drift(`${path} pins ${left.join(", ")}, which no config.json asks for`);
      await changeLock(path, this.#locks, (plugins) => {
        for (const name of left) delete plugins[name];
      });
      say(`${left.join(", ")}: no longer asked for, taken out of the lock`);
    }
    return exit;
  }

  async #sync({ name, source: text, tier }: ConfiguredPlugin, frozen: boolean): Promise<number> {
    const isTyped = tier === "user";
    const { plugins } = readLock(this.#lockPath(tier));
    const entry = Object.hasOwn(plugins, name) ? plugins[name] as LockEntry : null;
    // What is there already needs no second look at how it came.
    if (parseSource(text, isTyped || text.startsWith("git+")).kind === "path") {
      say(`${name}: read where it lies`);
      return EXIT.done;
    }
    if (entry?.source === text) {
      if (this.#cache.check(entry.tree, true) === "ok") {
        say(`${name} ${entry.version ?? ""}: there`);
        return EXIT.done;
      }
      const installed = await this.#install(text, entry, isTyped);
      checkName(name, installed.manifest);
      say(`${name} ${entry.version ?? ""}: fetched`);
      return EXIT.done;
    }
    if (frozen) {
      throw drift(
        entry === null
          ? `${name} is not in the lock`
          : `the lock has ${name} from ${entry.source}, the config asks for ${text}`,
      );
    }
    const installed = await this.#install(text, null, isTyped);
    checkName(name, installed.manifest);
    await showPlugin(installed, await this.#agreed(tier, entry), this.#cache);
    if (!await agree(`Add ${name}?`, this.#yes)) {
      throw new UserError(`${name} was not added`, "It stays off.", EXIT.permission);
    }
    await this.#pin(tier, name, installed);
    this.#trust(tier, installed);
    say(`${name}: fetched and pinned`);
    return EXIT.done;
  }

  async #install(text: string, pinned: LockEntry | null, isTyped: boolean): Promise<Installed> {
    const source = parseSource(text, isTyped);
    if (source.kind === "path") throw new Error("a folder is not fetched");
    return await install(text, source, pinned, this.#cache, registrySettings(this.#loaded.config));
  }

  async #pin(tier: Tier, name: string, { entry }: Installed): Promise<void> {
    await changeLock(this.#lockPath(tier), this.#locks, (plugins) => {
      plugins[name] = entry;
    });
  }

  async #configure(tier: Tier, name: string, text: string): Promise<void> {
    // Settings that stand there already stay.
    const isShort = ({ enabled, config, only }: PluginEntry) =>
      enabled === undefined && config === undefined && only === undefined;
    const entry = this.#loaded.plugins.find((one) => one.name === name && one.tier === tier);
    const key = ["plugins", name, ...(entry === undefined || isShort(entry) ? [] : ["source"])];
    await setInConfig(this.#configPath(tier), key, text, this.#locks);
  }

  /** The entry when this person agreed to it; a lock alone is only what the repository says. */
  async #agreed(tier: Tier, entry: LockEntry | null): Promise<LockEntry | null> {
    const { home, root } = this.#places;
    if (entry === null || tier === "user" || root === null) return entry;
    const item = await itemOf(entry, this.#cache);
    return item !== null && new TrustStore(home).standing(root, item) === "yes" ? entry : null;
  }

  /** Who agreed to it here need not be asked again at the next start. */
  #trust(tier: Tier, plugin: { manifest: Manifest; folder: string }): void {
    const { home, root } = this.#places;
    if (tier === "project" && root !== null) {
      new TrustStore(home).answer(root, [trustItemOf(plugin)], "yes");
    }
  }

  #configured(name: string, tier: Tier): ConfiguredPlugin | undefined {
    return this.#configuredAll.find((one) => one.name === name && one.tier === tier);
  }

  get #configuredAll(): ConfiguredPlugin[] {
    return withSource(this.#loaded.plugins);
  }

  get #locks(): string {
    return join(this.#places.home, "locks");
  }

  #lockPath(tier: Tier): string {
    return lockPath(this.#places, tier);
  }

  /** The file itself where a link stands for it; a project's may not lead out of the project. */
  #configPath(tier: Tier): string {
    const { home, root } = this.#places;
    const base = tier === "user" || root === null ? home : join(root, ".nanocode");
    const path = join(base, "config.json");
    const real = existsSync(path)
      ? realpathSync(path)
      : existsSync(base)
      ? join(realpathSync(base), "config.json")
      : path;
    if (tier === "project" && root !== null && !isInside(root, dirname(real))) {
      throw new UserError(`${path} leads out of the project (${real})`, "It was not changed.");
    }
    return real;
  }
}
