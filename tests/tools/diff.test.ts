import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { applyPatch } from "diff";
import fc from "fast-check";
import { diffStat, type Hunk, hunksBetween, unifiedDiff } from "../../src/tools/diff.ts";
import { Lines } from "../../src/tools/document.ts";
import { PATIENT, RUNS } from "./support.ts";

async function hunksOf(before: string, after: string): Promise<Hunk[]> {
  const [old, now] = [new Lines(before), new Lines(after)];
  return await hunksBetween(old, now, [{ from: 0, to: old.length, at: 0, end: now.length }]);
}

async function diff(before: string | null, after: string): Promise<string> {
  const hunks = await hunksOf(before ?? "", after);
  return unifiedDiff("f.txt", before === null, hunks);
}

describe("diff", () => {
  it("reads like diff -u with two lines of context", async () => {
    assert.equal(
      await diff(
        "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n",
        "1\n2\n3\nIV\n5\n6\n7\n8\n9\n10\n11\n12\n13",
      ),
      "--- f.txt\n+++ f.txt\n@@ -2,5 +2,5 @@\n 2\n 3\n-4\n+IV\n 5\n 6\n" +
        "@@ -11,2 +11,3 @@\n 11\n 12\n+13\n\\ No newline at end of file",
    );
    assert.equal(await diff(null, "a\n"), "--- /dev/null\n+++ f.txt\n@@ -0,0 +1,1 @@\n+a");
  });

  it("can be applied, whatever changed", PATIENT, async () => {
    const text = fc.array(fc.constantFrom("a\n", "b\n", "}\n", "\n", "c\n"), { maxLength: 30 })
      .chain((lines) => fc.constantFrom(lines.join(""), lines.join("").replace(/\n$/, "")));
    await fc.assert(
      fc.asyncProperty(text, text, async (before, after) => {
        if (before === after) return;
        assert.equal(applyPatch(before, `${await diff(before, after)}\n`), after);
      }),
      { numRuns: 300 * RUNS },
    );
  });

  it("is quick, if coarse, where too much changed, and can still be applied", PATIENT, async () => {
    const lines = Array.from({ length: 20_000 }, (_, i) => `${i % 2 ? "}" : `line ${i}`}\n`);
    const before = `first\n${lines.join("")}last\n`;
    const after = `first\n${lines.map((line) => `  ${line}`).join("")}more\nlast\n`;
    const hunks = await hunksOf(before, after);
    assert.equal(hunks.length, 1);
    assert.match(diffStat(hunks), /^\+2000\d -2000\d$/);
    assert.equal(applyPatch(before, `${await diff(before, after)}\n`), after);
  });

  it("shortens long lines between characters", async () => {
    const text = await diff(`${"a".repeat(399)}🔥${"b".repeat(300)}\n`, "x\n");
    assert.ok(text.isWellFormed());
    assert.match(text, /a… \[700 characters\]/);
  });
});
