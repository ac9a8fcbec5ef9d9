// Edit on the real disk: what users of other agents ran into (FE cases of tests/cases/bugs.md), and what
// a call leaves behind when something is in the way.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { HostError } from "../../src/host/host.ts";
import { sha256 } from "../../src/runtime/hash.ts";
import { anchors } from "../../src/tools/anchor.ts";
import { SeenFiles } from "../../src/tools/seen.ts";
import { inputSchema } from "../../src/tools/arguments.ts";
import { edit } from "../../src/tools/edit.ts";
import { type Tool, ToolError } from "../../src/tools/tool.ts";
import { Desk, PATIENT, type Result, RUNS } from "./support.ts";
import { heavy } from "../support/heavy.ts";

const hash = await anchors();

/** Anchor of a line whose text is known. */
function at(line: number, text: string): string {
  return `${line}:${hash(text)}`;
}

/** An input file of tests/cases/files. */
function given(path: string): Buffer {
  return readFileSync(fileURLToPath(new URL(`../cases/files/${path}`, import.meta.url)));
}

async function deskWith(name: string, content: string | Uint8Array): Promise<Desk> {
  const desk = new Desk({ [name]: content });
  await desk.read(name);
  return desk;
}

function ok(result: Result): Result {
  assert.equal(result.status, "ok", result.text);
  return result;
}

function refused(result: Result, ...mentions: (string | RegExp)[]): Result {
  assert.equal(result.status, "error", result.text);
  assert.match(result.text, /nothing was written/i);
  for (const mention of mentions) {
    const found = typeof mention === "string"
      ? result.text.includes(mention)
      : mention.test(result.text);
    assert.ok(found, `${mention} is missing in:\n${result.text}`);
  }
  return result;
}

