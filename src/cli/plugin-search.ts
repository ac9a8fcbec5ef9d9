// `nanocode plugin search WORD`: asks the registry of npm and the catalogues of config.json, only when typed, and
// prints the SOURCE that pins what was found. Nothing is fetched beyond lists.

import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { loadConfig } from "../config/config.ts";
import { download, registryFor } from "../plugins/fetch-npm.ts";
import { parseSource } from "../plugins/sources.ts";
import { UserError } from "../runtime/errors.ts";
import { visible, visibleJson } from "../ui/text.ts";
import { registrySettings } from "./plugin-sources.ts";
import type { Workspace } from "./workspace.ts";

/** The keyword that a package of a plugin has in its package.json. */
const KEYWORD = "nanocode-plugin";
const MAX_LIST = 8 * 1024 * 1024;

interface Row {
  name: string;
  /** Null where the catalogue pins nothing. */
  source: string | null;
  description: string;
}

export async function searchPlugins(
  word: string,
  { home, root }: Workspace,
  json: boolean,
): Promise<string> {
  const { config } = await loadConfig({ home, root });
  const rows: Row[] = [];
  const faults: string[] = [];
  const ask = async (work: () => Promise<Row[]>) => {
    try {
      rows.push(...await work());
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      faults.push(`${error.message}${error.hint ? ` (${error.hint})` : ""}`);
    }
  };
  await ask(() => inRegistry(word, registryFor("", registrySettings(config))));
  for (const catalogue of config.catalogues) await ask(() => inCatalogue(word, catalogue, home));
  for (const fault of faults) process.stderr.write(`warning: ${visible(fault)}\n`);
  if (faults.length > config.catalogues.length) {
    throw new UserError("nothing could be asked", "See the warnings above.");
  }
  if (json) return `${visibleJson(JSON.stringify(rows, null, 2))}\n`;
  if (rows.length === 0) return `nothing found for ${visible(word)}\n`;
  return rows.map(({ source, name, description }) =>
    `${visible(source ?? `${name} (its catalogue names no version)`)}\n    ${
      visible(description.slice(0, 200)).replaceAll("\n", " ")
    }\n`
  ).join("");
}

async function inRegistry(word: string, registry: string): Promise<Row[]> {
  const text = encodeURIComponent(`${word} keywords:${KEYWORD}`);
  const value = await jsonAt(`${registry}/-/v1/search?size=20&text=${text}`);
  const { objects } = value as { objects?: { package?: Record<string, unknown> }[] };
  return (Array.isArray(objects) ? objects : []).flatMap(({ package: found }) => {
    const { name, version, description } = found ?? {};
    if (typeof name !== "string" || typeof version !== "string") return [];
    const source = pinnable(`npm:${name}@^${version}`);
    return [{ name, source, description: typeof description === "string" ? description : "" }];
  });
}

/** A marketplace.json: `{"plugins": [{"name", "description", "source"}]}`. */
async function inCatalogue(word: string, place: string, home: string): Promise<Row[]> {
  const value = /^https?:\/\//.test(place) ? await jsonAt(place) : parseJson(
    fileText(place.startsWith("~/") ? join(homedir(), place.slice(2)) : resolve(home, place)),
    place,
  );
  const { plugins } = value as { plugins?: unknown };
  if (!Array.isArray(plugins)) throw new UserError(`the catalogue ${place} has no list "plugins"`);
  return plugins.flatMap((entry: Record<string, unknown> | null) => {
    const { name, description, source } = entry ?? {};
    if (typeof name !== "string") return [];
    const about = typeof description === "string" ? description : "";
    if (!`${name} ${about}`.toLowerCase().includes(word.toLowerCase())) return [];
    return [{ name, source: sourceOf(source), description: about }];
  });
}

/** Our SOURCE for what a catalogue names: a string of ours, `{source: "url", url, sha | ref}`, `{source: "npm", …}`. */
function sourceOf(source: unknown): string | null {
  if (typeof source === "string") return pinnable(source);
  const { source: kind, url, sha, ref, package: name, version } = (source ?? {}) as Record<
    string,
    unknown
  >;
  if (kind === "npm" && typeof name === "string") {
    return pinnable(`npm:${name}${typeof version === "string" ? `@${version}` : ""}`);
  }
  const at = typeof sha === "string" ? sha : ref;
  if (kind === "url" && typeof url === "string" && typeof at === "string") {
    return pinnable(`git+${url}#${at}`);
  }
  return null;
}

/** Null for what `add` would refuse; a folder of the catalogue's own machine is none of ours. */
function pinnable(source: string): string | null {
  try {
    return parseSource(source, false).kind === "path" ? null : source;
  } catch {
    return null;
  }
}

async function jsonAt(url: string): Promise<unknown> {
  return parseJson(
    new TextDecoder().decode(await download(url, MAX_LIST, "application/json")),
    url,
  );
}

function fileText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UserError(`cannot read ${path}: ${(error as Error).message}`);
  }
}

function parseJson(text: string, place: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value;
  } catch { /* said below */ }
  throw new UserError(`${place} gave no JSON that could be a list of plugins`);
}
