// The skills that ship with nanocode keep the strict form of Agent Skills, which ours need not.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { parse } from "yaml";
import { checkManifest } from "../../src/plugins/manifest-schema.ts";

const folder = fileURLToPath(new URL("../../skills/", import.meta.url));
const read = (name: string) => readFileSync(join(folder, name, "SKILL.md"), "utf8");

describe("the bundled skills", () => {
  for (const name of readdirSync(folder)) {
    it(`${name} is strictly valid, short, and cheap in the catalogue`, () => {
      const [, yaml = "", body = ""] = /^---\n([\s\S]*?)\n---\n\n([\s\S]+)$/.exec(read(name)) ?? [];
      const fields = parse(yaml);
      assert.deepEqual(Object.keys(fields), ["name", "description", "license"]);
      assert.equal(fields.name, name);
      assert.match(name, /^[a-z0-9]+(?:-[a-z0-9]+)*$/);
      assert.ok(encode(`- ${name}: ${fields.description}\n`).length <= 25, fields.description);
      assert.match(body, /^# \S/);
      assert.ok(encode(body).length < 2000, `${encode(body).length} tokens`);
    });
  }

  it("teach a manifest that is valid", () => {
    const [, json = ""] = /```json\n([\s\S]*?)```/.exec(read("write-a-plugin")) ?? [];
    const checked = checkManifest(json);
    assert.ok(checked.ok, JSON.stringify(checked));
    assert.deepEqual(checked.warnings, []);
  });
});
