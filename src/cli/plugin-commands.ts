// The terminal's command /reload.

import type { SessionPlugins } from "../plugins/session.ts";
import type { Command } from "../ui/terminal/commands.ts";

export function pluginCommands(plugins: SessionPlugins): Command[] {
  return [{
    name: "reload",
    help: "read plugins again; --trust also trusts what is new or changed in the project",
    async run(args, { print }) {
      if (args !== "" && args !== "--trust") {
        throw new Error("/reload takes nothing or --trust");
      }
      const trusted = args === "--trust" ? (await plugins.survey()).pending : [];
      const { lines, pending } = await plugins.reload(trusted);
      const shows = pending.flatMap(({ kind, id, shows }) => [
        `${kind} ${id} would be trusted by /reload --trust:`,
        ...shows.map((line) => `  ${line}`),
      ]);
      print([...lines, ...shows].join("\n"));
    },
  }];
}
