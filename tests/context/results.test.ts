import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import fc from "fast-check";
import { boundResult, openSink } from "../../src/context/results.ts";
import { estimateTokens } from "../../src/context/tokens.ts";
import { BlobStore } from "../../src/session/blobs.ts";

const RUNS = Number(process.env["NANOCODE_RUNS"] ?? 1);
let folder = "";
let blobs: BlobStore;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "nanocode-results-"));
  blobs = new BlobStore(folder);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const full = (spill: string | undefined) => Buffer.from(blobs.get(spill ?? "") ?? []).toString();

describe("bounded results", () => {
  it("a small result is left alone", () => {
    assert.deepEqual(boundResult("a\nb\n", 100, "tr.1", blobs), { text: "a\nb\n" });
  });

  it("a long one keeps head and tail at line ends, one truthful marker between (SH-14, SH-15)", () => {
    const text = Array.from({ length: 5000 }, (_, i) => `ok ${i + 1}`).join("\n") +
      "\n2 failed, 98 passed\n";
    const bounded = boundResult(text, 500, "tr.7", blobs);
    const lines = bounded.text.trimEnd().split("\n");
    const at = lines.findIndex((line) => line.startsWith("[tr.7:"));
    const [, first, last, total] =
      /lines (\d+)-(\d+) of (\d+)/.exec(lines[at] ?? "")?.map(Number) ?? [];
    assert.equal(total, 5001);
    assert.equal(first, at + 1);
    assert.equal(lines.length - at - 1, 5001 - (last ?? 0));
    assert.equal(lines[at - 1], `ok ${at}`);
    assert.equal(lines.at(-1), "2 failed, 98 passed");
    assert.ok(estimateTokens(bounded.text) <= 530);
    assert.equal(full(bounded.spill), text);
  });

  it("a sink past its threshold keeps everything on disk and the ends in memory", async () => {
    const sink = openSink(blobs);
    const parts = Array.from({ length: 4000 }, (_, i) => `line ${i} ${"é".repeat(50)}\n`);
    for (const part of parts) sink.write(part);
    const output = await sink.end();
    assert.ok(typeof output !== "string");
    assert.equal(output.lines, 4000);
    assert.equal(full(output.spill), parts.join(""));
    const bounded = boundResult(output, 400, "tr.2", blobs);
    assert.match(bounded.text, /^line 0 /);
    assert.match(bounded.text.trimEnd(), /line 3999 é+$/);
    assert.equal(bounded.spill, output.spill);
    const [, first, last] = /lines (\d+)-(\d+) of 4000/.exec(bounded.text)?.map(Number) ?? [];
    const shown = bounded.text.trimEnd().split("\n").length - 1;
    assert.equal(shown, 4000 - ((last ?? 0) - (first ?? 0) + 1));
  });

  it("is well-formed and within the bound for any text, surrogate pairs whole (FE-33, property)", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "binary", maxLength: 300 }), { maxLength: 60 }),
        (parts) => {
          const text = parts.map((part) => part.toWellFormed()).join("\n");
          const bounded = boundResult(text, 60, "tr.1", blobs);
          assert.ok(bounded.text.isWellFormed());
          assert.ok(estimateTokens(bounded.text) <= 60 + 30);
          assert.ok(!bounded.text.includes("\ufffd") || text.includes("\ufffd"));
        },
      ),
      { numRuns: 40 * RUNS },
    );
    const emoji = `${"a".repeat(1999)}🔥${"b".repeat(5000)}`;
    for (let limit = 1995; limit <= 2003; limit++) {
      assert.ok(boundResult(emoji, limit / 1.6, "tr.1", blobs).text.isWellFormed());
    }
  });
});
