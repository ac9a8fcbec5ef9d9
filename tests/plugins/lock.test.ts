import assert from "node:assert/strict";
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { ConfiguredPlugin } from "../../src/config/config.ts";
import { PluginCache, removeTree } from "../../src/plugins/cache.ts";
import { fetchedPlugins } from "../../src/plugins/fetched.ts";
import { changeLock, type LockEntry, lockText, readLock } from "../../src/plugins/lock.ts";
import { manifest, type Places, places } from "./support.ts";

let at: Places;
let path: string;
let locks: string;
beforeEach(() => {
  at = places();
  path = join(at.root, ".nanocode/plugins.lock.json");
  locks = join(at.home, "locks");
});
afterEach(() => {
  removeTree(join(at.home, "cache"));
  at.close();
});

const entry = (more: Partial<LockEntry> = {}): LockEntry => ({
  source: "npm:x@^1",
  resolved: "https://registry.example/x.tgz",
  version: "1.0.0",
  rev: null,
  artifact: "sha512-AAAA",
  tree: `t1-${"a".repeat(64)}`,
  apiVersion: 1,
  grants: [],
  ...more,
});

describe("the lock", () => {
  it("is the same text for the same content: sorted keys, fields in one order, one block a plugin", async () => {
    await changeLock(path, locks, (plugins) => {
      plugins["b"] = entry({ grants: ["exec:git", "tool:T"] });
      plugins["a"] = entry();
    });
    const text = readFileSync(path, "utf8");
    const { grants, tree, ...rest } = entry();
    const shuffled = { grants, ...rest, tree };
    assert.equal(
      lockText({
        lockfileVersion: 1,
        plugins: { a: shuffled, b: entry({ grants: ["exec:git", "tool:T"] }) },
      }),
      text,
    );
    assert.match(
      text,
      /^\{\n {2}"lockfileVersion": 1,\n {2}"plugins": \{\n {4}"a": \{\n {6}"source": "npm:x@\^1",\n/,
    );
    assert.deepEqual(Object.keys(readLock(path).plugins), ["a", "b"]);
  });

  it("is written in one step, only when it changes, and not made for nothing", async () => {
    await changeLock(path, locks, (plugins) => delete plugins["x"]);
    assert.ok(!existsSync(path));
    await changeLock(path, locks, (plugins) => void (plugins["x"] = entry()));
    const { ino } = statSync(path);
    await changeLock(path, locks, (plugins) => void (plugins["x"] = entry()));
    assert.equal(statSync(path).ino, ino);
    await changeLock(path, locks, (plugins) => delete plugins["x"]);
    assert.deepEqual(readLock(path).plugins, {});
    assert.deepEqual(readdirSync(join(at.root, ".nanocode")), ["plugins.lock.json"]);
  });

  const json = (fields: object) =>
    JSON.stringify({ lockfileVersion: 1, plugins: { x: { ...entry(), ...fields } } });
  const wrong: [what: string, text: string, says: RegExp][] = [
    ["nothing", "", /not valid JSON/],
    ["a merge", '<<<<<<< HEAD\n{"a":1}\n=======\n', /marks of a merge/],
    ["a list", "[]", /no lock of version 1/],
    ["a later version", '{"lockfileVersion":2,"plugins":{}}', /no lock of version 1/],
    [
      "an entry that is null",
      '{"lockfileVersion":1,"plugins":{"x":null}}',
      /wrong source for x: missing/,
    ],
    [
      "a tree that is a path",
      json({ tree: "../../../etc" }),
      /wrong tree for x: "\.\.\/\.\.\/\.\.\/etc"/,
    ],
    ["a commit that is an option", json({ rev: "--upload-pack=x" }), /wrong rev for x/],
    ["grants that are none", json({ grants: [1] }), /wrong grants for x/],
    ["a missing field", json({ artifact: undefined }), /wrong artifact for x: missing/],
  ];
  for (const [what, text, says] of wrong) {
    it(`is refused and left alone: ${what}`, async () => {
      at.write("work/.nanocode/plugins.lock.json", text);
      assert.throws(() => readLock(path), says);
      await assert.rejects(changeLock(path, locks, () => {}), says);
      assert.equal(readFileSync(path, "utf8"), text);
    });
  }
});

describe("configured plugins at a start", () => {
  const open = (name: string, source: string, tier: ConfiguredPlugin["tier"] = "project") =>
    fetchedPlugins([{ name, source, tier }], at);
  const fault = async (...args: Parameters<typeof open>) => (await open(...args))[0]?.fault ?? "";
  const cached = () => {
    const cache = new PluginCache(at.home);
    const staging = cache.staging();
    at.write(`${staging.slice(staging.indexOf("home"))}/plugin.json`, manifest("x", {}));
    return { cache, tree: cache.put(staging) };
  };
  const locked = (more: Partial<LockEntry>) =>
    at.write(
      "work/.nanocode/plugins.lock.json",
      lockText({ lockfileVersion: 1, plugins: { x: entry(more) } }),
    );

  it("are there when lock and cache hold them", async () => {
    const { cache, tree } = cached();
    locked({ tree });
    const [found] = await open("x", "npm:x@^1");
    assert.equal(found?.fault, null);
    assert.deepEqual([found?.name, found?.tier, found?.folder], [
      "x",
      "project",
      cache.pathOf(tree),
    ]);
  });

  it("are off with the line that repairs them: not locked, another source, not fetched, changed", async () => {
    assert.match(
      await fault("x", "npm:x@^1"),
      /not in plugins\.lock\.json: run nanocode plugin sync/,
    );
    const { cache, tree } = cached();
    locked({ tree: `t1-${"b".repeat(64)}` });
    assert.match(
      await fault("x", "npm:x@^1"),
      /not fetched on this machine yet: run nanocode plugin sync/,
    );
    locked({ tree });
    assert.match(
      await fault("x", "npm:x@^2"),
      /from npm:x@\^1, the config asks for npm:x@\^2: run nanocode plugin sync/,
    );
    assert.match(await fault("y", "npm:x@^1"), /not in plugins\.lock\.json/);
    chmodSync(cache.pathOf(tree), 0o755);
    at.write(`home/cache/plugins/${tree}/evil.ts`, "");
    assert.match(
      await fault("x", "npm:x@^1"),
      /not those that the lock pins: run nanocode plugin sync/,
    );
  });

  it("are off for a broken lock, a bad source, and a name that is not the manifest's", async () => {
    at.write("work/.nanocode/plugins.lock.json", "{");
    assert.match(await fault("x", "npm:x@^1"), /not valid JSON/);
    assert.match(await fault("x", "ext::sh"), /is no source/);
    at.write("work/tools/y/plugin.json", manifest("z", {}));
    assert.match(await fault("y", "./tools/y"), /its manifest calls it z/);
  });

  it("a path lies in the project, also behind links, or is the user's own", async () => {
    at.write("work/tools/x/plugin.json", manifest("x", {}));
    assert.equal((await open("x", "./tools/x"))[0]?.fault, null);
    at.write("home/x/plugin.json", manifest("x", {}));
    symlinkSync(join(at.home, "x"), join(at.root, "tools/out"));
    for (const path of ["./../home/x", "./tools/out"]) {
      assert.match(await fault("x", path), /leads out of the project/);
    }
    assert.match(await fault("x", join(at.root, "tools/x")), /outside the project/);
    assert.equal((await open("x", join(at.root, "tools/x"), "user"))[0]?.fault, null);
  });
});
