// Benchmark `start`: how long until the version is printed, against an empty program; and until the
// first request leaves, against the bare loop, in an empty folder and in one with 40,000 files.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Bench,
  compileBareLoop,
  compileFloor,
  interleaved,
  MB,
  type Report,
  type Row,
  rowOf,
  runSession,
  timeToExit,
} from "./measure.ts";

const ROUNDS = 25;
const FOLDERS = 400;
const FILES_A_FOLDER = 100;

export async function bench({ binary, folder }: Bench): Promise<Report> {
  const home = join(folder, "home");
  const small = join(folder, "small");
  const large = join(folder, "large");
  for (const path of [home, small]) mkdirSync(path);
  fill(large);
  writeFileSync(join(folder, "empty.ts"), "");
  const empty = compileFloor(join(folder, "empty.ts"), join(folder, "empty"));
  const bare = compileBareLoop({ binary, folder });

  const version = await interleaved(ROUNDS, {
    ours: () => timeToExit([binary, "--version"], home),
    floor: () => timeToExit([empty, "--version"], home),
  });
  const rows: Row[] = [
    rowOf(
      { what: "to --version (floor: empty program)", unit: "ms", compare: "ratio", target: 2.5 },
      version,
      (ms) => ms,
    ),
  ];
  const places = { "an empty folder": small, "a folder of 40,000 files": large };
  for (const [where, cwd] of Object.entries(places)) {
    const answer = [() => ({ text: "Hello." })];
    const runs = await interleaved(ROUNDS, {
      ours: () => runSession([binary, "-p", "hi", "--yolo"], { home, cwd }, answer),
      floor: () => runSession([bare, "hi"], { home, cwd }, answer),
    });
    rows.push(
      rowOf(
        { what: `to the first request in ${where}`, unit: "ms", compare: "difference", target: 40 },
        runs,
        (run) => run.firstRequestMs,
      ),
      rowOf(
        { what: `peak RSS by then in ${where}`, unit: "MB", compare: "difference" },
        runs,
        (run) => run.firstRequestBytes / MB,
      ),
    );
  }
  return {
    name: "start",
    rows,
    notes: ["Floor of the requests: the bare loop (bench/bare-loop.ts)."],
  };
}

function fill(folder: string): void {
  for (let i = 0; i < FOLDERS; i++) {
    const inner = join(folder, `package-${i}`);
    mkdirSync(inner, { recursive: true });
    for (let j = 0; j < FILES_A_FOLDER; j++) {
      writeFileSync(join(inner, `module-${j}.ts`), `export const value = ${i * j};\n`);
    }
  }
}
