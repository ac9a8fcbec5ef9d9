// `nanocode plugin test` with `nanocode/testing`, through the binary: a plugin in the user's folder whose
// tests use all of it, and plugins that are broken.

import assert from "node:assert/strict";
import { mkdirSync, readdirSync } from "node:fs";
import { dirname } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import {
  existsSync,
  type Finished,
  join,
  readFileSync,
  ROOT,
  run,
  type Sandbox,
  sandbox,
  writeFileSync,
} from "./support.ts";

let box: Sandbox;
beforeEach(() => {
  box = sandbox();
  // What the tests of a plugin leave behind is seen in here.
  box.env["TMPDIR"] = join(box.home, "tmp");
  mkdirSync(box.env["TMPDIR"]);
});
afterEach(() => box.close());

const at = (path: string) => join(box.home, ".nanocode/plugins/tally", path);
const write = (files: Record<string, string>) => {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), text);
  }
};
const change = (path: string, from: string, to: string) =>
  write({ [path]: readFileSync(at(path), "utf8").replace(from, to) });
const test = (env: Record<string, string> = {}): Promise<Finished> =>
  run(["plugin", "test", "tally"], { cwd: box.work, env: { ...box.env, ...env } });

const MANIFEST = JSON.stringify({
  name: "tally",
  version: "0.1.0",
  extensions: {
    "dev.nanocode": {
      apiVersion: 1,
      entry: "./index.ts",
      contributes: {
        tools: [{
          name: "Tally",
          description: "Counts the lines of a file.",
          inputSchema: {
            type: "object",
            properties: { path: { type: "string" } },
            required: ["path"],
            additionalProperties: false,
          },
          effects: ["read", "write", "exec"],
        }],
      },
      capabilities: { fs: { read: ["workspace"], write: ["workspace"] }, exec: ["wc"] },
      config: { unit: { type: "string", default: "lines" } },
    },
  },
});

const INDEX = `
import { definePlugin, defineTool } from "nanocode";
import { z } from "zod";
import { report } from "./report.ts";

export default definePlugin({
  tools: [defineTool({
    name: "Tally",
    description: "Counts the lines of a file.",
    input: z.strictObject({ path: z.string() }),
    example: { path: "a.txt" },
    effects: ({ path }) => [
      { kind: "exec", command: "wc -l " + path, cwd: "." },
      { kind: "write", path: "tally.txt" },
    ],
    async run({ path }, ctx) {
      await ctx.files.readText(path);
      const { exit, output } = await ctx.exec("wc", ["-l", path]);
      const text = report(parseInt(output), ctx.config.unit);
      await ctx.files.write("tally.txt", text);
      ctx.progress("exit " + exit);
      return { output: text, summary: path };
    },
  })],
});
`;

