// Search: SR-02 (errors are not "nothing found"), SR-03 (ignored), SR-04 (hidden), SR-05 (links), FE-41
// (signs of a glob in a path), and that a pattern can neither hang the program nor lie by silence.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import fc from "fast-check";
import { anchors } from "../../src/tools/anchor.ts";
import { parseToolArguments } from "../../src/tools/arguments.ts";
import { globFilter } from "../../src/tools/glob.ts";
import { Content } from "../../src/tools/search-file.ts";
import { FileMatcher } from "../../src/tools/search-match.ts";
import { compilePattern, requiredText } from "../../src/tools/search-pattern.ts";
import { search } from "../../src/tools/search.ts";
import type { ToolContext, ToolOutput } from "../../src/tools/tool.ts";
import { type ToolBench, toolBench } from "../support/tool-context.ts";
import { heavy } from "../support/heavy.ts";

const RUNS = Number(process.env.NANOCODE_RUNS ?? 1);
const LONG = { timeout: 120_000 };
let bench: ToolBench;

interface Query {
  pattern: string;
  path?: string;
  glob?: string;
  context?: number;
  literal?: boolean;
}

function files(contents: Record<string, string | Uint8Array>): void {
  for (const [path, text] of Object.entries(contents)) {
    mkdirSync(dirname(join(bench.root, path)), { recursive: true });
    writeFileSync(join(bench.root, path), text);
  }
}

function call(queries: Query | Query[], over?: Partial<ToolContext>): Promise<ToolOutput> {
  return search.run({ queries: Array.isArray(queries) ? queries : [queries] }, bench.context(over));
}

async function text(queries: Query | Query[], over?: Partial<ToolContext>): Promise<string> {
  return (await call(queries, over)).output as string;
}

/** Rows without their hashes: `> a.ts:1|text`. */
async function rows(queries: Query | Query[], over?: Partial<ToolContext>): Promise<string[]> {
  return (await text(queries, over)).split("\n").filter((line) => /^[> ] /.test(line))
    .map((line) => line.replace(/^([> ] [^|]*?:\d+):[a-z]{3}\|/, "$1|"));
}

/** The case's files as they lie in the test data. */
function useCase(id: string): void {
  cpSync(new URL(`../cases/files/${id}/files`, import.meta.url), bench.root, { recursive: true });
}

