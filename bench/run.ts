// `npm run bench [name…] [--binary FILE]`: runs benchmarks one after the other, prints a table each and
// writes bench/results/NAME.json. They judge nobody: a missed target is a word in the table, and only a
// benchmark that cannot run fails.

import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { VERSION } from "../src/version.ts";
import { type Bench, median, type Report, type Row } from "./measure.ts";

const BENCHMARKS: Record<string, () => Promise<{ bench(bench: Bench): Promise<Report> }>> = {
  start: () => import("./start.ts"),
  loop: () => import("./loop.ts"),
  context: () => import("./context.ts"),
  edit: () => import("./edit.ts"),
  search: () => import("./search.ts"),
  plugins: () => import("./plugins.ts"),
};

const root = dirname(import.meta.dirname);
const { values, positionals } = parseArgs({
  options: { binary: { type: "string", default: "dist/nanocode" } },
  allowPositionals: true,
});
const names = positionals.length > 0 ? positionals : Object.keys(BENCHMARKS);
const unknown = names.filter((name) => !(name in BENCHMARKS));
if (unknown.length > 0) {
  console.error(
    `there is no benchmark ${unknown.join(", ")}; there are ${Object.keys(BENCHMARKS).join(", ")}`,
  );
  process.exit(2);
}
const binary = resolve(root, values.binary);
if (!existsSync(binary)) {
  console.error(`there is no ${binary}: npm run build makes it`);
  process.exit(2);
}
const temporary = realpathSync(mkdtempSync(join(tmpdir(), "nanocode-bench-")));
process.on("exit", () => rmSync(temporary, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

for (const name of names) {
  console.error(`measuring ${name} …`);
  const folder = join(temporary, name);
  mkdirSync(folder);
  const { bench } = await BENCHMARKS[name]!();
  const report = await bench({ binary, folder });
  rmSync(folder, { recursive: true });
  console.log(table(report));
  save(report);
}
process.exit(0);

function save(report: Report): void {
  const folder = join(root, "bench", "results");
  mkdirSync(folder, { recursive: true });
  const machine = {
    version: VERSION,
    bun: process.versions.bun,
    cpu: cpus()[0]?.model,
    cores: cpus().length,
    time: new Date().toISOString(),
  };
  writeFileSync(
    join(folder, `${report.name}.json`),
    `${JSON.stringify({ ...machine, ...report }, null, 1)}\n`,
  );
}

/** The tables of a benchmark, for people. */
function table({ name, rows, table = [], notes }: Report): string {
  const cells = [
    [name, "", "ours", "", "floor", "", "compared", "", "target"],
    ["", "", "min", "median", "min", "median", "min", "median", ""],
    ...rows.map((row) => [
      row.what,
      row.unit,
      ...[row.ours, row.floor].flatMap((of) => [number(Math.min(...of)), number(median(of))]),
      ...compared(row).map((value) => sign(row) + number(value)),
      verdict(row),
    ]),
  ];
  const figures = new Set([2, 3, 4, 5, 6, 7]);
  const isNumber = (column: number) =>
    table.slice(1).every((line) => /^[\d,.]+/.test(line[column] ?? ""));
  const further = new Set((table[0] ?? []).keys().filter(isNumber));
  return [
    "",
    ...(table.length > 0 ? [...aligned(table, further), ""] : []),
    ...aligned(cells, figures),
    ...notes.map((note) => `  ${note}`),
    "",
  ].join("\n");
}

/** Cells in columns, those of figures to the right. */
function aligned(cells: readonly string[][], figures: ReadonlySet<number>): string[] {
  const widths = (cells[0] ?? []).map((_, column) =>
    Math.max(...cells.map((line) => line[column]?.length ?? 0))
  );
  return cells.map((line) =>
    line.map((cell, column) => {
      const width = widths[column] ?? 0;
      return figures.has(column) ? cell.padStart(width) : cell.padEnd(width);
    }).join("  ").trimEnd()
  );
}

/** The figure that the target is for, by the best runs and by the middle ones. */
function compared({ ours, floor, compare }: Row): number[] {
  const best = [Math.min(...ours), Math.min(...floor)] as const;
  const middle = [median(ours), median(floor)] as const;
  return [best, middle].map(([a, b]) =>
    compare === "ratio" ? a / b : compare === "difference" ? a - b : a
  );
}

function sign({ compare }: Row): string {
  return { ratio: "× ", difference: "Δ ", ours: "" }[compare];
}

/** `unclear` where the best and the middle runs disagree, as they may on a busy machine. */
function verdict(row: Row): string {
  if (row.target === undefined) return "";
  const values = compared(row);
  if (!values.every(Number.isFinite)) return `≤ ${row.target} not measured here`;
  const good = values.filter((value) => value <= (row.target ?? 0)).length;
  return `≤ ${row.target} ${["missed", "unclear", "met"][good]}`;
}

function number(value: number): string {
  if (!Number.isFinite(value)) return "–";
  return value.toFixed(Math.abs(value) < 10 ? 2 : 1);
}
