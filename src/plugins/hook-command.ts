// A hook that is a command, in the widely used JSON form: the input on stdin; exit 0 with JSON or nothing,
// 2 = deny with stderr as the reason, anything else is a failure. It ends when it is told to, with all
// that it started. What an answer may hold is hooks.ts.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { basename, join, resolve as resolvePath } from "node:path";
import { childEnvironment } from "../host/child-env.ts";
import { isInside } from "../permission/paths.ts";
import type { Plugin } from "./manifest.ts";
import type { HookInput } from "./sdk.ts";

const MAX_OUTPUT = 256 * 1024;
/** What a command leaves running may hold its output open: that is not waited for (milliseconds). */
const DRAIN_MS = 200;

export interface HookCommand {
  /** A program and its arguments; what begins with `./`, and a program's path, is in the plugin's folder. */
  command: readonly string[];
  plugin: Pick<Plugin, "folder" | "tier">;
  /** Where it runs. */
  cwd: string;
}

const INTERPRETER = /^(?:(?:ba|da|k|z)?sh|node|bun|deno|tsx|python[\d.]*|ruby|perl|php|pwsh)$/;

/** A program, or an interpreter's script, that is a file of the project but not of the plugin: trust is for its folder. */
function foreignScript(
  [program = "", ...args]: readonly string[],
  folder: string,
  cwd: string,
  { project }: HookInput,
): string | null {
  const script = INTERPRETER.test(basename(program))
    ? args.find((word) => !word.startsWith("-") && word !== "run")
    : undefined;
  for (const word of [program.includes("/") ? program : undefined, script]) {
    const path = resolvePath(cwd, word ?? ".");
    if (word === undefined || isInside(folder, path) || !existsSync(path)) continue;
    if (isInside(project, path) || isInside(cwd, path)) return path;
  }
  return null;
}

/**
 * Runs it and gives what it printed. It sees no keys of the user's environment.
 *
 * @throws {Error} when it cannot be started, fails, or prints something that is no JSON.
 */
export function runHookCommand(
  { command: [name = "", ...words], plugin: { folder, tier }, cwd }: HookCommand,
  input: HookInput,
  signal: AbortSignal,
): Promise<unknown> {
  // Else a user's plugin would run what a project puts at that place.
  const program = name.includes("/") ? resolvePath(folder, name) : name;
  const args = words.map((word) => word.startsWith("./") ? join(folder, word) : word);
  if (signal.aborted) return Promise.reject(new Error("interrupted"));
  const foreign = tier === "project" ? foreignScript([program, ...args], folder, cwd, input) : null;
  if (foreign !== null) {
    const why = `it runs ${foreign}, a file of the repository outside the plugin's folder, which ` +
      `nobody was asked about: move it there and write ./${basename(foreign)}`;
    return Promise.reject(new Error(why));
  }
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
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
