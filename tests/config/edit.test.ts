import assert from "node:assert/strict";
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setInConfig } from "../../src/config/edit.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "nanocode-config-")));
  path = join(folder, "w", "config.json");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const set = (key: string[], value: unknown) => setInConfig(path, key, value, join(folder, "locks"));
const edited = async (text: string, key: string[], value: unknown) => {
  await set(["model"], "a/b"); // makes the folder
  writeFileSync(path, text);
  await set(key, value);
  return readFileSync(path, "utf8");
};

describe("a change of config.json", () => {
  it("makes the file, sets, changes and removes", async () => {
    await set(["plugins", "x"], undefined);
    assert.deepEqual(readdirSync(folder), []);
    await set(["plugins", "a.b"], "npm:x@1");
    assert.equal(readFileSync(path, "utf8"), '{\n  "plugins": {\n    "a.b": "npm:x@1"\n  }\n}\n');
    await set(["plugins", "a.b"], "npm:x@2");
    await set(["plugins", "c"], "./c");
    await set(["plugins", "a.b"], undefined);
    assert.deepEqual(JSON.parse(readFileSync(path, "utf8")), { plugins: { c: "./c" } });
  });

  it("keeps comments, trailing commas, order, tabs, line ends and the BOM (CF-01)", async () => {
    const text = [
      "\ufeff{",
      "\t// mine",
      '\t"model": "a/b", /* why */',
      '\t"providers": {"p": {"baseURL": "http://x//y"}},',
      '\t"plugins": {',
      "\t\t// first",
      '\t\t"x": "npm:x@1",',
      "\t},",
      "}",
      "",
    ].join("\r\n");
    const after = await edited(text, ["plugins", "y"], "./y");
    assert.equal(after, text.replace('@1",\r\n', '@1",\r\n\t\t"y": "./y",\r\n'));
  });

  it("takes an empty file for an empty config, and keeps the mode", async () => {
    assert.match(await edited("", ["model"], "c/d"), /"model": "c\/d"/);
    chmodSync(path, 0o600);
    await set(["model"], "e/f");
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  for (
    const text of [
      "{ broken",
      '{"modell": 1}',
      '{"plugins": ["x"]}',
      '{"plugins": {"X Y": "npm:x"}}',
    ]
  ) {
    it(`never writes to a file that is not valid: ${text}`, async () => {
      await assert.rejects(edited(text, ["plugins", "x"], "./x"), /not valid JSON|unknown key|but/);
      assert.equal(readFileSync(path, "utf8"), text);
    });
  }
});
