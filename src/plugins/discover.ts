// Finds plugins: in the binary, in the user's folder, in the project, and by --plugin PATH. Reads and
// checks manifests and nothing else: no code of a plugin runs here. Which of them may be used is decided
// with trust.ts; what they contribute is registry.ts.

import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { basename, join, resolve, sep } from "node:path";
import { ManifestCache } from "./manifest-cache.ts";
import { isInside } from "../permission/paths.ts";
import { type Manifest, MANIFEST_FILE, type Tier } from "./manifest.ts";

/** A manifest larger than this is none (bytes). */
const MAX_MANIFEST = 1024 * 1024;
/** Plugins of one folder that are looked at. */
const MAX_PLUGINS = 1000;

/** A plugin's folder with what its manifest says; `fault` is why it is off. */
export type Found =
  & { name: string; tier: Tier; folder: string; warnings: string[]; tree?: string }
  & ({ manifest: Manifest; fault: null } | { manifest: null; fault: string });

/** Where plugins lie. */
export interface PluginFolders {
  /** `~/.nanocode`. */
  home: string;
  /** Real path of the workspace; null in $HOME itself, whose `.nanocode` is the user's. */
  root: string | null;
  /** `--plugin PATH`, as typed, relative to the working folder. */
  flags: readonly string[];
  cwd: string;
}

/** Every plugin on the disk, by tier and name. A folder that is none is left alone; a bad one says why. */
export async function discover({ home, root, flags, cwd }: PluginFolders): Promise<Found[]> {
  const places: PluginPlace[] = [
    ...children(join(home, "plugins")).map((folder) => ({
      tier: "user" as const,
      folder,
      within: null,
    })),
    ...(root === null || join(root, ".nanocode") === home
      ? []
      : children(join(root, ".nanocode", "plugins")))
      .map((folder) => ({ tier: "project" as const, folder, within: root })),
    ...flags.map((path) => ({ tier: "flag" as const, folder: resolve(cwd, path), within: null })),
  ];
  if (places.length === 0) return [];
  const cache = new ManifestCache(home);
  const found: Found[] = [];
  for (const place of places) found.push(await readPlugin(place, cache));
  cache.save();
  return found;
}

/** A folder with its tier; `within`: a real path that it may not lead out of. */
export interface PluginPlace {
  tier: Tier;
  folder: string;
  within: string | null;
}

/** Reads and checks the manifest of one folder. @param cache Checks that need not be made again. */
export async function readPlugin(
  { tier, folder, within }: PluginPlace,
  cache?: ManifestCache,
): Promise<Found> {
  const base = { name: basename(folder), tier, folder, warnings: [] };
  const text = manifestText(folder, within);
  if ("fault" in text) return { ...base, manifest: null, fault: text.fault };
  const checked = cache === undefined
    ? (await import("./manifest-schema.ts")).checkManifest(text.text)
    : await cache.check(text.folder, text.text);
  if (!checked.ok) {
    return { ...base, manifest: null, fault: `${MANIFEST_FILE}: ${checked.fault}` };
  }
  const { manifest, warnings } = checked;
  return { ...base, name: manifest.name, folder: text.folder, manifest, warnings, fault: null };
}

/** Folders in a folder of plugins that hold a manifest, sorted. A flag names its folder itself. */
function children(folder: string): string[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  return names.sort().slice(0, MAX_PLUGINS).map((name) => join(folder, name))
    .filter((path) => existsSync(join(path, MANIFEST_FILE)));
}

/** The manifest's text; a project's plugin must lie in the project, also behind its links. */
function manifestText(
  folder: string,
  within: string | null,
): { text: string; folder: string } | { fault: string } {
  try {
    const real = realpathSync(folder);
    if (within !== null && !isInside(within, real)) {
      return { fault: `its folder is a link that leads out of the project (${real})` };
    }
    const path = realpathSync(join(real, MANIFEST_FILE));
    if (!isInside(real, path)) return { fault: `${MANIFEST_FILE} is a link out of its folder` };
    const stats = lstatSync(path);
    // A pipe would be waited for.
    if (!stats.isFile()) return { fault: `${MANIFEST_FILE} is no regular file` };
    if (stats.size > MAX_MANIFEST) return { fault: `${MANIFEST_FILE} is larger than 1 MB` };
    return { text: readFileSync(path, "utf8"), folder: real };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return { fault: `there is no ${MANIFEST_FILE} in ${folder}` };
    return { fault: message };
  }
}

/** A path that a manifest names, inside the plugin's folder also behind links; null when it is not. */
export function insidePlugin(folder: string, path: string): string | null {
  try {
    const real = realpathSync(join(folder, path));
    return real.startsWith(folder + sep) ? real : null;
  } catch {
    return null;
  }
}
