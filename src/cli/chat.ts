// `nanocode` in a terminal: hands the session to the interactive renderer.

import { join } from "node:path";
import { turn } from "../loop/turn.ts";
import { isPluginThrow } from "../plugins/load.ts";
import { interactive } from "../ui/terminal/terminal.ts";
import { VERSION } from "../version.ts";
import type { Options } from "./args.ts";
import type { Setup } from "./setup.ts";
import { slashCommands } from "./slash-commands.ts";

export async function chat(options: Options, setup: Setup, suggestion?: string): Promise<number> {
  const { model, workspace } = setup;
  // What was not begun is not made by looking at it.
  let begun = options.continue || options.resume !== undefined;
  const queue: { text: string }[] = [];
  const { commands, warnings } = await slashCommands(setup, () => begun ? setup.session() : null);
  return await interactive({
    info: [
      `nanocode ${VERSION} · ${model.provider.id}/${model.model} · ${workspace.cwd}`,
      ...[...setup.warnings, ...warnings].map((warning) => `warning: ${warning}`),
      suggestion ? `Try: ${suggestion}` : "/help lists the commands",
    ].join("\n"),
    historyFile: join(workspace.home, "history"),
    ...(options.words.length > 0 ? { first: options.words.join(" ") } : {}),
    commands,
    run(text, source, { signal, ask }) {
      begun = true;
      return turn(setup.session(), { text, source }, {
        ...setup.turnDeps(signal),
        ask,
        queue: {
          peek: () => queue.map((item) => item.text),
          drop: (count) => void queue.splice(0, count),
        },
      });
    },
    isContained: isPluginThrow,
    warnings(show) {
      setup.warning.show = show;
    },
    queue(text) {
      const item = { text };
      queue.push(item);
      return () => {
        const at = queue.indexOf(item);
        if (at !== -1) queue.splice(at, 1);
        return at !== -1;
      };
    },
  });
}
