import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { unpack } from "../../src/plugins/unpack.ts";
import { type Entry, packed, tgz } from "./tarballs.ts";

let folder: string;
let target: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "nanocode-unpack-"));
  target = mkdtempSync(join(folder, "t-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const plugin: Entry = { name: "package/plugin.json", content: "{}" };

describe("unpacking", () => {
  it("gives the folder with the manifest, with exec bits and nothing else of the modes", async () => {
    const bytes = await tgz([
      { name: "package/", type: "directory" },
      plugin,
      { name: "package/run.sh", content: "#!/bin/sh\n", mode: 0o4755 },
      { name: "package/deep/er/x.ts", content: "1", mode: 0o600 },
    ]);
    const top = await unpack(bytes, target, "x");
    assert.equal(top, join(target, "package"));
    assert.deepEqual(readdirSync(top).sort(), ["deep", "plugin.json", "run.sh"]);
    assert.equal(statSync(join(top, "run.sh")).mode & 0o7777, 0o755);
    assert.equal(statSync(join(top, "deep/er/x.ts")).mode & 0o7777, 0o644);
  });

  it("takes a manifest at the top, and names with ./ and long paths", async () => {
    const long = `${"d".repeat(90)}/${"e".repeat(90)}/f.ts`;
    const top = await unpack(
      await tgz([{ name: "./plugin.json", content: "{}" }, { name: `./${long}`, content: "x" }]),
      target,
      "x",
    );
    assert.equal(top, target);
    assert.equal(readFileSync(join(top, long), "utf8"), "x");
  });

  const hostile: [what: string, entries: Entry[], says: RegExp][] = [
    ["..", [plugin, { name: "package/../../evil" }], /leads out/],
    [".. at the start", [{ name: "../evil" }], /leads out/],
    ["an absolute name", [{ name: "/tmp/nanocode-evil" }], /absolute/],
    ["a drive letter", [{ name: "C:evil" }], /absolute/],
    ["a backslash", [{ name: "package\\..\\evil" }], /not portable/],
    ["a control character", [{ name: "package/a\x07" }], /not portable/],
    [
      "a symbolic link",
      [plugin, { name: "package/l", type: "symlink", linkname: "/etc" }],
      /symlink/,
    ],
    ["a link, then a file through it", [
      { name: "package/l", type: "symlink", linkname: ".." },
      { name: "package/l/evil" },
    ], /symlink/],
    ["a hard link", [plugin, { name: "package/l", type: "link", linkname: "/etc/passwd" }], /link/],
    ["a character device", [{ name: "package/d", type: "character-device" }], /character-device/],
    ["a block device", [{ name: "package/d", type: "block-device" }], /block-device/],
    ["a pipe", [{ name: "package/p", type: "fifo" }], /fifo/],
    [
      "names that differ in case",
      [{ name: "p/A" }, { name: "p/a" }],
      /differs from p\/A only in case/,
    ],
    ["folders that differ in case", [{ name: "p/A/x" }, { name: "p/a/y" }], /only in case/],
    [
      "names that differ in their form of ü",
      [{ name: "p/u\u0308" }, { name: "p/\u00fc" }],
      /only in case/,
    ],
    ["a file twice", [plugin, { ...plugin, content: "[]" }], /is there twice/],
    ["a file where a folder is", [{ name: "p/a/b" }, { name: "p/a" }], /is there twice/],
    ["a folder where a file is", [{ name: "p/a" }, { name: "p/a/b" }], /is there twice/],
    [".git", [plugin, { name: "package/.git/config", content: "[core]" }], /\.git/],
    [".GIT", [plugin, { name: "package/sub/.GIT/config", content: "[core]" }], /\.git/],
    ["no manifest", [{ name: "package/index.ts" }], /holds no plugin\.json/],
    ["two top folders", [plugin, { name: "other/x" }], /holds no plugin\.json/],
    ["nothing", [], /holds no plugin\.json/],
  ];
  for (const [what, entries, says] of hostile) {
    it(`refuses ${what}, and nothing lies outside the folder`, async () => {
      await assert.rejects(unpack(await tgz(entries), target, "the tarball"), says);
      assert.deepEqual(readdirSync(folder), [target.slice(folder.length + 1)]);
      assert.ok(!existsSync("/tmp/nanocode-evil"));
    });
  }

  it("refuses what is no tarball, a cut one, and one that becomes very large", async () => {
    const whole = await packed({ "plugin.json": "{}", "x": "y".repeat(50_000) });
    await assert.rejects(unpack(new TextEncoder().encode("<html>"), target, "x"), /is no tarball/);
    await assert.rejects(unpack(gzipSync("not a tar ".repeat(200)), target, "x"), /is no tarball/);
    await assert.rejects(
      unpack(whole.subarray(0, whole.length - 30), target, "x"),
      /is no tarball/,
    );
    const small = { files: 100, bytes: 4 * 1024 * 1024 };
    // Zeros behind the end of the archive count as well.
    const zeros = gzipSync(new Uint8Array(small.bytes + 1));
    assert.ok(zeros.length < 8192);
    await assert.rejects(unpack(zeros, target, "x", small), /unpacks to more than 4 MB/);
  });

  it("refuses more files than a plugin may have", async () => {
    const many = Array.from(
      { length: 101 },
      (_, i) => ({ name: `d${i}/`, type: "directory" as const }),
    );
    await assert.rejects(
      unpack(await tgz(many), target, "x", { files: 100, bytes: 1e9 }),
      /more than 100 files/,
    );
  });
});
