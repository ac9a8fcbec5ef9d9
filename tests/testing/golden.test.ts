import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import {
  goldenTranscript,
  type TemporaryWorkspace,
  temporaryWorkspace,
} from "../../src/testing/mod.ts";
import { normalized, UPDATE_FLAG } from "../../src/testing/golden.ts";
import { newId } from "../../src/session/records.ts";

let workspace: TemporaryWorkspace;
let file: string;
beforeEach(async () => {
  workspace = await temporaryWorkspace();
  file = join(workspace.path, "golden", "a.txt");
});
afterEach(async () => {
  delete process.env[UPDATE_FLAG];
  await workspace.remove();
});

/** With the flag set, and nothing said on stderr of the test run. */
async function updated(text: string): Promise<string> {
  const { write } = process.stderr;
  let said = "";
  process.stderr.write = ((chunk: string) => (said += chunk, true)) as typeof write;
  process.env[UPDATE_FLAG] = "1";
  try {
    await goldenTranscript(text, file);
  } finally {
    process.stderr.write = write;
    delete process.env[UPDATE_FLAG];
  }
  return said;
}

describe("a golden transcript", () => {
  it("is never made by itself: a missing one is an error that says how", async () => {
    await assert.rejects(
      goldenTranscript("a\n", file),
      /^Error: there is no .*golden\/a\.txt to compare with: write it with NANOCODE_UPDATE_GOLDEN=1/,
    );
    process.env[UPDATE_FLAG] = "0";
    await assert.rejects(goldenTranscript("a\n", file), /there is no/);
    assert.ok(!existsSync(file));
    assert.equal(await updated("a\n"), `wrote ${file}\n`);
    await goldenTranscript("a\n", pathToFileURL(file));
    assert.equal(await updated("a\n"), "", "nothing to write");
  });

  it("differing shows a unified diff, and the file stays; the flag takes the new one", async () => {
    await updated("user: hi\nmodel: one\nend: done\n");
    await assert.rejects(
      goldenTranscript("user: hi\nmodel: two\nend: done\n", file),
      (error: Error) => {
        assert.match(error.message, /is not the one of .*a\.txt \(NANOCODE_UPDATE_GOLDEN=1/);
        const diff =
          "--- golden\n+++ now\n@@ -1,3 +1,3 @@\n user: hi\n-model: one\n+model: two\n end: done";
        assert.ok(error.message.endsWith(diff), error.message);
        return true;
      },
    );
    assert.equal(await workspace.read("golden/a.txt"), "user: hi\nmodel: one\nend: done\n");
    await updated("user: hi\nmodel: two\nend: done\n");
    assert.match(await workspace.read("golden/a.txt"), /two/);
    const long = Array.from({ length: 5000 }, (_, i) => `line ${i}\n`).join("");
    await assert.rejects(goldenTranscript(long, file), (error: Error) => {
      assert.match(error.message, /… \d+ more lines$/);
      return error.message.split("\n").length < 210;
    });
  });

  it("is compared without line ends of Windows", async () => {
    await workspace.write("golden/a.txt", "a\r\nb\r\n");
    await goldenTranscript("a\nb\n", file);
  });

  it("holds nothing that differs from run to run", () => {
    const text = [
      `wrote ${workspace.path}/src/a.txt and ${workspace.home}`,
      `at ${new Date().toISOString()} as ${newId()} and ${crypto.randomUUID()}`,
      `sha ${"a1".repeat(32)} rev ${"b".repeat(40)}`,
      "took 12 ms, 0.3s, 4 s; 1,234 tokens for $0.0123",
      "2026 lines, version 1.2.3, 0x1f, it's 5 sheep",
    ].join("\n");
    assert.deepEqual(normalized(text).split("\n"), [
      "wrote {temp}/work/src/a.txt and {temp}/home",
      "at {time} as {id} and {id}",
      "sha {hash} rev {hash}",
      "took {duration}, {duration}, {duration}; {n} tokens for {cost}",
      "2026 lines, version 1.2.3, 0x1f, it's 5 sheep",
    ]);
    assert.equal(normalized(normalized(text)), normalized(text));
  });
});
