// The examples and tables of the docs against the code: what is documented exists, what exists is documented.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { PLUGIN_OPTIONS } from "../../src/cli/plugin.ts";
import { TRUST_OPTIONS } from "../../src/cli/trust.ts";
import { FLAGS, parseArgs } from "../../src/cli/args.ts";
import { DEFAULTS, leaves } from "../../src/config/config.ts";
import { configSchema } from "../../src/config/schema.ts";
import { environmentText, type RuleText } from "../../src/context/environment.ts";
import { frontMatter } from "../../src/knowledge/front-matter.ts";
import { RULE_BYTES } from "../../src/knowledge/rules.ts";
import { SKILL_TOKENS } from "../../src/knowledge/skills.ts";
import { parseRule } from "../../src/permission/rules.ts";
import { KEY_ORDER } from "../../src/provider/profiles.ts";
import { EXIT } from "../../src/runtime/errors.ts";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const pages = [
  "README.md",
  ...readdirSync(new URL("../../docs/", import.meta.url)).map((name) => `docs/${name}`),
];
const blocks = (text: string, language: string) =>
  [...text.matchAll(new RegExp("```" + language + "\\n([\\s\\S]*?)```", "g"))].map((match) =>
    match[1] ?? ""
  );

describe("docs", () => {
  it("every option named in a page exists", () => {
    const own = [...Object.keys(TRUST_OPTIONS), ...Object.keys(PLUGIN_OPTIONS)];
    const known = new Set([...FLAGS.map((flag) => flag.name), ...own].map((name) => `--${name}`));
    for (const page of pages.filter((name) => !name.includes("decisions"))) {
      // Not those of slash commands: `/compact --undo`.
      const text = read(page).replaceAll(/`\/[a-z]+ [^`]*`/g, "");
      for (const [flag] of text.matchAll(/(?<![\w-])--[a-z][a-z-]+/g)) {
        assert.ok(known.has(flag), `${page}: ${flag}`);
      }
    }
  });

  it("the command lines of the README parse", () => {
    const lines = blocks(read("README.md"), "sh").flatMap((block) => block.split("\n"))
      .map((line) => line.replace(/\s+#.*$/, "").replace(/ < .*$/, ""))
      .filter((line) => /^(npm start -- |nanocode )/.test(line));
    assert.ok(lines.length >= 2);
    for (const line of lines) {
      const words = [
        ...line.replace(/^(npm start -- |nanocode )/, "").matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g),
      ]
        .map((match) => match[1] ?? match[2] ?? match[3] ?? "");
      parseArgs(words);
    }
  });

  it("the example config is valid, and every key is in the table", () => {
    const page = read("docs/config.md");
    const examples = blocks(page, "json");
    assert.equal(examples.length, 1);
    assert.ok(configSchema.safeParse(JSON.parse(examples[0] ?? "")).success);
    for (const key of Object.keys(configSchema.shape)) {
      if (key !== "$schema") assert.ok(page.includes(`| \`${key}`), key);
    }
    for (const [key, value] of leaves(DEFAULTS)) {
      const name = key.split(".").at(-1) ?? "";
      if (typeof value === "number") {
        assert.ok(page.includes(`${name} ${value}`), `${name} ${value}`);
      }
    }
  });

  it("the permission rules of the docs are rules", () => {
    const rules = read("docs/permissions.md").match(/`(Bash|Edit|Read|Net|Tool)\([^`]+\)`/g) ?? [];
    assert.ok(rules.length >= 5);
    for (const rule of rules) parseRule(rule.replaceAll("`", ""));
  });

  it("the rules of the example look to the model as it says, within the limits it names", () => {
    const page = read("docs/rules.md");
    const [example = ""] = blocks(page, "text");
    const rule = (tier: RuleText["tier"], shown: string, text: string) => ({ tier, shown, text });
    const text = environmentText({
      cwd: "/w/packages/app",
      os: "Linux",
      arch: "x64",
      shell: "bash",
      bashTimeout: 60,
      commands: [],
      rules: [
        rule("user", "/home/ada/.nanocode/AGENTS.md", "Answer briefly."),
        rule("project", "../../AGENTS.md", "Run the tests with: npm test"),
        rule("project", "AGENTS.md", "Here the tests are run with: make check"),
      ],
      skills: [],
    });
    assert.ok(example !== "" && `${text}\n`.endsWith(`\n\n${example}`), text);
    for (const limit of Object.values(RULE_BYTES)) {
      assert.ok(page.includes(` ${limit}`), `${limit}`);
    }
  });

  it("the examples of rules, skills and commands are read as meant, within the limits that are named", async () => {
    const examples = [...blocks(read("docs/rules.md"), "markdown")];
    const page = read("docs/skills.md");
    examples.push(...blocks(page, "markdown"));
    const fields: string[][] = [];
    for (const example of examples) {
      const parsed = await frontMatter(example);
      assert.equal(parsed.fault, undefined);
      fields.push(Object.keys(parsed.fields));
    }
    assert.deepEqual(fields, [
      ["globs"],
      ["name", "description"],
      ["description", "argument-hint"],
    ]);
    for (const limit of Object.values(SKILL_TOKENS)) assert.ok(page.includes(` ${limit} `));
    for (const name of readdirSync(new URL("../../skills/", import.meta.url))) {
      assert.ok(page.includes(`\`${name}\``), name);
    }
  });

  it("the events of the table are the events of the code", () => {
    const page = read("docs/cli.md");
    const code = [...read("src/loop/events.ts").matchAll(/type: "([a-z_]+)"/g)].map((match) =>
      match[1] ?? ""
    );
    for (const type of new Set(code)) {
      assert.match(page, new RegExp(`\\|[^|]*\`${type}\`[^|]*\\|`), type);
    }
  });

  it("the exit codes of the table are those of the code, and the keys of the README those that are looked for", () => {
    const page = read("docs/cli.md");
    for (const code of Object.values(EXIT)) assert.match(page, new RegExp(`^\\| ${code} \\|`, "m"));
    const readme = read("README.md");
    for (const { env } of KEY_ORDER) {
      if (env !== "ANTHROPIC_API_KEY") assert.ok(readme.includes(env), env);
    }
  });

  it("the folders of the architecture page exist", () => {
    for (const match of read("docs/architecture.md").matchAll(/^\| `([a-z/]+)`/gm)) {
      const folder = match[1] ?? "";
      assert.ok(readdirSync(new URL(`../../${folder}/`, import.meta.url)).length > 0, folder);
    }
  });
});
