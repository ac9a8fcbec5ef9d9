// List: trees and globs over real folders. SR-03 (ignored is counted), SR-04 (hidden is listed), SR-05
// (links end), FE-41 (signs of a glob in a path), names that try to forge rows, and bounds.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import fc from "fast-check";
import { parseToolArguments } from "../../src/tools/arguments.ts";
import { byName, First, tree } from "../../src/tools/list-tree.ts";
import { matches } from "../../src/tools/list-matches.ts";
import { list } from "../../src/tools/list.ts";
import { read } from "../../src/tools/read.ts";
import type { Tool, ToolContext } from "../../src/tools/tool.ts";
import { type ToolBench, toolBench } from "../support/tool-context.ts";
import { heavy } from "../support/heavy.ts";

const RUNS = Number(process.env.NANOCODE_RUNS ?? 1);
const LONG = { timeout: 120_000 };
let bench: ToolBench;

function files(contents: Record<string, string | Uint8Array>): void {
  for (const [path, text] of Object.entries(contents)) {
    mkdirSync(dirname(join(bench.root, path)), { recursive: true });
    writeFileSync(join(bench.root, path), text);
  }
}

/** Files `f0` to `f(n-1)` in a folder. */
function many(folder: string, n: number, prefix = "f"): void {
  mkdirSync(join(bench.root, folder), { recursive: true });
  for (let i = 0; i < n; i++) writeFileSync(join(bench.root, folder, `${prefix}${i}`), "");
}

/** A call as the loop makes it: arguments parsed, effects asked, run. */
async function text(args: unknown = {}, over: Partial<ToolContext> = {}): Promise<string> {
  const parsed = parseToolArguments(list as Tool, args);
  if (!parsed.ok) return parsed.error;
  const ctx = bench.context(over);
  try {
    await list.effects(parsed.input as never, ctx);
    return (await list.run(parsed.input as never, ctx)).output as string;
  } catch (error) {
    assert.equal((error as Error).name, "ToolError", String(error));
    return (error as Error).message;
  }
}

const rowsIn = (output: string) =>
  output.split("\n").slice(1, output.split("\n").indexOf("</List>"));

async function rows(args: unknown = {}, over: Partial<ToolContext> = {}): Promise<string[]> {
  return rowsIn(await text(args, over));
}

/** Rows without sizes: what a test is about is the names, mostly. */
async function names(args: unknown = {}, over: Partial<ToolContext> = {}): Promise<string[]> {
  return (await rows(args, over)).map((row) => row.replace(/(\S) {2}.*/, "$1"));
}

/** The arguments of the call that a result names. */
function callIn(output: string): Record<string, unknown> {
  return JSON.parse(/List (\{.*?\}) (?:shows|opens)/.exec(output)?.[1] ?? "null");
}

