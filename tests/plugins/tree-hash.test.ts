import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import fc from "fast-check";
import { PluginCache, removeTree } from "../../src/plugins/cache.ts";
import { filesOf, PortableNames, treeOf } from "../../src/plugins/tree-hash.ts";

const RUNS = Number(process.env.NANOCODE_RUNS ?? 1);

let folder: string;
beforeEach(() => folder = mkdtempSync(join(tmpdir(), "nanocode-tree-")));
afterEach(() => removeTree(folder));

const put = (path: string, text: string, mode = 0o644) => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
  chmodSync(join(folder, path), mode);
};
const sha = (text: string) => createHash("sha256").update(text).digest("hex");

describe("the tree hash", () => {
  it("is the sha-256 of sorted lines of exec bit, hash and path", () => {
    put("b/run.sh", "2", 0o755);
    put("a.ts", "1");
    const lines = `- ${sha("1")} a.ts\nx ${sha("2")} b/run.sh\n`;
    assert.equal(treeOf(folder).hash, `t1-${sha(lines)}`);
  });

  it("sorts by bytes, not by UTF-16 units", () => {
    put("\u{1f600}", "");
    put("\uff21", "");
    assert.deepEqual(treeOf(folder).files.map(({ path }) => path), ["\uff21", "\u{1f600}"]);
  });

  it("knows nothing of times, owners, other modes, empty folders and a .git in the top", () => {
    put("a", "1");
    const { hash } = treeOf(folder);
    utimesSync(join(folder, "a"), 1, 1);
    chmodSync(join(folder, "a"), 0o600);
    mkdirSync(join(folder, "empty"));
    put(".git/HEAD", "x");
    assert.equal(treeOf(folder).hash, hash);
    chmodSync(join(folder, "a"), 0o700);
    assert.notEqual(treeOf(folder).hash, hash);
  });

  it("differs for any other content, name or place of a file", () => {
    const tree = fc.dictionary(
      fc.stringMatching(/^[a-c]{1,2}(\/[d-f]{1,2})?$/),
      fc.string({ maxLength: 3 }),
      { minKeys: 1, maxKeys: 4 },
    ).filter((files) =>
      !Object.keys(files).some((name) =>
        Object.keys(files).some((other) => other.startsWith(`${name}/`))
      )
    );
    const hashOf = (files: Record<string, string>) => {
      removeTree(folder);
      mkdirSync(folder);
      for (const [path, text] of Object.entries(files)) put(path, text);
      return treeOf(folder).hash;
    };
    const text = (files: Record<string, string>) => JSON.stringify(Object.entries(files).sort());
    fc.assert(
      fc.property(tree, tree, (a, b) => (hashOf(a) === hashOf(b)) === (text(a) === text(b))),
      { numRuns: 20 * RUNS },
    );
  });

  const refused: [what: string, make: () => void, says: RegExp][] = [
    ["a link", () => symlinkSync("/etc/passwd", join(folder, "l")), /l is a link/],
    ["a dangling link", () => symlinkSync("nowhere", join(folder, "l")), /l is a link/],
    ["a link to a folder", () => symlinkSync("..", join(folder, "l")), /l is a link/],
    ["names that clash", () => (put("A", ""), put("a", "")), /a differs from A only in case/],
    ["folders that clash", () => (put("A/x", ""), put("a/y", "")), /only in case/],
    ["a backslash", () => put("a\\b", ""), /not portable/],
    ["a line break in a name", () => put("a\nb", ""), /not portable/],
    [
      "a name that is no UTF-8",
      () => writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff])]), ""),
      /not portable/,
    ],
  ];
  for (const [what, make, says] of refused) {
    it(`refuses ${what}`, () => {
      make();
      assert.throws(() => treeOf(folder), says);
    });
  }

  it("refuses too much, counting folders, and says what cannot be read", () => {
    for (let i = 0; i < 6; i++) mkdirSync(join(folder, `${i}`));
    assert.throws(() => filesOf(folder, { files: 5, bytes: 10 }), /larger than 5 files/);
    put("big", "x".repeat(11));
    assert.throws(() => filesOf(folder, { files: 50, bytes: 10 }), /larger than/);
    assert.throws(() => treeOf(join(folder, "nowhere")), /cannot be read \(ENOENT\)/);
  });

  it("takes each name once", () => {
    const names = new PortableNames();
    assert.deepEqual(["a", "a", "A", "b"].map((name) => names.add(name)), [
      null,
      "is there twice",
      "differs from a only in case",
      null,
    ]);
  });
});