describe("Search", () => {
  beforeEach(() => {
    bench = toolBench();
  });
  afterEach(() => bench.close());

  it("gives hits and context as rows with the one anchor of all tools", async () => {
    files({ "src/a.ts": "one\ntwo\nneedle three\nfour\nfive\n", "b.ts": "no\n" });
    const hash = await anchors();
    assert.equal(
      await text({ pattern: "needle", context: 1 }),
      [
        '<Search pattern="needle" matches="1" files="1">',
        `  src/a.ts:2:${hash("two")}|two`,
        `> src/a.ts:3:${hash("needle three")}|needle three`,
        `  src/a.ts:4:${hash("four")}|four`,
        "</Search>",
      ].join("\n"),
    );
  });

  it("shows no line twice where contexts touch, and marks hits as hits", async () => {
    files({ a: "x\nhit\nhit\ny\nz\nhit\n" });
    assert.deepEqual(await rows({ pattern: "hit", context: 1 }), [
      "  a:1|x",
      "> a:2|hit",
      "> a:3|hit",
      "  a:4|y",
      "  a:5|z",
      "> a:6|hit",
    ]);
  });

  it("tells what the model has been shown, by file, version and lines", async () => {
    const content = "a\nhit 1\nb\nc\nhit 2\n";
    files({ f: content });
    const { observations } = await call([{ pattern: "hit" }, { pattern: "^a$" }]);
    assert.deepEqual(observations, [{
      path: join(bench.root, "f"),
      version: createHash("sha256").update(content).digest("hex"),
      kind: "search",
      total: 5,
      ranges: [[1, 2], [5, 5]],
      texts: [["a", "hit 1"], ["hit 2"]],
    }]);
  });

  it("ignores case unless the pattern has a capital letter", async () => {
    files({ a: "Foo\nfoo\nFOO\n" });
    assert.equal((await rows({ pattern: "foo" })).length, 3);
    assert.deepEqual(await rows({ pattern: "Foo" }), ["> a:1|Foo"]);
    assert.equal((await rows({ pattern: "\\Bo+\\b" })).length, 3, "a class is no capital letter");
    assert.deepEqual(await rows({ pattern: "FOO", literal: true }), ["> a:3|FOO"]);
    assert.equal((await rows({ pattern: "(?i)FOO" })).length, 3);
  });

  it("matches within lines, and across them only where the pattern holds a newline", async () => {
    files({ "a.txt": "start\nend\n\nstart end\r\nx\r\n" });
    assert.deepEqual(await rows({ pattern: "start\\s+end" }), ["> a.txt:4|start end"]);
    assert.deepEqual(await rows({ pattern: "start[^x]end" }), ["> a.txt:4|start end"]);
    assert.deepEqual(await rows({ pattern: "start\\nend" }), ["> a.txt:1|start", "> a.txt:2|end"]);
    assert.deepEqual(await rows({ pattern: "end\\nx" }), ["> a.txt:4|start end", "> a.txt:5|x"]);
    assert.deepEqual(await rows({ pattern: "start\nend", literal: true }), [
      "> a.txt:1|start",
      "> a.txt:2|end",
    ]);
    assert.deepEqual(await rows({ pattern: "^end$" }), ["> a.txt:2|end"]);
    assert.deepEqual(await rows({ pattern: "end$" }), ["> a.txt:2|end", "> a.txt:4|start end"]);
    assert.deepEqual(await rows({ pattern: "d(?!\\s)" }), ["> a.txt:2|end", "> a.txt:4|start end"]);
  });

  it("takes a literal as text, whatever it holds", async () => {
    files({ a: "f(x)\nfoo.bar\nfooxbar\n$&\n" });
    assert.deepEqual(await rows({ pattern: "f(", literal: true }), ["> a:1|f(x)"]);
    assert.deepEqual(await rows({ pattern: "foo.bar", literal: true }), ["> a:2|foo.bar"]);
    assert.deepEqual(await rows({ pattern: "$&", literal: true }), ["> a:4|$&"]);
  });

  it("says why a pattern is invalid and how to write it, never that nothing was found (SR-02)", async () => {
    useCase("SR-02");
    for (const [pattern, escaped] of [["(", "\\("], ["[z-a", "\\[z-a"], ["f(", "f\\("]] as const) {
      const { output, status } = await call({ pattern });
      assert.equal(status, "error");
      assert.match(output as string, /is not a valid regular expression: \S+/);
      assert.ok((output as string).includes(JSON.stringify({ pattern, literal: true })));
      assert.ok((output as string).includes(`escaped: ${escaped}`));
      assert.doesNotMatch(output as string, /matches="0"/);
    }
    assert.match(await text({ pattern: "" }), /The pattern is empty/);
  });

  it("still answers the other queries of a call with an invalid one", async () => {
    files({ a: "x" });
    const { output, status } = await call([{ pattern: "(" }, { pattern: "x" }]);
    assert.equal(status, "ok");
    assert.match(output as string, /error="not searched"[\s\S]*> a:1:[a-z]{3}\|x/);
  });

  it("searches ignored files only when they are named, and says what it left out (SR-03)", async () => {
    useCase("SR-03");
    files({ "scripts/w.py": "needle_1\n", "deep/x.log": "needle_1\n" });
    const whole = await text({ pattern: "needle_1" });
    assert.match(whole, /matches="0" files="0"/);
    assert.match(whole, /Not searched: 2 ignored files \(name one as `path` to search it\)\.$/);
    for (const path of ["scripts/", "scripts", "scripts/w.py"]) {
      assert.deepEqual(
        await rows({ pattern: "needle_1", path }),
        ["> scripts/w.py:1|needle_1"],
        path,
      );
    }
  });

  it("searches hidden folders (SR-04)", async () => {
    useCase("SR-04");
    files({ ".git/x": "needle_2" });
    for (const path of [undefined, ".github"]) {
      const found = await rows({ pattern: "needle_2", ...(path ? { path } : {}) });
      assert.equal(found.length, 1, path ?? "the whole tree");
      assert.match(found[0] ?? "", /^> \.github\/workflows\/ci\.yml:\d+\|/);
    }
  });

  it("ends at loops of links and shows a file once (SR-05)", async () => {
    files({ "a/x.ts": "x\n" });
    mkdirSync(join(bench.root, "a/b"));
    symlinkSync("../..", join(bench.root, "a/b/up"));
    symlinkSync(".", join(bench.root, "a/self"));
    symlinkSync("x.ts", join(bench.root, "a/same.ts"));
    assert.deepEqual(await rows({ pattern: "x" }), ["> a/x.ts:1|x"]);
  });

  it("takes a path that exists literally, and another one as a glob (FE-41)", async () => {
    useCase("FE-41");
    const content = readFileSync(join(bench.root, "app/[id]/page.tsx"), "utf8");
    assert.ok(content.length > 0);
    const count = async (query: Partial<Query>) =>
      new Set(
        (await rows({ pattern: ".", ...query })).map((row) => row.slice(2, row.search(/:\d+\|/))),
      ).size;
    assert.equal(await count({ path: "app/[id]/page.tsx" }), 1);
    assert.equal(await count({ path: "app/(auth)/[[...slug]]" }), 1);
    assert.equal(await count({ glob: "app/[id]/page.tsx" }), 1);
    assert.equal(await count({ glob: "app/**/page.tsx" }), 2);
    assert.equal(await count({ path: "app/**/page.tsx" }), 2);
    assert.equal(await count({ path: "app/*", glob: "*.tsx" }), 2);
    assert.equal(await count({ path: "app/*.tsx" }), 0);
  });

  it("names what is near a path that does not exist", async () => {
    files({ "src/parser.ts": "x" });
    const { output, status } = await call({ pattern: "x", path: "src/parsre.ts" });
    assert.equal(status, "error");
    assert.match(
      output as string,
      /There is no file or folder src\/parsre\.ts; near names: src\/parser\.ts\./,
    );
  });

  it("narrows by glob: names at any depth, paths from the folder or the workspace, and not", async () => {
    files({
      "a.ts": "x",
      "src/b.ts": "x",
      "src/b.test.ts": "x",
      "src/deep/c.tsx": "x",
      "d.js": "x",
    });
    const found = async (glob: string, path?: string) =>
      (await rows({ pattern: "x", glob, ...(path ? { path } : {}) })).map((row) =>
        row.slice(2, row.indexOf(":"))
      );
    assert.deepEqual(await found("*.ts"), ["a.ts", "src/b.test.ts", "src/b.ts"]);
    assert.deepEqual(await found("*.{tsx,js}"), ["d.js", "src/deep/c.tsx"]);
    assert.deepEqual(await found("src/*.ts"), ["src/b.test.ts", "src/b.ts"]);
    assert.deepEqual(await found("src/**/*.tsx", "src"), ["src/deep/c.tsx"]);
    assert.deepEqual(await found("deep/*", "src"), ["src/deep/c.tsx"]);
    assert.deepEqual(await found("!*.ts"), ["d.js", "src/deep/c.tsx"]);
    assert.deepEqual(await found("src/deep/"), ["src/deep/c.tsx"]);
    assert.match(
      await text({ pattern: "x", glob: "*a*a*a*a*a*a*a*a*a*b" }),
      /more than 8 wildcards/,
    );
  });

  it("skips secret files unless they are named, and binary and large ones, with counts", async () => {
    files({
      ".env": "KEY=needle",
      "k.pem": "needle",
      "b.bin": "needle\0",
      "large.txt": "needle" + "x".repeat(4 * 1024 * 1024),
      "ok.txt": "needle",
    });
    const whole = await text({ pattern: "needle" });
    assert.match(whole, /matches="1" files="1"/);
    assert.match(whole, /Not searched: 1 binary, 1 over the size limit, 2 secret \(/);
    assert.deepEqual(await rows({ pattern: "needle", path: ".env" }), ["> .env:1|KEY=needle"]);
    assert.equal((await rows({ pattern: "needle", path: "large.txt" })).length, 1);
    assert.deepEqual(
      await search.effects({ queries: [{ pattern: "x", path: ".env" }] }, bench.context()),
      [
        { kind: "read", path: join(bench.root, ".env") },
      ],
    );
  });

  it("reads as effect the real path of what it searches (PM-04)", async () => {
    symlinkSync("/usr", join(bench.root, "out"));
    const effects = async (path?: string) =>
      await search.effects(
        { queries: [{ pattern: "x", ...(path ? { path } : {}) }] },
        bench.context(),
      );
    assert.deepEqual(await effects(), [{ kind: "read", path: bench.root }]);
    assert.deepEqual(await effects("out/share/*.md"), [{ kind: "read", path: "/usr/share" }]);
    assert.deepEqual(await effects("sub/../../x"), [{
      kind: "read",
      path: join(bench.root, "../x"),
    }]);
  });

  it("does not look through links that lead out", async () => {
    writeFileSync(join(bench.root, "../outside.txt"), "needle");
    symlinkSync("../outside.txt", join(bench.root, "link.txt"));
    assert.match(await text({ pattern: "needle" }), /matches="0"[\s\S]*Not searched: 1 link /);
  });

  it("finds text in other encodings, with anchors as Read gives them", async () => {
    const utf16 = Buffer.concat([
      Buffer.from([0xff, 0xfe]),
      Buffer.from("eins\nzwei é\n", "utf16le"),
    ]);
    files({
      "u8.txt": "\ufeffeins\nzwei é\n",
      "u16.txt": utf16,
      "l1.txt": Buffer.from("eins\nzwei \xe9\n", "latin1"),
    });
    const hash = await anchors();
    for (const pattern of ["zwei", "Zwei".toLowerCase() + " .$", "zwei é"]) {
      const output = await text({ pattern });
      for (const name of ["u8", "u16", "l1"]) {
        assert.ok(
          output.includes(`> ${name}.txt:2:${hash("zwei é")}|zwei é`),
          `${pattern} in ${name}`,
        );
      }
    }
    assert.equal((await rows({ pattern: "^eins" })).length, 3, "a BOM is not part of the line");
  });

  it("shows the part of a long line around the match, without an anchor", async () => {
    const line = "a".repeat(1000) + "NEEDLE" + "b".repeat(500);
    files({ "min.js": `${line}\n`, "huge.js": "c".repeat(5000) + "NEEDLE", "short.js": "NEEDLE" });
    const { output, observations } = await call({ pattern: "NEEDLE" });
    const [huge = "", min = ""] = (output as string).split("\n").filter((row) =>
      row.startsWith("> ")
    );
    assert.match(min, /^> min\.js:1\|…a+NEEDLEb+… \[part of a line of 1506 characters\]$/);
    assert.match(huge, /^> huge\.js:1\|…c+NEEDLE \[part of a line of 5006 characters\]$/);
    assert.ok(min.length < 500 && huge.length < 500);
    assert.deepEqual(observations?.map(({ path }) => path), [join(bench.root, "short.js")]);
    files({ "wide.js": `${"🙂".repeat(500)}NEEDLE${"🙂".repeat(500)}` });
    assert.ok((await text({ pattern: "NEEDLE", path: "wide.js" })).isWellFormed());
  });

  it("keeps the bytes of what it showed lines of, so that anchors survive outside changes", async () => {
    const large = "needle\n" + "x".repeat(4 * 1024 * 1024);
    files({ "a.txt": "needle\n", "b.txt": "other\n", "large.txt": large });
    await call([{ pattern: "needle" }, { pattern: "needle", path: "large.txt" }]);
    const kept = (text: string) => bench.blobs.get(createHash("sha256").update(text).digest("hex"));
    assert.deepEqual(Buffer.from(kept("needle\n") ?? []).toString(), "needle\n");
    assert.equal(kept("other\n"), null);
    assert.equal(kept(large), null);
  });

  it("bounds what is shown and says truly how much more there is", async () => {
    files({ "a.txt": "hit\n".repeat(500), "b.txt": "hit\n".repeat(7), "c.txt": "hit\nhit\n" });
    const output = await text({ pattern: "hit" });
    assert.match(output, /matches="509" files="3"/);
    const shown = output.split("\n").filter((row) => row.startsWith("> ")).length;
    assert.equal(shown, 200);
    assert.match(
      output,
      /\[309 more in 3 files: a\.txt \(300\), b\.txt \(7\), c\.txt \(2\); narrow it/,
    );
    const small = { outputTokens: 300, readTokens: 6000, bashTimeout: 60 };
    const bounded = await text([{ pattern: "hit" }, {
      pattern: "HIT".toLowerCase(),
      path: "c.txt",
    }], {
      limits: small,
    });
    assert.ok(Buffer.byteLength(bounded) <= 1200, `${Buffer.byteLength(bounded)} bytes`);
    const rest = /\[(\d+) more/.exec(bounded)?.[1];
    const first = bounded.slice(0, bounded.indexOf("</Search>"));
    assert.equal(
      Number(rest) + first.split("\n").filter((row) => row.startsWith("> ")).length,
      509,
    );
    assert.match(bounded, /path="c\.txt" matches="2"/);
  });

  it("escapes what a file name could forge", async () => {
    files({ "a\n> b:1:aaa|x\u202e": "hit\n" });
    const output = await text({ pattern: "hit" });
    assert.match(output, /^> a\\n> b:1:aaa\|x\\u\{202e\}:1:[a-z]{3}\|hit$/m);
  });

  it("accepts queries in other shapes", () => {
    const expected = { ok: true, input: { queries: [{ pattern: "x", path: "src" }] } };
    assert.deepEqual(parseToolArguments(search, { pattern: "x", path: "src" }), expected);
    assert.deepEqual(parseToolArguments(search, { query: "x", directory: "src" }), expected);
    assert.deepEqual(
      parseToolArguments(search, { queries: { regex: "x", path: "src" } }),
      expected,
    );
    assert.deepEqual(parseToolArguments(search, { queries: ["x", "y"] }), {
      ok: true,
      input: { queries: [{ pattern: "x" }, { pattern: "y" }] },
    });
    assert.ok(!parseToolArguments(search, { queries: [] }).ok);
  });

  it("may run beside other calls", async () => {
    assert.ok(search.isConcurrencySafe({ queries: [{ pattern: "x" }] }));
    files({ a: "foo1\n" });
    const all = await Promise.all(Array.from({ length: 4 }, () => rows({ pattern: "fo+\\d" })));
    for (const found of all) assert.deepEqual(found, ["> a:1|foo1"]);
  });

  it("stops when the user interrupts, in this process and in the other", async () => {
    files({ a: `y${"x".repeat(50)}\n` });
    await assert.rejects(call({ pattern: "x" }, { signal: AbortSignal.abort() }), /interrupted/);
    const stop = new AbortController();
    const running = call({ pattern: "(x+)+y" }, { signal: stop.signal });
    setTimeout(() => stop.abort(), 50);
    await assert.rejects(running, /interrupted/);
  });
});

/** Processor time of this process and its living children, in milliseconds. */
function workOfChildren(): number {
  let ticks = 0;
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      if (Number(fields[1]) === process.pid || Number(pid) === process.pid) {
        ticks += Number(fields[11]);
      }
    } catch {
      // Ended meanwhile.
    }
  }
  return ticks * 10;
}

describe("Search: expensive patterns", () => {
  beforeEach(() => {
    bench = toolBench();
  });
  afterEach(() => bench.close());

  if ("Bun" in globalThis) {
    heavy("are why time decides: the engine gives up and reports no match", LONG, () => {
      const text = `${"a".repeat(60)} aab`;
      assert.equal(/(a+)+b/.test(text), false, "the engine has become right: is the limit needed?");
      assert.equal(/a+b/.test(text), true);
    });

    heavy("are noticed when the engine comes back late", LONG, () => {
      const compiled = compilePattern("(a+)+b", false);
      assert.ok(compiled.ok);
      const content = new Content(Buffer.from(`${"a".repeat(60)} aab\n`));
      assert.throws(() => new FileMatcher(compiled.pattern).find(content), {
        name: "ExpensivePattern",
      });
    });
  }

  const patterns = [
    "(a+)+$",
    "(a+)+b",
    "(x+x+)+y",
    "(.*)(.*)(.*)(.*)(.*)z",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
  ];
  for (const pattern of patterns) {
    heavy(`ends with "pattern too expensive" for ${pattern}`, LONG, async () => {
      files({
        "a.txt": `${"a".repeat(60)} aab!\nB!\ny${"x".repeat(60)}\n`,
        "b.txt": `z${"a".repeat(300)}\n`,
      });
      const { output, status } = await call({ pattern });
      assert.equal(status, "error");
      assert.match(output as string, /pattern too expensive/);
      assert.match(output as string, /nothing is known about matches/);
      assert.doesNotMatch(output as string, /matches="/);
      const settled = workOfChildren();
      await new Promise((resolve) => setTimeout(resolve, 400));
      assert.ok(workOfChildren() - settled < 200, "nothing works on after the end");
    });
  }

  heavy("answers the other queries of the call, and the next call", LONG, async () => {
    files({ "a.txt": `${"a".repeat(60)}!\nneedle 1\n` });
    const { output, status } = await call([
      { pattern: "(a+)+$" },
      { pattern: "need\\w+ \\d" },
      { pattern: "needle" },
    ]);
    assert.equal(status, "ok");
    const sections = (output as string).split("</Search>");
    assert.match(sections[0] ?? "", /pattern too expensive/);
    for (const section of sections.slice(1, 3)) {
      assert.match(section, /matches="1" files="1">\n> a\.txt:2:/);
    }
    assert.deepEqual(await rows({ pattern: "need\\w+ \\d" }), ["> a.txt:2|needle 1"]);
  });

  heavy(
    "names the file in which an honest pattern is slow, so that it can be left out",
    LONG,
    async () => {
      files({ "min.js": "a".repeat(200_000) + "\n", "z.js": "foo = 1\n" });
      const pattern = "\\w+\\s+[=:]\\s*\\d";
      assert.match(
        await text({ pattern }),
        /pattern too expensive: .* \(in (or soon after )?min\.js\)/,
      );
      assert.deepEqual(await rows({ pattern, glob: "!min.js" }), ["> z.js:1|foo = 1"]);
    },
  );
});

describe("Search: matching", () => {
  /** Lines that hit, the slow and obvious way. */
  function naive(text: string, pattern: string): number[] {
    const one = new RegExp(pattern, "i");
    const lines = text.split("\n");
    if (lines.at(-1) === "") lines.pop();
    return lines.flatMap((line, i) => one.test(line.replace(/\r$/, "")) ? [i + 1] : []);
  }

  const atom = fc.constantFrom(
    "a",
    "b",
    "ab",
    "é",
    ".",
    "\\w",
    "\\s",
    "[^a]",
    "\\b",
    "^",
    "$",
    "(a|b)",
    "(?!b)",
    "(?<=a)",
    "(?<!b)",
    "=",
    "\\.",
    "\\d",
  );
  const quantifier = fc.constantFrom("", "", "", "*", "+", "?", "{2}", "+?");
  const pattern = fc.array(fc.tuple(atom, quantifier), { minLength: 1, maxLength: 4 })
    .map((parts) => parts.map(([a, q]) => /^(?:\^|\$|\\b|\(\?)/.test(a) ? a : a + q).join(""));
  const content = fc.array(
    fc.constantFrom("a", "b", "ab", "é", " ", "=", ".", "\n", "\r\n", "7", "B", "🙂"),
    { maxLength: 40 },
  )
    .map((parts) => parts.join(""));

  it("finds the lines that matching each line alone finds", LONG, () => {
    fc.assert(
      fc.property(content, pattern, fc.boolean(), (text, source, alternatives) => {
        const full = alternatives ? `${source}|zz` : source;
        const compiled = compilePattern(full, false);
        assert.ok(compiled.ok);
        const bytes = Buffer.from(text);
        const hits = new FileMatcher(compiled.pattern).find(new Content(bytes));
        assert.deepEqual(hits.lines.map(({ line }) => line), naive(text, full));
        assert.equal(hits.count, hits.lines.length);
      }),
      { numRuns: 1000 * RUNS },
    );
  });

  it("finds literal text where it stands, also in pieces and long texts", () => {
    const text = `${"x".repeat(100)}\n`.repeat(3000) + "here it is\n" + "y\n".repeat(10);
    for (
      const [pattern, literal] of [["here it is", true], ["Here".toLowerCase(), false], [
        "h\\w+e it",
        false,
      ], ["[h]e[r]e", false]] as const
    ) {
      const compiled = compilePattern(pattern, literal);
      assert.ok(compiled.ok);
      const hits = new FileMatcher(compiled.pattern).find(new Content(Buffer.from(text)));
      assert.deepEqual(hits.lines, [{ line: 3001, at: 0 }], pattern);
    }
  });

  it("knows the text that every match must hold", () => {
    const cases: [pattern: string, required: string | null][] = [
      ["foo", "foo"],
      ["foo.*barbaz", "barbaz"],
      ["foo|bar", null],
      ["colou?r", "colo"],
      ["ab*", "a"],
      ["ab+c", "ab"],
      ["ab{0,2}cd", "cd"],
      ["(foo)?bar", "bar"],
      ["(foo)", null],
      ["[foo]bar\\(", "bar("],
      ["\\bword\\b", "word"],
      ["a\\.b", "a.b"],
      ["\\p{Lu}x", "x"],
      ["\\u0041bc", "bc"],
      ["naïves", "ves"],
      ["[)|]x(a|[)])yz", "yz"],
      ["\\w+", null],
    ];
    for (const [pattern, required] of cases) assert.equal(requiredText(pattern), required, pattern);
  });

  it("filters by glob as literally named first", () => {
    const passes = (glob: string, path: string) =>
      globFilter(glob, "/w", "/w")({ path: `/w/${path}`, relative: path });
    assert.ok(passes("app/[id]/p.ts", "app/[id]/p.ts"));
    assert.ok(passes("[id].ts", "a/[id].ts"));
    assert.ok(passes("*.ts", ".hidden/.x.ts"));
    assert.ok(!passes("src/*.ts", "lib/a.ts"));
    assert.ok(passes("./src/*.ts", "src/a.ts"));
    assert.ok(passes("src/parts", "src/parts/deep/a.ts"));
    assert.ok(passes("/*.ts", "a.ts") && !passes("/*.ts", "src/a.ts"));
  });
});
