// Everything that can be typed behind a slash, and whose name wins: what is built in, then files, then plugins.

import type { Session } from "../loop/session.ts";
import type { CommandEntry } from "../plugins/commands.ts";
import { builtInCommands, type Command } from "../ui/terminal/commands.ts";
import { contextCommands } from "./context-commands.ts";
import { contributedCommands, reloadCommand, renamedLines } from "./plugin-commands.ts";
import { promptCommands } from "./prompt-commands.ts";
import type { Setup } from "./setup.ts";

export interface SlashCommands {
  /** As they are now: a reload changes this list. */
  readonly commands: Command[];
  /** Lines for the person, of the first time. */
  readonly warnings: string[];
}

/** @param session Null while none was begun. */
export async function slashCommands(
  setup: Setup,
  session: () => Session | null,
): Promise<SlashCommands> {
  const own: Command[] = [
    ...contextCommands(session, setup.turnDeps),
    reloadCommand(setup.plugins, setup.workspace, () => refresh()),
  ];
  const commands: Command[] = [];
  const refresh = async () => {
    const prompts = promptCommands(await setup.knowledge.commands(), own);
    const entries = pluginEntries(setup, [...own, ...prompts.commands]);
    commands.splice(0, commands.length, ...own, ...prompts.commands);
    commands.push(...contributedCommands(entries, setup));
    return [...prompts.warnings, ...renamedLines(entries)];
  };
  const warnings = await refresh();
  return { commands, warnings };
}

/** Commands of the plugins; `others` and what is always there keep their names. */
export function pluginEntries(
  { plugins }: Pick<Setup, "plugins">,
  others: readonly { name: string }[],
): CommandEntry[] {
  const always = builtInCommands(() => {});
  return plugins.commands(new Set([...always, ...others].map(({ name }) => name)));
}

/** For `-p`, where nothing that is built in can be typed, but its names mean nothing else. */
export async function headlessEntries(setup: Setup): Promise<CommandEntry[]> {
  const { commands } = await setup.knowledge.commands();
  const own = contextCommands(() => null, setup.turnDeps);
  return pluginEntries(setup, [...own, { name: "reload" }, ...commands]);
}