describe("the cache", () => {
  const filled = () => {
    const cache = new PluginCache(folder);
    const staging = cache.staging();
    writeFileSync(join(staging, "a.ts"), "1");
    mkdirSync(join(staging, "b"));
    writeFileSync(join(staging, "b/run.sh"), "2", { mode: 0o755 });
    return { cache, tree: cache.put(staging), staging };
  };

  it("keeps a tree under its hash, read-only, and takes it in twice", () => {
    const { cache, tree, staging } = filled();
    assert.ok(!existsSync(staging));
    assert.equal(treeOf(cache.pathOf(tree)).hash, tree);
    const mode = (path: string) => lstatSync(join(cache.pathOf(tree), path)).mode & 0o777;
    assert.deepEqual([".", "a.ts", "b", "b/run.sh"].map(mode), [0o555, 0o444, 0o555, 0o555]);
    assert.equal(filled().tree, tree);
    assert.equal(cache.check(tree), "ok");
  });

  const changes: [what: string, change: (path: string) => void][] = [
    ["another content of the same size", (path) => {
      chmodSync(join(path, "a.ts"), 0o644);
      writeFileSync(join(path, "a.ts"), "9");
      chmodSync(join(path, "a.ts"), 0o444);
    }],
    // Deno knows the time of the inode's change in whole seconds only.
    ...("Deno" in globalThis ? [] : [
      ["another content with its time set back", (path: string) => {
        const { mtime, atime } = lstatSync(join(path, "a.ts"));
        chmodSync(join(path, "a.ts"), 0o644);
        writeFileSync(join(path, "a.ts"), "9");
        utimesSync(join(path, "a.ts"), atime, mtime);
        chmodSync(join(path, "a.ts"), 0o444);
      }] satisfies [string, (path: string) => void],
    ]),
    ["a file more", (path) => (chmodSync(path, 0o755), writeFileSync(join(path, "c"), ""))],
    ["a file less", (path) => (chmodSync(path, 0o755), rmSync(join(path, "a.ts")))],
    ["a file that became a link", (path) => {
      chmodSync(path, 0o755);
      renameSync(join(path, "a.ts"), join(path, "../a.ts"));
      symlinkSync("../a.ts", join(path, "a.ts"));
    }],
    ["another exec bit", (path) => chmodSync(join(path, "a.ts"), 0o555)],
    [
      "a .git, which no hash covers",
      (path) => (chmodSync(path, 0o755), mkdirSync(join(path, ".git"))),
    ],
  ];
  for (const [what, change] of changes) {
    it(`sees ${what}, with the list of a start and without`, () => {
      const { cache, tree } = filled();
      assert.equal(cache.check(tree), "ok");
      change(cache.pathOf(tree));
      assert.equal(cache.check(tree), "mismatch");
      assert.equal(cache.check(tree, true), "mismatch");
    });
  }

  it("reads no file again while the list holds, and hashes without a list", () => {
    const { cache, tree } = filled();
    const list = join(cache.folder, `${tree}.files`);
    assert.match(readFileSync(list, "utf8"), /a\.ts\n/);
    rmSync(list);
    assert.equal(cache.check(tree), "ok");
    assert.ok(existsSync(list), "and the list is there for the next start");
    // The list is what is believed at a start: it stands in the person's own folder.
    chmodSync(join(cache.pathOf(tree), "a.ts"), 0o644);
    writeFileSync(join(cache.pathOf(tree), "a.ts"), "9");
    const { mode, size, mtimeMs, ctimeMs, ino } = lstatSync(join(cache.pathOf(tree), "a.ts"));
    const line = `${size} ${mtimeMs} ${ctimeMs} ${ino} ${mode} a.ts`;
    writeFileSync(list, readFileSync(list, "utf8").replace(/^.* a\.ts$/m, line));
    assert.equal(cache.check(tree), "ok");
    assert.equal(cache.check(tree, true), "mismatch");
  });

  it("says what is missing, mends what is damaged, and takes nothing but hashes for names", () => {
    const { cache, tree } = filled();
    assert.equal(cache.check(`t1-${"0".repeat(64)}`), "missing");
    for (const name of ["../../x", "t1-abc", `t1-${"0".repeat(64)}/..`]) {
      assert.throws(() => cache.pathOf(name), /no tree hash/);
    }
    chmodSync(join(cache.pathOf(tree), "a.ts"), 0o644);
    writeFileSync(join(cache.pathOf(tree), "a.ts"), "damaged");
    filled();
    assert.equal(cache.check(tree, true), "ok");
  });
});
