import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { frontMatter } from "../../src/knowledge/front-matter.ts";

const read = (name: string) =>
  readFileSync(new URL(`../cases/files/CF-04/files/${name}`, import.meta.url), "utf8");

describe("front matter", () => {
  it("is found behind a BOM and with CRLF, also at the end of the file (CF-04)", async () => {
    const bytes = read("SKILL.md");
    assert.ok(bytes.startsWith("\ufeff---\r\n"));
    for (const text of [bytes, read("last.md")]) {
      const { fields, body, fault } = await frontMatter(text);
      assert.equal(fault, undefined);
      assert.ok(typeof fields["name"] === "string" && typeof fields["description"] === "string");
      assert.doesNotMatch(JSON.stringify(fields) + body, /\\r|\ufeff/);
      assert.doesNotMatch(body, /---/);
    }
  });

  it("needs exactly three dashes, in the first line and alone in theirs (CF-04)", async () => {
    for (
      const text of [
        "----\nname: x\n----\nbody",
        "text\n---\nname: x\n---\n",
        "---\nname: x\nbody",
        "--- name: x\n---\n",
        "---\nname: a---\nbody",
      ]
    ) {
      assert.deepEqual(await frontMatter(text), { fields: {}, body: text });
    }
    assert.deepEqual(await frontMatter("---  \na: 1\n--- \nbody"), {
      fields: { a: 1 },
      body: "body",
    });
    assert.deepEqual(await frontMatter("---\n---\nbody"), { fields: {}, body: "body" });
  });

  it("is read as it is meant where it is not valid YAML", async () => {
    const meant: [yaml: string, fields: Record<string, unknown>][] = [
      ["description: use it when: always", { description: "use it when: always" }],
      ["a: 'quoted: x'\nb: c: d", { a: "quoted: x", b: "c: d" }],
      ["globs: *.sql", { globs: "*.sql" }],
      ["globs: **/*.{ts,tsx},!x", { globs: "**/*.{ts,tsx},!x" }],
      ["globs: [*.ts, '*.js']", { globs: ["*.ts", "*.js"] }],
      ["globs:\n  - **/*.ts\n  - *.js", { globs: ["**/*.ts", "*.js"] }],
      ["name: @x\ndescription: `x` & y", { name: "@x", description: "`x` & y" }],
    ];
    for (const [yaml, fields] of meant) {
      assert.deepEqual(
        await frontMatter(`---\n${yaml}\n---\nbody`),
        { fields, body: "body" },
        yaml,
      );
    }
  });

  it("that is no list of fields has a fault, and a body all the same", async () => {
    for (const yaml of ["just text", "- a\n- b", "\t{"]) {
      const { fields, body, fault = "" } = await frontMatter(`---\n${yaml}\n---\nbody`);
      assert.deepEqual([fields, body], [{}, "body"]);
      assert.match(fault, /^its front matter is not valid YAML: .+/, yaml);
      assert.doesNotMatch(fault, /\n/);
    }
  });
});
