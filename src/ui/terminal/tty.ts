// The terminal's modes: raw input and bracketed paste on while the prompt is there, and off again
// whatever happens (normal end, crash, signal). Not here: what is read or written.

import { writeSync } from "node:fs";
import type { ReadStream, WriteStream } from "node:tty";
import { SCREEN_RESET } from "./screen.ts";

const PASTE_ON = "\x1b[?2004h";
const PASTE_OFF = "\x1b[?2004l";

export type TerminalInput = ReadStream;
export type TerminalOutput = WriteStream & {
  fd: number;
  /** Asks the terminal anew; Node, Bun and Deno have it, no documentation does. */
  _refreshSize?(): void;
};

/**
 * The size as the terminal has it now. `columns` and `rows` alone are what it was at the last resize
 * event, which comes late: a frame drawn for the old size is drawn wrong.
 */
export function currentSize(output: TerminalOutput): { columns: number; rows: number } {
  output._refreshSize?.();
  return { columns: output.columns, rows: output.rows };
}

/** Switches the modes on; the function given back switches them off (once; safe to call again). */
export function openTerminal(input: TerminalInput, output: TerminalOutput): () => void {
  let open = true;
  const restore = () => {
    if (!open) return;
    open = false;
    process.off("exit", restore);
    try {
      // Synchronous: at a crash nothing written later would arrive.
      writeSync(output.fd, PASTE_OFF + SCREEN_RESET);
      input.setRawMode(false);
    } catch {
      // The terminal is gone; there is nothing to restore.
    }
  };
  process.on("exit", restore);
  switchOn(input, output);
  return restore;
}

/** The modes themselves; again after the process was stopped and continued. */
export function switchOn(input: TerminalInput, output: TerminalOutput): void {
  input.setRawMode(true);
  output.write(PASTE_ON);
}
