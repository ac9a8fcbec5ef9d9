import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { appendHistory, loadHistory } from "../../src/ui/terminal/history.ts";

describe("the history file", () => {
  let folder = "";
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "nanocode-history-"));
  });
  after(() => rmSync(folder, { recursive: true }));

  it("keeps inputs of several lines, for the owner only", () => {
    const path = join(folder, "new", "history");
    assert.deepEqual(loadHistory(path), []);
    appendHistory(path, "one\ntwo");
    appendHistory(path, "漢字 \x1b");
    assert.deepEqual(loadHistory(path), ["one\ntwo", "漢字 \x1b"]);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(statSync(join(folder, "new")).mode & 0o777, 0o700);
  });
  it("closes a file that others could read", () => {
    const path = join(folder, "open");
    writeFileSync(path, "");
    chmodSync(path, 0o644);
    appendHistory(path, "x");
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });
  it("leaves out lines that are no entries", () => {
    const path = join(folder, "broken");
    writeFileSync(path, '"a"\nnot json\n{"b":1}\n"a"\n\n"c"\n"cut of');
    assert.deepEqual(loadHistory(path), ["a", "c"]);
  });
  it("stays small", () => {
    const path = join(folder, "large");
    const entry = "x".repeat(10_000);
    writeFileSync(path, `${JSON.stringify(entry)}\n`.repeat(250));
    appendHistory(path, "newest");
    assert.ok(statSync(path).size < 1024 * 1024);
    assert.equal(loadHistory(path).at(-1), "newest");
  });
  it("does not keep a pasted log", () => {
    const path = join(folder, "log");
    appendHistory(path, "kept");
    appendHistory(path, "x".repeat(100_000));
    assert.equal(readFileSync(path, "utf8"), '"kept"\n');
  });
  it("says why it cannot be written", () => {
    writeFileSync(join(folder, "file"), "");
    assert.throws(() => appendHistory(join(folder, "file", "history"), "x"), /not remembered: .*E/);
  });
});
