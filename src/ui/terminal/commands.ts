// Slash commands: how a line is recognised as one, what is meant when none is called so, and the help.
// Not here: what the commands do; whoever starts the terminal hands them over.

import type { AgentEvent } from "../../loop/events.ts";
import type { Ask } from "../../loop/permit.ts";
import { nearest } from "../../runtime/nearest.ts";
import { visible } from "../text.ts";
import type { Theme } from "../theme.ts";

/** What a command may use. */
export interface CommandContext {
  /** Shows text; it is escaped. */
  print(text: string): void;
  /** Shows lines that are visible and painted already. */
  show(lines: readonly string[]): void;
  /** Shows an event as those of a turn are shown. */
  event(event: AgentEvent): void;
  theme: Theme;
  /** Width of the terminal. */
  columns: number;
  /** Aborted by Esc or Ctrl-C. */
  signal: AbortSignal;
  /** Asks the person, as a call does. */
  ask: Ask;
}

/** What follows a command: a prompt to send to the model, or the end of the session. */
export interface CommandOutcome {
  prompt?: string;
  exit?: boolean;
}

export interface Command {
  /** Without the slash. */
  name: string;
  /** One line. */
  help: string;
  /** Runs at once also while a turn runs; else it waits for the turn's end. */
  anytime?: boolean;
  /** A thrown Error's message is shown. */
  run(
    args: string,
    context: CommandContext,
  ): void | CommandOutcome | Promise<void | CommandOutcome>;
}

/** The commands that are always there. */
export function builtInCommands(help: () => void): Command[] {
  return [
    { name: "help", help: "what can be typed here", anytime: true, run: help },
    { name: "exit", help: "leave", anytime: true, run: () => ({ exit: true }) },
  ];
}

/** `/name args` or `/plugin:name args`, or null for anything else: a path such as `/usr/bin` is no command. */
export function parseCommand(text: string): { name: string; args: string } | null {
  const match = /^\/([A-Za-z][\w:-]*|[a-z0-9][a-z0-9.-]*:[A-Za-z][\w-]*)(?:\s+([\s\S]*))?$/.exec(
    text.trim(),
  );
  return match ? { name: match[1] ?? "", args: (match[2] ?? "").trim() } : null;
}

/** What to do about a command that does not exist. */
export function unknownCommand(name: string, names: readonly string[]): string {
  const near = nearest(name, names);
  const hint = near === null ? "" : ` Did you mean /${near}?`;
  return `There is no command /${visible(name)}.${hint} /help lists them.`;
}

/** `/help`: every command with its line, then the keys. */
export function helpText(commands: readonly Command[], theme: Theme): string {
  const sorted = [...commands].sort((a, b) => a.name < b.name ? -1 : 1);
  const longest = Math.max(...sorted.map(({ name }) => name.length));
  const lines = sorted.map(({ name, help }) =>
    `  ${theme.strong(`/${name}`.padEnd(longest + 3))}${visible(help)}`
  );
  return [...lines, "", ...KEYS.map(([key, what]) => `  ${theme.strong(key.padEnd(22))}${what}`)]
    .join("\n");
}

const KEYS: [string, string][] = [
  ["Enter", "send; while a turn runs the text is queued"],
  ["Alt-Enter, \\ Enter", "new line"],
  ["Up, Down, Ctrl-R", "earlier inputs, search in them"],
  ["Esc, Ctrl-C", "interrupt the turn"],
  ["Ctrl-C twice, Ctrl-D", "leave"],
];
