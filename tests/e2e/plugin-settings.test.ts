// What a plugin declares beside tools and hooks, through the binary: settings, rules, commands, log, questions,
// worker threads.

import assert from "node:assert/strict";
import { mkdirSync, readdirSync } from "node:fs";
import { dirname } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import {
  type RequestBody,
  startServer,
  type Step,
  type StrictServer,
} from "../support/strict-server.ts";
import { Tmux } from "../support/tmux.ts";
import {
  BINARY,
  existsSync,
  join,
  modelEnv,
  readFileSync,
  records,
  run,
  type Sandbox,
  sandbox,
  writeFileSync,
} from "./support.ts";

const SECRET = "t0ps3cret-4711";

let box: Sandbox;
let server: StrictServer;
let terminal: Tmux | undefined;
beforeEach(() =>
  box = sandbox({ ".git/HEAD": "ref: refs/heads/main\n", "db/x.sql": "select 1;\n" })
);
afterEach(async () => {
  terminal?.kill();
  terminal = undefined;
  await server?.close();
  box.close();
});

const write = (path: string, text: string) => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
};
const home = (path: string) => join(box.home, ".nanocode", path);
const config = (plugins: object) => write(home("config.json"), JSON.stringify({ plugins }));
const textOf = ({ messages }: RequestBody) =>
  messages.map(({ content }) => String(content)).join("\n");
const body = (i: number) => textOf(server.requests[i]?.body as RequestBody);
const go = (args: string[], env: Record<string, string> = {}) =>
  run(args, { cwd: box.work, env: { ...box.env, ...modelEnv(server.url), ...env } });
const callOf = (name: string, args: unknown): Step => ({ calls: [{ name, args }] });
const act = callOf("Act", { what: "x" });

const inputSchema = {
  type: "object",
  properties: { what: { type: "string" } },
  required: ["what"],
  additionalProperties: false,
};
/** The plugin acme: a tool Act, and whatever else. */
function acme(
  { act = 'return { output: "done" };', contributes = {}, ours = {}, commands = "", files = {} }: {
    act?: string;
    contributes?: object;
    ours?: object;
    commands?: string;
    files?: Record<string, string>;
  },
  folder = home("plugins/acme"),
): void {
  const description = "Acts.";
  const extension = {
    apiVersion: 1,
    entry: "./index.ts",
    contributes: {
      tools: [{ name: "Act", description, inputSchema, effects: [] }],
      ...contributes,
    },
    ...ours,
  };
  const manifest = { name: "acme", version: "1.0.0", extensions: { "dev.nanocode": extension } };
  write(join(folder, "plugin.json"), JSON.stringify(manifest));
  write(
    join(folder, "index.ts"),
    `import { definePlugin, defineTool } from "nanocode";
import { z } from "zod";
export default definePlugin({
  tools: [defineTool({
    name: "Act", description: "${description}", input: z.strictObject({ what: z.string() }),
    example: { what: "x" },
    async run({ what }, ctx) { ${act} },
  })],
  commands: [${commands}],
});
`,
  );
  for (const [path, text] of Object.entries(files)) write(join(folder, path), text);
}

