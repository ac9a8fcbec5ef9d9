import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  Lines,
  openDocument,
  type TextDocument,
  usualEol,
  whyNotEncodable,
  whyReadOnly,
} from "../../src/tools/document.ts";
import { encode } from "../../src/tools/encodings.ts";
import { PATIENT, RUNS, splitLines } from "./support.ts";

function open(bytes: Uint8Array): TextDocument {
  const opened = openDocument(bytes);
  assert.equal(opened.kind, "text");
  return (opened as { document: TextDocument }).document;
}

async function back({ lines, codec }: TextDocument): Promise<Buffer> {
  const bytes = await encode(lines.text, codec);
  assert.ok(bytes);
  return Buffer.from(bytes);
}

function texts(text: string): string[] {
  return open(Buffer.from(text)).lines.map((line) => line.text);
}

describe("document", () => {
  it("has as many lines as there are line ends, and one more without the last", () => {
    assert.deepEqual(texts(""), []);
    assert.deepEqual(texts("\n"), [""]);
    assert.deepEqual(texts("a\nb\nc"), ["a", "b", "c"]);
    assert.deepEqual(texts("a\nb\nc\n"), ["a", "b", "c"]);
    assert.deepEqual(texts("a\n\n"), ["a", ""]);
  });

  it("ends lines at LF and CRLF only", () => {
    const { text } = open(Buffer.from("a\r\nb\rc\vd\fe\u0085f\u2028g\r\r\nh\r")).lines;
    assert.deepEqual(splitLines(text), [
      { text: "a", eol: "\r\n" },
      { text: "b\rc\vd\fe\u0085f\u2028g\r", eol: "\r\n" },
      { text: "h\r", eol: "" },
    ]);
  });

  it("keeps a BOM out of the first line and puts it back", async () => {
    const bytes = Buffer.from("\ufeff# Title\nbody\n");
    const document = open(bytes);
    assert.equal(document.lines.line(1), "# Title");
    assert.deepEqual(await back(document), bytes);
  });

  for (const encoding of ["utf-16le", "utf-16be"] as const) {
    it(`reads and writes ${encoding} with its BOM`, async () => {
      const bytes = Buffer.from("\ufeffа\r\nb\n🔥", "utf16le");
      if (encoding === "utf-16be") bytes.swap16();
      const document = open(bytes);
      assert.equal(document.codec.name, encoding);
      assert.deepEqual(document.lines.map(({ text }) => text), ["а", "b", "🔥"]);
      assert.deepEqual(await back(document), bytes);
    });
  }

  it("keeps bytes that are not UTF-8 (FE-15)", async () => {
    const bytes = Buffer.from("// opera\u00e7\u00e3o \u00e9 autom\u00e1tica\nx := 1;\n", "latin1");
    const document = open(bytes);
    assert.equal(document.codec.name, "windows-1252");
    assert.equal(document.lines.line(1), "// operação é automática");
    assert.deepEqual(await back(document), bytes);
  });

  const BINARY: [name: string, bytes: number[], type: string][] = [
    ["NUL bytes", [65, 0, 66], "data"],
    ["a PNG", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0], "image/png"],
    ["a JPEG", [0xff, 0xd8, 0xff, 0xe0, 0, 16], "image/jpeg"],
    ["a GIF", [...Buffer.from("GIF89a"), 1, 0], "image/gif"],
    ["a WebP", [...Buffer.from("RIFF"), 1, 2, 3, 0, ...Buffer.from("WEBPVP8 ")], "image/webp"],
    ["an ELF program", [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0], "ELF program or library"],
    ["half a UTF-16 unit", [0xff, 0xfe, 0x41], "data"],
    ["a lone UTF-16 surrogate", [0xff, 0xfe, 0x3d, 0xd8, 0x41, 0], "data"],
  ];
  for (const [name, bytes, type] of BINARY) {
    it(`takes ${name} for binary`, () => {
      assert.deepEqual(openDocument(Uint8Array.from(bytes)), { kind: "binary", type });
    });
  }

  it("takes terminal output with escape sequences for text, and a text that begins with BM or MZ", () => {
    assert.deepEqual(texts("\x1b[31mred\x1b[0m\x07\n"), ["\x1b[31mred\x1b[0m\x07"]);
    assert.deepEqual(texts("MZ is a name\n"), ["MZ is a name"]);
  });

  it("names the first character that an encoding does not have", async () => {
    const { codec } = open(Buffer.from("caf\u00e9\n", "latin1"));
    assert.equal(
      await whyNotEncodable("ok\na漢b\n", codec),
      "line 2 of the result would hold 漢 (U+6F22), which the file's encoding windows-1252 does not have",
    );
    const utf8 = open(Buffer.from("a")).codec;
    assert.match(
      await whyNotEncodable("x\ud83d", utf8),
      /line 1 .* half of a character \(U\+D83D\)/,
    );
  });

  it("finds the usual line ending", () => {
    assert.equal(usualEol("\r\n\r\n\nx"), "\r\n");
    assert.equal(usualEol("\r\n\n"), "\n");
    assert.equal(usualEol("x"), "\n");
  });

  it("gives back any text byte for byte", PATIENT, async () => {
    const part = fc.constantFrom(
      "\n",
      "\r\n",
      "\r",
      "\ufeff",
      "a",
      "é",
      "🔥",
      " ",
      "\v",
      "\u2028",
      "}",
    );
    await fc.assert(
      fc.asyncProperty(fc.array(part), fc.boolean(), async (parts, bom) => {
        const bytes = Buffer.from((bom ? "\ufeff" : "") + parts.join(""));
        const document = open(bytes);
        assert.deepEqual(await back(document), bytes);
        const lines = splitLines(document.lines.text);
        assert.ok(lines.every(({ eol }, i) => eol !== "" || i === lines.length - 1));
        assert.ok(lines.every(({ text }) => !text.includes("\n")));
      }),
      { numRuns: 500 * RUNS },
    );
  });

  it("gives back any bytes that it takes for text", PATIENT, async () => {
    const byte = fc.oneof(
      fc.integer({ min: 0, max: 255 }),
      fc.constantFrom(10, 13, 0xef, 0xbb, 0xbf, 0xff, 0xfe),
    );
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 40 }), fc.array(byte), async (head, rest) => {
        for (const bytes of [head, Uint8Array.from(rest)]) {
          const opened = openDocument(bytes);
          if (opened.kind === "text" && await whyReadOnly(opened.document, bytes) === null) {
            assert.deepEqual(await back(opened.document), Buffer.from(bytes));
          }
        }
      }),
      { numRuns: 500 * RUNS },
    );
  });

  it("splits a text into lines that join to it", PATIENT, () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("a", "\n", "\r") }), (text) => {
        assert.equal(splitLines(text).map((line) => line.text + line.eol).join(""), text);
        const lines = new Lines(text);
        for (let n = 1; n <= lines.length; n++) {
          for (let at = lines.start(n); at < lines.start(n + 1); at++) {
            assert.equal(lines.at(at), n);
          }
        }
        assert.equal(lines.at(text.length), lines.length + 1);
      }),
      { numRuns: 500 * RUNS },
    );
  });
});
