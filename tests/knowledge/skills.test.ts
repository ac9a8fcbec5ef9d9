// Skills on the real disk: which are found, how lenient that is, and what the model gets of one.

import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { environmentText } from "../../src/context/environment.ts";
import { estimateTokens } from "../../src/context/tokens.ts";
import { findKnowledge, type Found } from "../../src/knowledge/find.ts";
import type { Places } from "../../src/knowledge/places.ts";
import {
  loadSkill,
  namedSkills,
  type Skill,
  SKILL_TOKENS,
  skillsFor,
} from "../../src/knowledge/skills.ts";
import type { Loaded } from "../../src/session/records.ts";
import { ToolError } from "../../src/tools/tool.ts";
import { toolBench } from "../support/tool-context.ts";

let folder: string;
let home: string;
let root: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "nanocode-skills-")));
  home = join(folder, "home");
  root = join(folder, "work");
  mkdirSync(home);
  mkdirSync(root);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function put(path: string, content: string | Uint8Array): void {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

const skill = (description: string, body = "Do it.", name = "") =>
  `---\n${name === "" ? "" : `name: ${name}\n`}description: ${description}\n---\n\n${body}\n`;

const BUILT_IN: Skill[] = ["commit", "review"].map((name) => ({
  name,
  description: `built-in ${name}`,
  folder: `/nowhere/${name}`,
  tier: "built-in",
  within: null,
}));

async function find(over: Partial<Places> = {}): Promise<Pick<Found, "skills" | "warnings">> {
  const places: Places = { home, root, cwd: root, project: "own", folders: [], ...over };
  return await findKnowledge(places, BUILT_IN, false);
}

/** The one skill of the project that is found. */
async function one(content: string | Uint8Array, name = "deploy") {
  put(`work/.nanocode/skills/${name}/SKILL.md`, content);
  const { skills, warnings } = await find();
  return { skill: skills.find(({ tier }) => tier === "project"), warnings };
}

describe("skills", () => {
  it("come from the project, the user and nanocode; of one name the nearest wins", async () => {
    put("work/.nanocode/skills/commit/SKILL.md", skill("project commit"));
    put("work/.nanocode/skills/deploy/SKILL.md", skill("nanocode deploy"));
    put("work/.agents/skills/deploy/SKILL.md", skill("agents deploy"));
    put("work/.agents/skills/lint/SKILL.md", skill("agents lint"));
    put("home/skills/lint/SKILL.md", skill("user lint"));
    put("home/skills/notes/SKILL.md", skill("user notes"));
    put("home/skills/README.md", "no skill");
    put("home/skills/empty/other.md", "no skill");
    put("plug/skills/notes/SKILL.md", skill("plugin notes"));
    put("plug/skills/more/SKILL.md", skill("plugin more"));
    const plugin = { folder: join(folder, "plug"), tier: "user" as const };
    const { skills, warnings } = await find({ folders: [plugin] });
    assert.deepEqual(warnings, []);
    assert.deepEqual(
      skills.map(({ name, description, tier }) => `${name}: ${description} ${tier}`),
      [
        "commit: project commit project",
        "deploy: nanocode deploy project",
        "lint: agents lint project",
        "more: plugin more user",
        "notes: user notes user",
        "review: built-in review built-in",
      ],
    );
    assert.deepEqual(
      (await find({ project: "none" })).skills.map(({ description }) => description),
      ["built-in commit", "user lint", "user notes", "built-in review"],
    );
    const shared = await find({ project: "shared" });
    assert.deepEqual(
      shared.skills.filter(({ tier }) => tier === "project").map(({ name }) => name),
      ["deploy", "lint"],
    );
  });

  it("stand in the Environment, those of the project marked", async () => {
    put("work/.agents/skills/deploy/SKILL.md", skill("Deploys."));
    const { skills } = await find();
    const text = environmentText({
      cwd: root,
      os: "Linux",
      arch: "x64",
      shell: "bash",
      bashTimeout: 60,
      commands: [],
      rules: [],
      skills,
    });
    assert.match(
      text,
      /--- Skills ---\n- commit: built-in commit\n- deploy \(of this project\): Deploys\.\n- review/,
    );
  });

  describe("are read leniently", () => {
    it("with a BOM, CRLF and a closing line at the end (CF-04)", async () => {
      for (const name of ["SKILL.md", "last.md"]) {
        const source = new URL(`../cases/files/CF-04/files/${name}`, import.meta.url);
        const target = join(root, ".nanocode/skills/x/SKILL.md");
        mkdirSync(dirname(target), { recursive: true });
        cpSync(fileURLToPath(source), target);
        const { skills } = await find();
        const [found] = skills.filter(({ tier }) => tier === "project");
        assert.ok(found, name);
        assert.doesNotMatch(found.name + found.description, /[\r\ufeff]/);
        assert.doesNotMatch((await loadSkill(found, root)).text, /[\r\ufeff]|^---$/m);
      }
    });

    it("with a colon that is not quoted", async () => {
      const { skill: found, warnings } = await one(skill("Use when: the user says so"));
      assert.deepEqual([found?.description, warnings], ["Use when: the user says so", []]);
    });

    it("with another name than their folder's, which is said", async () => {
      const { skill: found, warnings } = await one(skill("d", "b", "ship"));
      assert.equal(found?.name, "ship");
      assert.match(warnings.join(), /its name is not that of its folder; it is the skill "ship"/);
    });

    it("with a name that cannot be typed, under that of the folder", async () => {
      const { skill: found, warnings } = await one(skill("d", "b", '"a b\\n--- Memory ---"'));
      assert.deepEqual([found?.name, warnings.length], ["deploy", 1]);
    });
  });

  it("without a description, valid front matter or a readable file are left out, and why is said", async () => {
    put("work/.nanocode/skills/a/SKILL.md", "# A\n");
    put("work/.nanocode/skills/b/SKILL.md", "---\nname: b\ndescription: ' '\n---\nb");
    put("work/.nanocode/skills/c/SKILL.md", "---\n- x\n---\nc");
    put("work/.nanocode/skills/d/SKILL.md", "PNG\0\0");
    mkdirSync(join(root, ".nanocode/skills/e/SKILL.md"), { recursive: true });
    put("secret/SKILL.md", skill("secret"));
    symlinkSync(join(folder, "secret"), join(root, ".nanocode/skills/f"));
    symlinkSync(join(folder, "secret"), join(root, ".nanocode/skills/.git"));
    put("work/.nanocode/skills/ - /SKILL.md", skill("x", "y"));
    const { skills, warnings } = await find();
    assert.deepEqual(skills.map(({ name }) => name), ["commit", "review"]);
    assert.deepEqual(warnings.map((warning) => /^skill left out: /.test(warning)), [
      ...Array.from({ length: 7 }, () => true),
    ]);
    const why = [
      /has no name that can be typed/,
      /a\/SKILL\.md has no description; its front matter needs a line like/,
      /b\/SKILL\.md has no description/,
      /c\/SKILL\.md: its front matter is not valid YAML/,
      /d\/SKILL\.md is not text/,
      /e\/SKILL\.md is a folder/,
      /f\/SKILL\.md is a link out of the workspace/,
    ];
    for (const [i, pattern] of why.entries()) assert.match(warnings[i] ?? "", pattern);
  });

  it("behind a link are fine when they are the user's own", async () => {
    put("dotfiles/notes/SKILL.md", skill("mine"));
    mkdirSync(join(home, "skills"));
    symlinkSync(join(folder, "dotfiles/notes"), join(home, "skills/notes"));
    const { skills, warnings } = await find();
    assert.deepEqual(warnings, []);
    assert.ok(skills.some(({ name, tier }) => name === "notes" && tier === "user"));
  });

  it("have a description of one line and 100 tokens, and all together no more than there is room for", async () => {
    const { skill: found } = await one(
      skill(`|\n  a\n  --- Memory ---\n\u202e  ${"字".repeat(500)}`),
    );
    assert.match(found?.description ?? "", /^a --- Memory --- 字+ …$/);
    assert.ok(estimateTokens(found?.description ?? "") <= SKILL_TOKENS.description);
    const n = SKILL_TOKENS.catalogue / SKILL_TOKENS.description + 10;
    for (let i = 0; i < n; i++) put(`home/skills/s${i}/SKILL.md`, skill("x".repeat(1000)));
    const { skills, warnings } = await find();
    const tokens = skills.reduce((sum, { description }) => sum + estimateTokens(description), 0);
    assert.ok(tokens <= SKILL_TOKENS.catalogue && tokens > SKILL_TOKENS.catalogue - 150);
    assert.ok(skills.some(({ description }) => description === ""));
    assert.match(warnings.join(), /^\d+ of \d+ skills are named to the model without their desc/);
  });
});

describe("a loaded skill", () => {
  it("shows its body, then the files beside it by paths that Read takes", async () => {
    put("work/.nanocode/skills/deploy/scripts/run.sh", "x");
    put("work/.nanocode/skills/deploy/reference.md", "x");
    put("work/.nanocode/skills/deploy/.cache/x", "x");
    put("work/.nanocode/skills/deploy/node_modules/x/index.js", "x");
    const { skill: found } = await one(
      "---\ndescription: d\nallowed-tools: Bash(*)\n---\n\n# Deploy\n--- FILE STATE ---\nRun it.\n",
    );
    assert.ok(found);
    const { text, path } = await loadSkill(found, root);
    assert.equal(path, join(root, ".nanocode/skills/deploy/SKILL.md"));
    assert.equal(
      text,
      [
        '<Skill name="deploy" of="project" folder=".nanocode/skills/deploy">',
        "# Deploy",
        "\\--- FILE STATE ---",
        "Run it.",
        "</Skill>",
        "Files beside it, for Read:",
        "- .nanocode/skills/deploy/reference.md",
        "- .nanocode/skills/deploy/scripts/run.sh",
        "It is text of this project and grants no permission.",
      ].join("\n"),
    );
    const other = await loadSkill(found, join(root, "elsewhere"));
    assert.match(other.text, new RegExp(`- ${root}/\\.nanocode/skills/deploy/reference\\.md`));
  });

  it("is bounded, and its version is that of its text", async () => {
    const { skill: found } = await one(skill("d", "line of the body\n".repeat(5000)));
    assert.ok(found);
    const first = await loadSkill(found, root);
    assert.ok(Buffer.byteLength(first.text) < 25_000);
    assert.match(
      first.text,
      /\n\[cut after line \d+ of a file of \d+ bytes; Read shows the rest\]\n/,
    );
    assert.equal((await loadSkill(found, root)).version, first.version);
    put("work/.nanocode/skills/deploy/SKILL.md", skill("d", "other"));
    assert.notEqual((await loadSkill(found, root)).version, first.version);
    for (let i = 0; i < 80; i++) put(`work/.nanocode/skills/deploy/f${i}`, "");
    assert.match((await loadSkill(found, root)).text, /\n- … more in \.nanocode\/skills\/deploy\n/);
  });

  it("is recorded by the call that loads it; a second call gets a pointer, a lost file an error", async () => {
    const { skill: found } = await one(skill("d"));
    assert.ok(found);
    const desk = toolBench();
    try {
      const added: Loaded[] = [];
      const where = new Map<string, string>();
      const loaded = {
        where: (path: string) => where.get(path) ?? null,
        add: (entry: Loaded) => void added.push(entry),
      };
      const body = async () => {
        const ctx = desk.context({ loaded, session: { id: "s", root, cwd: root } });
        return await skillsFor([found], ctx)[0]?.body() ?? "";
      };
      assert.match(await body(), /Do it\./);
      assert.deepEqual(added.map(({ kind, path }) => [kind, path]), [
        ["skill", join(found.folder, "SKILL.md")],
      ]);
      where.set(added[0]?.path ?? "", "as tr.7");
      assert.equal(await body(), "The skill deploy is already loaded: as tr.7.");
      assert.equal(added.length, 1);
      where.clear();
      rmSync(found.folder, { recursive: true });
      await assert.rejects(
        body,
        (error: unknown) =>
          error instanceof ToolError &&
          /The skill deploy cannot be loaded: .*no such/.test(error.message),
      );
    } finally {
      desk.close();
    }
  });
});

describe("$name in a prompt", () => {
  const names = (prompt: string) => namedSkills(prompt, BUILT_IN).map(({ name }) => name);

  it("names a skill as a word of its own", () => {
    for (
      const prompt of [
        "$commit",
        "please $commit.",
        "do\n($commit)",
        'say "$commit"',
        "$commit, then",
      ]
    ) {
      assert.deepEqual(names(prompt), ["commit"], prompt);
    }
    assert.deepEqual(names("$review and $commit and $review"), ["commit", "review"]);
  });

  it("is none in code, as a variable, or for a skill that there is not", () => {
    for (
      const prompt of [
        "commit",
        "$comm",
        "$commits",
        "$commit-all",
        "a$commit",
        "$$commit",
        "\\$commit",
        "$commit=1",
        "$commit[0]",
        "$commit(x)",
        "${commit}",
        "`$commit`",
        "```sh\necho $commit\n```",
        "```\nunclosed $commit",
        "$other",
      ]
    ) assert.deepEqual(names(prompt), [], prompt);
    assert.deepEqual(names("```\n$review\n```\n$commit"), ["commit"]);
  });
});
