// Rules for certain files, skills and commands through the compiled binary, headless and in a terminal.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { afterEach, describe, it } from "node:test";
import { startServer, type Step, type StrictServer } from "../support/strict-server.ts";
import { Tmux } from "../support/tmux.ts";
import {
  BINARY,
  join,
  modelEnv,
  readFileSync,
  records,
  ROOT,
  run,
  type Sandbox,
  sandbox,
  writeFileSync,
} from "./support.ts";

let box: Sandbox;
let server: StrictServer | undefined;
let terminal: Tmux | undefined;
afterEach(async () => {
  terminal?.kill();
  terminal = undefined;
  await server?.close();
  server = undefined;
  box.close();
});

/** A file of the user's folder. */
function own(path: string, text: string): string {
  const file = join(box.home, ".nanocode", path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const nanocode = (...args: string[]) =>
  run(args, { cwd: box.work, env: { ...box.env, ...modelEnv(server?.url ?? "") } });
const messages = (n: number) => server?.requests[n]?.body.messages ?? [];
const contents = (n: number) => messages(n).map(({ content }) => String(content));
const isTail = (text: string) => /^--- (?:Memory|FILE STATE) ---/.test(text);
const skill = (description: string, body: string) =>
  `---\ndescription: ${description}\n---\n\n${body}\n`;
const reads = (path: string) => ({ calls: [{ name: "Read", args: { files: [{ path }] } }] });

/** Answers request N with step N, then "done". */
async function answering(...steps: Step[]) {
  let n = 0;
  server = await startServer(() => steps[n++] ?? { text: "done" }, { key: "x" });
}

const PROJECT = {
  ".git/HEAD": "ref: refs/heads/main\n",
  "AGENTS.md": "project agents\n",
  ".nanocode/rules/sql.md": "---\nglobs: **/*.sql\n---\nproject sql rule\n",
  ".nanocode/rules/all.md": "project rule for all\n",
  ".agents/skills/deploy/SKILL.md": skill("Deploys this.", "project deploy body"),
  ".nanocode/commands/fix.md":
    "---\ndescription: Fix an issue\nargument-hint: [number]\n---\nFix issue $1 of $ARGUMENTS now\n",
  "db/a.sql": "select 1;\n",
};

describe("rules for certain files", () => {
  it("reach the model behind the result that shows such a file, in this run and in the next", async () => {
    box = sandbox(PROJECT);
    await answering(reads("db/a.sql"), reads("db/a.sql"));
    const { code, stderr } = await nanocode("-p", "look");
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^loaded: the rules \.nanocode\/rules\/sql\.md$/m);
    assert.doesNotMatch(stderr, /warning/);
    assert.match(
      contents(0)[1] ?? "",
      /project agents\n\n--- Project rules: \.nanocode\/rules\/all\.md ---/,
    );
    assert.doesNotMatch(contents(0).join(), /project sql rule/);
    const shown = contents(1).filter((text) => !isTail(text));
    assert.equal(
      shown.at(-1)?.split("\n").slice(-2).join("\n"),
      "--- Project rules: .nanocode/rules/sql.md for **/*.sql ---\nproject sql rule",
    );
    assert.deepEqual(messages(1).slice(0, shown.length), messages(2).slice(0, shown.length));
    assert.equal(contents(2).join().split("project sql rule").length, 2);
    const [loaded] = records(box.home).filter(({ type, kind, in: place }) =>
      type === "loaded" && kind === "rule" && place !== undefined
    );
    assert.equal(loaded?.["path"], join(box.work, ".nanocode/rules/sql.md"));

    writeFileSync(join(box.work, ".nanocode/rules/sql.md"), "---\nglobs: '*.sql'\n---\nanother\n");
    const next = await nanocode("-c", "-p", "again");
    assert.equal(next.code, 0, next.stderr);
    assert.doesNotMatch(contents(3).join(), /another/);
    assert.deepEqual(server?.errors, []);
  });
});

describe("--no-project-text", () => {
  it("leaves out rules, skills and commands of the project, not the user's", async () => {
    box = sandbox(PROJECT);
    own("AGENTS.md", "user agents\n");
    own("skills/notes/SKILL.md", skill("Takes notes.", "user notes body"));
    await answering(reads("db/a.sql"));
    const { code, stderr } = await nanocode("--no-project-text", "-p", "$deploy and $notes");
    assert.equal(code, 0, stderr);
    const all = contents(1).join("\n");
    assert.match(all, /user agents[\s\S]*- notes: Takes notes\.[\s\S]*user notes body/);
    assert.doesNotMatch(all, /project (?:agents|sql|rule|deploy)|Deploys this/);
    const command = await nanocode("--no-project-text", "-p", "/fix 7");
    assert.equal(command.code, 2);
    assert.match(command.stderr, /There is no command \/fix\./);
    const later = await nanocode("-c", "--no-project-text", "-p", "on");
    assert.match(later.stderr, /warning: --no-project-text leaves out what would be read from now/);
  });
});

describe("skills", () => {
  it("are loaded by the tool, with files that can be read without asking when they are the user's", async () => {
    box = sandbox(PROJECT);
    own("skills/notes/SKILL.md", skill("Takes notes.", "user notes body"));
    const form = own("skills/notes/forms/a.md", "the form\n");
    await answering(
      { calls: [{ name: "Skill", args: { name: "notes" } }] },
      reads(form),
      { calls: [{ name: "Skill", args: { name: "$notes" } }] },
      { calls: [{ name: "Skill", args: { name: "nots" } }] },
    );
    const { code, stderr } = await nanocode("-p", "note this");
    assert.equal(code, 0, stderr);
    const environment = contents(0)[1] ?? "";
    assert.match(
      environment,
      /\n- commit: .*\n- debug: .*\n- deploy \(of this project\): Deploys this\.\n/,
    );
    assert.match(contents(1).join("\n"), new RegExp(`user notes body[\\s\\S]*\n- ${form}`));
    assert.match(contents(2).join("\n"), /the form/);
    assert.match(contents(3).join("\n"), /The skill notes is already loaded: as tr\.1\./);
    assert.match(
      contents(4).join("\n"),
      /There is no skill "nots"\. The skills are: commit, debug/,
    );
    assert.deepEqual(server?.errors, []);
  });

  it("that ship with nanocode load from within the binary, and each can be named", async () => {
    box = sandbox({});
    await answering();
    const names = ["commit", "debug", "explain-codebase", "review", "write-a-plugin"];
    const { code, stderr } = await nanocode("-p", names.map((name) => `$${name}`).join(" "));
    assert.equal(code, 0, stderr);
    for (const name of names) {
      const text = contents(0).find((content) =>
        content.startsWith(`<Skill name="${name}" of="built-in">`)
      );
      assert.match(text ?? "", /^<Skill [^>]*>\n# [\s\S]+\n<\/Skill>$/, name);
    }
    assert.match(stderr, /^loaded: the skill write-a-plugin$/m);
  });

  it("write-a-plugin teaches a plugin that works", async () => {
    box = sandbox({});
    const text = readFileSync(join(ROOT, "skills/write-a-plugin/SKILL.md"), "utf8");
    const block = (language: string) =>
      new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(text)?.[1] ?? "";
    own("plugins/dice/plugin.json", block("json"));
    own("plugins/dice/index.ts", block("ts"));
    await answering({ calls: [{ name: "Dice", args: { sides: 2 } }] });
    const { code, stderr } = await nanocode("-p", "throw");
    assert.equal(code, 0, stderr);
    assert.doesNotMatch(stderr, /warning/);
    assert.match(contents(1).join("\n"), /\ntool tr\.1 Dice [^\n]*\n[12]\n/);
  });
});

describe("commands", () => {
  it("are filled and sent by -p, with what is piped in behind", async () => {
    box = sandbox(PROJECT);
    await answering();
    const env = { ...box.env, ...modelEnv(server?.url ?? "") };
    const { code, stderr } = await run(["-p", "/fix 7 fast"], {
      cwd: box.work,
      env,
      input: "a log\n",
    });
    assert.equal(code, 0, stderr);
    assert.ok(contents(0).includes("Fix issue 7 of 7 fast now\n\na log"), contents(0).join("\n"));
    const [said] = records(box.home).filter(({ type }) => type === "user");
    assert.equal(said?.["source"], "command");
    const wrong = await nanocode("-p", "/fixx 7");
    assert.equal(wrong.code, 2);
    assert.match(
      wrong.stderr,
      /There is no command \/fixx\. Did you mean \/fix\?\n {2}With -p there are \/fix\./,
    );
  });

  it("stand in /help with their tier and run in a terminal, where a rule shows when it is loaded", async () => {
    box = sandbox({ ...PROJECT, ".nanocode/commands/help.md": "x\n" });
    own("commands/tidy.md", "---\ndescription: Tidy up\n---\nTidy it, $deploy style\n");
    await answering(reads("db/a.sql"));
    const variables = Object.entries({ ...box.env, ...modelEnv(server?.url ?? "") })
      .map(([name, value]) => `${name}='${value}'`).join(" ");
    terminal = new Tmux(
      `env -i TERM=xterm-256color LANG=C.UTF-8 ${variables} '${BINARY}'; echo "exit=$?"; exec cat`,
      { columns: 100, rows: 50, cwd: box.work },
    );
    const t = terminal;
    await t.until(/\/help lists the commands/);
    await t.until(/warning: command left out: \.nanocode\/commands\/help\.md: \/help is built in/);
    const send = async (text: string, shows: RegExp) => {
      t.type(text);
      t.press("Enter");
      return await t.until(shows);
    };
    const help = await send("/help", /Ctrl-C twice/);
    assert.match(help, /\/fix +Fix an issue \[number\] \(project\)/);
    assert.match(help, /\/tidy +Tidy up \(user\)/);
    const screen = await send("/fix 7", /done\n\ndone ·/);
    assert.match(screen, /> Fix issue 7 of 7 now/);
    assert.match(screen, /loaded: the rules \.nanocode\/rules\/sql\.md/);
    await send("/tidy", /loaded: the skill deploy[\s\S]*done\n\ndone ·/);
    assert.match(
      contents(2).join("\n"),
      /Tidy it, \$deploy style\n<Skill name="deploy" of="project"/,
    );

    own("skills/fresh/SKILL.md", skill("Fresh.", "fresh body"));
    await send("/reload", /added the skill fresh: load it by its name/);
    await send("$fresh", /loaded: the skill fresh[\s\S]*done\n\ndone ·/);
    assert.match(
      contents(3).join("\n"),
      /\$fresh\n<Skill name="fresh" of="user"[^>]*>\nfresh body/,
    );
    assert.equal(contents(3)[1], contents(0)[1], "the Environment stays as it was");
    t.press("C-d");
    await t.until(/exit=0/);
    assert.deepEqual(server?.errors, []);
  });
});