const TESTS = `
import assert from "node:assert/strict";
import { ToolError } from "nanocode";
import * as testing from "nanocode/testing";
import type { ScriptedStep, TemporaryWorkspace } from "nanocode/testing";
import plugin from "./index.ts";

const manifest = new URL("./plugin.json", import.meta.url);
const { chaosProvider, goldenTranscript, runSession, runTool, scriptedProvider, temporaryWorkspace } = testing;

export async function counts() {
  await using workspace: TemporaryWorkspace = await temporaryWorkspace({ files: { "a.txt": "1\\n2\\n" } });
  const done = await runTool(plugin, "Tally", { path: "a.txt" }, { workspace, manifest });
  assert.deepEqual(done, {
    output: "2 lines",
    summary: "a.txt",
    progress: "exit 0",
    effects: [
      { kind: "exec", command: "wc -l a.txt", cwd: "." },
      { kind: "write", path: "tally.txt" },
    ],
  });
  assert.equal(await workspace.read("tally.txt"), "2 lines");
  const rows = { config: { unit: "rows" }, workspace, manifest };
  assert.equal((await runTool(plugin, "Tally", { path: "a.txt" }, rows)).output, "2 rows");
}

export async function saysWhatIsWrong() {
  const workspace = await temporaryWorkspace();
  const how = { workspace, manifest };
  const isTheModels = (text: RegExp) => (error: unknown) => error instanceof ToolError && text.test(error.message);
  await assert.rejects(runTool(plugin, "Tally", { file: 1 }, how), isTheModels(/^Tally: /));
  await assert.rejects(runTool(plugin, "Tally", { path: "no" }, how), isTheModels(/no/));
  await assert.rejects(runTool(plugin, "Tally", { path: "/etc/hostname" }, how), isTheModels(/may not read/));
  await assert.rejects(runTool(plugin, "Tally", { path: "a" }, { ...how, allow: [] }), isTheModels(/^Refused/));
  await workspace.remove();
}

export async function survivesChaos() {
  for (const seed of [1, 2, 3]) {
    await using workspace = await temporaryWorkspace({ files: { "a.txt": "1\\n", "b.txt": "1\\n2\\n" } });
    const steps: (string | ScriptedStep)[] = [
      { text: "Ich zähle.", calls: [
        { name: "Tally", args: { path: "a.txt" } },
        { name: "Tally", args: { path: "b.txt" } },
      ] },
      "Fertig ✓",
    ];
    const model = scriptedProvider(steps);
    const provider = chaosProvider(seed, model, { faults: ["split", "slow", "duplicate-ids", "rate-limit"], rate: 1 });
    const done = await runSession({ workspace, plugins: [{ plugin, manifest }], provider, prompt: "Zähle" });
    assert.equal(done.answer, "Fertig ✓");
    assert.equal(model.requests.length, 2);
    assert.ok(provider.happened.length >= 2);
    await goldenTranscript(done.transcript, new URL("./golden.txt", import.meta.url));
  }
}
`;

const PLUGIN = {
  "plugin.json": MANIFEST,
  "index.ts": INDEX,
  "report.ts": 'export const report = (n: number, unit: unknown) => n + " " + unit;\n',
  "index.test.ts": TESTS,
};