describe("Edit: bugs of other agents", () => {
  it("FE-01 keeps CRLF", async () => {
    using desk = await deskWith("crlf.pas", given("FE-01/files/crlf.pas"));
    ok(
      await desk.edit("crlf.pas", {
        op: "replace",
        start: at(3, "  x := 1;"),
        content: "  x := 2;",
      }),
    );
    ok(
      await desk.edit("crlf.pas", {
        op: "insert_after",
        start: at(3, "  x := 2;"),
        content: "  y := 3;\n",
      }),
    );
    assert.equal(desk.text("crlf.pas"), "unit A;\r\nbegin\r\n  x := 2;\r\n  y := 3;\r\nend.\r\n");
  });

  it("FE-05 keeps a BOM out of line 1 and in the file", async () => {
    using desk = await deskWith("bom.md", given("FE-05/files/bom.md"));
    ok(await desk.edit("bom.md", { op: "replace_all", old: "# Title", new: "# Titel" }));
    ok(await desk.edit("bom.md", { op: "replace", start: at(1, "# Titel"), content: "# New" }));
    assert.equal(desk.text("bom.md"), "\ufeff# New\nbody\n");
  });

  it("FE-06 does not glue a line to one without a newline", async () => {
    using desk = await deskWith("nonl.txt", given("FE-06/files/nonl.txt"));
    const result = ok(
      await desk.edit("nonl.txt", { op: "insert_after", start: at(3, "c"), content: "X" }),
    );
    assert.equal(desk.text("nonl.txt"), "a\nb\nc\nX");
    assert.match(result.text, /\\ No newline at end of file/);
  });

  it("FE-07 does not double a final newline", async () => {
    using desk = await deskWith("two.txt", given("FE-07/files/two.txt"));
    ok(await desk.edit("two.txt", { op: "insert_after", start: at(1, "one"), content: "x\n" }));
    ok(await desk.edit("new.txt", { op: "create", content: "Hello, world!\n" }));
    assert.equal(desk.text("two.txt"), "one\nx\ntwo\n");
    assert.equal(desk.bytes("new.txt").length, 14);
  });

  it("FE-08 does not strip a final newline", async () => {
    using desk = await deskWith("go.go", given("FE-08/files/go.go"));
    ok(
      await desk.edit("go.go", {
        op: "insert_before",
        start: at(3, "func A() {}"),
        content: "// doc",
      }),
    );
    assert.equal(desk.text("go.go"), "package p\n\n// doc\nfunc A() {}\n");
  });

  it("FE-11 writes tabs as given and names them where a literal has blanks", async () => {
    using desk = await deskWith("Makefile", given("FE-11/files/Makefile"));
    const start = at(2, "\tcc -o a a.c");
    ok(await desk.edit("Makefile", { op: "replace", start, content: "\tcc -O2 -o a a.c" }));
    refused(
      await desk.edit("Makefile", { op: "replace_all", old: "    @echo", new: "\t@true" }),
      "TAB",
      "4 spaces",
    );
    assert.equal(desk.text("Makefile"), "all:\n\tcc -O2 -o a a.c\n\t@echo done\n");
  });

  it("FE-12 refuses a literal that is only nearly there, leaving all bytes alone", async () => {
    using desk = await deskWith("a.txt", given("FE-12/files/a.txt"));
    const before = desk.text("a.txt");
    const literal = { op: "replace_all", old: "replace me\nafter", new: "DONE\nDONE2" };
    refused(await desk.edit("a.txt", literal), "3 spaces");
    assert.equal(desk.text("a.txt"), before);
  });

  it("FE-13 takes $ for what it is", async () => {
    using desk = await deskWith("d.sh", given("FE-13/files/d.sh"));
    ok(await desk.edit("d.sh", { op: "replace_all", old: "done", new: "$& $$ $` $' $1" }));
    ok(await desk.edit("d.sh", { op: "replace", start: at(2, "PID=old"), content: "PID=$$" }));
    assert.equal(desk.text("d.sh"), 'log "$& $$ $` $\' $1"\nPID=$$\n');
  });

  it("FE-15 keeps bytes of a legacy encoding and refuses what it cannot hold", async () => {
    const original = given("FE-15/files/unit.pas");
    using desk = new Desk({ "unit.pas": original });
    assert.match((await desk.read("unit.pas")).text, /not valid UTF-8/);
    const start = at(2, "x := 1;");
    refused(
      await desk.edit("unit.pas", { op: "replace", start, content: "x := '漢';" }),
      "U+6F22",
      "windows-1252",
    );
    ok(await desk.edit("unit.pas", { op: "replace", start, content: "x := 2;" }));
    const line = original.subarray(0, original.indexOf(10) + 1);
    assert.deepEqual(desk.bytes("unit.pas"), Buffer.concat([line, Buffer.from("x := 2;\n")]));
  });

  it("FE-17 writes through a link, and through none that leads nowhere", async () => {
    using desk = new Desk({ "real/t.md": "hello\n" });
    symlinkSync(desk.at("real/t.md"), desk.at("link.md"));
    symlinkSync(desk.at("loop"), desk.at("loop"));
    symlinkSync(desk.at("nowhere"), desk.at("dangling"));
    await desk.read("link.md");
    ok(await desk.edit("link.md", { op: "replace", start: at(1, "hello"), content: "HELLO" }));
    assert.ok(lstatSync(desk.at("link.md")).isSymbolicLink());
    assert.equal(desk.text("real/t.md"), "HELLO\n");
    const effects = await edit.effects(
      { path: "link.md", edits: [{ op: "delete" }] },
      desk.context(),
    );
    assert.deepEqual(effects, [{ kind: "write", path: desk.at("real/t.md") }]);
    const loop = await desk.edit("loop", { op: "delete", start: "1:abc" });
    refused(loop, "ELOOP");
    refused(await desk.edit("dangling", { op: "delete", start: "1:abc" }), "no such file");
  });

  for (const mode of [0o755, 0o640]) {
    it(`FE-18 keeps mode ${mode.toString(8)}`, async () => {
      using desk = await deskWith("s.sh", given("FE-18/files/s.sh"));
      chmodSync(desk.at("s.sh"), mode);
      ok(await desk.edit("s.sh", { op: "replace", start: at(2, "echo 1"), content: "echo 2" }));
      assert.equal(statSync(desk.at("s.sh")).mode & 0o7777, mode);
    });
  }

  it("FE-20 keeps a line that somebody else appended, and refuses to overwrite it", async () => {
    using desk = await deskWith("f.txt", "one\ntwo\nthree\n");
    desk.write("f.txt", "one\ntwo\nthree\nuser\n");
    refused(await desk.edit("f.txt", { op: "overwrite", content: "all new\n" }), "changed on disk");
    assert.equal(desk.text("f.txt"), "one\ntwo\nthree\nuser\n");
    ok(
      await desk.edit("f.txt", {
        op: "replace",
        start: at(1, "one"),
        end: at(2, "two"),
        content: "1\n2",
      }),
    );
    assert.equal(desk.text("f.txt"), "1\n2\nthree\nuser\n");
  });

  it("FE-21 applies several calls of a reply to one file, whatever it is called", async () => {
    const lines = Array.from({ length: 100 }, (_, i) => `${i + 1}`);
    using desk = await deskWith("nums.txt", given("FE-21/files/nums.txt"));
    const change = (path: string, n: number, content: string) => ({
      tool: "Edit" as const,
      args: { path, edits: [{ op: "replace", start: at(n, `${n}`), content }] },
    });
    for (
      const result of await desk.batch([
        change("nums.txt", 50, "FIFTY"),
        change("./nums.txt", 75, "SEVENTY-FIVE"),
      ])
    ) ok(result);
    const wanted = lines.with(49, "FIFTY").with(74, "SEVENTY-FIVE");
    assert.equal(desk.text("nums.txt"), wanted.join("\n") + "\n");
  });

  it("FE-21 queues calls that run at the same time", async () => {
    using desk = await deskWith("nums.txt", "1\n2\n3\n4\n5\n6\n7\n8\n");
    const results = await Promise.all(
      [1, 3, 5, 7].map((n) =>
        desk.edit("nums.txt", { op: "replace_text", old: `${n}`, new: `<${n}>` })
      ),
    );
    // Each was planned on the file as it was: one is written, the others are told that it changed.
    const written = results.filter(({ status }) => status === "ok").length;
    assert.ok(written >= 1);
    assert.equal(desk.text("nums.txt").match(/</g)?.length, written);
    for (const result of results.filter(({ status }) => status === "error")) {
      refused(result, "changed on disk");
    }
  });

  it("FE-25 does not bind a stale anchor to another copy of the line", async () => {
    using desk = await deskWith("dup.ts", given("FE-25/files/dup.ts"));
    const start = at(2, "  show: true,");
    for (
      const result of await desk.batch([
        { tool: "Edit", args: { path: "dup.ts", edits: [{ op: "delete", start }] } },
        {
          tool: "Edit",
          args: {
            path: "dup.ts",
            edits: [{ op: "replace", start: at(5, "  show: true,"), content: "  show: false," }],
          },
        },
      ])
    ) ok(result);
    assert.equal(desk.text("dup.ts"), "const a = {\n};\nconst b = {\n  show: false,\n};\n");
    refused(await desk.edit("dup.ts", { op: "delete", start }));
  });

  it("FE-25 refuses the anchor of a deleted line though its text stands elsewhere", async () => {
    using desk = await deskWith("dup.ts", given("FE-25/files/dup.ts"));
    const start = at(2, "  show: true,");
    ok(await desk.edit("dup.ts", { op: "delete", start }));
    refused(await desk.edit("dup.ts", { op: "delete", start }), at(4, "  show: true,"));
  });

  it("FE-28 keeps text that only looks like an anchor", async () => {
    using desk = await deskWith("times.txt", given("FE-28/files/times.txt"));
    const content = "12:34abc|lunch\n08:15xyz|bus";
    ok(await desk.edit("times.txt", { op: "insert_after", start: at(1, "header"), content }));
    assert.equal(desk.text("times.txt"), "header\n12:34abc|lunch\n08:15xyz|bus\n");
  });

  it("FE-29 notices a change of indentation", async () => {
    using desk = await deskWith("y.yml", given("FE-29/files/y.yml"));
    desk.write("y.yml", "a:\n    b: 1\n");
    refused(
      await desk.edit("y.yml", { op: "replace", start: at(2, "  b: 1"), content: "  b: 2" }),
      "|    b: 1",
    );
  });

  it("FE-30 says where context was repeated", async () => {
    using desk = await deskWith("abc.txt", given("FE-30/files/abc.txt"));
    desk.write("abc2.txt", "aaa\nbbb\nccc\n");
    await desk.read("abc2.txt");
    const one = ok(
      await desk.edit("abc.txt", { op: "insert_after", start: at(2, "bbb"), content: "bbb\nNEW" }),
    );
    assert.match(one.text, /first new line equals line 2: possible duplicate/);
    const two = ok(
      await desk.edit("abc2.txt", { op: "replace", start: at(1, "aaa"), content: "AAA\nbbb" }),
    );
    assert.match(two.text, /last new line equals line 2: possible duplicate/);
    assert.equal(desk.text("abc.txt"), "aaa\nbbb\nbbb\nNEW\nccc\n");
  });

  it("FE-31 takes anchors of all ranges that were shown", async () => {
    const content = given("FE-31/files/big.c").toString();
    const lines = content.split("\n");
    using desk = new Desk({ "big.c": content });
    await desk.read("big.c", [[1118, 1126], [1284, 1290]]);
    for (const n of [1122, 1287]) {
      ok(
        await desk.edit("big.c", {
          op: "insert_after",
          start: at(n, lines[n - 1] ?? ""),
          content: `// ${n}`,
        }),
      );
    }
    assert.equal(
      desk.text("big.c"),
      lines.toSpliced(1287, 0, "// 1287").toSpliced(1122, 0, "// 1122").join("\n"),
    );
  });

  it("FE-34 changes parts of a line too long to show, and keeps the rest of it safe", async () => {
    const long = `${"x".repeat(700_000)}TOKEN${"y".repeat(800_000)}`;
    using desk = await deskWith("min.js", long);
    const start = at(1, long);
    refused(
      await desk.edit("min.js", { op: "replace", start, content: "short" }),
      "shown cut",
      "replace_text",
    );
    refused(await desk.edit("min.js", { op: "overwrite", content: "short" }), "shown cut");
    const result = ok(await desk.edit("min.js", { op: "replace_all", old: "TOKEN", new: "DONE" }));
    assert.ok(Buffer.byteLength(result.text) < 10_000);
    assert.ok(JSON.stringify(result.observations).length < 1000);
    assert.equal(desk.text("min.js"), long.replace("TOKEN", "DONE"));
    ok(
      await desk.edit("min.js", {
        op: "insert_before",
        start: at(1, desk.text("min.js")),
        content: "// licence",
      }),
    );
    assert.ok(desk.text("min.js").startsWith("// licence\nxxx"));
  });

  it("FE-37 changes a file by a name that looks the same, and says so", async () => {
    using desk = await deskWith("Cafe\u0301.txt", "a\n");
    const result = ok(
      await desk.edit("Caf\u00e9.txt", { op: "replace", start: at(1, "a"), content: "b" }),
    );
    assert.match(result.text, /there is no .*Caf.*; this is Cafe\\u\{301\}\.txt/);
    assert.deepEqual(readdirSync(desk.root), ["Cafe\u0301.txt"]);
    ok(await desk.edit("l'\u00e9cran.txt", { op: "create", content: "exact\n" }));
    assert.equal(desk.text("l'\u00e9cran.txt"), "exact\n");
  });

  it("FE-38 decodes arguments once", async () => {
    using desk = new Desk();
    ok(
      await desk.run({ tool: "Edit", args: JSON.parse(given("FE-38/files/args.json").toString()) }),
    );
    assert.deepEqual(desk.bytes("esc.c"), given("FE-38/files/expected.txt"));
    refused(await desk.edit("nul.txt", { op: "create", content: "a\0b" }), "NUL");
  });

  it("FE-40 reports a full disk and leaves the file as it was", async () => {
    using desk = await deskWith("f.txt", "a\n");
    desk.host = {
      ...desk.host,
      write: () =>
        Promise.reject(
          new HostError("ENOSPC", "cannot write f.txt: no space is left on the disk (ENOSPC)"),
        ),
    };
    refused(await desk.edit("f.txt", { op: "replace", start: at(1, "a"), content: "b" }), "ENOSPC");
    assert.equal(desk.text("f.txt"), "a\n");
  });

  it("FE-40 writes nothing when the old content cannot be kept for undo", async () => {
    using desk = await deskWith("f.txt", "a\n");
    const call = {
      path: "f.txt",
      edits: [{ op: "replace" as const, start: at(1, "a"), content: "b" }],
    };
    const keep = () => {
      throw new Error("no space is left on the disk");
    };
    await assert.rejects(
      () => edit.run(call, { ...desk.context(), keep }),
      /for undo: no space[^]*Nothing was written/,
    );
    assert.equal(desk.text("f.txt"), "a\n");
  });

  it("FE-41 takes brackets and parentheses in a path literally", async () => {
    for (const path of ["app/[id]/page.tsx", "app/(auth)/[[...slug]]/page.tsx"]) {
      const content = given(`FE-41/files/${path}`).toString();
      using desk = await deskWith(path, content);
      const first = content.split("\n")[0] ?? "";
      ok(await desk.edit(path, { op: "insert_before", start: at(1, first), content: "// new" }));
      assert.equal(desk.text(path), `// new\n${content}`);
    }
  });

  it("FE-43 finds a moved line, and shows fresh anchors for a changed one", async () => {
    const content = given("FE-43/files/f.txt").toString();
    const lines = content.trimEnd().split("\n");
    const start = at(20, lines[19] ?? "");
    using desk = await deskWith("f.txt", content);
    desk.write("f.txt", `top\ntop too\n${content}`);
    const result = ok(await desk.edit("f.txt", { op: "replace", start, content: "TWENTY" }));
    assert.match(result.text, /20 is now 22/);
    assert.equal(desk.text("f.txt"), `top\ntop too\n${lines.with(19, "TWENTY").join("\n")}\n`);

    using other = await deskWith("f.txt", content);
    other.write("f.txt", `top\n${lines.with(19, "theirs").join("\n")}\n`);
    refused(
      await other.edit("f.txt", { op: "replace", start, content: "TWENTY" }),
      "theirs",
      at(21, "theirs"),
    );
    ok(await other.edit("f.txt", { op: "replace", start: at(21, "theirs"), content: "TWENTY" }));
    assert.equal(other.text("f.txt"), `top\n${lines.with(19, "TWENTY").join("\n")}\n`);
  });

  it("WP-01 makes no file with a backslash in its name beside the one meant", async () => {
    using desk = new Desk({ "a/b.txt": "x\n" });
    refused(
      await desk.edit("a\\b.txt", { op: "replace", start: at(1, "x"), content: "y" }),
      "use a/b.txt",
    );
    refused(await desk.edit("a\\b.txt", { op: "create", content: "y\n" }), "use a/b.txt");
    assert.deepEqual(readdirSync(desk.root), ["a"]);
    desk.write("c\\d.txt", "literal\n");
    await desk.read("c\\d.txt");
    ok(await desk.edit("c\\d.txt", { op: "replace", start: at(1, "literal"), content: "y" }));
    assert.equal(desk.text("c\\d.txt"), "y\n");
  });
});

