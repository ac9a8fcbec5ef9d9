// A real terminal for tests: a program in a private tmux server, its keys and its screen. Nothing here
// waits for a time; `until` looks again and again until the screen is as it should be.

import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import assert from "node:assert/strict";

let servers = 0;

export interface TmuxOptions {
  columns?: number;
  rows?: number;
  cwd?: string;
}

/** How long a condition may take before the test fails, milliseconds; never waited for in full otherwise. */
const DEADLINE_MS = 20_000;

export class Tmux {
  readonly #file: string;
  #socket = `nanocode-${process.pid}-${++servers}`;

  /** Starts a shell script in a new terminal. */
  constructor(script: string, { columns = 80, rows = 24, cwd }: TmuxOptions = {}) {
    this.run(
      ...[
        "-f",
        "/dev/null",
        "start-server",
        ";",
        "set-option",
        "-g",
        "history-limit",
        "50000",
        ";",
      ],
      ...["new-session", "-d", "-x", String(columns), "-y", String(rows)],
      ...(cwd === undefined ? [] : ["-c", cwd]),
      "sh",
      "-c",
      script,
    );
    this.#file = this.format("#{socket_path}");
  }

  /** One tmux command; gives its output. */
  run(...args: string[]): string {
    const { status, stdout, stderr, error } = spawnSync(
      "tmux",
      ["-u", "-L", this.#socket, ...args],
      {
        encoding: "utf8",
      },
    );
    assert.equal(status, 0, `tmux ${args.join(" ")}: ${error?.message ?? stderr}`);
    return stdout;
  }

  /** Presses keys by tmux's names: `Enter`, `C-c`, `Up`. */
  press(...keys: string[]): void {
    this.run("send-keys", ...keys);
  }

  /** Types text as it is. */
  type(text: string): void {
    this.run("send-keys", "-l", "--", text);
  }

  /** Pastes a file; bracketed where the program asked for it, unless told otherwise. */
  paste(file: string, bracketed = true): void {
    this.run("load-buffer", file);
    this.run("paste-buffer", ...(bracketed ? ["-p"] : []));
  }

  resize(columns: number, rows: number): void {
    this.run("resize-window", "-x", String(columns), "-y", String(rows));
  }

  /** The visible rows. */
  screen(): string {
    return this.run("capture-pane", "-p");
  }

  /** Everything from the first line on, lines that were wrapped joined again. */
  history(): string {
    return this.run("capture-pane", "-p", "-J", "-S", "-");
  }

  /** A tmux format of the terminal, e.g. `#{cursor_flag}`. */
  format(format: string): string {
    return this.run("display-message", "-p", format).trimEnd();
  }

  /** Resolves when the screen (or what `look` gives) matches; fails with what it was at last. */
  async until(pattern: RegExp, look: () => string = () => this.screen()): Promise<string> {
    const deadline = performance.now() + DEADLINE_MS;
    while (true) {
      const seen = look();
      if (pattern.test(seen)) return seen;
      if (performance.now() > deadline) assert.fail(`never saw ${pattern} but:\n${seen}`);
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
  }

  /** Ends the terminal and everything in it. */
  kill(): void {
    spawnSync("tmux", ["-L", this.#socket, "kill-server"]);
    rmSync(this.#file, { force: true });
  }
}
