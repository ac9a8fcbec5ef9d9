import assert from "node:assert/strict";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { sha256 } from "../../src/runtime/hash.ts";
import { anchors } from "../../src/tools/anchor.ts";
import { inputSchema } from "../../src/tools/arguments.ts";
import { row } from "../../src/tools/lines.ts";
import { read } from "../../src/tools/read.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { Desk, PATIENT, type Result } from "./support.ts";
import { heavy } from "../support/heavy.ts";

const hash = await anchors();

function given(path: string): Buffer {
  return readFileSync(fileURLToPath(new URL(`../cases/files/${path}`, import.meta.url)));
}

function at(line: number, text: string): string {
  return `${line}:${hash(text)}|${text}`;
}

function ok(result: Result): Result {
  assert.equal(result.status, "ok", result.text);
  return result;
}

function failed(result: Result, ...mentions: string[]): Result {
  assert.equal(result.status, "error", result.text);
  for (const mention of mentions) {
    assert.ok(result.text.includes(mention), `${mention}: ${result.text}`);
  }
  return result;
}

/** The ranges a result says it shows, and the numbers of the rows in them. */
function shownLines(text: string): number[] {
  return [...text.matchAll(/^(\d+):[a-z]{3}\|/gm)].map((found) => Number(found[1]));
}

