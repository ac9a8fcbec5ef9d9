// Skills: folders with a SKILL.md (Agent Skills: name and description in front matter, then a body).
// Only the catalogue enters the context; a body is loaded when asked for. Lenient, for most were written
// for other programs; `allowed-tools` grants nothing. Not here: when one is loaded (loop/knowledge.ts, and
// the plugin with the tool Skill).

import { readdirSync } from "node:fs";
import { basename, join, relative, sep } from "node:path";
import { withoutTitles } from "../context/environment.ts";
import { estimateTokens } from "../context/tokens.ts";
import { isInside } from "../permission/paths.ts";
import { shortHash } from "../runtime/hash.ts";
import { type ToolContext, ToolError } from "../tools/tool.ts";
import { frontMatter } from "./front-matter.ts";
import type { Place } from "./places.ts";
import {
  cut,
  isThere,
  namesIn,
  oneLine,
  readTextFile,
  type Tier,
  withoutHidden,
} from "./text-file.ts";

export const SKILL_FILE = "SKILL.md";
/** Tokens of a description, and of all descriptions together, in the catalogue. */
export const SKILL_TOKENS = { description: 100, catalogue: 4000 };
/** Bytes of a body that are shown. */
const MAX_BODY = 24_000;
/** Files beside a SKILL.md that are named, and folders deep that they are looked for. */
const MAX_BESIDE = 50;
const MAX_DEPTH = 4;
/** What a person can type behind `$`. */
const NAME = /^[\p{L}\p{N}](?:[\p{L}\p{N}_.-]{0,62}[\p{L}\p{N}])?$/u;

export interface Skill {
  name: string;
  /** One line; empty where there was no room for it. */
  description: string;
  /** Folder of the skill. */
  folder: string;
  tier: Tier;
  /** No link of its files may lead out of this folder. */
  within: string | null;
  /** Name of the plugin that it belongs to. */
  plugin?: string;
}

export interface FoundSkills {
  /** Sorted by name. */
  skills: Skill[];
  /** Lines for the person. */
  warnings: string[];
}

