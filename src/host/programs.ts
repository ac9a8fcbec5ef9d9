// Where the few programs are that the host starts itself: fixed places first, so that a folder slipped
// into PATH cannot stand in for the shell.

import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

const FIXED = [
  "/bin",
  "/usr/bin",
  "/usr/local/bin",
  "/opt/homebrew/bin",
  "/run/current-system/sw/bin",
];

/** Absolute path of a program, or null. Relative entries of PATH are never searched. */
export function findProgram(name: string): string | null {
  const folders = [...FIXED, ...(process.env.PATH ?? "").split(delimiter).filter(isAbsolute)];
  for (const folder of folders) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      if (statSync(path).isFile()) return path;
    } catch {
      // Not here.
    }
  }
  return null;
}

export interface Shell {
  path: string;
  /** How it calls itself in its messages. */
  name: "bash" | "sh";
  /** Arguments before the command. */
  args: string[];
}

/** The one shell of all commands: bash without the user's start files, else sh; null without either. */
export function findShell(): Shell | null {
  const bash = findProgram("bash");
  if (bash !== null) {
    return { path: bash, name: "bash", args: ["--noprofile", "--norc", "-c"] };
  }
  const sh = findProgram("sh");
  return sh === null ? null : { path: sh, name: "sh", args: ["-c"] };
}
