// Benchmark `search`: the tool Search, as the model calls it in a session, over a tree of 500 MB of source
// text, against `rg` and beside `git grep` on the same files, told to do the same; and how much memory it
// takes. What was found is compared, too.

import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  type Bench,
  interleaved,
  MB,
  type Pair,
  type Report,
  type Row,
  rowOf,
  runSession,
  timeToExit,
} from "./measure.ts";
import { RARE, writeSourceTree } from "./source-tree.ts";

const TREE_BYTES = 500 * MB;
const ROUNDS = 5;
/** A model's reply takes time (milliseconds), and what is loaded meanwhile costs nobody. */
const THINKING_MS = 60;

interface Query {
  what: string;
  pattern: string;
  literal: boolean;
}

export async function bench({ binary, folder }: Bench): Promise<Report> {
  const home = join(folder, "home");
  const tree = join(folder, "tree");
  mkdirSync(home);
  need("rg", "the Debian package ripgrep");
  need("git", "the Debian package git");
  console.error(`writing ${TREE_BYTES / MB} MB of source text …`);
  const { files, bytes, rare } = writeSourceTree(tree, dirname(import.meta.dirname), TREE_BYTES);
  // Else git takes it for a part of the repository around it, and rg reads no .gitignore.
  run(["git", "init", "-q"], tree);

  const queries: Query[] = [
    { what: `literal, ${RARE} hits`, pattern: rare, literal: true },
    { what: "literal, frequent", pattern: "return", literal: true },
    { what: `regex, ${RARE} hits`, pattern: `${rare}\\d+`, literal: false },
    { what: "regex, frequent", pattern: "function\\s+\\w+\\(", literal: false },
  ];
  const rows: Row[] = [];
  const peaks: Pair<number[]> = { ours: [], floor: [] };
  for (const query of queries) {
    console.error(`searching: ${query.what} …`);
    const { pattern, literal } = query;
    const call = () => ({
      delayMs: THINKING_MS,
      calls: [{ name: "Search", args: { queries: [{ pattern, literal }] } }],
    });
    const session = async () => {
      const steps = [call, () => ({ text: "Done." })];
      const place = { home, cwd: tree };
      const options = { children: true };
      const run = await runSession([binary, "-p", "go", "--yolo"], place, steps, options);
      checkFound(query, tree, run.lastResult);
      peaks.ours.push(run.peakBytes / MB);
      return run.gapsMs[0] ?? NaN;
    };
    const { ours, rg, git } = await interleaved(ROUNDS, {
      ours: session,
      rg: () => timeToExit(ripgrep(query), home, tree),
      git: () => timeToExit(gitGrep(query), home, tree),
    });
    const base = { unit: "ms", compare: "ratio" } as const;
    rows.push(
      rowOf(
        { what: `${query.what} (floor: rg)`, ...base, target: 1.3 },
        { ours, floor: rg },
        (ms) => ms,
      ),
      rowOf({ what: `${query.what} (floor: git grep)`, ...base }, { ours, floor: git }, (ms) => ms),
    );
  }
  rows.push({
    what: "peak RSS, all processes",
    unit: "MB",
    compare: "ours",
    target: 150,
    ...peaks,
  });
  return {
    name: "search",
    rows,
    notes: [
      `${files} files, ${
        Math.round(bytes / MB)
      } MB, in the page cache; ignored and binary ones beside them.`,
      "Ours: from the reply with the call to the next request, of a session's first search.",
      "The others: from start to exit, output discarded; hidden files searched, ignored ones not.",
    ],
  };
}

function ripgrep({ pattern, literal }: Query): string[] {
  const how = ["--line-number", "--smart-case", "--hidden", "--glob=!.git", "--max-filesize=4M"];
  const kind = literal ? ["--fixed-strings"] : [];
  return ["rg", "--no-config", "--no-messages", ...how, ...kind, "-e", pattern, "."];
}

function gitGrep({ pattern, literal }: Query): string[] {
  const how = ["--untracked", "-I", "-n", literal ? "-F" : "-P"];
  const kind = /[A-Z]/.test(pattern) ? [] : ["-i"];
  return ["git", "grep", ...how, ...kind, "-e", pattern];
}

/** A search that did not find what is there measures nothing. */
function checkFound(query: Query, tree: string, result: string): void {
  const found = Number(/ matches="(\d+)"/.exec(result)?.[1] ?? NaN);
  const lines = expected.get(query) ?? run(ripgrep(query), tree).split("\n").length - 1;
  expected.set(query, lines);
  if (found === lines) return;
  throw new Error(
    `${query.what}: rg found ${lines} lines, ours ${found}:\n${result.slice(0, 500)}`,
  );
}

const expected = new Map<Query, number>();

function need(program: string, what: string): void {
  const { status } = spawnSync(program, ["--version"], { stdio: "ignore" });
  if (status !== 0) throw new Error(`bench/search needs ${program} (${what}) on the PATH`);
}

function run([program = "", ...args]: string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd,
    encoding: "utf8",
    maxBuffer: 1 << 30,
  });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: exit ${status}\n${stderr}`);
  return stdout;
}
