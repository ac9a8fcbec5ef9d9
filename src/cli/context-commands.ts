// The terminal's commands about the context: /context and /compact. Everything they do is done by the
// loop (compact-now.ts); how it reads is ui/context-bars.ts and ui/compact-lines.ts.

import { reportOf } from "../context/report.ts";
import { compactNow, previewCompaction, undoCompaction } from "../loop/compact-now.ts";
import { requestFor, windowOf } from "../loop/request.ts";
import type { Session } from "../loop/session.ts";
import type { TurnDeps } from "../loop/turn.ts";
import { compactedLine, previewLines, undoneLines } from "../ui/compact-lines.ts";
import { contextLines } from "../ui/context-bars.ts";
import type { Command } from "../ui/terminal/commands.ts";

/**
 * @param session The session, null before its first turn: looking makes none.
 * @param deps Deps of a turn, for what a next one would send.
 */
export function contextCommands(
  session: () => Session | null,
  deps: (signal: AbortSignal) => TurnDeps,
): Command[] {
  const begun = (): Session => {
    const open = session();
    if (!open) throw new Error("the session has not begun: nothing was sent yet");
    return open;
  };
  return [
    {
      name: "context",
      help: "what the next request holds, and what the cache kept of earlier ones",
      anytime: true,
      async run(args, { theme, columns, show, signal }) {
        if (args !== "") throw new Error("/context takes no argument");
        const open = begun();
        const { records } = open.log;
        const turn = deps(signal);
        const report = { ...reportOf(open.id, records), window: windowOf(open, turn) };
        // While a turn runs, its request is the one that counts.
        const isRunning = records.findLast(({ type }) => type === "user" || type === "end")
          ?.type === "user";
        const next = isRunning ? {} : { next: (await requestFor(open, turn, [])).facts };
        const all = `nanocode context ${open.id} --json has all`;
        show(contextLines({ report, ...next, all }, theme, columns));
      },
    },
    {
      name: "compact",
      help: "summarise old turns now; --preview shows what would go, --undo takes it back",
      async run(args, { print, event, signal }) {
        const turn = deps(signal);
        switch (args) {
          case "": {
            const line = compactedLine(await compactNow(begun(), turn, event));
            return line === "" ? undefined : print(line);
          }
          case "--preview":
            return print(previewLines(await previewCompaction(begun(), turn)).join("\n"));
          case "--undo":
            return print(undoneLines(await undoCompaction(begun(), turn)).join("\n"));
          default:
            throw new Error(
              `/compact does not know "${args}": it takes nothing, --preview or --undo`,
            );
        }
      },
    },
  ];
}
