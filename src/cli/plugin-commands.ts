// The terminal's command /reload, and the commands that plugins contribute: run with the person's permission for
// what they would do, in the terminal and as the prompt of `-p`. What a handler gets is plugins/commands.ts.

import { type Ask, permit, putQuestion } from "../loop/permit.ts";
import type { CommandEntry } from "../plugins/commands.ts";
import type { CommandResult } from "../plugins/sdk.ts";
import type { SessionPlugins } from "../plugins/session.ts";
import { type TrustItem, TrustStore } from "../plugins/trust.ts";
import { EXIT, UserError } from "../runtime/errors.ts";
import type { Command } from "../ui/terminal/commands.ts";
import type { Setup } from "./setup.ts";
import type { Workspace } from "./workspace.ts";

/** @param reloaded Called once plugins and knowledge were read again. */
export function reloadCommand(
  plugins: SessionPlugins,
  { home, root }: Pick<Workspace, "home" | "root">,
  reloaded: () => Promise<string[]>,
): Command {
  /** What the last /reload showed: nobody agrees to what was not on the screen. */
  let shown: readonly TrustItem[] = [];
  const wasShown = ({ kind, id, sha256 }: TrustItem) =>
    shown.some((item) => item.kind === kind && item.id === id && item.sha256 === sha256);
  return {
    name: "reload",
    help: "read plugins again; --trust also trusts what the last /reload showed of the project",
    async run(args, { print }) {
      if (args !== "" && args !== "--trust") {
        throw new Error("/reload takes nothing or --trust");
      }
      const trusted = args === "--trust" ? (await plugins.survey()).pending.filter(wasShown) : [];
      const { lines, pending } = await plugins.reload(trusted);
      shown = pending;
      if (pending.length > 0) {
        const { describe } = await import("./trust.ts");
        const store = new TrustStore(home);
        lines.push(
          "/reload --trust would trust:",
          ...pending.map((item) => describe(item, store, root)),
        );
      }
      print([...lines, ...await reloaded()].join("\n"));
    },
  };
}

type Deps = Pick<Setup, "session" | "host" | "policy">;

/** Who watches a command that runs. */
interface Watcher {
  signal: AbortSignal;
  /** Absent when nobody can answer. */
  ask?: Ask;
  progress(text: string): void;
}

/** Commands of plugins as those of the terminal. */
export function contributedCommands(entries: readonly CommandEntry[], deps: Deps): Command[] {
  return entries.map((entry) => ({
    name: entry.name,
    help: `${entry.description} (plugin ${entry.plugin})`,
    async run(args, { print, signal, ask }) {
      const result = await runContributed(entry, args, deps, { signal, ask, progress: print });
      if ("prompt" in result) return result;
      print(result.output);
    },
  }));
}

/** Lines for the person about commands that are called otherwise than their plugin calls them. */
export function renamedLines(entries: readonly CommandEntry[]): string[] {
  return entries.filter(({ name }) => name.includes(":")).map(({ name, plugin }) =>
    `the plugin ${plugin} has a command with the name of another one: it is called /${name}`
  );
}

/** Asks for what it would do, then runs it. @throws {UserError} for a refusal or a fault of the plugin */
export async function runContributed(
  entry: CommandEntry,
  args: string,
  { session: open, host, policy }: Deps,
  { signal, ask, progress }: Watcher,
): Promise<CommandResult> {
  const tool = `/${entry.name}`;
  try {
    const effects = await entry.effects(args);
    const session = open();
    const call = { id: tool, tr: "-", turn: session.turn, step: 0 };
    const permission = effects.length === 0 ? { allowed: true as const } : await permit(
      { call: tool, tool, title: args, effects, preview: () => Promise.resolve("") },
      { session, policy, ...(ask === undefined ? {} : { ask }), signal, emit: () => {} },
    );
    if (!permission.allowed) {
      throw new UserError(
        `${tool} was not run: ${permission.summary}`,
        "Rules that allow it: docs/permissions.md.",
        EXIT.permission,
      );
    }
    const { id, root, cwd, parent } = session;
    return await entry.run(args, effects, {
      session: { id, root, cwd, parent },
      call,
      host,
      signal,
      loaded: { where: (path) => session.loaded.get(path) ?? null, add: () => {} },
      ...(ask
        ? { ask: (question) => putQuestion(question, { call: tool, tool }, { ask, signal }) }
        : {}),
      emit: progress,
    });
  } catch (error) {
    if (error instanceof UserError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new UserError(`${tool} of the plugin ${entry.plugin}: ${why}`, undefined, EXIT.failure);
  }
}
