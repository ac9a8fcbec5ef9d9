// Skills: folders with a SKILL.md (Agent Skills: name and description in front matter, then a body).
// Only the catalogue enters the context; a body is loaded when asked for.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { frontMatter } from "./front-matter.ts";

export interface Skill {
  name: string;
  description: string;
  /** Folder of the skill. */
  folder: string;
}

/** Skills below a folder (`FOLDER/NAME/SKILL.md`), sorted by name. Ones without a description are left out. */
export async function findSkills(folder: string): Promise<Skill[]> {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  const skills: Skill[] = [];
  for (const name of names.sort()) {
    const text = readText(join(folder, name, "SKILL.md"));
    if (text === null) continue;
    const { fields } = await frontMatter(text);
    const { description } = fields;
    if (typeof description !== "string" || description === "") continue;
    const title = typeof fields["name"] === "string" ? fields["name"] : name;
    skills.push({ name: title, description, folder: join(folder, name) });
  }
  return skills;
}

/** The body of a skill, without its front matter. */
export async function skillBody(skill: Skill): Promise<string> {
  return (await frontMatter(readFileSync(join(skill.folder, "SKILL.md"), "utf8"))).body;
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
