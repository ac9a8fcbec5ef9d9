import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import picomatch from "picomatch";
import { globMatcher, readGlobs } from "../../src/knowledge/path-globs.ts";

const RUNS = Number(process.env["NANOCODE_RUNS"] ?? 1);

describe("globs of a rule", () => {
  const cases: [globs: string[], yes: string[], no: string[]][] = [
    [["*.sql"], ["a.sql", "a/b/c.sql", "a/.hidden.sql"], ["a.sql.bak", "sql"]],
    [["src/**"], ["src/a", "src/.b/c.ts"], ["lib/src/a", "src2/a"]],
    [["src/**/*.{ts,tsx}"], ["src/a.ts", "src/x/y/a.tsx"], ["src/a.js", "a.ts"]],
    [["**/*.test.ts"], ["a.test.ts", "x/y/a.test.ts"], ["a.ts"]],
    [["./docs/"], ["docs/a", "docs/b/c"], ["a/docs/b"]],
    [["/a.ts"], ["a.ts"], ["b/a.ts"]],
    [["src/**", "!src/gen/**"], ["src/a"], ["src/gen/a"]],
    [["!*.md"], ["a.ts"], ["a.md", "x/a.md"]],
    [["{src,test/unit}/*.ts"], ["src/a.ts", "test/unit/a.ts"], ["test/a.ts"]],
    [["v[0-9].?", "[!a-c]x"], ["v1.x", "dx"], ["va.x", "v1.xy", "bx"]],
    [["app/[[]id]/*", "a\\*b"], ["app/[id]/p", "a*b"], ["app/i/p", "axb"]],
    [["字*.ts", "é?"], ["字典.ts", "é👩"], ["典.ts"]],
  ];
  for (const [globs, yes, no] of cases) {
    it(`${globs.join(" ")} takes ${yes.join(", ")}, not ${no.join(", ")}`, () => {
      const matches = globMatcher(globs);
      for (const path of yes) assert.ok(matches(path), path);
      for (const path of no) assert.ok(!matches(path), path);
    });
  }

  it("match as picomatch does, where that is safe", () => {
    const name = fc.array(fc.constantFrom("a", "b", ".", "*", "?", "{a,b}", "[ab]"), {
      minLength: 1,
      maxLength: 4,
    }).map((signs) => signs.join("")).filter((text) => !text.includes("**") && !/^\.+$/.test(text));
    const glob = fc.array(fc.oneof(name, fc.constant("**")), { minLength: 2, maxLength: 4 })
      .map((parts) => parts.join("/"))
      // There picomatch has ways of its own: `*/**/**` does not take `a`, although `*/**` does.
      .filter((glob) => !/\*\*\/\*\*|\*\*$/.test(glob));
    const path = fc.array(fc.stringMatching(/^[ab.]{1,4}$/).filter((text) => !/^\.+$/.test(text)), {
      minLength: 1,
      maxLength: 4,
    }).map((parts) => parts.join("/"));
    fc.assert(
      fc.property(glob, path, (glob, path) => {
        assert.equal(globMatcher([glob])(path), picomatch.isMatch(path, glob, { dot: true }));
      }),
      { numRuns: 300 * RUNS },
    );
  });

  it("that were written to hang take no time", () => {
    const started = performance.now();
    for (
      const glob of [
        "**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/b",
        "*a*a*a*a*a*a*a*a*b",
        "{a,aa,aaa}*{a,aa,aaa}*{a,aa,aaa}*b",
        "+(a|aa)+(a|aa)+b",
        "(a*)*b",
      ]
    ) {
      const matches = globMatcher(readGlobs([glob]) ?? []);
      for (const path of [`${"a/".repeat(500)}c`, "a".repeat(1000)]) assert.ok(!matches(path));
    }
    assert.ok(performance.now() - started < 5000);
  });

  it("are a list, or one string with commas; none where the field is empty", () => {
    assert.deepEqual(readGlobs(" src/** , *.{a,b} "), ["src/**", "*.{a,b}"]);
    assert.deepEqual(readGlobs(["a,b", " c "]), ["a,b", "c"]);
    for (const empty of [undefined, null, "", [], [" "], ","]) assert.equal(readGlobs(empty), null);
  });

  it("that are none, too long or too many say so", () => {
    for (const bad of [7, true, {}, ["a", 1]]) {
      assert.throws(() => readGlobs(bad), /must be a string or a list of strings/);
    }
    assert.throws(() => readGlobs("a".repeat(201)), /more than 200 characters/);
    assert.throws(() => readGlobs(Array.from({ length: 51 }, () => "a")), /more than 50 globs/);
    assert.throws(() => readGlobs("{a,b}".repeat(20)), /too many braces/);
  });
});
