// Brings rules and skills into the context, each once a session and always at its end, so that the cached
// prefix holds: a skill behind the prompt that names it, rules behind the results that showed files they
// are for. Not here: where they come from (knowledge/), the tool Skill (plugins/skills).

import { relative, sep } from "node:path";
import { rulesText } from "../context/environment.ts";
import { alreadyLoaded, loadSkill, namedSkills, skillPath } from "../knowledge/skills.ts";
import { isInside } from "../permission/paths.ts";
import { shortHash } from "../runtime/hash.ts";
import type { Loaded } from "../session/records.ts";
import type { Finished } from "./batch.ts";
import type { Session } from "./session.ts";
import type { Run, TurnDeps, UserInput } from "./turn.ts";

/** A message to the model, and what it brings into the context. */
export interface Said extends UserInput {
  loads?: readonly (Loaded & { name: string })[];
}

type Knowing = Pick<TurnDeps, "knowledge">;

/** The messages that stand behind `prompts` because they name skills (`$name`). */
export async function skillsNamed(
  prompts: readonly string[],
  session: Session,
  { knowledge }: Knowing,
  run: Pick<Run, "emit">,
): Promise<Said[]> {
  const skills = knowledge?.skills ?? [];
  const named = new Set(prompts.flatMap((prompt) => namedSkills(prompt, skills)));
  const out: Said[] = [];
  for (const skill of named) {
    const { name } = skill;
    const where = session.loaded.get(skillPath(skill));
    if (where !== undefined) {
      out.push({ text: alreadyLoaded(name, where), source: "skill" });
      continue;
    }
    try {
      const { path, version, text } = await loadSkill(skill, session.cwd);
      out.push({ text, source: "skill", loads: [{ kind: "skill", name, path, version }] });
    } catch (error) {
      run.emit({ type: "warn", message: (error as Error).message });
    }
  }
  return out;
}

/** Says the rules that are for files which the calls of a batch have read or edited. */
export function showRules(
  finished: readonly Finished[],
  session: Session,
  { knowledge }: Knowing,
  run: Pick<Run, "append" | "emit">,
): void {
  const rules = knowledge?.rules.filter(({ path }) => !session.loaded.has(path)) ?? [];
  if (rules.length === 0) return;
  const touched = new Set(
    finished.flatMap(({ outcome }) => outcome.observations)
      .filter(({ kind, path }) =>
        (kind === "read" || kind === "edit") && isInside(session.root, path)
      )
      .map(({ path }) => relative(session.root, path).replaceAll(sep, "/")),
  );
  const fitting = rules.filter((rule) => [...touched].some((path) => rule.matches(path)));
  if (fitting.length === 0) return;
  const loads = fitting.map(({ path, shown, text }) =>
    ({ kind: "rule", name: shown, path, version: shortHash(text) }) as const
  );
  say({ text: rulesText(fitting), source: "rule", loads }, run);
}

/** Records a message with what it loads: first the message, so that a crash loses nothing. */
export function say(
  { text, source, loads = [] }: Said,
  run: Pick<Run, "append" | "emit">,
): void {
  const { id } = run.append({ type: "user", text, source });
  for (const { name, ...loaded } of loads) {
    run.append({ type: "loaded", ...loaded, in: id });
    run.emit({ type: "loaded", kind: loaded.kind, name, path: loaded.path });
  }
}
