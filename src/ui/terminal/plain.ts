// The interactive session where the terminal can neither move its cursor nor be drawn on (TERM=dumb, an
// editor's shell window): lines in, lines out, no escape codes. The same conversation as terminal.ts.

import { createInterface } from "node:readline";
import { Conversation, type ConversationDeps } from "./conversation.ts";
import type { TerminalInput, TerminalOutput } from "./tty.ts";

export interface PlainDeps extends ConversationDeps {
  info: string;
  first?: string;
  stdin: TerminalInput;
  stdout: TerminalOutput;
}

/** Runs until the input ends or the user leaves; gives the exit code. */
export async function plainSession(deps: PlainDeps): Promise<number> {
  const { stdin, stdout, info, first } = deps;
  let mode: Conversation["mode"] = "idle";
  const write = (text: string) => void stdout.write(text);
  const prompt = () => {
    if (mode === "ask") { for (const row of conversation.statusRows()) write(`${row.text}\n`); }
    if (mode !== "busy") write("> ");
  };
  const conversation: Conversation = new Conversation(deps, {
    print: (text) => write(text.endsWith("\n") ? text : `${text}\n`),
    changed() {
      if (conversation.mode === mode) return;
      mode = conversation.mode;
      prompt();
    },
    restore: (text) => write(`Not sent, type it again if it still holds:\n${text}\n`),
    size: () => ({ columns: stdout.columns || 80, rows: Infinity }),
    echoes: true,
  });
  const lines = createInterface({ input: stdin, terminal: false });
  const interrupt = () => {
    conversation.ctrlC();
    for (const row of mode === "idle" ? conversation.statusRows() : []) write(`${row.text}\n> `);
  };
  const stop = () => conversation.quit(143);
  lines.on("line", (line) => {
    conversation.submit(line);
    if (mode !== "busy" && conversation.mode === mode) prompt();
  });
  lines.on("close", () => conversation.quit(0));
  process.on("SIGINT", interrupt);
  process.on("SIGTERM", stop);
  try {
    if (info !== "") conversation.note(info);
    if (first) conversation.submit(first);
    else prompt();
    return await conversation.finished;
  } finally {
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", stop);
    lines.close();
    stdin.pause();
  }
}
