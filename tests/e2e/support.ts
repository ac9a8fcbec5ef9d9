// Drives the compiled binary as a user would: real processes, real files, a strict server on loopback.

import { spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { xxHash32Anchor } from "./anchor.ts";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));
export const BINARY = join(ROOT, "dist", "nanocode");

export interface Finished {
  code: number | null;
  signal: string | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  cwd: string;
  env?: Record<string, string>;
  /** Text for stdin, which is then closed; null leaves an open, silent pipe. */
  input?: string | null;
  binary?: string;
  /** Milliseconds before the test gives up; the process is killed. */
  deadline?: number;
}

/** A folder with a home and a workspace, removed with `close`. */
export interface Sandbox {
  home: string;
  work: string;
  env: Record<string, string>;
  close(): void;
}

export function sandbox(files: Record<string, string> = {}): Sandbox {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "nanocode-e2e-")));
  const home = join(folder, "home");
  const work = join(folder, "work");
  mkdirSync(home);
  mkdirSync(work);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(work, name)), { recursive: true });
    writeFileSync(join(work, name), text);
  }
  return {
    home,
    work,
    env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin", HOME: home },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Environment of a model at `url`. */
export function modelEnv(url: string): Record<string, string> {
  return { OPENAI_BASE_URL: url, OPENAI_API_KEY: "x", OPENAI_MODEL: "m" };
}

/** Starts the binary; `done` resolves when it has ended. */
export function start(args: string[], options: RunOptions) {
  const child = spawn(options.binary ?? BINARY, args, {
    cwd: options.cwd,
    env: options.env ?? {},
    stdio: ["pipe", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => (stdout += chunk));
  child.stderr.on("data", (chunk) => (stderr += chunk));
  child.stdin.on("error", () => {}); // it need not read what it is given
  if (options.input !== null) child.stdin.end(options.input ?? "");
  const timer = setTimeout(() => child.kill("SIGKILL"), options.deadline ?? 60_000);
  const done = new Promise<Finished>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      child.stdin.destroy();
      resolve({ code, signal, stdout, stderr });
    });
  });
  return { child, done };
}

export function run(args: string[], options: RunOptions): Promise<Finished> {
  return start(args, options).done;
}

/** The records of the only session below a home. */
export function records(home: string): { type: string; [field: string]: unknown }[] {
  const sessions = join(home, ".nanocode", "sessions");
  const files = readdirSync(sessions, { recursive: true }).map(String).filter((name) =>
    name.endsWith(".jsonl")
  );
  return files.sort().flatMap((name) =>
    readFileSync(join(sessions, name), "utf8").trimEnd().split("\n").map((line) => JSON.parse(line))
  );
}

/** `LINE:HASH` of a line of a file as it is now. */
export function anchor(path: string, line: number): string {
  const text = readFileSync(path, "utf8").split("\n")[line - 1] ?? "";
  return `${line}:${xxHash32Anchor(text)}`;
}

/** Waits until `check` holds; fails after `ms`. */
export async function until(check: () => boolean, ms: number, what: string): Promise<void> {
  const deadline = performance.now() + ms;
  while (!check()) {
    if (performance.now() > deadline) throw new Error(`did not happen within ${ms} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export { existsSync, join, readFileSync, writeFileSync };
