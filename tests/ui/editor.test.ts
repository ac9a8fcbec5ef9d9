import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { press } from "../../src/ui/terminal/bindings.ts";
import { type Editor, newEditor, remember } from "../../src/ui/terminal/editor.ts";
import { KeyParser } from "../../src/ui/terminal/keys.ts";
import { layoutEditor } from "../../src/ui/terminal/layout.ts";
import { graphemes, width } from "../../src/ui/text.ts";

const RUNS = Number(process.env.NANOCODE_RUNS ?? 1);
/** Options of a test whose runs multiply. */
const DEEP = { timeout: 60_000 * Math.max(1, RUNS) };

/** Types raw terminal input, a chunk at a time; gives the editor and what was submitted. */
function type(editor: Editor, ...chunks: string[]): { editor: Editor; submitted: string[] } {
  const parser = new KeyParser();
  const submitted: string[] = [];
  for (const chunk of chunks) {
    const inputs = parser.feed(new TextEncoder().encode(chunk));
    for (const input of [...inputs, ...(parser.pending === "escape" ? parser.flush() : [])]) {
      const pressed = press(editor, input);
      editor = pressed.editor;
      if (pressed.submit !== undefined) submitted.push(pressed.submit);
    }
  }
  return { editor, submitted };
}

/** The text with `|` where the cursor is. */
const shown = ({ text, cursor }: Editor) => `${text.slice(0, cursor)}|${text.slice(cursor)}`;

const LEFT = "\x1b[D";
const UP = "\x1b[A";
const DOWN = "\x1b[B";

describe("editor", () => {
  const cases: [what: string, chunks: string[], expected: string][] = [
    ["types and deletes by grapheme", ["a👩\u200d💻e\u0301", "\x7f", "\x7f"], "a|"],
    ["moves by grapheme", ["漢👍🏽x", LEFT, LEFT], "漢|👍🏽x"],
    ["deletes forward", ["ab", LEFT, "\x1b[3~"], "a|"],
    ["moves by word", ["one two-three", "\x1bb", "\x1bb"], "one |two-three"],
    ["moves to line start and end", ["ab\x1b\rcd", "\x01", "x", "\x05", "y"], "ab\nxcdy|"],
    ["kills to the line's end and yanks", ["one two", "\x01", "\x0b", "x", "\x19"], "xone two|"],
    ["kills the line end itself", ["a\x1b\rb", UP, "\x05", "\x0b"], "a|b"],
    ["kills to the line's start", ["a\x1b\rbc", "\x15"], "a\n|"],
    ["kills a word", ["one two  ", "\x17"], "one |"],
    [
      "Alt-Enter, Ctrl-J and a backslash make lines",
      ["a\x1b\r", "b\n", "c\\", "\r", "d"],
      "a\nb\nc\nd|",
    ],
    ["moves between lines keeping the column", ["漢字\x1b\rabcd", LEFT, UP], "漢|字\nabcd"],
    ["pastes several lines", ["\x1b[200~a\n\nb\x1b[201~"], "a\n\nb|"],
  ];
  for (const [what, chunks, expected] of cases) {
    it(what, () => assert.equal(shown(type(newEditor(), ...chunks).editor), expected));
  }

  it("submits on Enter", () => {
    assert.deepEqual(type(newEditor(), "a\x1b\rb", "\r").submitted, ["a\nb"]);
  });
  it("goes through the history and back to what was being typed", () => {
    const editor = newEditor(["first", "second"]);
    assert.equal(shown(type(editor, "draft", UP).editor), "second|");
    assert.equal(shown(type(editor, "draft", UP, UP, UP).editor), "first|");
    assert.equal(shown(type(editor, "draft", UP, UP, DOWN, DOWN).editor), "draft|");
  });
  it("remembers inputs, but not the same one twice in a row", () => {
    const editor = remember(remember(remember(newEditor(), "a"), "a"), " ");
    assert.deepEqual(editor.history, ["a"]);
    assert.equal(editor.text, "");
  });

  const history = newEditor(["fix the tests", "run it", "fix the docs", "fix the docs"]);
  const searches: [what: string, chunks: string[], expected: string][] = [
    ["finds the newest entry", ["\x12", "fix"], "|fix the docs"],
    ["goes on to older ones, passing equal ones", ["\x12", "fix", "\x12"], "|fix the tests"],
    ["narrows by typing, whatever the case", ["\x12", "fix the T"], "|fix the tests"],
    ["widens by backspace", ["\x12", "runx", "\x7f"], "|run it"],
    ["keeps the entry on Enter, unsent", ["\x12", "run", "\r"], "run it|"],
    ["gives the typed text back on Esc", ["draft", "\x12", "run", "\x1b"], "draft|"],
    ["takes the entry when another key comes", ["\x12", "run", "\x01", "x"], "x|run it"],
  ];
  for (const [what, chunks, expected] of searches) {
    it(`search ${what}`, () => {
      const { editor, submitted } = type(history, ...chunks);
      assert.equal(shown(editor), expected);
      assert.deepEqual(submitted, []);
    });
  }

  it("keeps the cursor between graphemes, whatever is pressed", DEEP, () => {
    const key = fc.constantFrom(
      ..."a 漢👩\x7f\x01\x05\x0b\x15\x17\x19\x12\x10\x0e\x04".split(/(?:)/u),
      "👩\u200d💻",
      "e\u0301",
      "\x1b[200~x\ny\x1b[201~",
      LEFT,
      UP,
      DOWN,
      "\x1b[C",
      "\x1b[3~",
      "\x1bb",
      "\x1bf",
      "\x1bd",
      "\x1b\r",
      "\x1b",
    );
    fc.assert(
      fc.property(fc.array(key, { maxLength: 40 }), (keys) => {
        const { editor } = type(newEditor(["one", "漢字\ntwo"]), ...keys);
        let at = 0;
        const boundaries = new Set([0]);
        for (const grapheme of graphemes(editor.text)) boundaries.add(at += grapheme.length);
        assert.ok(boundaries.has(editor.cursor), shown(editor));
      }),
      { numRuns: 100 * RUNS },
    );
  });
});

