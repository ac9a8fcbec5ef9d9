// Plugins that a config file names: folders by their path, fetched ones from the cache, as the lock pins them.
// Nothing is resolved and nothing fetched here: what is missing or different is off, with the line that repairs
// it. Fetching is install.ts.

import { join, resolve } from "node:path";
import type { ConfiguredPlugin } from "../config/config.ts";
import { UserError } from "../runtime/errors.ts";
import { PluginCache } from "./cache.ts";
import { type Found, readPlugin } from "./discover.ts";
import { type Lock, LOCK_FILE, readLock } from "./lock.ts";
import { ManifestCache } from "./manifest-cache.ts";
import { parseSource, type Source } from "./sources.ts";

export interface ConfiguredPlaces {
  /** `~/.nanocode`. */
  home: string;
  /** Real path of the workspace; null where its `.nanocode` is the user's. */
  root: string | null;
}

/** Path of the lock of a tier. */
export function lockPath({ home, root }: ConfiguredPlaces, tier: ConfiguredPlugin["tier"]): string {
  return tier === "user" || root === null
    ? join(home, LOCK_FILE)
    : join(root, ".nanocode", LOCK_FILE);
}

/** Folder of a `./path`: in the project, or for the user's own config below `~/.nanocode`. */
export function pathOf(
  source: Extract<Source, { kind: "path" }>,
  { home, root }: ConfiguredPlaces,
  tier: ConfiguredPlugin["tier"],
): string {
  return resolve(tier === "user" || root === null ? home : root, source.path);
}

const SYNC = "run nanocode plugin sync";

/** Every configured plugin as discovery has it, with its fault. */
export async function fetchedPlugins(
  configured: readonly ConfiguredPlugin[],
  places: ConfiguredPlaces,
): Promise<Found[]> {
  if (configured.length === 0) return [];
  const manifests = new ManifestCache(places.home);
  const cache = new PluginCache(places.home);
  const locks = new Map<string, Lock | UserError>();
  const read = async (plugin: ConfiguredPlugin): Promise<Found> => {
    const { name, tier } = plugin;
    const off = (fault: string): Found => ({
      name,
      tier,
      folder: "",
      warnings: [],
      manifest: null,
      fault,
    });
    const place = placeOf(plugin, places, cache, locks);
    if (typeof place === "string") return off(place);
    const found = await readPlugin({ tier, ...place }, manifests);
    if (found.fault === null && found.name !== name) {
      return off(`its manifest calls it ${found.name}: use that name in config.json`);
    }
    return { ...found, name, ...(place.tree === undefined ? {} : { tree: place.tree }) };
  };
  const found: Found[] = [];
  for (const plugin of configured) found.push(await read(plugin));
  manifests.save();
  return found;
}

/** Where the plugin lies, or why it is off. */
function placeOf(
  { name, source: text, tier }: ConfiguredPlugin,
  places: ConfiguredPlaces,
  cache: PluginCache,
  locks: Map<string, Lock | UserError>,
): { folder: string; within: string | null; tree?: string } | string {
  let source: Source;
  try {
    // What is fetched already needs no second look at how.
    source = parseSource(text, tier === "user" || text.startsWith("git+"));
  } catch (error) {
    return (error as Error).message;
  }
  if (source.kind === "path") {
    return {
      folder: pathOf(source, places, tier),
      within: tier === "project" ? places.root : null,
    };
  }
  const path = lockPath(places, tier);
  let lock = locks.get(path);
  if (lock === undefined) {
    lock = lockAt(path);
    locks.set(path, lock);
  }
  if (lock instanceof UserError) return lock.message;
  const entry = Object.hasOwn(lock.plugins, name) ? lock.plugins[name] : undefined;
  if (entry === undefined) return `it is not in ${LOCK_FILE}: ${SYNC}`;
  if (entry.source !== text) {
    return `${LOCK_FILE} has it from ${entry.source}, the config asks for ${text}: ${SYNC}`;
  }
  const state = cache.check(entry.tree);
  if (state === "missing") return `it was not fetched on this machine yet: ${SYNC}`;
  if (state === "mismatch") return `its files are not those that the lock pins: ${SYNC}`;
  return { folder: cache.pathOf(entry.tree), within: null, tree: entry.tree };
}

function lockAt(path: string): Lock | UserError {
  try {
    return readLock(path);
  } catch (error) {
    if (error instanceof UserError) return error;
    throw error;
  }
}