describe("Read", () => {
  it("shows a file as specified, and records what it showed", async () => {
    const content = 'import { z } from "zod";\n\nexport const x = 1;\n';
    using desk = new Desk({ "src/a.ts": content });
    const result = ok(await desk.read("src/a.ts", [[1, 3]]));
    const version = sha256(content);
    assert.equal(
      result.text,
      `<Read path="src/a.ts" lines="3" version="${version.slice(0, 8)}">
<range start="1" end="3">
${at(1, 'import { z } from "zod";')}
2:dcn|
3:xls|export const x = 1;
</range>
</Read>`,
    );
    assert.deepEqual(result.observations, [{
      path: desk.at("src/a.ts"),
      version,
      kind: "read",
      total: 3,
      ranges: [[1, 3]],
      texts: [['import { z } from "zod";', "", "export const x = 1;"]],
    }]);
    assert.equal(desk.blobs.get(version)?.toString(), Buffer.from(content).toString());
    assert.equal(result.summary, "3 lines");
  });

  it("reads several files and ranges at once, ranges joined where they meet", async () => {
    const ten = Array.from({ length: 10 }, (_, i) => `l${i + 1}\n`).join("");
    using desk = new Desk({ "a.txt": ten, "b.txt": "x\n" });
    const result = ok(
      await desk.run({
        tool: "Read",
        args: {
          files: [{ path: "a.txt", ranges: [[8, -1], [1, 2], [3, 4]] }, { path: "b.txt" }, {
            path: "no.txt",
          }],
        },
      }),
    );
    assert.deepEqual(shownLines(result.text), [1, 2, 3, 4, 8, 9, 10, 1]);
    assert.match(result.text, /<Read path="no\.txt">\nerror: no such file/);
    assert.deepEqual(result.observations?.map(({ ranges }) => ranges), [[[1, 4], [8, 10]], [[
      1,
      1,
    ]]]);
  });

  it("FE-09 counts lines, not newlines", async () => {
    const file = (name: string) => given(`FE-09/files/${name}`);
    using desk = new Desk({
      "ten.txt": file("ten.txt"),
      "unterm.txt": file("unterm.txt"),
      "empty.txt": file("empty.txt"),
    });
    assert.deepEqual(shownLines(ok(await desk.read("ten.txt", [[6, 10]])).text), [6, 7, 8, 9, 10]);
    failed(await desk.read("ten.txt", [[11, 11]]), "10 lines");
    const last = ok(await desk.read("unterm.txt", [[3, 3]]));
    assert.match(last.text, /lines="3"/);
    assert.ok(last.text.includes(at(3, "c")));
    const empty = ok(await desk.read("empty.txt"));
    assert.match(empty.text, /lines="0"[^]*The file is empty/);
    assert.equal(empty.observations?.[0]?.total, 0);
  });

  it("FE-10 answers impossible ranges with the number of lines and the right form", async () => {
    using desk = new Desk({ "short.txt": given("FE-10/files/short.txt") });
    for (const range of [[1200, 1400], [3, 1], [0, 0], [-5, 2], [1.5, 2], [1, 2, 3]]) {
      failed(await desk.read("short.txt", [range]), "3 lines", "[start, end]", "[1, 3]");
    }
    assert.deepEqual(shownLines(ok(await desk.read("short.txt", [[2, 9999]])).text), [2, 3]);
    assert.deepEqual(shownLines(ok(await desk.read("short.txt", [[0, 2]])).text), [1, 2]);
    assert.deepEqual(shownLines(ok(await desk.read("short.txt", [[2]])).text), [2, 3]);
    const mixed = ok(await desk.read("short.txt", [[1, 1], [9, 10]]));
    assert.match(mixed.text, /error: range \[9,10\]: the file has 3 lines/);
  });

  it("ends a long result with the call for the rest, and that call goes on", async () => {
    const lines = Array.from({ length: 900 }, (_, i) => `line ${i + 1} ${"x".repeat(30)}`);
    using desk = new Desk({ "long.txt": lines.join("\n"), "next.txt": "n\n" });
    let args: unknown = { files: [{ path: "long.txt" }, { path: "next.txt" }] };
    const seen: number[] = [];
    let pages = 0;
    for (; args; pages++) {
      const result = ok(await desk.run({ tool: "Read", args }));
      assert.ok(Buffer.byteLength(result.text) <= desk.limits.readTokens * 4);
      seen.push(...shownLines(result.text));
      const rest = /^The page ends here\. For the rest: Read (.*)$/m.exec(result.text)?.[1];
      args = rest ? JSON.parse(rest) : null;
    }
    assert.deepEqual(seen, [...lines.keys()].map((i) => i + 1).concat(1));
    assert.ok(pages >= 2);
  });

  it("gets on where a page has hardly any room", async () => {
    using desk = new Desk({ "wide.txt": `${"w".repeat(1900)}\n${"v".repeat(1900)}\n` });
    desk.limits = { ...desk.limits, readTokens: 120 };
    const result = ok(await desk.read("wide.txt"));
    assert.deepEqual(shownLines(result.text), [1]);
    assert.match(result.text, /"ranges":\[\[2,2\]\]/);
  });

  it("FE-33 cuts between characters, whatever the limit", () => {
    const emoji = given("FE-33/files/emo.txt").toString().trimEnd();
    for (let limit = 1995; limit <= 2003; limit++) {
      const shown = row(1, emoji, hash, [1, limit]);
      assert.ok(shown.isWellFormed());
      const [first] = shown.split("\n");
      assert.equal([...(first ?? "")].length, "1:abc|".length + limit);
    }
    assert.ok(row(1, emoji, hash).isWellFormed());
  });

  it("FE-34 cuts a very long line, says how long it is, and reads it by columns", async () => {
    const long = `${"é".repeat(700_000)}TOKEN${"y".repeat(800_000)}`;
    using desk = new Desk({ "min.js": long });
    const result = ok(await desk.read("min.js"));
    assert.ok(
      result.text.includes(
        `1:${hash(long)}|${"é".repeat(2000)}\n[line 1 cut: characters 1-2000 of 1500005;`,
      ),
    );
    assert.match(result.text, /"columns": \[2001, 4000\]/);
    assert.ok(JSON.stringify(result.observations).length < 1000);
    const part = ok(await desk.read("min.js", [[1, 1]], [700_000, 700_006]));
    assert.match(part.text, /\|éTOKENy\n\[line 1 cut: characters 700000-700006 of 1500005/);
    const wide = ok(await desk.read("min.js", undefined, [1, -1]));
    assert.ok(Buffer.byteLength(wide.text) <= desk.limits.readTokens * 4);
    assert.match(
      ok(await desk.read("min.js", [[1, 1]], [2_000_000, 2_000_001])).text,
      /nothing of 1500005/,
    );
    failed(await desk.read("min.js", [[1, 1]], [9, 3]), "columns [9,3]", "[first, last]");
  });

  it("shows all of a line of exactly 2,000 characters", async () => {
    using desk = new Desk({ "edge.txt": `${"🔥".repeat(2000)}\n${"a".repeat(2001)}\n` });
    const { text } = ok(await desk.read("edge.txt"));
    assert.doesNotMatch(text, /line 1 cut/);
    assert.match(
      text,
      /line 2 cut: characters 1-2000 of 2001; for more: "columns": \[2001, 2001\]/,
    );
  });

  heavy("FE-35 pages a file of 60 MB without holding it", PATIENT, async () => {
    const bytes = Buffer.alloc(60_000_000, `${"line ".padEnd(59, ".")}\n`);
    bytes.write("the one", 900_006 * 60);
    using desk = new Desk({ "big.log": bytes });
    let largest = 0;
    const { readRange } = desk.host;
    desk.host = {
      ...desk.host,
      read: () => Promise.reject(new Error("it must not be read whole")),
      readRange(path, start, end) {
        largest = Math.max(largest, end - start);
        return readRange(path, start, end);
      },
    };
    const head = ok(await desk.read("big.log"));
    assert.match(head.text, /lines="1000000"/);
    assert.match(head.text, /"ranges":\[\[\d+,1000000\]\]/);
    assert.ok(Buffer.byteLength(head.text) <= desk.limits.readTokens * 4);
    const far = ok(await desk.read("big.log", [[900_000, 900_010], [1_000_000, -1]]));
    assert.deepEqual(shownLines(far.text), [
      ...Array.from({ length: 11 }, (_, i) => 900_000 + i),
      1_000_000,
    ]);
    assert.ok(far.text.includes(at(900_007, "the one".padEnd(59, "."))));
    assert.ok(largest <= 1024 * 1024);
    assert.equal(far.observations?.[0]?.version, sha256(bytes));
  });

  const LARGE: [name: string, make: () => Buffer, total: number, line: number, text: string][] = [
    [
      "CRLF and no final newline",
      () => Buffer.from(`${"a".repeat(70)}\r\n`.repeat(240_000) + "end"),
      240_001,
      240_001,
      "end",
    ],
    [
      "Latin-1",
      () => Buffer.from("caf\u00e9 cr\u00e8me\n".repeat(1_600_000), "latin1"),
      1_600_000,
      800_000,
      "café crème",
    ],
    ["a BOM", () => Buffer.from("\ufeff" + "first\n".repeat(3_000_000)), 3_000_000, 1, "first"],
  ];
  for (const [name, make, total, line, text] of LARGE) {
    it(`pages a large file with ${name}`, PATIENT, async () => {
      using desk = new Desk({ "large.txt": make() });
      const result = ok(await desk.read("large.txt", [[line, line]]));
      assert.ok(result.text.includes(`lines="${total}"`), result.text);
      assert.ok(result.text.includes(`\n${at(line, text)}\n`), result.text);
    });
  }

  it("says so about UTF-16 text that is too large to page", PATIENT, async () => {
    using desk = new Desk({
      "u16.log": Buffer.from("\ufeff" + "zeile\n".repeat(1_500_000), "utf16le"),
    });
    assert.match(
      ok(await desk.read("u16.log")).text,
      /type="UTF-16 text of over 16 MB; convert it/,
    );
  });

  heavy("finds lines wherever they stand to the borders of its pieces", PATIENT, async () => {
    const mega = 1024 * 1024;
    const lines = [
      "a".repeat(mega - 2), // its newline is the last byte but one of a piece
      "b",
      "c".repeat(mega - 3), // its newline is the last byte of a piece
      "d",
      "e".repeat(3 * mega), // spans several pieces
      ...Array.from({ length: 1000 }, (_, i) => `${i} ${"f".repeat(12_000)}`),
    ];
    using desk = new Desk({ "borders.txt": `${lines.join("\n")}\n` });
    for (const n of [1, 2, 3, 4, 5, 6, 700, 1005]) {
      const { text } = ok(await desk.read("borders.txt", [[n, n]]));
      assert.ok(
        text.includes(`\n${n}:${hash(lines[n - 1] ?? "")}|${lines[n - 1]?.slice(0, 2000)}\n`),
        `${n}`,
      );
    }
  });

  heavy("shows a line of a large file cut, and refuses one too long to hold", PATIENT, async () => {
    using desk = new Desk({
      "one.json": Buffer.alloc(20 * 1024 * 1024, "{}"),
      "huge.json": Buffer.alloc(33 * 1024 * 1024, "{}"),
    });
    const one = ok(await desk.read("one.json"));
    assert.match(one.text, /\n1:[a-z]{3}\|\{\}.*\n\[line 1 cut: characters 1-2000 of 20971520/);
    failed(await desk.read("huge.json"), "line 1 has over 33554432 bytes", "with a command");
  });

  it("FE-37 finds a file whose name only looks like the one asked for, and says so", async () => {
    const names = ["Cafe\u0301.txt", "Shot 9.30\u202fAM.txt", "l\u2019e\u0301cran.txt"];
    using desk = new Desk(Object.fromEntries(names.map((name) => [name, `${name}\n`])));
    for (const typed of ["Caf\u00e9.txt", "Shot 9.30 AM.txt", "l'\u00e9cran.txt"]) {
      const result = ok(await desk.read(typed));
      assert.match(result.text, /note: there is no .*; this is /);
      assert.deepEqual(shownLines(result.text), [1]);
    }
    desk.write("Caf\u00e9.txt", "composed\n");
    assert.ok(ok(await desk.read("Caf\u00e9.txt")).text.includes(at(1, "composed")));
    assert.ok(ok(await desk.read("Cafe\u0301.txt")).text.includes("Cafe\u0301.txt\n</range>"));
    desk.write("a b.txt", "plain\n");
    desk.write("a\u00a0b.txt", "hard\n");
    failed(await desk.read("a\u2009b.txt"), "a b.txt", "a\\u{a0}b.txt", "look the same");
  });

  it("FE-41 takes glob characters in a path literally", async () => {
    using desk = new Desk();
    for (
      const path of [
        "app/[id]/page.tsx",
        "app/(auth)/[[...slug]]/page.tsx",
        "a*b?.txt",
        "a{1,2}.txt",
      ]
    ) {
      desk.write(path, "x\n");
      assert.ok(ok(await desk.read(path)).text.includes(at(1, "x")));
    }
    failed(await desk.read("a*.txt"), "no such file");
  });

  it("WP-01 takes a backslash literally first, else names the path with slashes", async () => {
    using desk = new Desk({ "a/b.txt": "x\n" });
    failed(await desk.read("a\\b.txt"), "use a/b.txt");
    desk.write("a\\b.txt", "literal\n");
    assert.ok(ok(await desk.read("a\\b.txt")).text.includes(at(1, "literal")));
  });

  it("lists a folder, names a binary, shows an image, and refuses a pipe", async () => {
    const png = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    );
    using desk = new Desk({
      "d/b.txt": "x\n",
      "d/a.bin": Uint8Array.of(0, 1, 2),
      "d/dot.png": png,
    });
    mkdirSync(desk.at("d/zdir"));
    const list = ok(await desk.read("d"));
    assert.match(
      list.text,
      /<Read path="d" folder="true" entries="4">\nzdir\/\na\.bin\nb\.txt\ndot\.png\n<\/Read>/,
    );
    assert.match(ok(await desk.read("d/a.bin")).text, /type="data" size="3">/);
    const image = ok(await desk.read("d/dot.png"));
    assert.deepEqual(image.images.map(({ mime }) => mime), ["image/png"]);
    assert.deepEqual(desk.blobs.get(image.images[0]?.blob ?? ""), png);
    spawnSync("mkfifo", [desk.at("pipe")]);
    failed(await desk.read("pipe"), "pipe");
  });

  it("names what is near when nothing is there", async () => {
    using desk = new Desk({ "src/main.ts": "", "src/other.ts": "" });
    failed(await desk.read("src/mian.ts"), "near names: src/main.ts");
    failed(await desk.read("scr/main.ts"), "near names: src");
    failed(await desk.read("zzzzzz/qqq.ts"), "there is no zzzzzz in the working folder");
    failed(await desk.read("src/qwertyuiop.rs"), "src has 2 other entries");
    symlinkSync(desk.at("loop"), desk.at("loop"));
    failed(await desk.read("loop"), "ELOOP");
  });

  it("says what encoding it took for granted", async () => {
    using desk = new Desk({
      "u16.txt": Buffer.from("\ufeffa\r\nb", "utf16le"),
      "latin.txt": Buffer.from("caf\u00e9\n", "latin1"),
    });
    assert.match(ok(await desk.read("u16.txt")).text, /encoding="utf-16le"/);
    assert.match(
      ok(await desk.read("latin.txt")).text,
      /encoding="windows-1252"[^]*not valid UTF-8/,
    );
  });

  it("shows a path with odd characters without breaking the frame", async () => {
    using desk = new Desk({ 'q"<\n.txt': "x\n" });
    assert.match(
      ok(await desk.read('q"<\n.txt')).text,
      /^<Read path="q&quot;<&#10;.txt" lines="1"/,
    );
  });

  it("shows no CR of CRLF, but a lone one", async () => {
    using desk = new Desk({ "f.txt": "a\r\nb\rc\r\n" });
    const { text } = ok(await desk.read("f.txt"));
    assert.ok(text.includes(`${at(1, "a")}\n${at(2, "b\rc")}\n`));
  });

  const FORMS: [name: string, args: unknown, lines: number[]][] = [
    ["path and ranges at the top", { path: "f.txt", ranges: [[2, 3]] }, [2, 3]],
    ["one flat range", { path: "f.txt", ranges: [2, 3] }, [2, 3]],
    ["a flat range in files", { files: [{ path: "f.txt", ranges: [1, 2] }] }, [1, 2]],
    ["a path for files", { files: "f.txt" }, [1, 2, 3, 4]],
    ["a list of paths", { files: ["f.txt"] }, [1, 2, 3, 4]],
    ["file_path, offset, limit", { file_path: "f.txt", offset: 2, limit: 2 }, [2, 3]],
    ["filename in a lone object", { files: { filename: "f.txt" } }, [1, 2, 3, 4]],
    ["numbers as strings", { path: "f.txt", ranges: [["2", "3"]] }, [2, 3]],
    ["start_line and end_line", { path: "f.txt", start_line: 3, end_line: 3 }, [3]],
    ["start and end", { path: "f.txt", start: 2, end: 3 }, [2, 3]],
    ["an end alone", { path: "f.txt", end_line: 2 }, [1, 2]],
    ["a range in words", { path: "f.txt", ranges: "1-2" }, [1, 2]],
    ["ranges in words", { files: [{ path: "f.txt", lines: "1:2, 4" }] }, [1, 2, 4]],
    ["a list of ranges in words", { path: "f.txt", ranges: ["1-1", "3-4"] }, [1, 3, 4]],
    ["ranges as objects", { path: "f.txt", range: [{ start: 2, end: 3 }, { start: 4 }] }, [
      2,
      3,
      4,
    ]],
    ["a list of paths as path", { path: ["f.txt"], ranges: [[1, 1]] }, [1]],
    ["paths", { paths: ["f.txt"] }, [1, 2, 3, 4]],
    [
      "JSON in a string",
      JSON.stringify({ files: JSON.stringify([{ path: "f.txt", ranges: "[[1,1]]" }]) }),
      [1],
    ],
  ];
  for (const [name, args, lines] of FORMS) {
    it(`accepts ${name}`, async () => {
      using desk = new Desk({ "f.txt": "a\nb\nc\nd\n" });
      assert.deepEqual(shownLines(ok(await desk.run({ tool: "Read", args })).text), lines);
    });
  }

  it("refuses unknown fields", async () => {
    using desk = new Desk({ "f.txt": "a\n" });
    failed(
      await desk.run({ tool: "Read", args: { path: "f.txt", color: 1 } }),
      'unknown field "color"',
      "path, ranges, columns",
    );
    failed(await desk.run({ tool: "Read", args: {} }), "files is missing");
    failed(
      await desk.run({ tool: "Read", args: { path: "f.txt", ranges: "the first" } }),
      'ranges must be an array, not "the first"',
    );
  });

  it("has a schema of plain objects and a short description", () => {
    const schema = JSON.stringify(inputSchema(read as Tool));
    assert.doesNotMatch(schema, /anyOf|prefixItems|\$ref|\$defs/);
    assert.match(schema, /"additionalProperties":false/);
    assert.ok(read.description.length / 4 <= 150, `${read.description.length / 4} tokens`);
    assert.equal(read.input.safeParse(read.example).success, true);
  });

  it("asks to read real paths", async () => {
    using desk = new Desk({ "a.txt": "x\n" });
    symlinkSync(desk.at("a.txt"), desk.at("l.txt"));
    assert.deepEqual(await read.effects({ files: [{ path: "l.txt" }] }, desk.context()), [
      { kind: "read", path: desk.at("a.txt") },
    ]);
  });
});
