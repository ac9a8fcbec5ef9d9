// Benchmark `loop`: what a step costs beyond the bare loop that makes the same calls, in a session of
// 12 steps as a task has them and in one of 200 cheap reads; whether it grows with the history; and how
// much memory the short session takes.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { xxHash32Anchor } from "../tests/e2e/anchor.ts";
import type { Step } from "../tests/support/strict-server.ts";
import {
  type Bench,
  compileBareLoop,
  interleaved,
  MB,
  median,
  type Pair,
  type Report,
  type Row,
  rowOf,
  runSession,
  type SessionRun,
} from "./measure.ts";

const SHORT_ROUNDS = 15;
const LONG_ROUNDS = 7;
const LONG_STEPS = 200;
const FILES = 20;
const LINES = 120;
/** Lines that the edits put in place. */
const EDITED = ["  return 1000;", "  return 2000;"];

const fileName = (n: number) => `src/module-${n}.ts`;
const read = (...files: number[]): Step => ({
  calls: [{ name: "Read", args: { files: files.map((n) => ({ path: fileName(n) })) } }],
});
const search = (pattern: string): Step => ({
  calls: [{ name: "Search", args: { queries: [{ pattern }] } }],
});
const bash = (command: string): Step => ({ calls: [{ name: "Bash", args: { command } }] });

/** A model's reply takes time (milliseconds; few real ones are faster), and what is loaded meanwhile costs nobody. */
const THINKING_MS = 60;

/** A task as it goes: looking, two edits, a test run, looking again. The last reply has no call. */
function shortSession(cwd: string): (() => Step)[] {
  const steps = [
    () => read(0),
    () => read(1),
    () => read(2, 3),
    () => search("value1[0-9]\\b"),
    () => edit(cwd, 0, 2, EDITED[0]),
    () => edit(cwd, 1, 2, EDITED[1]),
    () => bash("grep -c return src/module-0.ts"),
    () => read(0),
    () => search("no such thing"),
    () => bash("echo one; echo two >&2"),
    () => read(4),
    () => ({ text: "Both functions return the right value now." }),
  ];
  return steps.map((step) => () => ({ ...step(), delayMs: THINKING_MS }));
}

function edit(cwd: string, file: number, line: number, content = ""): Step {
  const path = fileName(file);
  const text = readFileSync(join(cwd, path), "utf8").split("\n")[line - 1] ?? "";
  const start = `${line}:${xxHash32Anchor(text)}`;
  return {
    calls: [{ name: "Edit", args: { path, edits: [{ op: "replace", start, content }] } }],
  };
}

/** Another file each time: the same call with the same result would be taken for a stuck model. */
const longSession: (() => Step)[] = Array.from(
  { length: LONG_STEPS },
  (_, n) =>
    n === LONG_STEPS - 1 ? () => ({ text: "Done." }) : () => ({
      calls: [{ name: "Read", args: { files: [{ path: `small-${n % 10}.txt` }] } }],
    }),
);

export async function bench({ binary, folder }: Bench): Promise<Report> {
  const home = join(folder, "home");
  const cwd = join(folder, "work");
  mkdirSync(home);
  const bare = compileBareLoop({ binary, folder });
  const session = async (command: string[], steps: (() => Step)[]) => {
    fill(cwd);
    const run = await runSession(command, { home, cwd }, steps);
    if (steps !== longSession) checkEdits(cwd);
    return run;
  };
  const ours = [binary, "-p", "go", "--yolo", "--max-steps", "1000"];
  const short = await interleaved(SHORT_ROUNDS, {
    ours: () => session(ours, shortSession(cwd)),
    floor: () => session([bare, "go"], shortSession(cwd)),
  });
  const long = await interleaved(LONG_ROUNDS, {
    ours: () => session(ours, longSession),
    floor: () => session([bare, "go"], longSession),
  });
  return {
    name: "loop",
    rows: [...shortRows(short, shortSession(cwd)), ...longRows(long)],
    notes: [
      "A step is the time from a reply to the next request: parsing, calls, records, the new request.",
      `In the session of 12 a reply takes ${THINKING_MS} ms to come, in that of 200 none.`,
      "The session of 12 shows code on its first run, and tools whose floor does less (no anchors, no fsync).",
      "Growth: the median of the last 20 steps less that of steps 10 to 30, each step by its best round.",
    ],
  };
}

function shortRows(runs: Pair<SessionRun[]>, steps: (() => Step)[]): Row[] {
  const base = { unit: "ms", compare: "difference" } as const;
  const tools = steps.map((step) => step().calls?.[0]?.name);
  const rows = ["Read", "Search", "Edit", "Bash"].map((tool) =>
    rowOf(
      { what: `a step with ${tool}, of 12`, ...base },
      runs,
      ({ gapsMs }) => median(gapsMs.filter((_, at) => tools[at] === tool)),
    )
  );
  return [
    rowOf({ what: "a step, of 12", ...base }, runs, ({ gapsMs }) => median(gapsMs)),
    ...rows,
    rowOf(
      { what: "peak RSS of 12 steps", unit: "MB", compare: "ours", target: 80 },
      runs,
      ({ peakBytes }) => peakBytes / MB,
    ),
  ];
}

function longRows(runs: Pair<SessionRun[]>): Row[] {
  const last = (gapsMs: number[]) => median(gapsMs.slice(-20));
  const growth = (of: SessionRun[]) => {
    const best = bestOf(of);
    return [last(best) - median(best.slice(9, 30))];
  };
  const base = { unit: "ms", compare: "difference" } as const;
  return [
    rowOf({ what: "a step, of 200", ...base, target: 3 }, runs, ({ gapsMs }) => median(gapsMs)),
    rowOf(
      { what: "a step, the last 20 of 200", ...base, target: 3 },
      runs,
      ({ gapsMs }) => last(gapsMs),
    ),
    {
      what: "growth over 200 steps",
      ...base,
      target: 0.5,
      ours: growth(runs.ours),
      floor: growth(runs.floor),
    },
    rowOf(
      { what: "processor time a step, of 200", ...base },
      runs,
      ({ cpuMs }) => cpuMs / LONG_STEPS,
    ),
    rowOf(
      { what: "peak RSS of 200 steps", unit: "MB", compare: "difference" },
      runs,
      ({ peakBytes }) => peakBytes / MB,
    ),
  ];
}

/** Each step as its best round had it: what is left is what the step itself takes. */
function bestOf(runs: SessionRun[]): number[] {
  const [first] = runs;
  return (first?.gapsMs ?? []).map((_, at) =>
    Math.min(...runs.map(({ gapsMs }) => gapsMs[at] ?? Infinity))
  );
}

/** The workspace as each session finds it. */
function fill(cwd: string): void {
  rmSync(cwd, { recursive: true, force: true });
  mkdirSync(join(cwd, "src"), { recursive: true });
  for (let n = 0; n < FILES; n++) {
    const functions = Array.from(
      { length: LINES / 4 },
      (_, i) => `export function value${i}(): number {\n  return ${n * LINES + i};\n}\n\n`,
    );
    writeFileSync(join(cwd, fileName(n)), functions.join(""));
  }
  for (let n = 0; n < 10; n++) writeFileSync(join(cwd, `small-${n}.txt`), `one\ntwo ${n}\n`);
}

/** A session that did not do its work measures nothing. */
function checkEdits(cwd: string): void {
  EDITED.forEach((line, n) => {
    const found = readFileSync(join(cwd, fileName(n)), "utf8").split("\n")[1];
    if (found !== line) throw new Error(`${fileName(n)} was not edited: line 2 is "${found}"`);
  });
}
