// Walking a tree: SR-03 (ignored), SR-04 (hidden), SR-05 (links), and what is counted.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import fc from "fast-check";
import { nothingSkipped, type Skipped, walk, type WalkOptions } from "../../src/host/walk.ts";
import { removeTemporary, temporary } from "./support.ts";

const RUNS = Number(process.env.NANOCODE_RUNS ?? 1);

/** A tree of files; a value of null makes a folder. */
function tree(files: Record<string, string | null>): string {
  const root = temporary();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(text === null ? join(root, path) : dirname(join(root, path)), { recursive: true });
    if (text !== null) writeFileSync(join(root, path), text);
  }
  return root;
}

function walked(
  root: string,
  over: Partial<WalkOptions> = {},
): { paths: string[]; skipped: Skipped } {
  const skipped = nothingSkipped();
  const entries = [...walk({ base: root, root, ...over }, skipped)];
  const paths = entries.map(({ relative, kind }) => kind === "dir" ? `${relative}/` : relative);
  return { paths, skipped };
}

describe("walk", () => {
  removeTemporary();

  it("gives every entry in order, folders before what they hold, hidden ones too (SR-04)", () => {
    const root = tree({
      "b.ts": "",
      "a/x.ts": "",
      "a/.y": "",
      ".github/workflows/ci.yml": "",
      B: "",
    });
    assert.deepEqual(walked(root).paths, [
      ".github/",
      ".github/workflows/",
      ".github/workflows/ci.yml",
      "B",
      "a/",
      "a/.y",
      "a/x.ts",
      "b.ts",
    ]);
  });

  it("leaves out .git and what ignore files name, and counts it (SR-03)", () => {
    const root = tree({
      ".git/config": "",
      ".gitignore": "scripts/*\n*.log\n!keep.log\n/build/\n",
      ".ignore": "c.txt\n",
      ".nanocodeignore": "!c.txt\nd.txt\n",
      "scripts/w.py": "",
      "a.log": "",
      "keep.log": "",
      "sub/b.log": "",
      "sub/build/x": "",
      "build/x": "",
      "c.txt": "",
      "d.txt": "",
    });
    const { paths, skipped } = walked(root);
    assert.deepEqual(paths, [
      ".gitignore",
      ".ignore",
      ".nanocodeignore",
      "c.txt",
      "keep.log",
      "scripts/",
      "sub/",
      "sub/build/",
      "sub/build/x",
    ]);
    assert.deepEqual([skipped.ignoredFiles, skipped.ignoredFolders], [4, 1]);
  });

  it("lets deeper ignore files overrule higher ones", () => {
    const root = tree({
      ".gitignore": "*.txt\n",
      "a/.gitignore": "!*.txt\nb.txt\n",
      "a/a.txt": "",
      "a/b.txt": "",
      "a/deep/c.txt": "",
      "d.txt": "",
    });
    assert.deepEqual(walked(root).paths, [
      ".gitignore",
      "a/",
      "a/.gitignore",
      "a/a.txt",
      "a/deep/",
      "a/deep/c.txt",
    ]);
  });

  it("takes a named folder even if it is ignored, by itself or all it holds", () => {
    const files = {
      ".gitignore": "node_modules\nscripts/*\n*.log\n",
      "node_modules/m/i.js": "",
      "scripts/w.py": "",
      "src/a.ts": "",
      "src/b.log": "",
    };
    const root = tree(files);
    const inside = (folder: string) => walked(root, { base: join(root, folder) }).paths;
    assert.deepEqual(inside("node_modules"), ["m/", "m/i.js"]);
    assert.deepEqual(inside("node_modules/m"), ["i.js"]);
    assert.deepEqual(inside("scripts"), ["w.py"]);
    assert.deepEqual(inside("src"), ["a.ts"], "the rules above still hold in a folder they let in");
  });

  it("reads the rules between the repository's root and the workspace, and info/exclude", () => {
    const root = tree({
      ".git/info/exclude": "secret-notes\n",
      ".gitignore": "*.log\n",
      "pkg/a.log": "",
      "pkg/secret-notes": "",
      "pkg/b.ts": "",
    });
    assert.deepEqual(walked(root, { base: join(root, "pkg"), root: join(root, "pkg") }).paths, [
      "b.ts",
    ]);
  });

  it("does not follow links to folders, and ends (SR-05)", () => {
    const root = tree({ "a/b": null, "a/x.ts": "" });
    symlinkSync("../..", join(root, "a/b/up"));
    symlinkSync(".", join(root, "a/self"));
    const { paths, skipped } = walked(root);
    assert.deepEqual(paths, ["a/", "a/b/", "a/x.ts"]);
    assert.equal(skipped.links, 2);
  });

  it("follows links to files that stay inside", () => {
    const outside = tree({ "secret.txt": "" });
    const root = tree({ "real.txt": "" });
    symlinkSync("real.txt", join(root, "link.txt"));
    symlinkSync(join(outside, "secret.txt"), join(root, "out.txt"));
    symlinkSync("nowhere", join(root, "broken.txt"));
    const skipped = nothingSkipped();
    const entries = [...walk({ base: root, root }, skipped)];
    assert.deepEqual(entries.map(({ relative, target }) => [relative, target]), [
      ["link.txt", join(root, "real.txt")],
      ["real.txt", undefined],
    ]);
    assert.equal(skipped.links, 2);
  });

  it("counts pipes and folders that it cannot read, and never throws", () => {
    const root = tree({ a: "" });
    execFileSync("mkfifo", [join(root, "pipe")]);
    const { paths, skipped } = walked(root);
    assert.deepEqual([paths, skipped.special], [["a"], 1]);
    const gone = walked(root, { base: join(root, "gone") });
    assert.deepEqual([gone.paths, gone.skipped.unreadable], [[], 1]);
  });

  it("stops at the depth asked for", () => {
    const root = tree({ "a/b/c/d": "", e: "" });
    assert.deepEqual(walked(root, { maxDepth: 1 }).paths, ["a/", "e"]);
    assert.deepEqual(walked(root, { maxDepth: 2 }).paths, ["a/", "a/b/", "e"]);
  });

  it("survives an ignore file made to hang it", () => {
    const root = tree({ ".gitignore": `${"*a".repeat(40)}*b\n[z-a]\n\\\n`, ["a".repeat(200)]: "" });
    assert.equal(walked(root).paths.length, 2);
  });

  it("agrees with git on random rules", { timeout: 600_000 }, () => {
    const root = tree({
      "a/b/c.txt": "",
      "a/b/d.log": "",
      "a/c.txt": "",
      "b/a.txt": "",
      "b/c/a": "",
      "c.txt": "",
      "d.log": "",
    });
    execFileSync("git", ["init", "-q", root]);
    const piece = fc.constantFrom(
      "a",
      "b",
      "c",
      "*.txt",
      "*.log",
      "c.txt",
      "*",
      "**",
      "?",
      "[a-b]",
    );
    const rule = fc.tuple(
      fc.constantFrom("", "!", "/", "!/"),
      fc.array(piece, { minLength: 1, maxLength: 3 }),
      fc.constantFrom("", "/"),
    )
      .map(([before, parts, after]) => before + parts.join("/") + after);
    // A deeper file that lets a folder in again is followed only in part (ignore-rules.ts).
    const below = rule.filter((text) => !/^!(?!\/?(?:.*\/)?(?:\*\.|[cd]\.))/.test(text));
    fc.assert(
      fc.property(
        fc.array(rule, { maxLength: 4 }),
        fc.array(below, { maxLength: 3 }),
        (top, deep) => {
          writeFileSync(join(root, ".gitignore"), top.join("\n"));
          writeFileSync(join(root, "a/.gitignore"), deep.join("\n"));
          const listed = execFileSync("git", [
            "-C",
            root,
            "ls-files",
            "-co",
            "--exclude-standard",
            "-z",
          ], { encoding: "utf8" });
          const git = listed.split("\0").filter((path) => path !== "").sort();
          const ours = walked(root).paths.filter((path) => !path.endsWith("/")).sort();
          assert.deepEqual(ours, git);
        },
      ),
      { numRuns: 15 * RUNS },
    );
  });
});