describe("layout of the prompt", () => {
  const rowsOf = (text: string, cursor: number, columns: number, maxRows: number) => {
    const view = layoutEditor({ ...newEditor([], text), cursor }, columns, maxRows);
    return { ...view, rows: view.rows.map((row) => row.text) };
  };
  it("wraps and places the cursor", () => {
    assert.deepEqual(rowsOf("abcdefgh漢", 9, 10, 5), {
      rows: ["> abcdefg", "  h漢"],
      cursor: { row: 1, column: 5 },
    });
  });
  it("has a place for the cursor after a full row", () => {
    assert.deepEqual(rowsOf("abcdefg", 7, 10, 5), {
      rows: ["> abcdefg"],
      cursor: { row: 0, column: 9 },
    });
  });
  it("scrolls many lines with the cursor", () => {
    const text = Array.from({ length: 100 }, (_, i) => `line ${i}`).join("\n");
    const { rows, cursor } = rowsOf(text, text.indexOf("line 50"), 40, 5);
    assert.deepEqual(rows, ["  line 48", "  line 49", "  line 50", "  line 51", "  line 52"]);
    assert.deepEqual(cursor, { row: 2, column: 2 });
  });
  it("shows hidden characters as escapes and puts the cursor after them", () => {
    assert.deepEqual(rowsOf("a\u202eb", 2, 40, 5), {
      rows: ["> a\\u202eb"],
      cursor: { row: 0, column: 9 },
    });
  });
  it("fits every size, with the cursor on the screen", DEEP, () => {
    const text = fc.array(fc.constantFrom("a", "漢", "\n", "👩\u200d💻", "\t", "word ", "\u200b"), {
      maxLength: 60,
    }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(
        text,
        fc.nat(60),
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 1, max: 8 }),
        (
          text,
          at,
          columns,
          maxRows,
        ) => {
          let cursor = 0;
          for (const grapheme of [...graphemes(text)].slice(0, at)) cursor += grapheme.length;
          const view = rowsOf(text, cursor, columns, maxRows);
          assert.ok(view.rows.length >= 1 && view.rows.length <= maxRows);
          assert.ok(view.cursor.row >= 0 && view.cursor.row < view.rows.length);
          assert.ok(view.cursor.column >= 0 && view.cursor.column < columns);
          for (const row of view.rows) {
            // One sign that is wider than the whole screen cannot be helped; the screen cuts it.
            assert.ok(
              width(row) <= columns || [...graphemes(row.trim())].length <= 7,
              JSON.stringify(row),
            );
          }
        },
      ),
      { numRuns: 200 * RUNS },
    );
  });
});

describe("a pasted megabyte", () => {
  const texts: [what: string, line: string][] = [
    ["of lines", "a line of text that is pasted\n"],
    ["in one line", "words without an end "],
    ["of wide characters", "漢字かな"],
    ["of line ends", "\n"],
  ];
  for (const [what, line] of texts) {
    it(`${what} costs no more to edit and lay out than what is seen of it`, () => {
      const text = line.repeat(Math.ceil(2 ** 20 / line.length));
      const segmented: number[] = [];
      const original = Intl.Segmenter.prototype.segment;
      // What would freeze is segmenting all of it on each key: count what is segmented instead of time.
      Intl.Segmenter.prototype.segment = function (input: string) {
        segmented.push(input.length);
        return original.call(this, input);
      };
      try {
        let { editor } = type(newEditor(), `\x1b[200~${text}\x1b[201~`);
        segmented.length = 0;
        ({ editor } = type(editor, "漢", "\x7f", LEFT, "\x1b[3~", "x"));
        layoutEditor(editor, 80, 12);
        assert.equal(editor.text.length, text.length);
      } finally {
        Intl.Segmenter.prototype.segment = original;
      }
      assert.ok(segmented.reduce((sum, n) => sum + n, 0) < 50_000, String(segmented));
    });
  }
});
