// The rules, skills and commands of a session: found when it begins and again after a reload. What the
// Environment message says stays as it was; a skill that is new can be loaded by its name.

import { realpathSync } from "node:fs";
import { findKnowledge, type Found } from "../knowledge/find.ts";
import type { FoundCommands } from "../knowledge/commands.ts";
import type { Places } from "../knowledge/places.ts";
import type { Skill } from "../knowledge/skills.ts";
import { escapeGlob, type Rule } from "../permission/rules.ts";
import { extensionOf, type Plugin } from "../plugins/manifest.ts";
import type { Options } from "./args.ts";
import { projectRoot, type Workspace } from "./workspace.ts";

export interface SessionKnowledge {
  /** As found last. */
  readonly found: Found;
  /** Grants that come with skills of the user's own: their files may be read. */
  readonly grants: Rule[];
  /** Looks again; gives lines for the person. */
  reload(): Promise<string[]>;
  /** The commands that files define, as they are now. */
  commands(): Promise<FoundCommands>;
}

/**
 * @param builtIn Skills that ship with nanocode.
 * @param plugins Those in use now.
 */
export async function openKnowledge(
  options: Pick<Options, "noProjectText" | "continue" | "resume">,
  workspace: Workspace,
  builtIn: readonly Skill[],
  plugins: () => readonly Plugin[],
): Promise<SessionKnowledge> {
  const places = (): Places => ({
    ...workspace,
    project: options.noProjectText ? "none" : projectRoot(workspace) === null ? "shared" : "own",
    folders: plugins().flatMap((plugin) => {
      const { folder, tier, settings } = plugin;
      const { rules = [] } = extensionOf(plugin).contributes ?? {};
      // Skills of the binary are `builtIn`, and it has no commands.
      if (tier === "built-in" && rules.length === 0) return [];
      return [{
        folder,
        name: plugin.manifest.name,
        tier: tier === "flag" ? "user" as const : tier,
        rules,
        only: settings?.only ?? {},
      }];
    }),
  });
  // A session that goes on keeps the rules it began with.
  const goesOn = options.continue || options.resume !== undefined;
  let found = await findKnowledge(places(), builtIn, goesOn);
  if (goesOn && options.noProjectText) {
    found.warnings.push(
      "--no-project-text leaves out what would be read from now on; the session keeps what it holds",
    );
  }
  return {
    get found() {
      return found;
    },
    get grants() {
      return found.skills.filter(({ tier }) => tier === "user").map(({ folder }): Rule => {
        const pattern = `${escapeGlob(realpathSync(folder))}/**`;
        return { kind: "Read", pattern, source: `Read(${pattern})` };
      });
    },
    async reload() {
      const before = new Set(found.skills.map(({ name }) => name));
      found = await findKnowledge(places(), builtIn, true);
      const added = found.skills.filter(({ name }) => !before.has(name));
      return [
        ...added.map(({ name }) => `added the skill ${name}: load it by its name`),
        ...found.warnings,
      ];
    },
    async commands() {
      return await (await import("../knowledge/commands.ts")).findCommands(places());
    },
  };
}
