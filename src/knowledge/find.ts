// What a session knows beside its tools: rules and skills, found once when it begins. Commands are found
// when somebody may type one (commands.ts).

import { findRules, type PathRule, type RuleFile } from "./rules.ts";
import { type Places, placesOf } from "./places.ts";
import { catalogueOf, findSkills, type Skill } from "./skills.ts";

/** What a turn may bring into the context. */
export interface Knowledge {
  /** Rules that are shown once a file they are for was read or edited. */
  rules: readonly PathRule[];
  skills: readonly Skill[];
}

export interface Found extends Knowledge {
  /** Rules that stand in the Environment message. */
  files: RuleFile[];
  /** Lines for the person. */
  warnings: string[];
}

/**
 * @param builtIn Skills that ship with nanocode; any other of the same name wins.
 * @param goesOn The session has its Environment already: only rules for certain files are read.
 */
export async function findKnowledge(
  places: Places,
  builtIn: readonly Skill[],
  goesOn: boolean,
): Promise<Found> {
  const [rules, found] = await Promise.all([
    findRules(places, goesOn),
    findSkills(placesOf(places, "skills"), places.cwd),
  ]);
  const names = new Set(found.skills.map(({ name }) => name));
  const all = [...found.skills, ...builtIn.filter(({ name }) => !names.has(name))]
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const warnings = [...rules.warnings, ...found.warnings];
  const skills = catalogueOf(all, warnings);
  return { files: rules.files, rules: rules.forPaths, skills, warnings };
}
