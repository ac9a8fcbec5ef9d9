// Runs shell commands so that a call always ends: at the shell's exit, at the deadline, or at abort,
// whatever its children do. Not here: what a command may do (permission/), how its output is shown to
// the model (tools/bash.ts).

import { type ChildProcess, spawn } from "node:child_process";
import { randomName } from "../runtime/hash.ts";
import { closeSync, constants, readSync } from "node:fs";
import { access, stat } from "node:fs/promises";
import { childEnvironment } from "./child-env.ts";
import { codeOf } from "../runtime/system-error.ts";
import { hostError } from "./files.ts";
import { HostError, type RunRequest, type RunResult } from "./host.ts";
import { Output } from "./output.ts";
import { PipeFolder } from "./pipes.ts";
import { findShell, type Shell } from "./programs.ts";
import { findProcesses, killTree, MARKER, namesOf, signal as send, Watchdog } from "./reaper.ts";

/** How long a killed shell is waited for, in milliseconds. */
const REAP_MS = 2_000;
const SIGPIPE_EXIT = 141;
const LEFT = "still running in the background until the session ends, further output is dropped: ";

/** What all commands of one host share. */
interface Shared {
  folder: PipeFolder;
  watchdog: Watchdog;
}

/** The processes of one host. */
export class Processes {
  #extraEnv: readonly string[];
  #id = randomName();
  #count = 0;
  #shared: Promise<Shared> | null = null;
  /** Groups whose shell runs. */
  #active = new Set<number>();
  /** Groups whose shell ended and left processes behind. */
  #left = new Set<number>();

  /** @param extraEnv The user's `bash.env`. */
  constructor(extraEnv: readonly string[]) {
    this.#extraEnv = extraEnv;
  }

