import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { headlessInput, promptCommands } from "../../src/cli/prompt-commands.ts";
import { fillCommand, findCommands } from "../../src/knowledge/commands.ts";
import type { Places } from "../../src/knowledge/places.ts";
import { UserError } from "../../src/runtime/errors.ts";

let folder: string;
let home: string;
let root: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "nanocode-commands-")));
  home = join(folder, "home");
  root = join(folder, "work");
  mkdirSync(home);
  mkdirSync(root);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function put(path: string, content: string): void {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}
const find = (over: Partial<Places> = {}) =>
  findCommands({ home, root, cwd: root, project: "own", folders: [], ...over });

describe("commands of files", () => {
  it("have name, description, hint and text; the project's win over the user's", async () => {
    put(
      "work/.nanocode/commands/fix.md",
      "---\r\ndescription: Fix an issue\r\nargument-hint: [number]\r\n---\r\n\r\nFix issue $1.\r\n",
    );
    put("home/commands/fix.md", "user fix");
    put("home/commands/tidy.md", "# Tidy up\n\nRemove dead code.\n");
    put("plug/commands/tidy.md", "of a plugin");
    put("plug/commands/extra.md", "---\ndescription: Extra\n---\nx");
    const folders = [{ folder: join(folder, "plug"), tier: "user" as const }];
    const { commands, warnings } = await find({ folders });
    assert.deepEqual(warnings, []);
    assert.deepEqual(commands, [
      {
        name: "extra",
        description: "Extra",
        hint: "",
        tier: "user",
        shown: join(folder, "plug/commands/extra.md"),
        body: "x",
      },
      {
        name: "fix",
        description: "Fix an issue",
        hint: "[number]",
        tier: "project",
        shown: ".nanocode/commands/fix.md",
        body: "Fix issue $1.",
      },
      {
        name: "tidy",
        description: "Tidy up",
        hint: "",
        tier: "user",
        shown: join(home, "commands/tidy.md"),
        body: "# Tidy up\n\nRemove dead code.",
      },
    ]);
    assert.deepEqual(
      (await find({ project: "none" })).commands.map(({ name, body }) => [name, body]),
      [["fix", "user fix"], ["tidy", "# Tidy up\n\nRemove dead code."]],
    );
  });

  it("that cannot be used are left out, and why is said", async () => {
    put("work/.nanocode/commands/two words.md", "x");
    put("work/.nanocode/commands/-x.md", "x");
    put("secret.md", "secret");
    symlinkSync(join(folder, "secret.md"), join(root, ".nanocode/commands/secret.md"));
    const { commands, warnings } = await find();
    assert.deepEqual(commands, []);
    assert.equal(warnings.length, 3);
    for (const warning of warnings) {
      assert.match(warning, /^command left out: .*(named with|link out)/);
    }
  });
});

describe("the prompt of a command", () => {
  const cases: [body: string, args: string, prompt: string][] = [
    ["Fix $1 in $2.", "7 src", "Fix 7 in src."],
    ["Fix $1 in $2.", "7", "Fix 7 in ."],
    ["Say $ARGUMENTS!", "a  'b c'", "Say a  'b c'!"],
    ["$1|$2|$3", `"a b" 'c "d' e`, 'a b|c "d|e'],
    ["$1 $1", "$2 x", "$2 $2"],
    ["cost \\$1, $10, $ARGUMENTSX, $0, $&", "x", "cost $1, $10, $ARGUMENTSX, $0, $&\n\nx"],
    ["Plain.", "", "Plain."],
    ["Plain.", "more words", "Plain.\n\nmore words"],
    ["`$(rm -rf x)` !`ls` @file $1", "a", "`$(rm -rf x)` !`ls` @file a"],
  ];
  for (const [body, args, prompt] of cases) {
    it(`${JSON.stringify(body)} with ${JSON.stringify(args)}`, () => {
      assert.equal(fillCommand({ body }, args), prompt);
    });
  }
});

describe("in the terminal", () => {
  it("are listed with their tier; what is built in stays, and that is said", async () => {
    put("work/.nanocode/commands/help.md", "x");
    put("work/.nanocode/commands/compact.md", "x");
    put("work/.nanocode/commands/fix.md", "---\ndescription: Fix\nargument-hint: N\n---\nFix $1");
    const other = { name: "compact", help: "", run: () => {} };
    const { commands, warnings } = promptCommands(await find(), [other]);
    assert.deepEqual(commands.map(({ name, help }) => [name, help]), [["fix", "Fix N (project)"]]);
    assert.deepEqual(warnings, [
      "command left out: .nanocode/commands/compact.md: /compact is built in; give the file another name",
      "command left out: .nanocode/commands/help.md: /help is built in; give the file another name",
    ]);
  });
});

describe("in a prompt of -p", () => {
  const input = (words: string, piped = "") =>
    headlessInput(words, piped === "" ? words : `${words}\n\n${piped}`, () => find(), () => {});

  it("are filled; what is piped in stands behind", async () => {
    put("home/commands/fix.md", "Fix $1: $ARGUMENTS.");
    assert.deepEqual(await input("/fix 7 now"), { text: "Fix 7: 7 now.", source: "command" });
    assert.deepEqual(await input("/fix 7", "$1 log"), {
      text: "Fix 7: 7.\n\n$1 log",
      source: "command",
    });
  });

  it("that would send nothing are an error", async () => {
    put("home/commands/none.md", "---\ndescription: x\n---\n");
    put("home/commands/all.md", "---\nargument-hint: WHAT\n---\n$ARGUMENTS\n");
    await assert.rejects(input("/none"), /\/none sends nothing: .*none\.md is empty/);
    await assert.rejects(input("/all"), /\/all needs words behind it: WHAT/);
    assert.equal((await input("/all x")).text, "x");
    const [all] = promptCommands(await find(), []).commands;
    assert.throws(() => all?.run("", {} as never), /needs words/);
  });

  it("are no paths", async () => {
    for (const words of ["/usr/bin is missing", "/tmp is full", "fix /x", "/ 7"]) {
      assert.deepEqual(await input(words), { text: words, source: "typed" });
    }
  });

  it("that there are not are an error which names those that there are", async () => {
    await assert.rejects(
      input("/fixx 7"),
      (error: unknown) =>
        error instanceof UserError && error.message === "There is no command /fixx." &&
        /files in \.nanocode\/commands/.test(error.hint ?? ""),
    );
    put("home/commands/fix.md", "x");
    await assert.rejects(input("/fixx 7"), (error: unknown) =>
      error instanceof UserError &&
      error.message === "There is no command /fixx. Did you mean /fix?" &&
      error.hint === "With -p there are /fix.");
  });
});