describe("nanocode plugin test with nanocode/testing", () => {
  it("passes for a plugin that works, once its golden transcript was written on purpose", async () => {
    write(PLUGIN);
    const first = await test();
    assert.equal(first.code, 1);
    assert.match(
      first.stdout,
      /^ok {4}counts\nok {4}saysWhatIsWrong\nFAIL {2}survivesChaos: there is no .*golden\.txt to compare with: write it with NANOCODE_UPDATE_GOLDEN=1, then look at it\n2 passed, 1 failed\n$/,
    );
    assert.ok(!existsSync(at("golden.txt")));
    const written = await test({ NANOCODE_UPDATE_GOLDEN: "1" });
    assert.equal(written.code, 0, written.stdout);
    assert.equal(written.stderr, `wrote ${at("golden.txt")}\n`);
    assert.equal(
      readFileSync(at("golden.txt"), "utf8"),
      [
        "user: Zähle",
        "model: Ich zähle.",
        'call: Tally {"path":"a.txt"}',
        'call: Tally {"path":"b.txt"}',
        "result of Tally, ok: 1 lines",
        "result of Tally, ok: 2 lines",
        "model: Fertig ✓",
        "end: done",
        "",
      ].join("\n"),
    );
    const again = await test();
    assert.deepEqual([again.code, again.stderr], [0, ""], again.stdout);
    assert.match(again.stdout, /3 passed, 0 failed\n$/);
    assert.deepEqual(readdirSync(box.env["TMPDIR"] ?? ""), [], "no workspace is left");
    assert.ok(!existsSync(join(box.home, ".nanocode/sessions")), "nothing of the person's is used");
  });

  it("fails with a diff, with what is not declared, and with what manifest and code disagree on", async () => {
    write({ ...PLUGIN, "golden.txt": "" });
    await test({ NANOCODE_UPDATE_GOLDEN: "1" });
    change("report.ts", '" "', '"-"');
    const changed = await test();
    assert.equal(changed.code, 1);
    assert.match(changed.stdout, /^FAIL {2}counts: /m);
    assert.match(
      changed.stdout,
      /^FAIL {2}survivesChaos: the transcript is not the one of .*golden\.txt [\s\S]*^-result of Tally, ok: 1 lines\n-result of Tally, ok: 2 lines\n\+result of Tally, ok: 1-lines$/m,
    );
    change("report.ts", '"-"', '" "');

    change("plugin.json", '"exec":["wc"]', '"exec":[]');
    const undeclared = await test();
    assert.equal(undeclared.code, 1);
    assert.match(
      undeclared.stdout,
      /^FAIL {2}counts: the plugin tally may not run wc: its manifest does not declare it \(capabilities\.exec: \["wc"\]\)$/m,
    );
    change("plugin.json", '"exec":[]', '"exec":["wc"]');

    change("index.ts", "z.string()", "z.int()");
    assert.match(
      (await test()).stdout,
      /^FAIL {2}counts: the plugin tally takes other arguments for Tally than its manifest says; make/m,
    );
  });

  it("fails when the script is over or a tool is none that an API takes", async () => {
    write(PLUGIN);
    write({
      "index.test.ts": `
import { runSession, scriptedProvider, temporaryWorkspace } from "nanocode/testing";
import { definePlugin, defineTool } from "nanocode";
import { z } from "zod";
import plugin from "./index.ts";
const run = async (plugins) => {
  await using workspace = await temporaryWorkspace();
  const provider = scriptedProvider([{ calls: [{ name: "Tally", args: { path: "x" } }] }]);
  await runSession({ workspace, plugins, provider, prompt: "go" });
};
export const over = () => run([{ plugin }]);
const bad = defineTool({
  name: "Bad", description: "bad", input: z.strictObject({ a: z.union([z.string(), z.int()]) }),
  example: { a: 1 }, async run() { return { output: "" }; },
});
export const refused = () => run([{ plugin: definePlugin({ tools: [bad] }) }]);
`,
    });
    const { code, stdout } = await test();
    assert.equal(code, 1);
    assert.match(stdout, /^FAIL {2}over: HTTP 400: the script has 1 step, and this is request 2$/m);
    assert.match(
      stdout,
      /^FAIL {2}refused: what the code defines cannot stand in a manifest: .*list of types/m,
    );
  });

  it("ends with 1 for a test that cannot be loaded, and says why", async () => {
    write(PLUGIN);
    change("index.test.ts", "./index.ts", "./missing.ts");
    const { code, stderr } = await test();
    assert.equal(code, 1);
    assert.match(stderr, /index\.test\.ts cannot be loaded: .*missing\.ts/);
  });

  it("runs the same from source", async () => {
    write(PLUGIN);
    const { code, stdout } = await run([join(ROOT, "mod.ts"), "plugin", "test", "tally"], {
      cwd: box.work,
      env: { ...box.env, NANOCODE_UPDATE_GOLDEN: "1" },
      binary: process.execPath,
    });
    assert.match(stdout, /3 passed, 0 failed\n$/);
    assert.equal(code, 0);
  });

  it("is for tests only: a plugin that imports it in a session says what is missing", async () => {
    write(PLUGIN);
    write({ "index.ts": `import "nanocode/testing";\n${INDEX}` });
    const { code, stderr } = await run(["plugin", "sync-manifest", "tally"], {
      cwd: box.work,
      env: box.env,
    });
    assert.notEqual(code, 0);
    assert.match(stderr, /plugin tally cannot be loaded: nanocode\/testing is there in tests only/);
  });
});

describe("docs/plugins.md", () => {
  it("the test under Testing passes as it is printed", async () => {
    const page = readFileSync(new URL("../../docs/plugins.md", import.meta.url), "utf8");
    const files = [...page.matchAll(/^```\w+ weather\/(\S+)\n([\s\S]*?)^```$/gm)];
    assert.deepEqual(files.map(([, name]) => name), ["plugin.json", "index.ts", "index.test.ts"]);
    const folder = join(box.home, ".nanocode/plugins/weather");
    mkdirSync(folder, { recursive: true });
    for (const [, name = "", text = ""] of files) writeFileSync(join(folder, name), text);
    for (const flag of ["1", "0"]) {
      const { code, stdout } = await run(["plugin", "test", "weather"], {
        cwd: box.work,
        env: { ...box.env, NANOCODE_UPDATE_GOLDEN: flag },
      });
      assert.equal(stdout, "ok    answersInATurn\nok    tellsTheWeather\n2 passed, 0 failed\n");
      assert.equal(code, 0);
    }
    assert.match(
      readFileSync(join(folder, "rome.txt"), "utf8"),
      /result of Weather, ok: It is sunny/,
    );
  });
});
