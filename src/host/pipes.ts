// The folder of what commands need on the disk while they run: named pipes (output.ts says why), and a
// start file by which bash tells how the stages of a pipeline ended.

import { spawn } from "node:child_process";
import { mkdtempSync, openSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hostError } from "./files.ts";
import { HostError } from "./host.ts";
import { findProgram } from "./programs.ts";

/**
 * Read by bash before the command. It reports how the stages of the last pipeline ended (SH-10) on a
 * descriptor that no script uses, and leaves no trace else: the command itself, its line numbers, its
 * exit code and its own traps are untouched.
 */
const START = `unset BASH_ENV DENO_EXTRA_STDIO_FDS
exec 57>&3 3>&-
trap '{ printf %s "\${PIPESTATUS[*]}" >&57; } 2>/dev/null' EXIT
`;

/** A private folder (0700) under the system's folder for temporary files. */
export class PipeFolder {
  readonly path: string;
  /** For BASH_ENV; null where the path holds what bash would expand. */
  readonly start: string | null;
  #count = 0;

  constructor() {
    try {
      this.path = mkdtempSync(join(tmpdir(), "nanocode-"));
      const start = join(this.path, "start.sh");
      writeFileSync(start, START, { mode: 0o600 });
      this.start = /[$`\\"]/.test(start) ? null : start;
    } catch (error) {
      throw hostError(error, "make a temporary folder in", tmpdir());
    }
  }

  /** Path of a FIFO that nobody has open. @throws {HostError} */
  async fifo(): Promise<string> {
    const path = join(this.path, `pipe${++this.#count}`);
    await new Promise<void>((resolve, reject) => {
      const fail = (why: string) =>
        reject(new HostError("EPIPE", `cannot run commands: mkfifo failed: ${why}`));
      const program = findProgram("mkfifo");
      if (program === null) return fail("the program is not installed");
      const child = spawn(program, ["-m", "600", path], { stdio: "ignore" });
      child.on("error", (error) => fail(error.message));
      child.on("exit", (code) => code === 0 ? resolve() : fail(`exit code ${code} for ${path}`));
    });
    return path;
  }

  /** An open file without a name, read and written by descriptor. */
  scratch(): number {
    const path = join(this.path, `scratch${++this.#count}`);
    const fd = openSync(path, "wx+", 0o600);
    unlinkSync(path);
    return fd;
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
