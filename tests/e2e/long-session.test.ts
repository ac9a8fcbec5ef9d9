import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { type RequestBody, startServer, type Step } from "../support/strict-server.ts";
import { join, modelEnv, records, sandbox, start, writeFileSync } from "./support.ts";

const RUNS = Number(process.env["NANOCODE_RUNS"] ?? 1);
/** Runs of the program (the later ones with --continue), steps of each: 400 steps in the deep form. */
const TURNS = 8;
const STEPS = RUNS > 1 ? 50 : 6;
const WINDOW = RUNS > 1 ? 60_000 : 24_000;
const INSTRUCTION = "Port the parser to TypeScript; never touch legacy/ (say so in the end).";

const textOf = ({ messages }: RequestBody) =>
  messages.map(({ content }) => typeof content === "string" ? content : JSON.stringify(content))
    .join("\n");

/** Peak memory of a process in MB. */
function peak(pid: number): number {
  const [, kb = "0"] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kb) / 1024;
}

describe("a very long session", () => {
  it(`of ${TURNS * STEPS} steps with outputs of 5 MB keeps the task, the rules, the board and the files in sight`, async () => {
    const box = sandbox({
      "AGENTS.md": "Use tabs in this repository.\n",
      "src/state.ts": Array.from({ length: 30 }, (_, i) => `export const v${i} = 0;`).join("\n") +
        "\n",
    });
    let step = 0;
    let edits = 0;
    let summaries = 0;
    let pid = 0;
    let most = 0;
    let last = "";
    const call = (name: string, args: unknown): Step => ({ calls: [{ name, args }] });
    const server = await startServer(({ body }) => {
      const text = textOf(body);
      if (body.tools === undefined) { // the summariser; every third answer is of no use
        const good = JSON.stringify({ summary: "The lexer is ported.", open: ["the parser"] });
        return { text: summaries++ % 3 === 2 ? "I would rather not." : good };
      }
      most = Math.max(most, peak(pid));
      last = text;
      step++;
      if (step % (STEPS + 1) === 0) return { text: `turn done at step ${step}` };
      if (step === 1) return call("Note", { goal: "port the parser", known: ["legacy/ is taboo"] });
      if (step % 5 === 2) return call("Read", { files: [{ path: "src/state.ts" }] });
      if (step % 5 === 3) {
        const anchors = [...text.matchAll(/^7:[a-z]{3}(?=\|)/gm)].at(-1)?.[0] ?? "7:zzz";
        const content = `export const v6 = ${++edits};`;
        return call("Edit", {
          path: "src/state.ts",
          edits: [{ op: "replace", start: anchors, content }],
        });
      }
      const from = 1_000_000 + step * 1000;
      return call("Bash", { command: `seq ${from} ${from + 700_000}` });
    });
    const env = { ...box.env, ...modelEnv(server.url) };
    writeFileSync(join(box.home, "config.json"), JSON.stringify({ context: { window: WINDOW } }));
    const args = ["--yolo", "--config", join(box.home, "config.json"), "-p"];
    for (let turn = 1; turn <= TURNS; turn++) {
      const prompt = turn === 1 ? [INSTRUCTION] : [`go on, part ${turn}`, "-c"];
      const { child, done } = start([...args, ...prompt], {
        cwd: box.work,
        env,
        deadline: 300_000,
      });
      pid = child.pid ?? 0;
      const { code, stderr } = await done;
      assert.equal(code, 0, stderr.slice(-2000));
    }
    await server.close();
    assert.deepEqual(server.errors, []);
    const log = records(box.home);
    const compactions = log.filter(({ type }) => type === "compact");
    assert.ok(compactions.length >= 5, `${compactions.length} compactions`);
    assert.ok(
      compactions.some(({ by }) => by === "mechanical") &&
        compactions.some(({ by }) => by === "model"),
    );
    assert.ok(last.includes(INSTRUCTION), "the first instruction");
    assert.match(last, /Use tabs in this repository/);
    assert.match(last, /Goal: port the parser/);
    assert.match(last, /- legacy\/ is taboo/);
    assert.match(last, new RegExp(`^7:[a-z]{3}\\|export const v6 = ${edits};`, "m"));
    assert.match(
      readFileSync(join(box.work, "src/state.ts"), "utf8"),
      new RegExp(`v6 = ${edits};`),
    );
    assert.ok(most < 250, `peak memory ${most.toFixed(0)} MB`);
    box.close();
  });
});
