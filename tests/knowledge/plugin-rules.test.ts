// What plugins bring for the model to know: rules that their manifests name, and the part of their rules and
// skills that the config files leave.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { environmentText, rulesText } from "../../src/context/environment.ts";
import { findCommands } from "../../src/knowledge/commands.ts";
import { findKnowledge } from "../../src/knowledge/find.ts";
import type { PluginFolder } from "../../src/knowledge/places.ts";

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "nanocode-plugin-rules-")));
  mkdirSync(join(folder, "home"));
  mkdirSync(join(folder, "work"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function put(path: string, text: string): void {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const placesWith = (plugin: Partial<PluginFolder>, project: "own" | "none" = "own") => {
  const [home, root] = [join(folder, "home"), join(folder, "work")];
  const one: PluginFolder = { folder: join(folder, "plug"), name: "sql", tier: "user", ...plugin };
  return { home, root, cwd: root, project, folders: [one] };
};
const find = (plugin: Partial<PluginFolder>, project?: "own" | "none") =>
  findKnowledge(placesWith(plugin, project), [], false);

describe("rules that a manifest names", () => {
  it("stand at the start, those with globs once a file fits; each once, with the plugin's name", async () => {
    put("plug/rules/a.md", "of the folder");
    put("plug/rules/b.md", '---\nglobs: "*.never"\n---\nwith globs');
    put("plug/more/c.md", "named only");
    const { files, rules, warnings } = await find({
      rules: [{ path: "./rules/b.md", globs: ["**/*.sql"] }, { path: "more/c.md" }],
    });
    assert.deepEqual(warnings, []);
    assert.deepEqual(files.map(({ text }) => text), ["of the folder", "named only"]);
    assert.deepEqual(rules.map(({ text }) => text), ["with globs"]);
    assert.ok(rules[0]?.matches("db/x.sql"), "the manifest's globs win");
    assert.ok(!rules[0]?.matches("x.never"));
    const facts = { cwd: "/w", os: "", arch: "", shell: "", bashTimeout: 1, commands: [] };
    const text = environmentText({ ...facts, rules: files, skills: [] });
    assert.ok(
      text.includes(`--- Rules of the plugin sql: ${folder}/plug/more/c.md ---\nnamed only`),
    );
    assert.match(rulesText(rules), /--- Rules of the plugin sql: .*b\.md for \*\*\/\*\.sql ---/);
  });

  it("keep the globs of their front matter where the manifest gives none", async () => {
    put("plug/more/c.md", '---\nglobs: "*.sql"\n---\ntext');
    const { files, rules } = await find({ rules: [{ path: "more/c.md" }] });
    assert.deepEqual([files.length, rules.length], [0, 1]);
  });

  it("of a project's plugin say so, and are left out with the project's text", async () => {
    put("elsewhere/t1/rules/a.md", "theirs");
    const plugin = { folder: join(folder, "elsewhere/t1"), tier: "project" as const };
    const { files, warnings } = await find(plugin);
    assert.deepEqual(warnings, [], "a fetched plugin lies outside of the project");
    const facts = { cwd: "/w", os: "", arch: "", shell: "", bashTimeout: 1, commands: [] };
    assert.match(
      environmentText({ ...facts, rules: files, skills: [] }),
      /--- Rules of the project's plugin sql: \.\.\/elsewhere\/t1\/rules\/a\.md ---\ntheirs/,
    );
    assert.deepEqual((await find(plugin, "none")).files, []);
  });

  it("that lie outside, are missing or no text are left out with a line, also behind links", async () => {
    put("secret.md", "not of the plugin");
    put("plug/plugin.json", "{}");
    symlinkSync(join(folder, "secret.md"), join(folder, "plug", "link.md"));
    symlinkSync(folder, join(folder, "plug", "up"));
    put("plug/bytes.md", "a\0b");
    const { files, warnings } = await find({
      rules: [
        { path: "link.md" },
        { path: "up/secret.md" },
        { path: "gone.md" },
        { path: "bytes.md" },
        { path: "." },
      ],
    });
    assert.deepEqual(files, []);
    assert.equal(warnings.length, 5, warnings.join("\n"));
    const said = warnings.join("\n");
    assert.match(said, /link\.md is a link out of the plugin sql, to .*secret\.md/);
    assert.match(said, /up\/secret\.md is a link out of the plugin sql/);
    assert.match(said, /gone\.md/);
    assert.match(said, /bytes\.md is not text/);
    assert.match(said, /is a folder/);
  });

  it("with too many globs are for all files, and that is said", async () => {
    put("plug/r.md", "text");
    const globs = Array.from({ length: 60 }, (_, i) => `*.${i}`);
    const { files, warnings } = await find({ rules: [{ path: "r.md", globs }] });
    assert.deepEqual(files.map(({ text }) => text), ["text"]);
    assert.match(warnings.join(), /r\.md: it has more than 50 globs/);
  });

  it("of a plugin in the binary are shown below the plugin's name", async () => {
    put("plug/rules/a.md", "built in");
    const { files } = await find({ tier: "built-in", rules: [{ path: "./rules/a.md" }] });
    assert.deepEqual(files.map(({ shown, plugin }) => [shown, plugin]), [[
      "plug/rules/a.md",
      "sql",
    ]]);
  });
});

describe("only, of the config files", () => {
  it("leaves the rules and skills that it names, and says which there are not", async () => {
    for (const name of ["a", "b"]) put(`plug/rules/${name}.md`, `rule ${name}`);
    for (const name of ["x", "y"]) {
      put(`plug/skills/${name}/SKILL.md`, `---\nname: ${name}\ndescription: ${name}\n---\n`);
    }
    const { files, skills, warnings } = await find({
      only: { rules: ["./rules/b.md", "c"], skills: ["y", "z"] },
    });
    assert.deepEqual(files.map(({ text }) => text), ["rule b"]);
    assert.deepEqual(skills.map(({ name }) => name), ["y"]);
    assert.deepEqual(warnings, [
      "plugins.sql.only.rules names c, which sql has not",
      "plugins.sql.only.skills names z, which sql has not",
    ]);
    const nothing = await find({ only: { rules: [], skills: [] } });
    assert.deepEqual([nothing.files, nothing.skills, nothing.warnings], [[], [], []]);
  });
});

it("commands of a fetched plugin of the project may lie outside of it", async () => {
  put("elsewhere/t1/commands/tidy.md", "Tidy $1");
  const { commands, warnings } = await findCommands(
    placesWith({ folder: join(folder, "elsewhere/t1"), tier: "project" }),
  );
  assert.deepEqual([commands.map(({ name }) => name), warnings], [["tidy"], []]);
});
