// A hook that is a command, in the widely used JSON form: the input on stdin; exit 0 with JSON or nothing,
// 2 = deny with stderr as the reason, anything else is a failure. It ends when it is told to, with all
// that it started. What an answer may hold is hooks.ts.

import { spawn } from "node:child_process";
import { resolve as resolvePath } from "node:path";
import { childEnvironment } from "../host/child-env.ts";
import type { HookInput } from "./sdk.ts";

const MAX_OUTPUT = 256 * 1024;
/** What a command leaves running may hold its output open: that is not waited for (milliseconds). */
const DRAIN_MS = 200;

export interface HookCommand {
  /** A program and its arguments; a relative path of a program is one in the plugin's folder. */
  command: readonly string[];
  /** The plugin's. */
  folder: string;
  /** Where it runs. */
  cwd: string;
}

/**
 * Runs it and gives what it printed. It sees no keys of the user's environment.
 *
 * @throws {Error} when it cannot be started, fails, or prints something that is no JSON.
 */
export function runHookCommand(
  { command: [name = "", ...args], folder, cwd }: HookCommand,
  input: HookInput,
  signal: AbortSignal,
): Promise<unknown> {
  // Else a user's plugin would run what a project puts at that place.
  const program = name.includes("/") ? resolvePath(folder, name) : name;
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  if (signal.aborted) return Promise.reject(new Error("interrupted"));
  const child = spawn(program, args, {
    cwd,
    env: childEnvironment(process.env, []),
    stdio: ["pipe", "pipe", "pipe"],
    detached: true, // a group of its own, so that all of it can be ended
  });
  const kill = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch { /* it has ended */ }
  };
  signal.addEventListener("abort", kill, { once: true });
  process.once("exit", kill);
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (part) => out.length < MAX_OUTPUT && (out += part));
  child.stderr.setEncoding("utf8").on("data", (part) => err.length < MAX_OUTPUT && (err += part));
  child.stdin.on("error", () => {}); // it need not read
  let drain: ReturnType<typeof setTimeout> | undefined;
  const settle = (code: number | null) => {
    clearTimeout(drain);
    signal.removeEventListener("abort", kill);
    process.removeListener("exit", kill);
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.destroy();
    if (code === 2) return resolve({ deny: err.trim() });
    if (code !== 0) {
      const how = code === null ? "was killed" : `ended with ${code}`;
      return reject(new Error(`${name} ${how}${err.trim() === "" ? "" : `: ${err.trim()}`}`));
    }
    if (out.trim() === "") return resolve(undefined);
    try {
      resolve(JSON.parse(out));
    } catch {
      reject(new Error(`${name} printed something that is no JSON: ${out.trim()}`));
    }
  };
  child.on("error", (error: NodeJS.ErrnoException) => {
    const why = error.code === "ENOENT" ? "there is no such program" : error.message;
    process.removeListener("exit", kill);
    reject(new Error(`cannot run ${name}: ${why}`));
  });
  child.on("exit", (code) => drain = setTimeout(settle, DRAIN_MS, code));
  child.on("close", settle);
  child.stdin.end(`${JSON.stringify(input)}\n`);
  return promise;
}