describe("settings of a plugin", () => {
  const ours = {
    config: {
      limit: { type: "integer", default: 5 },
      token: { type: "string", secret: true },
    },
    capabilities: { env: ["ACME_TOKEN"] },
  };

  it("reach it; a secret is in no output, log or file that nanocode writes", async () => {
    acme({
      ours,
      act:
        `const { limit, token } = ctx.config; ctx.log("used " + token); ctx.progress("with " + token);
         if (limit === 1) throw new Error("bad token " + token);
         return { output: limit + " " + token + " " + JSON.stringify(process.env.ACME_TOKEN === token), summary: String(token) };`,
    });
    const env = { ACME_TOKEN: SECRET };
    const shown: string[] = [];
    for (const limit of [7, 1]) {
      config({ acme: { config: { limit, token: { env: "ACME_TOKEN" }, lmit: SECRET } } });
      server = await startServer([act, { text: "ok" }]);
      const { code, stdout, stderr } = await go(["-p", "go", "--output", "stream-json"], env);
      assert.equal(code, 0, stderr);
      shown.push(stdout, stderr);
      shown.push(body(1));
      await server.close();
    }
    assert.match(shown[2] ?? "", /7 \*\*\* true/, "the plugin itself has it");
    assert.match(shown[5] ?? "", /bad token \*\*\*/);
    assert.match(
      shown[1] ?? "",
      /config\.json: plugins\.acme\.config\.lmit is ignored: acme has the settings limit, token \(did you mean limit\?\)/,
    );
    config({ acme: { config: { limit: 7, token: SECRET } } });
    for (const args of [["config"], ["plugin", "list"], ["plugin", "list", "--json"]]) {
      const { code, stdout, stderr } = await run(args, { cwd: box.work, env: box.env });
      assert.equal(code, 0, stderr);
      assert.match(stdout, /acme/);
      shown.push(stdout, stderr);
    }
    assert.match(shown.join("\n"), /^acme +user +1\.0\.0 +on; set: limit, token$/m);
    const files = readdirSync(home(""), { recursive: true }).map(String).filter((name) =>
      /\.(?:jsonl|json|txt|log)$/.test(name) && name !== "config.json"
    );
    assert.ok(files.includes("plugin-data/acme/log.txt"));
    for (const name of files) shown.push(readFileSync(home(name), "utf8"));
    assert.deepEqual(shown.filter((text) => text.includes(SECRET)), []);
    assert.match(readFileSync(home("plugin-data/acme/log.txt"), "utf8"), / 1 \S+ used \*\*\*\n$/);
  });

  it("of a project reach its plugins only, and never a secret; what the user switched off stays off", async () => {
    acme(
      { ours, act: "return { output: JSON.stringify(ctx.config) };" },
      join(box.work, ".nanocode/plugins/acme"),
    );
    write(
      join(box.work, ".nanocode/config.json"),
      JSON.stringify({
        plugins: {
          acme: { enabled: true, config: { limit: 9, token: SECRET } },
          skills: { enabled: false },
        },
      }),
    );
    await run(["trust", "--all"], { cwd: box.work, env: box.env });
    server = await startServer([act, { text: "ok" }]);
    const { stderr } = await go(["-p", "go"]);
    assert.match(body(1), /\{"limit":9\}/);
    assert.match(stderr, /token is secret, and a project's file may not set it/);
    assert.match(stderr, /plugins\.skills is ignored: that plugin is not the project's/);
    assert.ok(!stderr.includes(SECRET));
    config({ acme: { enabled: false }, skills: { enabled: false } });
    const { stdout } = await run(["plugin", "list"], { cwd: box.work, env: box.env });
    assert.match(
      stdout,
      /^acme +project .* off: switched off in .*home\/\.nanocode\/config\.json$/m,
    );
    assert.match(stdout, /^skills +built-in .* off: switched off in /m);
    await server.close();
    server = await startServer([{ text: "ok" }]);
    const off = await go(["-p", "go"]);
    assert.doesNotMatch(off.stderr, /is off/);
    const tools = JSON.stringify(server.requests[0]?.body.tools);
    assert.doesNotMatch(tools, /"Act"|"Skill"/);
  });

  it("stay when the plugin is added from a source, and only leaves the tools that it names", async () => {
    acme({ ours }, join(box.work, "tools/acme"));
    write(
      join(box.work, ".nanocode/config.json"),
      '{\n  // ours\n  "plugins": { "acme": { "config": { "limit": 3 }, "only": { "tools": [] } } }\n}\n',
    );
    const added = await run(["plugin", "add", "./tools/acme", "--yes"], {
      cwd: box.work,
      env: box.env,
    });
    assert.equal(added.code, 0, added.stderr);
    const text = readFileSync(join(box.work, ".nanocode/config.json"), "utf8");
    assert.match(text, /\/\/ ours/);
    assert.match(text, /"source": "\.\/tools\/acme"/);
    assert.match(text, /"limit": 3/);
    server = await startServer([{ text: "ok" }]);
    await go(["-p", "go"]);
    assert.doesNotMatch(JSON.stringify(server.requests[0]?.body.tools), /"Act"/);
    const { stdout } = await run(["plugin", "list"], { cwd: box.work, env: box.env });
    assert.match(stdout, /^acme +project +1\.0\.0 +on; only the tools \(none\); set: limit$/m);
  });
});

describe("rules of a manifest", () => {
  it("reach the model at the start, or with the first file that they are for, with the plugin's name", async () => {
    acme({
      contributes: {
        tools: [],
        rules: [{ path: "./more/all.md" }, { path: "./more/sql.md", globs: ["**/*.sql"] }],
      },
      files: { "more/all.md": "Be kind.\n", "more/sql.md": "Upper case keywords.\n" },
    });
    server = await startServer([callOf("Read", { path: "db/x.sql" }), { text: "ok" }]);
    const { code, stderr } = await go(["-p", "go"]);
    assert.equal(code, 0, stderr);
    assert.match(body(0), /--- Rules of the plugin acme: .*more\/all\.md ---\nBe kind\./);
    assert.doesNotMatch(body(0), /Upper case/);
    assert.match(
      body(1),
      /--- Rules of the plugin acme: .*sql\.md for \*\*\/\*\.sql ---\nUpper case keywords\./,
    );
    assert.equal(records(box.home).filter(({ type }) => type === "loaded").length, 2);
  });

  it("of a project's plugin wait for trust", async () => {
    acme(
      { contributes: { rules: [{ path: "r.md" }] }, files: { "r.md": "Obey.\n" } },
      join(box.work, ".nanocode/plugins/acme"),
    );
    server = await startServer(() => ({ text: "ok" }));
    await go(["-p", "go"]);
    assert.doesNotMatch(body(0), /Obey/);
    await run(["trust", "--all"], { cwd: box.work, env: box.env });
    await go(["-p", "go"]);
    assert.match(
      body(1),
      /--- Rules of the project's plugin acme: \.nanocode\/plugins\/acme\/r\.md ---\nObey\./,
    );
  });
});

const COMMANDS = {
  contributes: {
    commands: [
      { name: "plan", description: "Makes a plan." },
      { name: "count", description: "Counts words." },
      { name: "status", description: "Asks git.", effects: ["exec"] },
      { name: "help", description: "Helps." },
    ],
  },
  ours: { capabilities: { exec: ["echo"] } },
  commands: `
    { name: "plan", run: (args) => ({ prompt: "Plan this: " + args }) },
    { name: "count", run: (args, ctx) => { ctx.log("counting"); return { output: args.split(" ").length + " \\x1b[2J words" }; } },
    { name: "status", effects: () => [{ kind: "exec", command: "echo fine", cwd: "." }], run: async (_, ctx) => ({ output: (await ctx.exec("echo", ["fine"])).output }) },
    { name: "help", run: () => ({ output: "no help" }) },`,
};

describe("commands of a plugin with -p", () => {
  it("send a prompt as the command's, or show a text and ask no model", async () => {
    acme(COMMANDS);
    server = await startServer(() => ({ text: "the plan" }));
    const plan = await go(["-p", "/plan the  move", "--output", "stream-json"]);
    assert.equal(plan.code, 0, plan.stderr);
    assert.match(body(0), /Plan this: the {2}move/);
    assert.match(
      plan.stdout,
      /"type":"turn_start","text":"Plan this: the {2}move","source":"command"/,
    );
    const count = await go(["-p", "/count a b c"]);
    assert.equal(count.code, 0, count.stderr);
    assert.equal(count.stdout, "3 \\x1b[2J words\n");
    const json = JSON.parse((await go(["-p", "/count a", "--output", "json"])).stdout);
    assert.deepEqual([json.answer, json.exit, json.reason, json.steps], [
      "1 \x1b[2J words",
      0,
      "done",
      0,
    ]);
    assert.equal(server.requests.length, 1);
    assert.match(readFileSync(home("plugin-data/acme/log.txt"), "utf8"), / 0 \/count counting\n/);
  });

  it("ask permission for what they would do, and name what there is", async () => {
    acme(COMMANDS);
    server = await startServer(() => ({ text: "x" }));
    const refused = await go(["-p", "/status"]);
    assert.equal(refused.code, 4, refused.stderr);
    assert.match(refused.stderr, /\/status was not run: no permission/);
    const allowed = await go(["-p", "/status", "--allow", "Bash(echo fine)"]);
    assert.equal(allowed.stdout, "fine\n", allowed.stderr);
    const helps = await go(["-p", "/acme:help"]);
    assert.equal(helps.stdout, "no help\n");
    const wrong = await go(["-p", "/plam x"]);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /There is no command \/plam\. Did you mean \/plan\?/);
    assert.equal(server.requests.length, 0);
  });
});

describe("worker threads and questions", () => {
  it("a worker runs TypeScript with zod and nanocode in the binary, and its faults end no session", async () => {
    acme({
      act: `const said: unknown[] = [];
         const worker = ctx.worker("./heavy.ts");
         said.push(await worker.request(what));
         for (const bad of ["throw", "exit"]) await ctx.worker("./heavy.ts").request(bad).catch((e) => said.push(e.message));
         try { ctx.worker("../../config.json"); } catch (e) { said.push(e.message); }
         return { output: said.join("|") };`,
      files: {
        "heavy.ts": `import { z } from "zod";
import { ToolError } from "nanocode";
import { twice } from "./twice.ts";
export default (message: unknown): string => {
  if (message === "throw") throw new ToolError("no luck");
  if (message === "exit") process.exit(9);
  return twice(z.string().parse(message));
};
`,
        "twice.ts": "export const twice = (text: string): string => text + text;\n",
      },
    });
    server = await startServer([act, { text: "went on" }]);
    const { code, stdout, stderr } = await go(["-p", "go"]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /went on/);
    const text = body(1);
    assert.match(text, /xx\|the worker \.\/heavy\.ts of the plugin acme failed: no luck\|/);
    assert.match(text, /\|the worker \.\/heavy\.ts of the plugin acme ended by itself\|/);
    assert.match(text, /\|the plugin acme has no file \.\.\/\.\.\/config\.json in its folder/);
  });

  it("with -p nobody can be asked, and the model is told the question", async () => {
    acme({ act: 'return { output: await ctx.ask("Which colour?", { choices: ["red"] }) };' });
    server = await startServer([act, { text: "ok" }]);
    assert.equal((await go(["-p", "go", "--yolo"])).code, 0);
    assert.match(body(1), /nobody can be asked here.*Which colour\?/);
  });

  it("in the terminal the person answers, and commands are listed, run, and taken up by /reload", async () => {
    acme({
      ...COMMANDS,
      act:
        'return { output: "painted " + await ctx.ask("Which colour?", { choices: ["red", "blue"] }) };',
    });
    server = await startServer([act, { text: "all done" }]);
    const env = { ...box.env, ...modelEnv(server.url), TERM: "xterm-256color", LANG: "C.UTF-8" };
    const words = Object.entries(env).map(([name, value]) => `${name}='${value}'`).join(" ");
    terminal = new Tmux(`exec env -i ${words} '${BINARY}'`, {
      cwd: box.work,
      columns: 120,
      rows: 60,
    });
    await terminal.until(/called \/acme:help/);
    const enter = (text: string) => {
      terminal?.type(text);
      terminal?.press("Enter");
    };
    enter("/help");
    await terminal.until(
      /\/acme:help +Helps\. \(plugin acme\)[\s\S]*\/plan +Makes a plan\. \(plugin acme\)/,
    );
    enter("/count a b");
    await terminal.until(/2 \\x1b\[2J words/);
    enter("/status");
    await terminal.until(/runs in[\s\S]*Allow\?/);
    terminal.press("Enter");
    await terminal.until(/^ *fine/m);
    enter("paint");
    await terminal.until(
      /the plugin acme asks:\s+Which colour\?\s+1 +red\s+2 +blue[\s\S]*Your answer \[1-2\]/,
    );
    enter("2");
    await terminal.until(/all done/);
    assert.match(body(1), /painted blue/);
    config({ acme: { enabled: false } });
    enter("/reload");
    await terminal.until(/removed acme/);
    enter("/plan x");
    await terminal.until(/There is no command \/plan/);
    assert.ok(existsSync(home("plugin-data/acme/log.txt")));
  });
});