describe("Edit", () => {
  it("returns a diff, fresh anchors with two lines around, the change and what was shown", async () => {
    using desk = await deskWith("src/f.txt", "1\n2\n3\n4\n5\n6\n7\n8\n");
    const result = ok(
      await desk.edit("src/f.txt", { op: "replace", start: at(4, "4"), content: "four\n4½" }),
    );
    const after = "1\n2\n3\nfour\n4½\n5\n6\n7\n8\n";
    const version = sha256(Buffer.from(after));
    assert.equal(
      result.text,
      `<Edit path="src/f.txt" version="${version.slice(0, 8)}">
--- src/f.txt
+++ src/f.txt
@@ -2,5 +2,6 @@
 2
 3
-4
+four
+4½
 5
 6
<range start="2" end="7">
${at(2, "2")}|2
${at(3, "3")}|3
${at(4, "four")}|four
${at(5, "4½")}|4½
${at(6, "5")}|5
${at(7, "6")}|6
</range>
</Edit>`,
    );
    assert.equal(result.summary, "+2 -1");
    assert.deepEqual(result.observations, [{
      path: desk.at("src/f.txt"),
      version,
      kind: "edit",
      total: 9,
      ranges: [[2, 7]],
      texts: [["2", "3", "four", "4½", "5", "6"]],
    }]);
    const [change] = result.changes ?? [];
    assert.equal(change?.kind, "edit");
    assert.equal(
      desk.blobs.get(change?.before ?? "")?.toString(),
      Buffer.from("1\n2\n3\n4\n5\n6\n7\n8\n").toString(),
    );
    assert.equal(change?.after, version);
  });

  it("shows the person the same diff before as after", async () => {
    using desk = await deskWith("f.txt", "a\nb\n");
    const call = {
      path: "f.txt",
      edits: [{ op: "replace" as const, start: at(1, "a"), content: "A" }],
    };
    const preview = await edit.preview?.(call, desk.context());
    assert.equal(desk.text("f.txt"), "a\nb\n");
    const result = ok(await desk.run({ tool: "Edit", args: call }));
    assert.equal(result.display, preview);
    assert.ok(result.text.includes(preview ?? "nothing"));
  });

  it("asks nobody about a call that cannot be applied, and its anchors can be used", async () => {
    using desk = new Desk({ "f.txt": "a\nb\n" });
    const call = { path: "f.txt", edits: [{ op: "delete" as const, start: "2" }] };
    await assert.rejects(async () => await edit.preview?.(call, desk.context()), (error) => {
      assert.ok(error instanceof ToolError);
      assert.match(error.message, /Nothing was written/);
      for (const observation of error.observations) desk.seen.add(observation);
      return true;
    });
    ok(await desk.edit("f.txt", { op: "delete", start: at(2, "b") }));
  });

  it("creates a file with its folders, and tells the next reply its anchors", async () => {
    using desk = new Desk();
    const created = ok(await desk.edit("a/b/new.ts", { op: "create", content: "one\r\ntwo" }));
    assert.equal(desk.text("a/b/new.ts"), "one\r\ntwo");
    assert.deepEqual(created.changes?.map(({ kind, before }) => [kind, before]), [[
      "create",
      null,
    ]]);
    ok(await desk.edit("a/b/new.ts", { op: "replace", start: at(2, "two"), content: "2" }));
    assert.equal(desk.text("a/b/new.ts"), "one\r\n2");
  });

  it("creates an empty file, and an empty one anew", async () => {
    using desk = new Desk();
    ok(await desk.edit("empty", { op: "create", content: "" }));
    assert.equal(desk.text("empty"), "");
    ok(await desk.edit("empty", { op: "create", content: "x\n" }));
    assert.equal(desk.text("empty"), "x\n");
  });

  it("lets a reply create a file and change its text, but not create it twice or use its anchors yet", async () => {
    using desk = new Desk();
    const call = (edits: unknown[]) => ({ tool: "Edit" as const, args: { path: "n.txt", edits } });
    const [first, second, third, fourth] = await desk.batch([
      call([{ op: "create", content: "a\nb\n" }]),
      call([{ op: "replace_all", old: "b", new: "B" }]),
      call([{ op: "create", content: "again\n" }]),
      call([{ op: "delete", start: at(1, "a") }]),
    ]) as [Result, Result, Result, Result];
    ok(first);
    ok(second);
    refused(third, "exists");
    refused(fourth, "created in this reply", at(1, "a"));
    assert.equal(desk.text("n.txt"), "a\nB\n");
  });

  it("makes folders only inside the workspace", async () => {
    using desk = new Desk();
    refused(
      await desk.edit("../outside/new.txt", { op: "create", content: "x\n" }),
      "only inside the workspace",
    );
    assert.ok(!existsSync(desk.at("../outside")));
    ok(await desk.edit("../beside.txt", { op: "create", content: "x\n" }));
    assert.equal(desk.text("../beside.txt"), "x\n");
  });

  it("overwrites a file that was shown whole, keeping its line ends", async () => {
    using desk = await deskWith("f.txt", "\ufeffa\r\nb\r\n");
    ok(await desk.edit("f.txt", { op: "overwrite", content: "x\ny\nz" }));
    assert.equal(desk.text("f.txt"), "\ufeffx\r\ny\r\nz");
  });

  it("refuses to overwrite a file with what was displayed, anchors and all", async () => {
    using desk = await deskWith("f.txt", "a\nb\n");
    const content = `${at(1, "a")}|A\n${at(2, "b")}|B\n`;
    refused(await desk.edit("f.txt", { op: "overwrite", content }), "begins with an anchor");
    assert.equal(desk.text("f.txt"), "a\nb\n");
  });

  it("refuses to overwrite what was not shown, and to create what exists", async () => {
    using desk = new Desk({ "f.txt": "a\nb\n" });
    refused(await desk.edit("f.txt", { op: "overwrite", content: "x\n" }), "never shown");
    await desk.read("f.txt", [[1, 1]]);
    refused(await desk.edit("f.txt", { op: "overwrite", content: "x\n" }), "not line 2");
    refused(await desk.edit("f.txt", { op: "create", content: "x\n" }), "exists", "overwrite");
    refused(
      await desk.edit("f.txt", { op: "create", content: "x\n" }, {
        op: "delete",
        start: at(1, "a"),
      }),
      "only edit",
    );
    refused(
      await desk.edit("none.txt", { op: "overwrite", content: "x\n" }),
      "no such file",
      "op create",
    );
    assert.equal(desk.text("f.txt"), "a\nb\n");
  });

  it("reports a missing file before anything about anchors, with near names", async () => {
    using desk = new Desk({ "src/main.ts": "x\n" });
    refused(
      await desk.edit("src/mian.ts", { op: "replace", start: "nonsense", content: "x" }),
      "src/main.ts",
      "op create",
    );
  });

  it("refuses folders, binary files and the impossible", async () => {
    using desk = new Desk({ "b.bin": Uint8Array.of(1, 0, 2) });
    mkdirSync(desk.at("dir"));
    refused(await desk.edit("b.bin", { op: "replace_all", old: "a", new: "b" }), "binary");
    refused(await desk.edit("dir", { op: "create", content: "x" }), "folder");
    refused(await desk.edit("new/", { op: "create", content: "x" }), "slash");
    refused(await desk.edit("", { op: "create", content: "x" }), "path is empty");
    refused(
      await desk.edit("lone.txt", { op: "create", content: "\ud83d" }),
      "half of a character",
    );
  });

  it("changes nothing and says so when the file already reads like that", async () => {
    using desk = await deskWith("f.txt", "a\nb\n");
    const { mtimeMs } = statSync(desk.at("f.txt"));
    const result = await desk.edit("f.txt", { op: "replace", start: at(2, "b"), content: "b" });
    assert.equal(result.status, "noop");
    assert.match(result.text, /nothing was written/);
    assert.equal(statSync(desk.at("f.txt")).mtimeMs, mtimeMs);
    assert.deepEqual(result.changes ?? [], []);
  });

  it("tells later calls of a reply that the file changed between them, with anchors that work", async () => {
    using desk = await deskWith("f.txt", "a\nb\nc\n");
    const [first, , third, fourth] = await desk.batch([
      {
        tool: "Edit",
        args: { path: "f.txt", edits: [{ op: "replace", start: at(1, "a"), content: "A" }] },
      },
      { tool: "External", args: { path: "f.txt", write: "zero\nA\nb\nc\n" } },
      {
        tool: "Edit",
        args: { path: "f.txt", edits: [{ op: "replace", start: at(3, "c"), content: "C" }] },
      },
      { tool: "Edit", args: { path: "f.txt", edits: [{ op: "replace_all", old: "b", new: "B" }] } },
    ]) as [Result, Result, Result, Result];
    ok(first);
    refused(third, "changed on disk", at(4, "c"));
    refused(fourth, "changed on disk", at(3, "b"));
    assert.equal(desk.text("f.txt"), "zero\nA\nb\nc\n");
    ok(await desk.edit("f.txt", { op: "replace", start: at(4, "c"), content: "C" }));
    assert.equal(desk.text("f.txt"), "zero\nA\nb\nC\n");
  });

  it("does not call it a no-op when the file changed meanwhile", async () => {
    using desk = await deskWith("f.txt", "a\nb\n");
    const call = {
      tool: "Edit" as const,
      args: { path: "f.txt", edits: [{ op: "replace", start: at(1, "a"), content: "a" }] },
    };
    const [result] = await desk.batch([call], () => desk.write("f.txt", "a\nc\n"));
    refused(result as Result, "changed on disk");
  });

  it("keeps texts within their bound, however many points are wrong and however long the lines", async () => {
    const lines = Array.from({ length: 100 }, (_, i) => `${i + 1} ${"x".repeat(1900)}`);
    using desk = await deskWith("f.txt", lines.join("\n"));
    desk.seen = new SeenFiles();
    await desk.read("f.txt", [[1, 3]]);
    const points = lines.map((_, i) => ({ op: "delete", start: `${i + 1}` }));
    const wrong = refused(await desk.edit("f.txt", ...points), "92 more edits");
    const right = ok(await desk.edit("f.txt", { op: "replace_all", old: "x", new: "y" }));
    for (const { text, observations } of [wrong, right]) {
      assert.ok(Buffer.byteLength(text) <= desk.limits.outputTokens * 4);
      const shown = observations?.[0]?.texts.flat().length ?? 0;
      assert.equal(text.match(/^\d+:[a-z]{3}\|/gm)?.length, shown);
      assert.ok(shown > 0);
    }
  });

  it("meets a change in the very moment of writing", async () => {
    using desk = await deskWith("f.txt", "a\n");
    const { write } = desk.host;
    desk.host = {
      ...desk.host,
      write(path, bytes, expected) {
        desk.write("f.txt", "theirs\n");
        return write(path, bytes, expected);
      },
    };
    refused(
      await desk.edit("f.txt", { op: "replace", start: at(1, "a"), content: "b" }),
      "changed on disk",
      "theirs",
    );
    assert.equal(desk.text("f.txt"), "theirs\n");
  });

  it("tells of a file that went away", async () => {
    using desk = await deskWith("f.txt", "a\n");
    const results = await desk.batch([
      {
        tool: "Edit",
        args: { path: "f.txt", edits: [{ op: "replace", start: at(1, "a"), content: "b" }] },
      },
    ], () => spawnSync("rm", [desk.at("f.txt")]));
    refused(results[0] as Result, "changed on disk", "gone");
  });

  it("keeps a large result within its bound, and records only what it shows", async () => {
    const lines = Array.from({ length: 3000 }, (_, i) => `line ${i}`);
    using desk = await deskWith("big.txt", `${lines.join("\n")}\n`);
    const result = ok(await desk.edit("big.txt", { op: "replace_all", old: "line", new: "row" }));
    assert.ok(Buffer.byteLength(result.text) <= desk.limits.outputTokens * 4);
    assert.match(result.text, /diff cut here: \d+ more lines/);
    assert.match(result.text, /3000 occurrences replaced/);
    const [seen] = result.observations ?? [];
    for (const [i, [from, to]] of (seen?.ranges ?? []).entries()) {
      assert.ok(result.text.includes(`\n${at(from, seen?.texts[i]?.[0] ?? "")}|`));
      assert.ok(result.text.includes(`\n${at(to, seen?.texts[i]?.at(-1) ?? "")}|`));
    }
    const last = seen?.ranges.at(-1)?.[1] ?? 0;
    assert.ok(!result.text.includes(`\n${last + 1}:`));
  });

  it("keeps a result of many small changes within its bound", async () => {
    const lines = Array.from({ length: 3000 }, (_, i) => (i % 12 ? `line ${i}` : `old ${i}`));
    using desk = await deskWith("many.txt", `${lines.join("\n")}\n`);
    const result = ok(await desk.edit("many.txt", { op: "replace_all", old: "old", new: "new" }));
    assert.ok(Buffer.byteLength(result.text) <= desk.limits.outputTokens * 4);
    assert.match(result.text, /\[changes in lines \d+-\d+ not shown here; Read/);
  });

  it("says when only line ends changed", async () => {
    using desk = await deskWith("f.txt", "a\nb\n");
    const result = ok(await desk.edit("f.txt", { op: "overwrite", content: "a\r\nb\r\n" }));
    assert.match(result.text, /only line ends changed/);
    assert.equal(desk.text("f.txt"), "a\r\nb\r\n");
  });

  it("shows lines as they will be read: a CR before the ending, a mark in front of the file", async () => {
    using desk = await deskWith("f.txt", "a\nb\n");
    const cr = ok(await desk.edit("f.txt", { op: "replace", start: at(1, "a"), content: "x\r" }));
    assert.ok(cr.text.includes(`\n${at(1, "x")}|x\n`), cr.text);
    assert.equal(desk.text("f.txt"), "x\r\nb\n");
    ok(await desk.edit("f.txt", { op: "replace", start: at(1, "x"), content: "a" }));
    const mark = ok(
      await desk.edit("f.txt", { op: "replace", start: at(1, "a"), content: "\ufeffmarked" }),
    );
    assert.ok(mark.text.includes(`\n${at(1, "marked")}|marked\n`), mark.text);
    ok(await desk.edit("f.txt", { op: "replace", start: at(1, "marked"), content: "still" }));
    assert.equal(desk.text("f.txt"), "\ufeffstill\r\nb\n");
    ok(await desk.edit("new.txt", { op: "create", content: "\ufeffone\n" }));
    ok(await desk.edit("new.txt", { op: "insert_after", start: at(1, "one"), content: "two" }));
    assert.equal(desk.text("new.txt"), "\ufeffone\ntwo\n");
  });

  heavy("answers hostile arguments at once", PATIENT, async () => {
    const blanks = " ".repeat(300_000);
    using desk = await deskWith("f.txt", `a\n${blanks}x\n${"a b ".repeat(50_000)}\n`);
    refused(
      await desk.edit("f.txt", { op: "delete", start: `${blanks}12${blanks}` }),
      "does not exist",
    );
    refused(
      await desk.edit("f.txt", { op: "delete", start: `>${":".repeat(300_000)}` }),
      "not an anchor",
    );
    refused(await desk.edit("f.txt", { op: "replace_all", old: `${" ".repeat(3000)}y`, new: "z" }));
    refused(await desk.edit("f.txt", { op: "replace_all", old: "\n  \t y", new: "z" }));
    refused(
      await desk.edit("f.txt", { op: "replace_all", old: "a  b ".repeat(500) + "c", new: "z" }),
    );
    const long = { op: "replace_text", old: "x".repeat(2_000_000), new: "y" };
    refused(await desk.edit("f.txt", long), "does not occur");
  });

  heavy("replaces very many occurrences, and goes on in the same reply", PATIENT, async () => {
    const lines = Array.from({ length: 200_000 }, (_, i) => `old ${i}`);
    using desk = await deskWith("f.txt", lines.join("\n"));
    await desk.read("f.txt", [[100_000, 100_001]]);
    const call = (edit: unknown) => ({
      tool: "Edit" as const,
      args: { path: "f.txt", edits: [edit] },
    });
    for (
      const result of await desk.batch([
        call({ op: "replace_all", old: "old", new: "new\nline" }),
        call({ op: "replace_all", old: "\nline", new: "" }),
        call({ op: "delete", start: at(100_000, "old 99999") }),
      ])
    ) ok(result);
    const wanted = lines.map((line) => line.replace("old", "new")).toSpliced(99_999, 1);
    assert.equal(desk.text("f.txt"), wanted.join("\n"));
  });

  it("accepts the forms that models send instead", async () => {
    using desk = await deskWith("f.txt", "a\nb\nc\n");
    const send = async (args: unknown) => ok(await desk.run({ tool: "Edit", args }));
    await send({ file_path: "f.txt", old_string: "a", new_string: "A" });
    await send({ path: "f.txt", op: "replace", start: `${at(2, "b")}|b`, content: "B" });
    await send({
      path: "f.txt",
      edits: JSON.stringify([{ op: "replace", anchor: at(3, "c"), content: "C" }]),
    });
    assert.equal(desk.text("f.txt"), "A\nB\nC\n");
    const filled = { op: "replace", start: at(1, "A"), end: "", content: "a", old: "", new: "" };
    await send({ path: "f.txt", edits: [filled] });
    await send({
      path: "f.txt",
      edits: [{ op: "replace_text", old: "B", new: "", start: "", end: "", content: "" }],
    });
    assert.equal(desk.text("f.txt"), "a\n\nC\n");
    const unknown = await desk.run({
      tool: "Edit",
      args: { path: "f.txt", edits: [{ op: "delete", at: 3 }] },
    });
    assert.match(unknown.text, /unknown field "at"; accepted: op, start, end, content, old, new/);
  });

  it("has a schema of plain objects and a short description", () => {
    const schema = JSON.stringify(inputSchema(edit as Tool));
    assert.doesNotMatch(schema, /anyOf|prefixItems|\$ref|\$defs/);
    assert.match(schema, /"additionalProperties":false/);
    assert.ok(edit.description.length / 4 <= 330, `${edit.description.length / 4} tokens`);
    assert.equal(edit.input.safeParse(edit.example).success, true);
  });

  it("never loses a line that somebody else wrote", PATIENT, async () => {
    const line = fc.constantFrom<string>("a", "b", "}", "");
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { minLength: 3, maxLength: 12 }),
        fc.nat(20),
        fc.nat(20),
        fc.constantFrom("replace", "delete", "insert_after"),
        fc.boolean(),
        async (lines, where, target, op, between) => {
          const text = (list: string[]) => list.map((one) => `${one}\n`).join("");
          using desk = await deskWith("f.txt", text(lines));
          const theirs = lines.toSpliced(where % (lines.length + 1), 0, "user work");
          const n = 1 + target % lines.length;
          const call = {
            tool: "Edit" as const,
            args: {
              path: "f.txt",
              edits: [{
                op,
                start: at(n, lines[n - 1] ?? ""),
                ...(op === "delete" ? {} : { content: "new" }),
              }],
            },
          };
          if (!between) desk.write("f.txt", text(theirs));
          const [result] = await desk.batch(
            [call],
            () => between && desk.write("f.txt", text(theirs)),
          );
          const got = desk.text("f.txt").split("\n").slice(0, -1);
          assert.ok(got.includes("user work"));
          if (result?.status !== "ok") assert.deepEqual(got, theirs);
          else {
            // The line meant is the n-th that is not theirs.
            const at = n - 1 + (where % (lines.length + 1) <= n - 1 ? 1 : 0);
            const wanted = op === "replace"
              ? theirs.with(at, "new")
              : op === "delete"
              ? theirs.toSpliced(at, 1)
              : theirs.toSpliced(at + 1, 0, "new");
            assert.deepEqual(got, wanted);
          }
        },
      ),
      { numRuns: 25 * RUNS },
    );
  });
});
