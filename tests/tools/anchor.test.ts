import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { anchors, parseAnchor } from "../../src/tools/anchor.ts";

describe("anchors", () => {
  it("hashes as the specification's vectors say", async () => {
    const hash = await anchors();
    assert.equal(hash(""), "dcn");
    assert.equal(hash("}"), "vpo");
    assert.equal(hash("中文"), "yir");
    assert.equal(hash("export const x = 1;"), "xls");
  });

  it("counts blanks and tells a tab from spaces", async () => {
    const hash = await anchors();
    assert.equal(new Set(["x", " x", "x ", "\tx", "    x"].map(hash)).size, 5);
  });

  it("loads one function for everybody", async () => {
    assert.equal(await anchors(), await anchors());
  });

  const READ: [string, ReturnType<typeof parseAnchor>][] = [
    ["12:abc", { line: 12, hash: "abc" }],
    ["  12:abc\n", { line: 12, hash: "abc" }],
    ["12:abc|const a = 1; | 3:xyz", { line: 12, hash: "abc" }],
    ["12:abc|", { line: 12, hash: "abc" }],
    ["> src/a.ts:12:abc|text", { line: 12, hash: "abc" }],
    ["src/a.ts:12:abc", { line: 12, hash: "abc" }],
    ["12", { line: 12, hash: null }],
    ["12:ABC", { line: 12, hash: null }],
    ["12:abcd", { line: 12, hash: null }],
    ["12|text", { line: 12, hash: null }],
    ["abc", null],
    ["", null],
    [":abc", null],
    ["x12:abc", null],
  ];
  for (const [text, wanted] of READ) {
    it(`reads ${JSON.stringify(text)} as ${JSON.stringify(wanted)}`, () => {
      assert.deepEqual(parseAnchor(text), wanted);
    });
  }
});