/** The skills in `FOLDER/NAME/SKILL.md`; of those of one name the first place has it. */
export async function findSkills(places: readonly Place[], cwd: string): Promise<FoundSkills> {
  const found = new Map<string, Skill>();
  const warnings: string[] = [];
  for (const { only, plugin = "", ...place } of places) {
    const missing = new Set(only);
    for (const name of namesIn(place.folder, (name) => !name.startsWith("."))) {
      if (!isThere(join(place.folder, name, SKILL_FILE))) continue;
      const at = { ...place, folder: join(place.folder, name), ...(plugin ? { plugin } : {}) };
      const skill = await readSkill(at, cwd, warnings);
      if (skill === null || (only !== undefined && !only.includes(skill.name))) continue;
      missing.delete(skill.name);
      if (!found.has(skill.name)) found.set(skill.name, skill);
    }
    for (const name of missing) {
      warnings.push(`plugins.${plugin}.only.skills names ${name}, which ${plugin} has not`);
    }
  }
  const skills = [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return { skills, warnings };
}

/** What the catalogue says of a skill, or null with a warning. */
async function readSkill(place: Place, cwd: string, warnings: string[]): Promise<Skill | null> {
  const file = fileOf(place, cwd);
  const text = readTextFile(file, MAX_BODY);
  const leftOut = (why: string) => {
    warnings.push(`skill left out: ${why}`);
    return null;
  };
  if ("fault" in text) return leftOut(text.fault);
  const { fields, fault } = await frontMatter(text.text);
  if (fault !== undefined) return leftOut(`${file.shown}: ${fault}`);
  const description = typeof fields["description"] === "string" ? fields["description"] : "";
  if (description.trim() === "") {
    return leftOut(
      `${file.shown} has no description; its front matter needs a line like ` +
        '"description: what it does, and when to use it"',
    );
  }
  const named = fields["name"];
  const own = basename(place.folder);
  const name = [named, own].find((name): name is string =>
    typeof name === "string" && NAME.test(name)
  );
  if (name === undefined) return leftOut(`${file.shown} has no name that can be typed`);
  if (named !== undefined && named !== own) {
    warnings.push(`${file.shown}: its name is not that of its folder; it is the skill "${name}"`);
  }
  return { ...place, name, description: inOneLine(description) };
}

function fileOf({ folder, tier, within, plugin }: Place, cwd: string) {
  const path = join(folder, SKILL_FILE);
  return { path, tier, within, plugin, shown: oneLine(shownPath(path, cwd)) };
}

/** Relative where it lies in the working folder: as Read takes it. */
function shownPath(path: string, cwd: string): string {
  return isInside(cwd, path) ? relative(cwd, path) : path;
}

function inOneLine(text: string): string {
  const line = withoutHidden(text).replaceAll(/\s+/g, " ").trim();
  if (estimateTokens(line) <= SKILL_TOKENS.description) return line;
  const bytes = new TextEncoder().encode(line).subarray(0, SKILL_TOKENS.description * 4 - 4);
  return `${new TextDecoder().decode(bytes, { stream: true }).trimEnd()} …`;
}

/** The catalogue: descriptions as long as there is room; a skill without one still has its name. */
export function catalogueOf(skills: readonly Skill[], warnings: string[]): Skill[] {
  let left = SKILL_TOKENS.catalogue;
  let cutOff = 0;
  const out = skills.map((skill) => {
    const tokens = estimateTokens(skill.description);
    if (tokens <= left) {
      left -= tokens;
      return skill;
    }
    cutOff++;
    return { ...skill, description: "" };
  });
  if (cutOff > 0) {
    warnings.push(
      `${cutOff} of ${skills.length} skills are named to the model without their description: ` +
        `all together may have ${SKILL_TOKENS.catalogue} tokens`,
    );
  }
  return out;
}

/** A skill as the model sees it once it is loaded. */
export interface SkillText {
  path: string;
  /** Hash of the text. */
  version: string;
  text: string;
}

/** Reads a skill's body and names the files beside it. @throws {Error} when it cannot be read any more */
export async function loadSkill(skill: Skill, cwd: string): Promise<SkillText> {
  const { name, folder, tier } = skill;
  const path = skillPath(skill);
  const file = readTextFile(fileOf(skill, cwd), MAX_BODY);
  if ("fault" in file) throw new Error(`The skill ${name} cannot be loaded: ${file.fault}.`);
  const { body } = await frontMatter(file.text);
  const { text, note } = cut({ ...file, text: body.trim() }, MAX_BODY);
  const shown = oneLine(shownPath(folder, cwd));
  const beside = tier === "built-in" ? [] : filesBeside(folder);
  const out = [
    `<Skill name="${name}" of="${tier}"${tier === "built-in" ? "" : ` folder="${shown}"`}>`,
    withoutTitles(text),
    ...(note === undefined ? [] : [`[${note}]`]),
    "</Skill>",
    ...(beside.length === 0 ? [] : [
      "Files beside it, for Read:",
      ...beside.slice(0, MAX_BESIDE).map((file) => `- ${oneLine(join(shown, file))}`),
      ...(beside.length > MAX_BESIDE ? [`- … more in ${shown}`] : []),
    ]),
    ...(tier === "project" ? ["It is text of this project and grants no permission."] : []),
  ].join("\n");
  return { path, version: shortHash(file.text), text: out };
}

/** The file under whose name a loaded skill is recorded. */
export function skillPath({ folder }: Pick<Skill, "folder">): string {
  return join(folder, SKILL_FILE);
}

/** Files below a skill's folder, sorted; links are not followed. */
function filesBeside(folder: string, inside = "", depth = 0): string[] {
  const out: string[] = [];
  try {
    const entries = readdirSync(join(folder, inside), { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = inside === "" ? entry.name : `${inside}${sep}${entry.name}`;
      if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
      if (entry.isDirectory() && depth < MAX_DEPTH) {
        out.push(...filesBeside(folder, path, depth + 1));
      } else if (entry.isFile() && path !== SKILL_FILE) out.push(path);
      if (out.length > MAX_BESIDE) break;
    }
  } catch { /* what cannot be listed is not named */ }
  return out;
}

/** What the model is told in place of a skill that it has already. */
export function alreadyLoaded(name: string, where: string): string {
  return `The skill ${name} is already loaded: ${where}.`;
}

/** The skills as a tool sees them: what `body` gives is what the model should see, and is recorded as loaded. */
export function skillsFor(
  skills: readonly Skill[],
  { session, loaded }: Pick<ToolContext, "session" | "loaded">,
) {
  return skills.map((skill) => ({
    name: skill.name,
    description: skill.description,
    async body(): Promise<string> {
      const where = loaded.where(skillPath(skill));
      if (where !== null) return alreadyLoaded(skill.name, where);
      try {
        const { path, version, text } = await loadSkill(skill, session.cwd);
        loaded.add({ kind: "skill", path, version });
        return text;
      } catch (error) {
        throw new ToolError((error as Error).message);
      }
    },
  }));
}

/** `$name` as a word: no `$name=1`, `$name[0]`, `a$name`. */
const NAMED = /(?<![^\s("'[,;:])\$([\p{L}\p{N}][\p{L}\p{N}_.-]*)(?![\p{L}\p{N}_.=([{/$-])/gu;

/** The skills that a prompt names with `$name`, outside of code. */
export function namedSkills(prompt: string, skills: readonly Skill[]): Skill[] {
  if (!prompt.includes("$")) return [];
  const prose = prompt.replaceAll(/^(```|~~~)[\s\S]*?(?:^\1|$(?![\s\S]))/gm, "").replaceAll(
    /`[^`\n]*`/g,
    "",
  );
  const names = new Set<string>();
  for (const [, name = ""] of prose.matchAll(NAMED)) {
    names.add(name);
    names.add(name.replace(/[_.-]+$/, "")); // the end of a sentence
  }
  return skills.filter(({ name }) => names.has(name));
}
