// How benchmarks measure: a program against its floor, in turns, in one run, because times of a shared
// machine mean little by themselves. Also here: what a benchmark reports. Not here: what is measured
// (one file a benchmark) and how it is printed (run.ts). Run by Bun only.

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { COMPILE_FLAGS } from "../scripts/compile-flags.ts";
import { startServer, type Step } from "../tests/support/strict-server.ts";

/** Where a benchmark runs. */
export interface Bench {
  /** nanocode's binary. */
  binary: string;
  /** A temporary folder of this benchmark, removed when it is over. */
  folder: string;
}

export interface Row {
  what: string;
  unit: "ms" | "MB" | "tokens" | "lines" | "×" | "%";
  /** One figure a round; `floor` is empty where there is nothing to compare with. */
  ours: number[];
  floor: number[];
  /** What is held against the target: our figure over the floor, less the floor, or as it is. */
  compare: "ratio" | "difference" | "ours";
  /** The largest figure that is good; absent where the row only explains another. */
  target?: number;
}

export interface Report {
  name: string;
  rows: Row[];
  /** Further figures, by their own columns: a head and its lines. */
  table?: string[][];
  /** What a reader has to know about the figures. */
  notes: string[];
}

export interface Pair<T> {
  ours: T;
  floor: T;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}

/** Runs all in turns, `rounds` times; who is first changes. One round before that is not counted. */
export async function interleaved<K extends string, T>(
  rounds: number,
  run: Record<K, () => Promise<T>>,
): Promise<Record<K, T[]>> {
  const names = Object.keys(run) as K[];
  const out = Object.fromEntries(names.map((name) => [name, [] as T[]])) as Record<K, T[]>;
  for (let round = -1; round < rounds; round++) {
    const first = (round + names.length) % names.length;
    for (const who of [...names.slice(first), ...names.slice(0, first)]) {
      const value = await run[who]();
      if (round >= 0) out[who].push(value);
    }
  }
  return out;
}

/** A row of one number that each run gives. */
export function rowOf<T>(
  row: Omit<Row, "ours" | "floor">,
  runs: Pair<T[]>,
  figure: (run: T) => number,
): Row {
  return { ...row, ours: runs.ours.map(figure), floor: runs.floor.map(figure) };
}

/** Compiles a program as nanocode itself is compiled. Throws with the compiler's words. */
export function compileFloor(entry: string, outfile: string): string {
  const { status, stderr } = spawnSync(
    process.execPath,
    ["build", ...COMPILE_FLAGS, entry, "--outfile", outfile],
    { encoding: "utf8" },
  );
  if (status !== 0) throw new Error(`cannot compile ${entry}:\n${stderr}`);
  return outfile;
}

/** The bare loop, compiled. */
export function compileBareLoop({ folder }: Bench): string {
  return compileFloor(join(import.meta.dirname, "bare-loop.ts"), join(folder, "bare-loop"));
}

/** What a program under measurement sees: its own home, no keys and no settings of the person's. */
function environment(home: string, url = ""): Record<string, string> {
  return {
    PATH: process.env["PATH"] ?? "/usr/bin:/bin",
    HOME: home,
    OPENAI_BASE_URL: url,
    OPENAI_API_KEY: "x",
    OPENAI_MODEL: "m",
  };
}

const running = new Set<{ kill(): void }>();
process.on("exit", () => running.forEach((child) => child.kill()));

function start(command: string[], cwd: string, env: Record<string, string>) {
  const child = Bun.spawn(command, {
    cwd,
    env,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
    onExit: (child) => void running.delete(child),
  });
  running.add(child);
  return child;
}

/** Milliseconds from the start of a program to its end. Throws when it fails. */
export async function timeToExit(
  command: string[],
  home: string,
  cwd: string = home,
): Promise<number> {
  const started = performance.now();
  const child = start(command, cwd, environment(home));
  const code = await child.exited;
  const ms = performance.now() - started;
  if (code === 0) return ms;
  throw new Error(`${command.join(" ")}: exit ${code}\n${await new Response(child.stderr).text()}`);
}

export interface SessionRun {
  /** From the start of the program to the head of its first request; milliseconds. */
  firstRequestMs: number;
  /** From each reply to the next request; milliseconds. */
  gapsMs: number[];
  /** Most memory resident until the first request, and until the end; bytes, NaN where unknown. */
  firstRequestBytes: number;
  peakBytes: number;
  /** Processor time of all its threads; milliseconds. */
  cpuMs: number;
  /** The text of the last tool result that it sent. */
  lastResult: string;
}

/**
 * Runs a program against a strict server that answers with `steps`. Throws unless all goes well.
 *
 * @param options.children The memory of the processes that it starts counts, too.
 */
export async function runSession(
  command: string[],
  place: { home: string; cwd: string },
  steps: (() => Step)[],
  { children = false } = {},
): Promise<SessionRun> {
  let firstRequestBytes = 0;
  let peakBytes = 0;
  let pid = 0;
  const look = () => (peakBytes = Math.max(peakBytes, peakOf(pid)));
  const lookAtAll = () => {
    peakBytes = Math.max(peakBytes, peakOf(pid) + sum(childrenOf(pid).map(peakOf)));
  };
  const server = await startServer((_request, n) => {
    look();
    if (n === 0) firstRequestBytes = peakBytes;
    return steps[n]?.() ?? { status: 500, body: "the script is over" };
  });
  try {
    const started = performance.now();
    const child = start(command, place.cwd, environment(place.home, server.url));
    pid = child.pid;
    const stderr = new Response(child.stderr).text();
    // Between the last reply and the end there is no request to look at.
    const looking = setInterval(() => server.requests.length === steps.length && look(), 1);
    const lookingAtAll = children ? setInterval(lookAtAll, 20) : undefined;
    const code = await child.exited;
    clearInterval(looking);
    clearInterval(lookingAtAll);
    const { requests, errors } = server;
    if (code !== 0 || errors.length > 0 || requests.length !== steps.length) {
      throw new Error(
        `${command.join(" ")}: exit ${code}, ${requests.length} of ${steps.length} requests\n` +
          `${[...errors, await stderr].join("\n")}`,
      );
    }
    return {
      firstRequestMs: (requests[0]?.receivedMs ?? NaN) - started,
      gapsMs: requests.slice(1).map((request, at) =>
        request.receivedMs - (requests[at]?.answeredMs ?? NaN)
      ),
      firstRequestBytes,
      peakBytes,
      cpuMs: Number(child.resourceUsage()?.cpuTime.total ?? NaN) / 1000,
      lastResult: String(
        requests.at(-1)?.body.messages.findLast(({ role }) => role === "tool")?.content ?? "",
      ),
    };
  } finally {
    await server.close();
  }
}

/**
 * Peak of a living process's resident memory in bytes, 0 when it is gone; from Linux only. The `maxRSS`
 * that wait4 gives will not do: it counts the moment between fork and exec, when the child is as large
 * as this process (seen here: 216 MB for /bin/true).
 */
function peakOf(pid: number): number {
  if (process.platform !== "linux") return NaN;
  try {
    const peak = /^VmHWM:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
    return Number(peak?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

/** Processes that a living process started and that live. */
function childrenOf(pid: number): number[] {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`);
    return tasks.flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean)
    ).map(Number);
  } catch {
    return []; // gone, or not Linux
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}

export const MB = 1e6;
