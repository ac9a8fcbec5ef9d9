// Records the demo's replies anew (plugins/demo/cassette.json): a scripted model on loopback drives the
// built binary with --record through the sample project. Run it when the project, the tools' result
// formats or the system prompt change: bun scripts/record-demo.ts

import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { startServer, type Step } from "../tests/support/strict-server.ts";
import { anchor } from "../tests/e2e/support.ts";

const root = dirname(import.meta.dirname);
const folder = mkdtempSync(join(tmpdir(), "nanocode-record-"));
const project = join(folder, "project");
cpSync(join(root, "plugins", "demo", "project"), project, { recursive: true });

const money = readFileSync(join(project, "lib", "money.sh"), "utf8").split("\n");
const receipt = readFileSync(join(project, "lib", "receipt.sh"), "utf8").split("\n");
const lineOf = (lines: string[], part: string) =>
  lines.findIndex((line) => line.includes(part)) + 1;

const steps: Step[] = [
  {
    text: "I'll run the test and read the code at the same time.",
    calls: [
      { name: "Bash", args: { command: "sh test.sh" } },
      {
        name: "Read",
        args: {
          files: [{ path: "lib/money.sh" }, { path: "lib/receipt.sh" }, { path: "test.sh" }],
        },
      },
    ],
  },
  {
    text: "The test expects 90.00 and gets 98.20. Who else uses these functions?",
    calls: [{ name: "Search", args: { queries: [{ pattern: "to_cents" }, { pattern: "10000" }] } }],
  },
  {
    text:
      "Two causes add up. First: `12.5` has one decimal, which is tenths, but it is read as 5 cents.",
    calls: [{
      name: "Edit",
      args: {
        path: "lib/money.sh",
        edits: [{
          op: "insert_before",
          start: anchor(join(project, "lib", "money.sh"), lineOf(money, "*.*) fraction")),
          content: "    *.?) fraction=${1#*.}0 ;;\n",
        }],
      },
    }],
  },
  {
    text: "Second: an order of exactly 100.00 should already get the discount.",
    calls: [{
      name: "Edit",
      args: {
        path: "lib/receipt.sh",
        edits: [{
          op: "replace",
          start: anchor(join(project, "lib", "receipt.sh"), lineOf(receipt, "-gt 10000")),
          content: '  if [ "$sum" -ge 10000 ]; then',
        }],
      },
    }],
  },
  { calls: [{ name: "Bash", args: { command: "sh test.sh" } }] },
  {
    text: "The failing test passes now; it had two causes:\n\n" +
      "- `lib/money.sh`: an amount with one decimal (`12.5`) was read as 12.05. One decimal now counts as tenths.\n" +
      "- `lib/receipt.sh`: the discount began above 100.00; the comment and the test say *from* 100.00 on (`-ge`).\n\n" +
      "Check: `sh test.sh`, all tests passed.",
  },
];

const server = await startServer(steps);
const child = spawn(join(root, "dist", "nanocode"), [
  "-p",
  "fix the failing test",
  "--yolo",
  "--record",
  join(root, "plugins", "demo", "cassette.json"),
], {
  cwd: project,
  env: {
    PATH: process.env["PATH"],
    HOME: folder,
    OPENAI_BASE_URL: server.url,
    OPENAI_API_KEY: "x",
    OPENAI_MODEL: "recorded",
  },
  stdio: ["ignore", "inherit", "inherit"],
});
const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
await server.close();
rmSync(folder, { recursive: true, force: true });
if (code !== 0 || server.errors.length > 0) {
  console.error(`the recording failed (exit ${code}): ${server.errors.join("; ")}`);
  process.exit(1);
}
