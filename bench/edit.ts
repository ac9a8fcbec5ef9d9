// Benchmark `edit`: 20 edits in a file of 10,000 lines, planned and written by the tool Edit as the loop
// calls it, against a program that reads, splices and writes the same lines as durably; and what anchors
// cost in tokens.

import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { anchors } from "../src/tools/anchor.ts";
import { row } from "../src/tools/lines.ts";
import { type Call, Desk } from "../tests/tools/support.ts";
import { type Bench, interleaved, type Report, type Row } from "./measure.ts";

const LINES = 10_000;
const EDITS = 20;
const ROUNDS = 20;

const line = (n: number) => `  const value${n} = compute(${n}, "${n.toString(36)}"); // line ${n}`;
const source = () => Array.from({ length: LINES }, (_, n) => line(n + 1)).join("\n") + "\n";
/** Numbers of the lines that are edited. */
const places = Array.from({ length: EDITS }, (_, i) => 250 + i * 480);

export async function bench(_: Bench): Promise<Report> {
  const hash = await anchors();
  const edits = places.map((n, i) => ({
    op: i % 2 === 0 ? "replace" : "insert_after",
    start: `${n}:${hash(line(n))}`,
    content: `  edited(${n});`,
  }));
  const call: Call[] = [{ tool: "Edit", args: { path: "big.ts", edits } }];
  const calls = edits.map((edit): Call => ({
    tool: "Edit",
    args: { path: "big.ts", edits: [edit] },
  }));
  const play = (reply: Call[]) => async () => {
    using desk = new Desk({ "big.ts": source() });
    desk.limits.readTokens = 10_000_000;
    await desk.read("big.ts");
    const started = performance.now();
    const results = await desk.batch(reply);
    const ms = performance.now() - started;
    const failed = results.find(({ status }) => status !== "ok");
    if (failed) throw new Error(failed.text);
    if (desk.text("big.ts") !== expected()) throw new Error("the edits did not do what they say");
    return ms;
  };
  const runs = await interleaved(ROUNDS, {
    one: play(call),
    batch: play(calls),
    floor: () => Promise.resolve(bare()),
  });
  const base = { unit: "ms", compare: "ours", target: 20 } as const;
  return {
    name: "edit",
    rows: [
      {
        what: `${EDITS} edits of ${LINES} lines in one call`,
        ...base,
        ours: runs.one,
        floor: runs.floor,
      },
      {
        what: `${EDITS} calls of one edit in one reply`,
        unit: "ms",
        compare: "ours",
        ours: runs.batch,
        floor: runs.floor,
      },
      ...tokenRows(hash),
    ],
    notes: [
      "From the plan to the file on disk: a temp file, fsync, rename, fsync of the folder, through invoke().",
      "The floor reads, splices and writes the same bytes as durably. Twenty calls are twenty such writes.",
      "Tokens of a line of this project's own TypeScript, as o200k_base counts them; 5.4 is what anchors of three",
      "letters cost over bare text where they were chosen.",
    ],
  };
}

function expected(): string {
  return Array.from({ length: LINES }, (_, i) => i + 1).flatMap((n) => {
    const at = places.indexOf(n);
    if (at === -1) return [line(n)];
    return at % 2 === 0 ? [`  edited(${n});`] : [line(n), `  edited(${n});`];
  }).join("\n") + "\n";
}

/** The same by hand; milliseconds. */
function bare(): number {
  using desk = new Desk({ "big.ts": source() });
  const path = desk.at("big.ts");
  const started = performance.now();
  const lines = readFileSync(path, "utf8").split("\n");
  for (const [i, n] of [...places.entries()].reverse()) {
    lines.splice(i % 2 === 0 ? n - 1 : n, i % 2 === 0 ? 1 : 0, `  edited(${n});`);
  }
  const temp = `${path}.tmp`;
  writeFileSync(temp, lines.join("\n"));
  sync(temp);
  renameSync(temp, path);
  sync(dirname(path));
  return performance.now() - started;
}

function sync(path: string): void {
  const fd = openSync(path, "r");
  fsyncSync(fd);
  closeSync(fd);
}

function tokenRows(hash: (text: string) => string): Row[] {
  const folder = join(import.meta.dirname, "..", "src");
  const files = readdirSync(folder, { recursive: true }).map(String).filter((name) =>
    name.endsWith(".ts")
  );
  let [bare, anchored, count] = [0, 0, 0];
  for (const file of files) {
    const lines = readFileSync(join(folder, file), "utf8").trimEnd().split("\n");
    bare += countTokens(lines.join("\n"));
    anchored += countTokens(lines.map((text, i) => row(i + 1, text, hash)).join("\n"));
    count += lines.length;
  }
  return [{
    what: "tokens of a line with its anchor (floor: bare text)",
    unit: "tokens",
    compare: "difference",
    target: 5.4,
    ours: [anchored / count],
    floor: [bare / count],
  }];
}
