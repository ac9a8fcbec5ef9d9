import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type Input, KeyParser } from "../../src/ui/terminal/keys.ts";

const RUNS = Number(process.env.NANOCODE_RUNS ?? 1);
/** Options of a test whose runs multiply. */
const DEEP = { timeout: 60_000 * Math.max(1, RUNS) };
const encode = (text: string) => new TextEncoder().encode(text);

/** Inputs in a short form: `text`, `<C-c>`, `[paste]`. */
function short(inputs: Input[]): string[] {
  return inputs.map((input) => {
    if (input.type === "text") return input.text;
    if (input.type === "paste") return `[${input.text}]`;
    const { name, ctrl, alt, shift } = input;
    return `<${ctrl ? "C-" : ""}${alt ? "M-" : ""}${shift ? "S-" : ""}${name}>`;
  });
}

const feed = (...chunks: string[]) => {
  const parser = new KeyParser();
  return short(chunks.flatMap((chunk) => parser.feed(encode(chunk))));
};

describe("keys", () => {
  const cases: [what: string, chunks: string[], expected: string[]][] = [
    ["typed text", ["hé漢👩"], ["hé漢👩"]],
    ["Enter, Tab, Backspace", ["\r", "\t", "\x7f", "\b"], [
      "<enter>",
      "<tab>",
      "<backspace>",
      "<backspace>",
    ]],
    ["control keys", ["\x01\x03\x1a\0\x1f"], ["<C-a>", "<C-c>", "<C-z>", "<C- >", "<C-_>"]],
    ["Ctrl-J apart from Enter", ["\n"], ["<C-j>"]],
    ["arrows in both modes", ["\x1b[A\x1bOB\x1b[C\x1bOD"], ["<up>", "<down>", "<right>", "<left>"]],
    ["modified arrows", ["\x1b[1;5C\x1b[1;3D\x1b[1;2A"], ["<C-right>", "<M-left>", "<S-up>"]],
    ["Home, End, Delete", ["\x1b[H\x1b[F\x1b[1~\x1b[4~\x1b[3~"], [
      "<home>",
      "<end>",
      "<home>",
      "<end>",
      "<delete>",
    ]],
    ["Alt keys", ["\x1bb\x1b\x7f\x1b\r"], ["<M-b>", "<M-backspace>", "<M-enter>"]],
    ["Shift-Enter as terminals report it", ["\x1b[13;2u\x1b[27;2;13~"], ["<S-enter>", "<S-enter>"]],
    ["coalesced keys", ["x\x1b[A\x03"], ["x", "<up>", "<C-c>"]],
    ["text and its Enter in one chunk", ["hello\r"], ["hello", "<enter>"]],
    ["an unknown sequence as nothing", ["\x1b[99~\x1b[?1;2ca"], ["a"]],
    ["an answer of the terminal as nothing", ["\x1b]11;rgb:0000/0000/0000\x1b\\a\x1b]0;t\x07b"], [
      "a",
      "b",
    ]],
    ["a bracketed paste", ["\x1b[200~line1\rline2\ttab\x1b[201~"], ["[line1\nline2\ttab]"]],
    ["a paste and the Enter after it", ["\x1b[200~a\n\nb\x1b[201~\r"], ["[a\n\nb]", "<enter>"]],
    ["a paste in many chunks", ["\x1b[20", "0~a\r", "\nb\x1b[2", "01~", "x"], ["[a\nb]", "x"]],
    ["a paste without its control bytes", ["\x1b[200~a\x07\x1b[31mb\x00\x9bc\x1b[201~"], ["[abc]"]],
    ["a paste that holds the end marker", ["\x1b[200~a\x1b[201~\rrm -rf /\r\x1b[201~"], [
      "[a\nrm -rf /\n]",
    ]],
    ["what follows a false end marker as text", ["\x1b[200~a\x1b[201~\rrm\r", "\x1b[201~"], [
      "[a]",
      "[\nrm\n]",
    ]],
    ["an unbracketed burst of lines", ["line1\rline2\r\rline4"], ["[line1\nline2\n\nline4]"]],
    ["a burst with its last line end", ["line1\rline2\r"], ["[line1\nline2\n]"]],
    ["Enter after a burst", ["line1\rline2", "\r"], ["[line1\nline2]", "<enter>"]],
  ];
  for (const [what, chunks, expected] of cases) {
    it(`reads ${what}`, () => assert.deepEqual(feed(...chunks), expected));
  }

  it("gives Esc when the caller's time is up", () => {
    const parser = new KeyParser();
    assert.deepEqual(parser.feed(encode("\x1b")), []);
    assert.equal(parser.pending, "escape");
    assert.deepEqual(short(parser.flush()), ["<escape>"]);
    assert.equal(parser.pending, null);
    assert.deepEqual(short(parser.feed(encode("[A"))), ["[A"]);
  });
  it("gives an unfinished paste when the caller's time is up", () => {
    const parser = new KeyParser();
    parser.feed(encode("\x1b[200~lost"));
    assert.equal(parser.pending, "paste");
    assert.deepEqual(short(parser.flush()), ["[lost]"]);
    assert.deepEqual(short(parser.feed(encode("x"))), ["x"]);
  });
  it("takes a chunk right after a burst as more of it, but not a lone Enter", () => {
    const parser = new KeyParser();
    assert.deepEqual(short(parser.feed(encode("tail of it\r"), true)), ["[tail of it\n]"]);
    assert.deepEqual(short(parser.feed(encode("\r"), true)), ["<enter>"]);
  });

  const piece = fc.constantFrom(
    "a",
    "漢",
    "👩\u200d💻",
    "\r",
    "\x03",
    "\x1b[A",
    "\x1b[1;5D",
    "\x1bOH",
    "\x1b[3~",
    "\x1b\r",
    "\x1b[200~x\ny\x1b[201~",
  );
  it("reads the same keys however the bytes are split", DEEP, () => {
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 12 }),
        fc.array(fc.nat(60), { maxLength: 5 }),
        (pieces, cuts) => {
          // One chunk a piece is how keys arrive; the split variant cuts inside of them.
          const whole = new KeyParser();
          const expected = pieces.flatMap((text) => short(whole.feed(encode(text))));
          const split = new KeyParser();
          const got = pieces.flatMap((text) => {
            const bytes = encode(text);
            const at = [
              0,
              ...cuts.map((n) => n % (bytes.length + 1)).sort((a, b) => a - b),
              bytes.length,
            ];
            return at.slice(1).flatMap((to, i) => short(split.feed(bytes.subarray(at[i], to))));
          });
          assert.equal(got.join(""), expected.join(""));
        },
      ),
      { numRuns: 100 * RUNS },
    );
  });
  it("never throws and never holds back typed text for good", DEEP, () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 8 }), (chunks) => {
        const parser = new KeyParser();
        for (const chunk of chunks) parser.feed(chunk);
        parser.flush();
        parser.flush();
        assert.equal(parser.pending, null);
        assert.equal(short(parser.feed(encode("  typed"))).join("").endsWith("typed"), true);
      }),
      { numRuns: 200 * RUNS },
    );
  });
});
