// Legacy encodings: which one some bytes are in, and files in them read and edited on the disk.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import iconv from "iconv-lite";
import { openDocument } from "../../src/tools/document.ts";
import { encode, legacyOf, unicodeOf } from "../../src/tools/encodings.ts";
import { anchors } from "../../src/tools/anchor.ts";
import { Desk, PATIENT, type Result } from "./support.ts";
import { heavy } from "../support/heavy.ts";

const hash = await anchors();

function ok(result: Result): Result {
  assert.equal(result.status, "ok", result.text);
  return result;
}

/** Texts as they stand in source files; the very short ones are what a guess can still tell apart. */
const TEXTS: [encoding: string, texts: string[]][] = [
  ["gb18030", [
    "你好",
    "你好，世界\n",
    "// 初始化变量\nint x = 1; // 计数器\n",
    "print('配置文件不存在')",
    "# 错误\n",
  ]],
  ["big5", ["你好，世界", "// 初始化變數\n", "設定檔不存在", "測試"]],
  ["shift_jis", ["こんにちは", "// 変数を初期化する\n", "日本語テスト", "設定ファイル", "表示"]],
  ["euc-jp", ["こんにちは世界", "// 変数を初期化する\n", "設定ファイル"]],
  ["euc-kr", ["안녕하세요", "// 변수 초기화\nint a;\n", "한국어", "파일을 찾을 수 없습니다"]],
  ["windows-1251", ["// Привет, мир\n", "Ошибка: файл не найден", "привет"]],
  ["windows-1252", [
    "café\n",
    "// operação é automática\nx := 1;\n",
    "Größe über Straße, [a-zäöüÄÖÜß]",
    "“quoted” – text… it’s",
    "année à côté où\n",
    "hyvää yötä, äiti\n",
    "© 2020 Company®\n",
    "año ¿Qué? ¡sí!\n",
    "DÉJÀ VU",
    "£5 ±2 °C",
    "é",
  ]],
];

describe("legacy encodings", () => {
  for (const [encoding, texts] of TEXTS) {
    for (const text of texts) {
      it(`finds ${encoding} for ${JSON.stringify(text)}, and the way back`, async () => {
        const bytes = iconv.encode(text, encoding);
        const codec = unicodeOf(bytes) ?? legacyOf(bytes);
        assert.equal(codec.name, encoding);
        const opened = openDocument(bytes);
        assert.ok(opened.kind === "text");
        assert.equal(opened.document.lines.text, text);
        assert.deepEqual(Buffer.from(await encode(text, codec) ?? []), bytes);
      });
    }
  }

  it("takes UTF-8 for what it is, also where it could be something else", () => {
    assert.equal(unicodeOf(Buffer.from("値 値 Ã© é"))?.name, "utf-8");
  });

  const FILES: [encoding: string, first: string, content: string, impossible: string][] = [
    ["gb18030", "// 初始化变量", "// 新的一行", "\ud83d"],
    ["big5", "// 初始化變數", "// 新的一行", "한"],
    ["shift_jis", "// 変数を初期化する", "// 新しい行", "한"],
    ["euc-kr", "// 변수 초기화를 한다", "// 새로운 줄", "🔥"],
    ["windows-1251", "// Привет, мир", "// Новая строка", "é"],
    ["windows-1252", "// café crème", "// été", "漢"],
  ];
  for (const [encoding, first, content, impossible] of FILES) {
    it(`edits ${encoding}: new text in it, other bytes untouched, and says what it cannot hold`, async () => {
      const file = (lines: string[]) =>
        iconv.encode(lines.map((line) => `${line}\r\n`).join(""), encoding);
      using desk = new Desk({ "f.c": file([first, "int a;", "int b;"]) });
      const shown = ok(await desk.read("f.c"));
      assert.ok(shown.text.includes(`encoding="${encoding}"`), shown.text);
      assert.match(shown.text, /Lines that are not edited keep their bytes/);
      assert.ok(shown.text.includes(`1:${hash(first)}|${first}`));
      const start = `2:${hash("int a;")}`;
      const refused = await desk.edit("f.c", { op: "replace", start, content: impossible });
      assert.match(refused.text, /line 2 of the result would hold .*[^]*Nothing was written/);
      ok(await desk.edit("f.c", { op: "replace", start, content }));
      assert.deepEqual(desk.bytes("f.c"), file([first, content, "int b;"]));
      ok(await desk.edit("f.c", { op: "delete", start: `2:${hash(content)}` }));
      assert.deepEqual(desk.bytes("f.c"), file([first, "int b;"]));
    });
  }

  it("reads a file whose bytes would not come back, and refuses to edit it", async () => {
    // 0x8790 is a second code of ≒, which is written back as 0x81e0.
    const bytes = Buffer.concat([
      iconv.encode("// 変数を初期化する\nint a;\n// ", "shift_jis"),
      Uint8Array.of(0x87, 0x90, 10),
    ]);
    using desk = new Desk({ "f.c": bytes });
    assert.match(ok(await desk.read("f.c")).text, /≒[^]*/);
    assert.match(ok(await desk.read("f.c")).text, /shift_jis.*Read-only: .*nobody edited/);
    const refused = await desk.edit("f.c", { op: "replace_all", old: "int a;", new: "int b;" });
    assert.equal(refused.status, "error");
    assert.match(refused.text, /cannot be edited: it was read as shift_jis[^]*Nothing was written/);
    assert.deepEqual(desk.bytes("f.c"), bytes);
  });

  heavy("pages a large file in a multi-byte encoding", PATIENT, async () => {
    const line = iconv.encode("// 変数を初期化する 0123456789\n", "shift_jis");
    using desk = new Desk({ "large.c": Buffer.alloc(line.length * 500_000, line) });
    const result = ok(await desk.read("large.c", [[499_999, 500_000]]));
    const text = "// 変数を初期化する 0123456789";
    assert.ok(result.text.includes(`\n500000:${hash(text)}|${text}\n`), result.text);
  });
});
