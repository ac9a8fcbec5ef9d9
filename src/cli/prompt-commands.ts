// Commands that files define (.nanocode/commands/NAME.md): as commands of the terminal, and as the prompt of
// `-p "/name args"`. Finding and filling them is knowledge/commands.ts.

import { existsSync } from "node:fs";
import { fillCommand, type FoundCommands, type PromptCommand } from "../knowledge/commands.ts";
import { UserError } from "../runtime/errors.ts";
import type { UserInput } from "../loop/turn.ts";
import type { CommandResult } from "../plugins/sdk.ts";
import {
  builtInCommands,
  type Command,
  parseCommand,
  unknownCommand,
} from "../ui/terminal/commands.ts";

/** The files' commands for the terminal, without those whose name is taken, which is said. */
export function promptCommands(
  { commands, warnings }: FoundCommands,
  others: readonly Command[],
): { commands: Command[]; warnings: string[] } {
  const taken = new Set([...builtInCommands(() => {}), ...others].map(({ name }) => name));
  const clashes = commands.filter(({ name }) => taken.has(name));
  return {
    commands: commands.filter(({ name }) => !taken.has(name)).map((command): Command => ({
      name: command.name,
      help: [command.description, command.hint, `(${command.tier})`].filter(Boolean).join(" "),
      run: (args) => ({ prompt: filled(command, args) }),
    })),
    warnings: [
      ...warnings,
      ...clashes.map(({ name, shown }) =>
        `command left out: ${shown}: /${name} is built in; give the file another name`
      ),
    ],
  };
}

/** Commands beside those of files. */
export interface OtherCommands {
  names: readonly string[];
  run(name: string, args: string): Promise<CommandResult>;
}

/** What `-p` sends, or what a command shows instead. */
export type HeadlessInput = UserInput & { output?: string };

/**
 * What `-p` sends: a prompt that begins with the name of a command, filled; any other as it is.
 *
 * @param words What was typed; `prompt` begins with it, and behind it comes what was piped in.
 * @throws {UserError} for a command that there is not.
 */
export async function headlessInput(
  words: string,
  prompt: string,
  find: () => Promise<FoundCommands>,
  warn: (message: string) => void,
  plugins: () => Promise<OtherCommands> = () => Promise.resolve(NONE),
): Promise<HeadlessInput> {
  const typed = prompt.startsWith(words) ? parseCommand(words) : null;
  // A single path is no command: `/tmp is full`.
  if (typed === null || existsSync(`/${typed.name}`)) return { text: prompt, source: "typed" };
  const { commands, warnings } = await find();
  for (const warning of warnings) warn(warning);
  const command = commands.find(({ name }) => name === typed.name);
  if (!command) {
    const others = await plugins();
    if (others.names.includes(typed.name)) {
      const result = await others.run(typed.name, typed.args);
      if ("output" in result) return { text: "", source: "command", output: result.output };
      return { text: result.prompt + prompt.slice(words.length), source: "command" };
    }
    const names = [...commands.map(({ name }) => name), ...others.names];
    const hint = names.length === 0
      ? "Commands of -p are files in .nanocode/commands, and those of plugins."
      : `With -p there are ${names.map((name) => `/${name}`).join(", ")}.`;
    throw new UserError(unknownCommand(typed.name, names).split(" /help")[0] ?? "", hint);
  }
  return { text: filled(command, typed.args) + prompt.slice(words.length), source: "command" };
}

const NONE: OtherCommands = {
  names: [],
  run: () => Promise.reject(new Error("there is none")),
};

/** @throws {UserError} where nothing would be sent */
function filled(command: PromptCommand, args: string): string {
  const text = fillCommand(command, args);
  if (text.trim() !== "") return text;
  const { name, hint, shown, body } = command;
  throw new UserError(
    body.trim() === ""
      ? `/${name} sends nothing: ${shown} is empty`
      : `/${name} needs words behind it: ${hint || shown}`,
  );
}
