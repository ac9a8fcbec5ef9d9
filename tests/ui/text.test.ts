import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  cut,
  graphemes,
  visible,
  visibleJson,
  VisibleStream,
  width,
  withoutControls,
  wrap,
} from "../../src/ui/text.ts";

const RUNS = Number(process.env.NANOCODE_RUNS ?? 1);
/** Options of a test whose runs multiply. */
const DEEP = { timeout: 60_000 * Math.max(1, RUNS) };

/** Text of the kind that goes wrong: controls, wide characters, joiners, flags, lone surrogates. */
const hostile = fc.array(
  fc.constantFrom(
    ..."ab \t\n\r\x1b\x07\x9b\u202e\u200b\u200d\ufe0f\u2066\ufeff漢字é👩💻🏽🇩🇪☺".split(/(?:)/u),
    "e\u0301",
    "한",
    "\x1b[31m",
    "\ud83d",
    "\udc69",
    "👩\u200d💻",
    "\u{e0041}",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
  ),
  { maxLength: 40 },
).map((parts) => parts.join(""));

describe("visible", () => {
  const shown: [what: string, text: string, expected: string][] = [
    ["plain text", "abc\tdef\n", "abc\tdef\n"],
    ["a colour sequence", "\x1b[31mred", "\\x1b[31mred"],
    ["a window title", "\x1b]0;owned\x07", "\\x1b]0;owned\\x07"],
    ["an 8-bit sequence", "\x9b31m", "\\x9b31m"],
    ["a carriage return", "safe\rrm -rf", "safe\\rrm -rf"],
    ["backspace and delete", "a\b\x7f", "a\\x08\\x7f"],
    ["bidi overrides", "a\u202eb\u2066c\u200f", "a\\u202eb\\u2066c\\u200f"],
    ["zero-width characters", "pass\u200bword\ufeff\u2060", "pass\\u200bword\\ufeff\\u2060"],
    ["a joiner between letters", "a\u200db", "a\\u200db"],
    ["an invisible letter", "a\u3164b", "a\\u3164b"],
    ["tag characters", "x\u{e0041}\u{e0042}", "x\\u{e0041}\\u{e0042}"],
    ["variation selectors as a hidden message", "😀\ufe0f\u{e0110}", "😀\ufe0f\\u{e0110}"],
    ["a lone surrogate", "\ud83dx", "\\ud83dx"],
    ["a line separator", "a\u2028b", "a\\u2028b"],
  ];
  for (const [what, text, expected] of shown) {
    it(`shows ${what}`, () => assert.equal(visible(text), expected));
  }
  for (
    const text of [
      "👩\u200d💻",
      "👨\u200d👩\u200d👧",
      "❤\ufe0f\u200d🔥",
      "👍🏽",
      "1\ufe0f\u20e3",
      "☺\ufe0e",
      "🇩🇪",
      "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
      "e\u0301",
      "漢字",
      "葛\u{e0100}",
    ]
  ) {
    it(`leaves ${text} as it is`, () => assert.equal(visible(text), text));
  }
  it("gives nothing that steers a terminal, whatever it is given", DEEP, () => {
    fc.assert(
      fc.property(hostile, (text) => {
        // deno-lint-ignore no-control-regex
        assert.doesNotMatch(
          visible(text),
          /[\0-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]/u,
        );
      }),
      { numRuns: 100 * RUNS },
    );
  });
  it("is the same for text that comes in chunks", DEEP, () => {
    fc.assert(
      fc.property(hostile, fc.array(fc.nat(40), { maxLength: 6 }), (text, cuts) => {
        const stream = new VisibleStream();
        const at = [
          0,
          ...cuts.map((n) => Math.min(n, text.length)).sort((a, b) => a - b),
          text.length,
        ];
        const parts = at.slice(1).map((to, i) => stream.push(text.slice(at[i], to)));
        assert.equal(parts.join("") + stream.end(), visible(text));
      }),
      { numRuns: 200 * RUNS },
    );
  });
  it("withoutControls keeps what is text", () => {
    assert.equal(withoutControls("\x1b[1m\u200c\r\n漢"), "\\x1b[1m\u200c\\r\n漢");
  });
  it("visibleJson parses to the same value and holds nothing invisible", DEEP, () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const json = visibleJson(JSON.stringify({ text }));
        assert.deepEqual(JSON.parse(json), { text });
        assert.equal(visible(json.replaceAll("\u200d", "")), json.replaceAll("\u200d", ""));
      }),
      { numRuns: 100 * RUNS },
    );
  });
});

describe("width", () => {
  const widths: [string, number][] = [
    ["", 0],
    ["abc", 3],
    ["漢字", 4],
    ["ｆｕｌｌ", 8],
    ["한글", 4],
    ["\u1112\u1161\u11ab", 2], // one syllable out of three conjoining letters, as macOS names files
    ["e\u0301", 1],
    ["👩\u200d💻", 2],
    ["👍🏽", 2],
    ["🇩🇪", 2],
    ["1\ufe0f\u20e3", 2],
    ["a\tb", 9],
    ["\u200b", 0],
    ["● └ …", 5],
  ];
  for (const [text, columns] of widths) {
    it(`of ${JSON.stringify(text)} is ${columns}`, () => assert.equal(width(text), columns));
  }
});

describe("cut", () => {
  it("keeps what fits", () => assert.equal(cut("漢字", 4), "漢字"));
  it("marks what is missing", () => assert.equal(cut("漢字x", 4), "漢…"));
  it("shows the first line only", () => assert.equal(cut("a\nb", 10), "a…"));
  it("gives nothing for no columns", () => assert.equal(cut("abc", 0), ""));
  it("never takes more columns than there are", DEEP, () => {
    fc.assert(
      fc.property(hostile, fc.nat(12), (text, columns) => {
        assert.ok(width(cut(visible(text), columns)) <= columns);
      }),
      { numRuns: 100 * RUNS },
    );
  });
});

describe("wrap", () => {
  it("breaks between graphemes", () => {
    assert.deepEqual(wrap("ab漢👩\u200d💻c", 3), ["ab", "漢", "👩\u200d💻c"]);
  });
  it("puts a tab at the next stop", () => assert.deepEqual(wrap("a\tb", 80), ["a       b"]));
  it("survives widths of 0, 1 and nonsense", () => {
    for (const columns of [0, 1, -5, NaN]) assert.deepEqual(wrap("漢a", columns), ["漢", "a"]);
  });
  it("loses nothing and fits", DEEP, () => {
    fc.assert(
      fc.property(hostile, fc.integer({ min: 1, max: 12 }), (text, columns) => {
        const plain = visible(text).replaceAll("\t", "");
        const rows = wrap(plain, columns);
        assert.equal(rows.join(""), plain.replaceAll("\n", ""));
        for (const row of rows) {
          assert.ok(width(row) <= columns || [...graphemes(row)].length === 1, JSON.stringify(row));
        }
      }),
      { numRuns: 100 * RUNS },
    );
  });
});
