// The Skill tool. A skill is text that the user could read; loading one has no effect but on the context.

import { definePlugin, defineTool, ToolError } from "nanocode";
import { z } from "zod";

export default definePlugin({
  tools: [
    defineTool({
      name: "Skill",
      description: "Loads a skill of Environment by name.",
      input: z.strictObject({ name: z.string() }),
      example: { name: "commit" },
      effects: () => [],
      isConcurrencySafe: () => true,
      async run({ name }, ctx) {
        const skill = ctx.skills.find((candidate) => candidate.name === name.replace(/^\$/, ""));
        if (!skill) {
          const names = ctx.skills.map((candidate) => candidate.name).join(", ") || "none";
          throw new ToolError(`There is no skill "${name}". The skills are: ${names}.`);
        }
        return { output: await skill.body(), summary: skill.description };
      },
    }),
  ],
});
