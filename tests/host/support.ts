// What the host's tests share: a temporary folder that goes away, a program run on the same runtime, and
// waiting for a condition.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach } from "node:test";

const folders: string[] = [];

/** Registers the removal of the folders made by `temporary`. Call it inside a `describe`. */
export function removeTemporary(): void {
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  });
}

/** The real path of a fresh folder. */
export function temporary(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "nanocode-test-")));
  folders.push(folder);
  return folder;
}

/** The command line that runs a script of this folder on the runtime of the tests. */
export function scriptCommand(script: string, ...args: string[]): string[] {
  const path = join(dirname(fileURLToPath(import.meta.url)), script);
  const run = "Deno" in globalThis ? ["run", "-A", "--no-check"] : [];
  return [process.execPath, ...run, path, ...args];
}

export interface Ended {
  code: number | null;
  signal: string | null;
  text: string;
}

/** Starts a command; `ended` resolves with its exit and all it wrote. */
export function start(command: string[]): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(command[0] as string, command.slice(1), {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  child.stdout?.on("data", (data: Uint8Array) => text += new TextDecoder().decode(data));
  child.stderr?.on("data", (data: Uint8Array) => text += new TextDecoder().decode(data));
  const ended = new Promise<Ended>((resolve) => {
    child.on("close", (code, signal) => resolve({ code, signal, text }));
  });
  return { child, ended };
}

/** Waits until `condition` holds; throws with `what` after `ms`. */
export async function until(what: string, condition: () => boolean, ms = 5_000): Promise<void> {
  const end = performance.now() + ms;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not within ${ms} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A process runs (a zombie does not). */
export function runs(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2)[0] !== "Z";
  } catch {
    return false;
  }
}