  /** See `Host.run`. @throws {HostError} When the command cannot be started. */
  async run(request: RunRequest, signal: AbortSignal): Promise<RunResult> {
    const begin = performance.now();
    if (signal.aborted) return { ...unfinished(), aborted: true };
    await checkFolder(request.cwd);
    const shell = findShell();
    if (shell === null) {
      throw new HostError("ENOENT", "cannot run commands: neither bash nor sh is installed");
    }
    const shared = await (this.#shared ??= this.#share());
    const output = new Output(await shared.folder.fifo(), request.onOutput);
    const status = shell.name === "bash" ? shared.folder.scratch() : null;
    const marker = `${this.#id}.${++this.#count}.`;
    try {
      if (signal.aborted) return { ...unfinished(), aborted: true };
      const child = await this.#start(request, shell, shared, output, status, marker);
      const group = child.pid as number;
      this.#active.add(group);
      shared.watchdog.started(group);
      const result = await this.#follow(request, signal, child, output, marker);
      result.ms = performance.now() - begin;
      if (status !== null && result.signal === null) result.notes.unshift(...stageNotes(status));
      this.#active.delete(group);
      if (send(-group, 0)) this.#left.add(group);
      else shared.watchdog.ended(group);
      return result;
    } finally {
      if (status !== null) closeSync(status);
      output.drop();
    }
  }

  /**
   * Kills everything this host ever started that still lives, at once and without waiting: for the end
   * of the session and for signals. The host can be used again afterwards.
   */
  killAll(): void {
    for (const group of this.#active) send(-group, "SIGKILL");
    for (const group of this.#left) {
      // A pid cannot be given away while its group lives: if it exists, the group is somebody else's.
      if (!send(group, 0)) send(-group, "SIGKILL");
    }
    this.#left.clear();
    for (let round = 0; round < 5; round++) {
      const found = findProcesses(`${this.#id}.`, null);
      if (found.length === 0) break;
      for (const { pid } of found) send(pid, "SIGKILL");
    }
    const shared = this.#shared;
    this.#shared = null;
    // At a process's exit this never runs; then the watchdog removes the folder.
    shared?.then(({ folder, watchdog }) => {
      watchdog.close();
      folder.remove();
    }, () => {});
  }

  async #share(): Promise<Shared> {
    try {
      const folder = new PipeFolder();
      const watchdog = new Watchdog(await folder.fifo(), `${this.#id}.`, folder.path);
      return { folder, watchdog };
    } catch (error) {
      this.#shared = null; // the next call tries again
      throw error;
    }
  }

  #start(
    request: RunRequest,
    shell: Shell,
    shared: Shared,
    output: Output,
    status: number | null,
    marker: string,
  ): Promise<ChildProcess> {
    const env = childEnvironment(process.env, this.#extraEnv);
    env.PWD = request.cwd;
    env[MARKER] = marker;
    if (status !== null && shared.folder.start !== null) env.BASH_ENV = shared.folder.start;
    return new Promise((resolve, reject) => {
      const fail = (error: unknown) =>
        reject(hostError(error, `start ${shell.name} in`, request.cwd));
      try {
        const child = spawn(shell.path, [...shell.args, request.command], {
          argv0: shell.name,
          cwd: request.cwd,
          env,
          // A new session: no controlling terminal, and a group of its own.
          detached: true,
          stdio: ["ignore", output.writer, output.writer, ...(status === null ? [] : [status])],
        });
        output.closeWriter();
        child.once("error", fail);
        if (child.pid !== undefined) resolve(child);
      } catch (error) {
        fail(error);
      }
    });
  }

  async #follow(
    request: RunRequest,
    signal: AbortSignal,
    child: ChildProcess,
    output: Output,
    marker: string,
  ): Promise<RunResult> {
    const group = child.pid as number;
    const result = unfinished();
    const exited = new Promise<void>((resolve) => {
      child.once("exit", (code, by) => {
        result.code = code;
        result.signal = by;
        resolve();
      });
    });
    const stop = Promise.withResolvers<"timeout" | "abort">();
    const timer = setTimeout(() => stop.resolve("timeout"), request.timeoutMs);
    const onAbort = () => stop.resolve("abort");
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      output.start();
      const why = await Promise.race([exited, stop.promise, output.failed]);
      if (why === undefined) {
        await output.drain();
        if (!output.ended || send(-group, 0)) {
          const found = findProcesses(marker, group);
          if (found.length > 0) result.notes.push(LEFT + namesOf(found));
        }
      } else {
        result.timedOut = why === "timeout";
        result.aborted = why === "abort";
        result.notes.push(...await killTree(group, marker));
        await Promise.race([exited, sleep(REAP_MS)]);
        output.take();
      }
      output.flush();
      return result;
    } catch (error) {
      await killTree(group, marker);
      throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    }
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function unfinished(): RunResult {
  return { code: null, signal: null, timedOut: false, aborted: false, ms: 0, notes: [] };
}

/** Without this a missing folder looks like a missing shell (SH-12). */
async function checkFolder(cwd: string): Promise<void> {
  try {
    if (!(await stat(cwd)).isDirectory()) {
      throw new HostError("ENOTDIR", `working directory is not a directory: ${cwd}`);
    }
    await access(cwd, constants.X_OK);
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT" || (code === "ENOTDIR" && !(error instanceof HostError))) {
      throw new HostError("ENOENT", `working directory does not exist: ${cwd}`);
    }
    throw hostError(error, "enter the working directory", cwd);
  }
}

/** Says what `$?` hides of a pipeline; a stage that SIGPIPE ended is the normal end of `yes | head`. */
function stageNotes(status: number): string[] {
  const bytes = new Uint8Array(1024);
  const count = readSync(status, bytes, 0, bytes.length, 0);
  const stages = new TextDecoder().decode(bytes.subarray(0, count)).split(" ").map(Number);
  const failed = stages.slice(0, -1).filter((code) => code !== 0 && code !== SIGPIPE_EXIT);
  if (failed.length === 0 || stages.some(Number.isNaN)) return [];
  return failed.length === 1
    ? [`an earlier pipeline stage exited ${failed[0]}`]
    : [`earlier pipeline stages exited ${failed.join(", ")}`];
}
