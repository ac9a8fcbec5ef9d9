// Rules: AGENTS.md (CLAUDE.md where there is none) of the user and of every folder from the workspace root
// down to where the user works, the files of `.nanocode/rules`, and those of plugins. Read within bounds, once,
// when a session begins. Not here: how they look to the model (context/environment.ts), and when those for certain
// files are shown (loop/knowledge.ts).

import { basename, dirname, join, relative } from "node:path";
import type { RuleText } from "../context/environment.ts";
import { frontMatter } from "./front-matter.ts";
import { globMatcher, readGlobs } from "./path-globs.ts";
import { type Places, type PluginFolder, pluginName } from "./places.ts";
import {
  type Candidate,
  cut,
  isThere,
  markdownIn,
  oneLine,
  readTextFile,
  type TextFile,
} from "./text-file.ts";

/**
 * Bytes (UTF-8) that rules may have, a file and in all: about 8,000 tokens. The nearest come first. Rules
 * for certain files have as much room again.
 */
export const RULE_BYTES = { file: 24_000, all: 32_000 };

const WHY = `rules may have ${RULE_BYTES.file} bytes a file and ${RULE_BYTES.all} in all`;

/** A file of rules as it is shown to the model. */
export interface RuleFile extends RuleText {
  /** Real path. */
  path: string;
}

/** A rule that is shown once a file it is for was read or edited. */
export interface PathRule extends RuleFile {
  globs: readonly string[];
  /** @param path Relative to the workspace root, with `/`. */
  matches(path: string): boolean;
}

export interface FoundRules {
  /** Those for everything: the most general one first, the nearest last. */
  files: RuleFile[];
  /** Those for certain files, in the same order. */
  forPaths: PathRule[];
  /** Lines for the person. */
  warnings: string[];
}

/** The rules for work in `cwd`. @param onlyForPaths Leave those for everything out. */
export async function findRules(places: Places, onlyForPaths = false): Promise<FoundRules> {
  const found: FoundRules = { files: [], forPaths: [], warnings: [] };
  const texts = new Set<string>();
  const left = { files: RULE_BYTES.all, forPaths: RULE_BYTES.all };
  // From the nearest on, because that one is wanted most where there is no room for all.
  for (const candidate of candidates(places, found.warnings)) {
    const { shown, hasFields, plugin } = candidate;
    if (onlyForPaths && !hasFields) continue;
    const tier = candidate.tier === "project" ? "project" : "user";
    const file = readTextFile(candidate, RULE_BYTES.file);
    if ("fault" in file) {
      found.warnings.push(`rules left out: ${file.fault}`);
      continue;
    }
    const globs = hasFields ? await takeFields(file, candidate) : null;
    if (onlyForPaths && globs === null) continue;
    found.warnings.push(...file.warnings);
    if (file.text.trim() === "" || texts.has(file.text)) continue;
    texts.add(file.text);
    const kind = globs === null ? "files" : "forPaths";
    const { text, note } = cut(file, Math.min(left[kind], RULE_BYTES.file));
    left[kind] -= Buffer.byteLength(text);
    if (note !== undefined) found.warnings.push(`${shown} is ${note.split(";")[0]}: ${WHY}`);
    const rule: RuleFile = {
      path: file.path,
      tier,
      ...(plugin === undefined ? {} : { plugin }),
      shown,
      text,
      ...(note === undefined ? {} : { note }),
    };
    if (globs === null) found.files.unshift(rule);
    else found.forPaths.unshift({ ...rule, globs, matches: globMatcher(globs) });
  }
  return found;
}

/**
 * Takes the front matter off a rule and gives its globs, or those of the plugin's manifest; one that says nothing
 * of use is for everything.
 */
async function takeFields(
  file: TextFile,
  { shown, globs }: RuleCandidate,
): Promise<string[] | null> {
  const { fields, body, fault } = await frontMatter(file.text);
  file.text = body.trim();
  if (fault !== undefined) file.warnings.push(`${shown}: ${fault}; the rule is for all files`);
  try {
    return readGlobs(globs ?? fields["globs"]);
  } catch (error) {
    file.warnings.push(`${shown}: ${(error as Error).message}; the rule is for all files`);
    return null;
  }
}

interface RuleCandidate extends Candidate {
  /** Front matter means something. */
  hasFields: boolean;
  /** Globs that a manifest gives it. */
  globs?: readonly string[] | undefined;
}

/** The files that there are, the nearest first. */
function candidates(
  { home, root, project, cwd, folders }: Places,
  warnings: string[],
): RuleCandidate[] {
  const out: RuleCandidate[] = [];
  const own = (path: string, tier: Candidate["tier"], hasFields: boolean) =>
    out.push({
      path,
      tier,
      hasFields,
      shown: oneLine(tier === "project" ? relative(cwd, path) : path),
      within: tier === "project" ? root : null,
    });
  for (let folder = cwd; project !== "none"; folder = dirname(folder)) {
    if (folder === root && project === "own") {
      for (const path of markdownIn(join(root, ".nanocode", "rules")).reverse()) {
        own(path, "project", true);
      }
    }
    const path = ["AGENTS.md", "CLAUDE.md"].map((name) => join(folder, name)).find(isThere);
    if (path !== undefined) own(path, "project", false);
    if (folder === root || folder === dirname(folder)) break;
  }
  for (const path of markdownIn(join(home, "rules")).reverse()) own(path, "user", true);
  const agents = join(home, "AGENTS.md");
  if (isThere(agents)) own(agents, "user", false);
  for (const plugin of folders.toReversed()) {
    if (plugin.tier === "project" && project === "none") continue;
    out.push(...pluginRules(plugin, cwd, warnings).reverse());
  }
  return out;
}

/** Rules of a plugin: the files of its folder `rules` by name, then others that its manifest names. */
function pluginRules(plugin: PluginFolder, cwd: string, warnings: string[]): RuleCandidate[] {
  const { folder, tier, rules = [], only } = plugin;
  const name = pluginName(plugin);
  const declared = new Map(rules.map(({ path, globs }) => [join(folder, path), globs]));
  const paths = new Set([...markdownIn(join(folder, "rules")), ...declared.keys()]);
  // `sql`, `sql.md` and `./rules/sql.md` mean the same.
  const nameOf = (path: string) => basename(path).replace(/\.md$/i, "");
  const wanted = only?.rules?.map(nameOf);
  for (const missing of wanted ?? []) {
    if ([...paths].some((path) => nameOf(path) === missing)) continue;
    warnings.push(`plugins.${name}.only.rules names ${missing}, which ${name} has not`);
  }
  return [...paths].filter((path) => wanted?.includes(nameOf(path)) ?? true).map((path) => ({
    path,
    tier,
    hasFields: true,
    globs: declared.get(path),
    plugin: name,
    shown: oneLine(
      tier === "project"
        ? relative(cwd, path)
        : tier === "built-in"
        ? relative(dirname(folder), path)
        : path,
    ),
    within: tier === "project" || declared.has(path) ? folder : null,
  }));
}
