// How this program starts another copy of itself. The compiled binary knows no script files: there a
// hidden word on the command line says what to do.

import { fileURLToPath } from "node:url";

/** Is this the compiled binary? Its modules lie in a file system of its own. */
export const IS_COMPILED = /\/(?:\$bunfs|~BUN)\//.test(import.meta.url);

/**
 * Command line that runs `script` in a new process of this runtime.
 *
 * @param script URL of a module that does its work when it is the main one.
 * @param word What the compiled binary is called with instead (dispatched in cli/run.ts).
 */
export function selfCommand(script: URL, word: string): string[] {
  if (IS_COMPILED) return [process.execPath, word];
  const run = "Deno" in globalThis ? ["run", "-A", "--no-check"] : [];
  return [process.execPath, ...run, fileURLToPath(script)];
}
