// A source → a checked plugin in the cache and its entry for the lock. Fetches, so it runs only for
// `nanocode plugin …`, never at a start. No code and no script of what is fetched runs here.

import { UserError } from "../runtime/errors.ts";
import { type PluginCache, removeTree } from "./cache.ts";
import { readPlugin } from "./discover.ts";
import { fetchGit } from "./fetch-git.ts";
import {
  fetchNpm,
  fetchTarball,
  MISMATCH,
  registryFor,
  type RegistrySettings,
} from "./fetch-npm.ts";
import { grantsOf } from "./grants.ts";
import { installPackages } from "./install-packages.ts";
import type { LockEntry } from "./lock.ts";
import { extensionOf, type Manifest } from "./manifest.ts";
import type { Source } from "./sources.ts";
import { treeOf } from "./tree-hash.ts";

export interface Installed {
  manifest: Manifest;
  entry: LockEntry;
  /** Where it lies in the cache. */
  folder: string;
  /** Lines for the person: fields that nobody knows, packages that are not there. */
  notes: string[];
}

type Fetchable = Exclude<Source, { kind: "path" }>;

/**
 * Fetches a plugin into the cache.
 *
 * @param text The source as it was written.
 * @param pinned Its entry in the lock: exactly that is fetched, or it is an error. Null: resolved anew.
 * @throws {UserError} with the exit code MISMATCH where content is not what was pinned.
 */
export async function install(
  text: string,
  source: Fetchable,
  pinned: LockEntry | null,
  cache: PluginCache,
  registry: RegistrySettings,
): Promise<Installed> {
  const staging = cache.staging();
  try {
    const { folder, ...origin } = await fetchInto(staging, source, pinned, registry);
    const found = await readPlugin({ tier: "flag", folder, within: null });
    if (found.fault !== null) throw new UserError(`${text} cannot be used: ${found.fault}`);
    const { manifest, warnings } = found;
    const packages = await installPackages(folder, () => registryFor("", registry), cache.folder);
    const { hash } = treeOf(folder);
    if (pinned !== null && hash !== pinned.tree) {
      throw new UserError(
        `${text} has other files than the lock pins (${hash}, not ${pinned.tree})`,
        "Nothing of it was kept. A release never changes by itself: do not use it before you know why.",
        MISMATCH,
      );
    }
    const notes = [...warnings, ...packages];
    cache.put(folder);
    return {
      manifest,
      notes,
      folder: cache.pathOf(hash),
      entry: {
        source: text,
        ...origin,
        version: origin.version ?? manifest.version ?? null,
        tree: hash,
        apiVersion: extensionOf({ manifest }).apiVersion,
        grants: grantsOf(manifest),
      },
    };
  } finally {
    removeTree(staging);
  }
}

interface Fetched {
  folder: string;
  resolved: string;
  version: string | null;
  rev: string | null;
  artifact: string | null;
}

async function fetchInto(
  staging: string,
  source: Fetchable,
  pinned: LockEntry | null,
  registry: RegistrySettings,
): Promise<Fetched> {
  if (source.kind === "git") {
    const rev = await fetchGit(source, staging, pinned?.rev ?? null);
    return { folder: staging, resolved: source.url, version: null, rev, artifact: null };
  }
  // Only who unpacks loads the reader of tar files.
  const { unpack } = await import("./unpack.ts");
  if (source.kind === "tarball") {
    const { url, sha256 } = source;
    const folder = await unpack(await fetchTarball(source), staging, url);
    const artifact = `sha256-${Buffer.from(sha256, "hex").toString("base64")}`;
    return { folder, resolved: url, version: null, rev: null, artifact };
  }
  const locked = pinned?.version && pinned.artifact
    ? { version: pinned.version, integrity: pinned.artifact }
    : null;
  const { bytes, url, version, integrity } = await fetchNpm(source, registry, locked);
  const folder = await unpack(bytes, staging, `${source.name}@${version}`);
  return { folder, resolved: url, version, rev: null, artifact: integrity };
}