describe("List", () => {
  beforeEach(() => {
    bench = toolBench();
  });
  afterEach(() => {
    bench.close();
  });

  it("shows a tree: folders first, natural order, lines and sizes", async () => {
    files({
      "src/tools/a.ts": "one\ntwo\n",
      "src/f10.ts": "x",
      "src/f2.ts": "x\n".repeat(3000),
      "README.md": "",
      "logo.png": Buffer.from("89504e470d0a1a0a0000", "hex"),
      ".github/ci.yml": "on: push\n",
    });
    mkdirSync(join(bench.root, "new"));
    assert.equal(
      await text(),
      `<List path="." folders="4" files="6" ignored="0">
.github/
  ci.yml  1 line, 9 B
new/  empty
src/
  tools/
    a.ts  2 lines, 8 B
  f2.ts  3000 lines, 5.9 KB
  f10.ts  1 line, 1 B
logo.png  binary, 10 B
README.md  empty
</List>`,
    );
  });

  it("counts lines as Read does, whatever the encoding and the last newline", async () => {
    const contents: Record<string, string | Uint8Array> = {
      lf: "a\nb\n",
      open: "a\nb",
      blank: "\n\n\n",
      crlf: "a\r\nb\r\n",
      cr: "a\rb",
      bom: "\ufeffa\nb\n",
      "bom-only": "\ufeff",
      utf16: Buffer.from("\ufeffa\nb\nc", "utf16le"),
      latin1: Buffer.from("caf\xe9\nb\n\n", "latin1"),
      nul: "a\0b\n",
      control: Buffer.from("\x01\x02\xff\n", "latin1"),
    };
    files(contents);
    const context = bench.context();
    for (const name of Object.keys(contents)) {
      const shown = (await read.run({ files: [{ path: name }] }, context)).output as string;
      const lines = / lines="(\d+)"/.exec(shown)?.[1];
      const [row = ""] = await rows({ path: name });
      const expected = lines === undefined ? "binary" : `${lines} line${lines === "1" ? "" : "s"}`;
      assert.equal(row.split(/ {2}|, /)[1], expected, `${name}: ${row}`);
    }
  });

  it("says nothing of lines where a file is large", async () => {
    files({ "big.txt": "x\n".repeat(600_000) });
    assert.deepEqual(await rows(), ["big.txt  1.1 MB"]);
  });

  it("counts what is ignored and does not list it, unless it is named (SR-03)", async () => {
    files({
      ".gitignore": "*.log\n/dist/\n!keep.log\n",
      ".ignore": "notes/\n",
      ".nanocodeignore": "*.tmp\n",
      "a.log": "",
      "a.tmp": "",
      "keep.log": "",
      "notes/n.md": "",
      "dist/deep/x.js": "",
      "src/.gitignore": "!inner.log\nlocal\n",
      "src/inner.log": "",
      "src/other.log": "",
      "src/local": "",
      "only/x.log": "",
      ".git/config": "",
    });
    const shown = await text();
    assert.match(shown, /^<List path="\." folders="2" files="6" ignored="8">\n/);
    assert.deepEqual(rowsIn(shown).map((row) => row.replace(/ {2}\d.*/, "")), [
      "only/  ignored entries only",
      "src/",
      "  .gitignore",
      "  inner.log  empty",
      ".gitignore",
      ".ignore",
      ".nanocodeignore",
      "keep.log  empty",
    ]);
    assert.deepEqual(await names({ path: "dist" }), ["deep/", "  x.js"]);
    assert.deepEqual(await names({ path: "dist/deep/x.js" }), ["dist/deep/x.js"]);
    assert.deepEqual(await names({ path: ".git" }), ["config"]);
  });

  it("keeps to the rules of all folders above where it opens a repository in a repository", async () => {
    files({ ".gitignore": "*.log\n", "sub/.git/x": "", "sub/a.log": "", "sub/b": "" });
    assert.match(await text(), /files="2" ignored="2"/);
    assert.deepEqual(await names(), ["sub/", "  b", ".gitignore"]);
  });

  it("names secret files and does not read them", async () => {
    files({ ".env": "KEY=1\n", "k.pem": "x\ny\n", ".ssh/config": "x\n", ".env.example": "KEY=\n" });
    assert.deepEqual(await rows(), [
      ".ssh/",
      "  config  secret, 2 B",
      ".env  secret, 6 B",
      ".env.example  1 line, 5 B",
      "k.pem  secret, 4 B",
    ]);
  });

  it("shows links and never follows them: loops, outside, broken (SR-05)", async () => {
    files({ "a/x.ts": "x\n" });
    mkdirSync(join(bench.root, "a/b"));
    const link = (target: string, path: string) => symlinkSync(target, join(bench.root, path));
    link("../..", "a/b/up");
    link(".", "a/self");
    link("x.ts", "a/same.ts");
    link("/etc", "etc");
    link("/etc/passwd", "passwd");
    link("nowhere", "gone");
    link("round", "round");
    link("x\n  forged.ts", "odd");
    assert.deepEqual(await rows(), [
      "a/",
      "  b/",
      "    up -> ../../",
      "  same.ts -> x.ts",
      "  self -> ./",
      "  x.ts  1 line, 2 B",
      "etc -> /etc/  leads outside",
      "gone -> nowhere  broken link",
      'odd -> "x\\n  forged.ts"  broken link',
      "passwd -> /etc/passwd  leads outside",
      "round -> round  a loop of links",
    ]);
    assert.deepEqual(await names({ glob: "**/*.ts" }), ["a/same.ts -> x.ts", "a/x.ts"]);
  });

  it("asks for the real path, and shows nothing where that changed meanwhile", async () => {
    files({ "a/x": "", "b/secret-name": "" });
    symlinkSync("a", join(bench.root, "link"));
    const input = { path: "link" };
    const ctx = bench.context();
    assert.deepEqual(await list.effects(input, ctx), [
      { kind: "read", path: join(bench.root, "a") },
    ]);
    execFileSync("ln", ["-sfn", "b", join(bench.root, "link")]);
    await assert.rejects(async () => await list.run(input, ctx), /has just become a link/);
  });

  it("shows hostile names as JSON strings: no row, tag or fact can be forged", async () => {
    const hostile = [
      "a\n  forged.ts  1 line, 2 B",
      "  indented",
      "end ",
      "x  empty",
      "x -> y",
      "esc\x1b[31m",
      "bidi\u202eexe",
      "zero\u200bwidth",
      "tab\tname",
      "nbsp\u00a0name",
      'back\\slash"quote',
    ];
    files(Object.fromEntries(hostile.map((name) => [name, "x"])));
    files({ "<List path=/x": "", "中文 名.txt": "", "e\u0301.txt": "", "plain 'name' (1).ts": "" });
    const shown = await rows();
    assert.equal(shown.length, hostile.length + 5);
    assert.ok(shown.includes("中文 名.txt  empty"));
    assert.ok(shown.includes("plain 'name' (1).ts  empty"));
    assert.ok(shown.includes("e\u0301.txt  empty"));
    const back = shown.filter((row) => /^"(?!<List)/.test(row)).map((row) =>
      JSON.parse(row.slice(0, row.lastIndexOf('"') + 1))
    );
    assert.deepEqual(back.sort(), hostile.toSorted());
    for (const row of shown) assert.doesNotMatch(row, /[\x00-\x1f\u202e\u200b\u00a0]/);
    // A name as it is shown can be sent back.
    for (const name of back) assert.equal((await rows({ path: name })).length, 1, name);
    assert.deepEqual(await names({ path: "<List path=", glob: "*" }), ['"<List path=/x"']);
  });

  it("cannot be made to close its element by a path", async () => {
    files({ "</List>": "" });
    assert.equal((await text({ glob: "**" })).match(/^<\/List>$/gm)?.length, 1);
  });

  it("names pipes and unreadable folders, and waits for none", async () => {
    execFileSync("mkfifo", [join(bench.root, "p")]);
    assert.deepEqual(await rows(), ["p  pipe"]);
    mkdirSync(join(bench.root, "closed"));
    chmodSync(join(bench.root, "closed"), 0);
    const [row] = await rows();
    chmodSync(join(bench.root, "closed"), 0o755);
    const isRoot = process.getuid?.() === 0;
    assert.equal(row, isRoot ? "closed/  empty" : "closed/  cannot be read");
  });

  it("takes a depth: the levels that are opened; 0 only counts", async () => {
    files({ "a/b/c/d.ts": "", "a/x": "", y: "" });
    const header = '<List path="." folders="3" files="3" ignored="0">';
    assert.equal(await text({ depth: 0 }), `${header}\n</List>`);
    assert.equal(
      await text({ depth: 1 }),
      `${header}\na/  2 files, 2 folders\ny  empty\n</List>`,
    );
    assert.deepEqual(await rows({ depth: 2 }), [
      "a/",
      "  b/  1 file, 1 folder",
      "  x  empty",
      "y  empty",
    ]);
    assert.deepEqual(await names({ depth: 9 }), ["a/", "  b/", "    c/", "      d.ts", "  x", "y"]);
  });

  it("lists another folder, a file, a folder outside; names the paths as they are typed again", async () => {
    files({ "src/a/b.ts": "x\n", "src/c.ts": "" });
    const shown = await text({ path: "src" });
    assert.match(shown, /^<List path="src" folders="1" files="2" ignored="0">\na\/\n {2}b\.ts/);
    assert.equal(
      await text({ path: "src/a/b.ts" }),
      '<List path="src/a/b.ts" files="1">\nsrc/a/b.ts  1 line, 2 B\n</List>',
    );
    const outside = dirname(bench.root);
    assert.match(await text({ path: outside }), new RegExp(`^<List path="${outside}" folders=`));
    const below = { session: { id: "s", root: bench.root, cwd: join(bench.root, "src") } };
    assert.deepEqual(await names({}, below), ["a/", "  b.ts", "c.ts"]);
    assert.deepEqual(await names({ glob: "*.ts" }, below), ["a/b.ts", "c.ts"]);
  });

  it("says what is near a missing path, and takes a look-alike with a note", async () => {
    files({ "src/parser.ts": "", "caf\u00e9/x": "" });
    assert.equal(
      await text({ path: "src/parsre.ts" }),
      "There is no file or folder src/parsre.ts; near names: src/parser.ts.",
    );
    assert.match(await text({ path: "scr" }), /near names: src\.$/);
    const alike = await text({ path: "cafe\u0301" });
    assert.deepEqual(rowsIn(alike), ["x  empty"]);
    assert.match(alike, /<\/List>\nNote: there is no cafe/);
  });

  describe("glob", () => {
    const found = async (glob: string, path?: string) => await names({ glob, path });

    it("means what it means in Search: names anywhere, paths, braces, **, not", async () => {
      files({ "a.ts": "", "src/b.ts": "", "src/b.test.ts": "", "src/deep/c.tsx": "", "d.js": "" });
      assert.deepEqual(await found("*.ts"), ["a.ts", "src/b.test.ts", "src/b.ts"]);
      assert.deepEqual(await found("**/*.ts"), ["a.ts", "src/b.test.ts", "src/b.ts"]);
      assert.deepEqual(await found("*.{tsx,js}"), ["d.js", "src/deep/c.tsx"]);
      assert.deepEqual(await found("src/*.ts"), ["src/b.test.ts", "src/b.ts"]);
      assert.deepEqual(await found("/*.ts"), ["a.ts"]);
      assert.deepEqual(await found("src/**/*.tsx", "src"), ["src/deep/c.tsx"]);
      assert.deepEqual(await found("deep/*", "src"), ["src/deep/c.tsx"]);
      assert.deepEqual(await found("!*.ts"), ["d.js", "src/deep/c.tsx"]);
      assert.deepEqual(await found("src/deep/"), ["src/deep/c.tsx"]);
      assert.match(await text({ glob: "*a*a*a*a*a*a*a*a*a*b" }), /more than 8 wildcards/);
    });

    it("shows a folder where nothing below it matches, with what it holds", async () => {
      files({
        "src/__tests__/a.ts": "",
        "src/__tests__/data/x": "",
        "lib/__tests__/__tests__": "",
      });
      assert.deepEqual(await rows({ glob: "__tests__" }), [
        "lib/__tests__/__tests__  empty",
        "src/__tests__/  2 files, 1 folder",
      ]);
      assert.deepEqual(await rows({ glob: "src/*", depth: 2 }), ["src/__tests__/"]);
      assert.deepEqual(await rows({ glob: "src/**" }), [
        "src/__tests__/a.ts  empty",
        "src/__tests__/data/x  empty",
      ]);
    });

    it("leaves a literal path its meaning, and takes any other as a glob (FE-41)", async () => {
      cpSync(new URL("../cases/files/FE-41/files", import.meta.url), bench.root, {
        recursive: true,
      });
      const pages = ["app/(auth)/[[...slug]]/page.tsx", "app/[id]/page.tsx"];
      assert.deepEqual(await names({ glob: "app/**/page.tsx" }), pages);
      assert.deepEqual(await names({ path: "app/**/page.tsx" }), pages);
      assert.deepEqual(await names({ path: "app/[id]" }), ["page.tsx"]);
      assert.deepEqual(await names({ path: "app/[id]/page.tsx" }), ["app/[id]/page.tsx"]);
      assert.deepEqual(await names({ path: "app/(auth)/[[...slug]]", glob: "*.tsx" }), [pages[0]]);
      assert.match(await text({ path: "no/*.ts" }), /There is no file or folder no\/\*\.ts/);
    });

    it("says that nothing matches, and that ignored entries were not looked at", async () => {
      files({ "a.ts": "" });
      assert.match(
        await text({ glob: "*.rs" }),
        /files="0" ignored="0">\n<\/List>\nNothing matches\.$/,
      );
      files({ ".gitignore": "dist\n", "dist/a.js": "" });
      assert.match(
        await text({ glob: "*.js" }),
        /Nothing matches that is not ignored; path can name/,
      );
      assert.deepEqual(await names({ glob: "*.js", path: "dist" }), ["dist/a.js"]);
    });

    it("is capped, and names a call that shows the next one", LONG, async () => {
      many("a", 150);
      files({ "0/x": "" });
      many("b/c", 260, "g");
      many("b/c", 100, "x[*].js");
      for (let i = 0; i < 150; i++) files({ [`flat/n${i}.ts`]: "", [`flat/n${i}.js`]: "" });
      const limits = { ...bench.context().limits, outputTokens: 900 };
      const globs = [{ glob: "**" }, { glob: "b/**" }, { path: "b", glob: "c/*" }, {
        glob: "*.ts",
      }];
      for (const args of [...globs, { glob: "*js*" }, { glob: "!*.ts" }, { path: "b/*/x*" }]) {
        const all = await names(args, { limits: { ...limits, outputTokens: 100_000 } });
        const output = await text(args, { limits });
        assert.ok(Buffer.byteLength(output) <= 3600);
        const { length } = rowsIn(output);
        const said = /\n(\d+) more in (\d+) folders?; List/.exec(output);
        assert.equal(Number(said?.[1]), all.length - length, output);
        const folders = new Set(all.slice(length).map((path) => dirname(path)));
        assert.equal(Number(said?.[2]), folders.size);
        const shown = await names(callIn(output), { limits });
        assert.ok(shown.includes(all[length] as string), `${all[length]}: ${output}`);
      }
    });
  });

  it("opens small folders first, and says which stay closed and how to open them", async () => {
    many("huge", 2000);
    files({ "src/a/x.ts": "", "src/b/y.ts": "", "last.ts": "" });
    const output = await text();
    assert.deepEqual(rowsIn(output), [
      "huge/  2000 files",
      "src/",
      "  a/",
      "    x.ts  empty",
      "  b/",
      "    y.ts  empty",
      "last.ts  empty",
    ]);
    assert.match(output, /\n2000 more in 1 folder; List \{"path":"huge"\} opens the largest\.$/);
    assert.ok((await rows(callIn(output))).length > 100);
  });

  it("opens as many folders of a level as fit, the smallest first", async () => {
    for (const folder of ["a", "b", "c"]) many(folder, 150);
    many("z", 2);
    const shown = await rows();
    assert.ok(shown.includes("z/") && shown.includes("  f0  empty"));
    assert.equal(shown.filter((row) => /^[abc]\/ {2}150 files$/.test(row)).length, 2);
    assert.equal(shown.length, 156);
  });

  heavy("shows what fits of a large folder, and a call for what follows", async () => {
    many("big/[x]", 2000, "item-");
    const output = await text({ path: "big/[x]" });
    assert.ok(Buffer.byteLength(output) <= 10_000);
    const shown = rowsIn(output);
    assert.ok(shown.length > 200, `${shown.length}`);
    assert.equal(shown.at(-1), `item-${shown.length - 1}  empty`);
    assert.match(output, new RegExp(`\\n${2000 - shown.length} more in big/\\[x\\] itself; List`));
    const next = await names(callIn(output));
    assert.ok(next.includes(`big/[x]/item-${shown.length}`));
    assert.ok(next.length > 100, `${next.length}`);
  });

  it("shows the rest of a folder that Read shows in part and says so", async () => {
    many("many", 250);
    const { output } = await read.run({ files: [{ path: "many" }] }, bench.context());
    assert.match(output as string, /\n50 more; List shows what is not ignored\n/);
    assert.equal((await rows({ path: "many" })).length, 250);
  });

  it("names a next call that works, whatever the names are", async () => {
    const limits = { ...bench.context().limits, outputTokens: 350 };
    const name = fc.string({
      unit: fc.constantFrom(..."aab*?[{(!+ \\\"'\n-é中😀.01"),
      minLength: 1,
      maxLength: 6,
    })
      .filter((name) => !/^\.+$/.test(name));
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(name, { minLength: 30, maxLength: 50 }), async (all) => {
        const folder = `run${run++}`;
        for (const name of all) files({ [`${folder}/${name}`]: "" });
        const output = await text({ path: folder }, { limits });
        const shown = rowsIn(output).length;
        const next = all.toSorted(byName)[shown];
        if (next === undefined) return;
        const paths = (await rows(callIn(output), { limits })).map((row) => {
          const path = row.slice(0, row.lastIndexOf("  "));
          return path.startsWith('"') ? JSON.parse(path) : path;
        });
        assert.ok(paths.includes(`${folder}/${next}`), `${next}: ${output}`);
      }),
      { numRuns: 5 * RUNS },
    );
  });

  it("stays within its tokens with long and wide names", async () => {
    for (let i = 0; i < 200; i++) {
      files({ [`${"\u200b".repeat(40)}${i}`]: "", [`${"中".repeat(80)}${i}`]: "" });
    }
    for (const args of [{}, { glob: "**" }]) {
      const output = await text(args);
      assert.ok(Buffer.byteLength(output) <= 10_000, `${Buffer.byteLength(output)}`);
      assert.match(output, / more in /);
    }
  });

  heavy(
    "gives the event loop its turn over 20,000 entries, and ends when it is interrupted",
    LONG,
    async () => {
      for (let i = 0; i < 200; i++) many(`m${i}`, 100);
      let turns = 0;
      const timer = setInterval(() => turns++, 0);
      try {
        assert.match(await text(), /^<List path="\." folders="200" files="20000" ignored="0">/);
        assert.ok(turns > 1, `${turns}`);
        for (const args of [{}, { glob: "*" }]) {
          const control = new AbortController();
          setImmediate(() => control.abort());
          const { signal } = control;
          await assert.rejects(async () => await list.run(args, bench.context({ signal })), {
            name: "AbortError",
          });
        }
      } finally {
        clearInterval(timer);
      }
    },
  );

  it("says what it did not get to see in time", async () => {
    files({ "a/b/x": "", "c/d/x": "", "c/d/y": "" });
    const { signal } = new AbortController();
    const scope = { base: bench.root, root: bench.root, signal, ms: -1 };
    const { top } = await tree(scope, { depth: 1, room: 5000, overview: 5000 });
    assert.equal(top.counted, false);
    assert.deepEqual(top.children?.map(({ counted }) => counted), [false, false]);
    const found = await matches(scope, ["**"], Infinity, 10);
    assert.equal(found.complete, false);
  });

  describe("arguments", () => {
    const same: [string, unknown, unknown][] = [
      ["dir", { dir: "src" }, { path: "src" }],
      ["directory", { directory: "src" }, { path: "src" }],
      ["folder", { folder: "src" }, { path: "src" }],
      ["an empty path", { path: "" }, {}],
      ["pattern", { pattern: "*.ts" }, { glob: "*.ts" }],
      ["a list of one glob", { glob: ["*.ts"] }, { glob: "*.ts" }],
      ["a list of globs", { glob: ["*.ts", "*.js"] }, { glob: "{*.ts,*.js}" }],
      ["max_depth as a string", { max_depth: "2" }, { depth: 2 }],
      ["maxDepth", { maxDepth: 2 }, { depth: 2 }],
      ["a negative depth", { depth: -1 }, {}],
      ["recursive: false", { recursive: false }, { depth: 1 }],
      ["recursive: true", { path: "src", recursive: "true" }, { path: "src" }],
      ["recursive beside a depth", { recursive: false, depth: 3 }, { depth: 3 }],
      ["null for an optional field", { path: null, glob: null }, {}],
      ["JSON in a string", '{"path":"src"}', { path: "src" }],
      ["none", undefined, {}],
    ];
    for (const [name, args, input] of same) {
      it(`takes ${name}`, () => {
        assert.deepEqual(parseToolArguments(list as Tool, args), { ok: true, input });
      });
    }

    it("explains what it cannot take", async () => {
      assert.match(
        await text({ sort: "size" }),
        /unknown field "sort"; accepted: path, glob, depth/,
      );
      assert.match(await text({ depth: "deep" }), /depth must be a number, not "deep"/);
      assert.match(await text({ glob: ["*.ts", "src/*.js"] }), /glob must be a string/);
      assert.match(await text({ path: "a\0b" }), /NUL/);
    });
  });
});

describe("First", () => {
  it("keeps what sorting all would begin with", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 50 })),
        fc.integer({ min: 1, max: 20 }),
        (all, n) => {
          const first = new First<number>(n, (a, b) => a - b);
          for (const item of all) first.add(item);
          assert.deepEqual(first.items(), all.toSorted((a, b) => a - b).slice(0, n));
          assert.equal(first.count, all.length);
        },
      ),
      { numRuns: 50 * RUNS },
    );
  });
});
