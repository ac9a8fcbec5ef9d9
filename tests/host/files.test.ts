// Reading and resolving paths: FE-17, PM-04, PM-05 as far as the host decides them.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { localHost } from "../../src/host/local.ts";
import { removeTemporary, temporary } from "./support.ts";

const host = localHost({ locks: "/nonexistent" });

describe("host: realpath", () => {
  removeTemporary();

  it("resolves links of existing paths", async () => {
    const dir = temporary();
    mkdirSync(join(dir, "real"));
    writeFileSync(join(dir, "real/f"), "");
    symlinkSync("real", join(dir, "link"));
    assert.equal(await host.realpath(join(dir, "link/f")), join(dir, "real/f"));
  });

  it("keeps the rest below the deepest existing ancestor", async () => {
    const dir = temporary();
    mkdirSync(join(dir, "real"));
    symlinkSync("real", join(dir, "link"));
    assert.equal(await host.realpath(join(dir, "link/a/b")), join(dir, "real/a/b"));
  });

  it("gives the target of a dangling link, also through others (PM-05)", async () => {
    const dir = temporary();
    const outside = temporary();
    symlinkSync(join(outside, "new.txt"), join(dir, "inside.txt"));
    symlinkSync("inside.txt", join(dir, "again.txt"));
    assert.equal(await host.realpath(join(dir, "again.txt")), join(outside, "new.txt"));
  });

  it("takes .. after a link as the kernel does, where the path exists and where not (PM-04)", async () => {
    const dir = temporary();
    const outside = temporary();
    mkdirSync(join(outside, "deep"));
    writeFileSync(join(outside, "f"), "");
    symlinkSync(join(outside, "deep"), join(dir, "out"));
    assert.equal(await host.realpath(`${dir}/out/../f`), join(outside, "f"));
    assert.equal(await host.realpath(`${dir}/out/../new`), join(outside, "new"));
  });

  it("refuses a loop with ELOOP", async () => {
    const dir = temporary();
    symlinkSync("b", join(dir, "a"));
    symlinkSync("a", join(dir, "b"));
    for (const path of ["a", "a/x"]) {
      await assert.rejects(host.realpath(join(dir, path)), { name: "HostError", code: "ELOOP" });
    }
  });

  it("refuses a path through a file with ENOTDIR", async () => {
    const dir = temporary();
    writeFileSync(join(dir, "f"), "");
    await assert.rejects(host.realpath(join(dir, "f/x")), { name: "HostError", code: "ENOTDIR" });
  });
});

describe("host: reading", () => {
  removeTemporary();

  it("stats files and folders through links, and says null for nothing", async () => {
    const dir = temporary();
    writeFileSync(join(dir, "f"), "12345", { mode: 0o640 });
    symlinkSync("f", join(dir, "l"));
    const info = await host.stat(join(dir, "l"));
    assert.deepEqual([info?.kind, info?.size, info?.mode], ["file", 5, 0o640]);
    assert.equal((await host.stat(dir))?.kind, "dir");
    assert.equal(await host.stat(join(dir, "none")), null);
    assert.equal(await host.stat(join(dir, "f/none")), null);
  });

  it("lists a folder sorted by name, with kinds", async () => {
    const dir = temporary();
    for (const name of ["b", "B", "a10", "a9"]) writeFileSync(join(dir, name), "");
    mkdirSync(join(dir, "d"));
    symlinkSync("none", join(dir, "c"));
    assert.deepEqual((await host.readDir(dir)).map(({ name, kind }) => `${name} ${kind}`), [
      "B file",
      "a10 file",
      "a9 file",
      "b file",
      "c link",
      "d dir",
    ]);
  });

  it("reads ranges clipped to the file", async () => {
    const dir = temporary();
    const file = join(dir, "f");
    writeFileSync(file, "0123456789");
    const text = async (start: number, end: number) =>
      new TextDecoder().decode(await host.readRange(file, start, end));
    assert.equal(await text(2, 5), "234");
    assert.equal(await text(8, 99), "89");
    assert.equal(await text(-5, 2), "01");
    assert.equal(await text(50, 60), "");
    assert.equal(await text(5, 2), "");
  });

  it("refuses folders, pipes and devices in words instead of waiting for them", async () => {
    const dir = temporary();
    execFileSync("mkfifo", [join(dir, "pipe")]);
    await assert.rejects(host.read(dir), { code: "EISDIR", message: /it is a directory/ });
    await assert.rejects(host.read(join(dir, "pipe")), { code: "EINVAL", message: /pipe/ });
    await assert.rejects(host.read("/dev/zero"), { code: "EINVAL", message: /device/ });
  });

  it("names path, reason and code of an error", async () => {
    const path = join(temporary(), "none");
    await assert.rejects(host.read(path), {
      name: "HostError",
      code: "ENOENT",
      message: `cannot read ${path}: no such file or directory (ENOENT)`,
    });
  });
});
