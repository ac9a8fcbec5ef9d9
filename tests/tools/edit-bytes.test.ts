// What an edit does not name keeps its bytes: any encoding, any mix of line ends, any odd character.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { anchors } from "../../src/tools/anchor.ts";
import { openDocument } from "../../src/tools/document.ts";
import { type Codec, encode } from "../../src/tools/encodings.ts";
import type { Edit } from "../../src/tools/edit-fields.ts";
import { planCall, stateOf } from "../../src/tools/edit-plan.ts";
import { Shown } from "../../src/tools/lines.ts";
import { Resolver } from "../../src/tools/resolve.ts";
import { SeenFiles } from "../../src/tools/seen.ts";
import { PATIENT, RUNS, splitLines } from "./support.ts";

const hash = await anchors();

const codec = (name: string, ...bom: number[]): Codec => ({ name, bom: Uint8Array.from(bom) });
/** Encodings, and a text that makes each one the one that is found. */
const CODECS: [codec: Codec, sign: string, units: string[]][] = [
  [codec("utf-8"), "", ["é", "中", "🔥", "\ufeff", "\u2028", "\u0085"]],
  [codec("utf-8", 0xef, 0xbb, 0xbf), "", ["é", "中", "🔥", "\ufeff", "\u2028"]],
  [codec("utf-16le", 0xff, 0xfe), "", ["é", "中", "🔥", "\ufeff", "\u0a0d", "\u0d0a"]],
  [codec("utf-16be", 0xfe, 0xff), "", ["é", "中", "🔥", "\ufeff", "\u0a0d", "\u0d0a"]],
  [codec("windows-1252"), "déjà vu\n", ["é", "ü", "ß"]],
  [codec("shift_jis"), "これは日本語の文字列です\n", ["あ", "ソ", "表"]],
];
const PLAIN = ["a", "b", "}", " ", "\t", "\r", "\n", "\n", "\r\n", "\v", "\f"];

const cases = fc.constantFrom(...CODECS).chain(([codec, sign, units]) =>
  fc.record({
    codec: fc.constant(codec),
    text: fc.string({ unit: fc.constantFrom(...PLAIN, ...units), maxLength: 40 })
      .map((text) => sign + text),
    op: fc.constantFrom<Edit["op"]>("replace", "delete", "insert_before", "insert_after"),
    from: fc.nat(50),
    length: fc.constantFrom(0, 0, 1, 3),
    content: fc.array(fc.constantFrom("new", "", "\tx ", units[0] ?? ""), {
      minLength: 1,
      maxLength: 3,
    }),
  })
);

describe("bytes outside the edited lines", () => {
  it("stay as they are", PATIENT, async () => {
    let edited = 0;
    await fc.assert(
      fc.asyncProperty(cases, async ({ codec, text, op, from, length, content }) => {
        const bytes = await encode(text, codec);
        assert.ok(bytes);
        const opened = openDocument(bytes);
        // What begins with a mark, or is plain ASCII, is another encoding's text.
        if (opened.kind !== "text" || opened.document.codec.name !== codec.name) return;
        const { document } = opened;
        const lines = splitLines(document.lines.text);
        if (lines.length === 0) return;
        const start = 1 + from % lines.length;
        const end = op === "replace" || op === "delete"
          ? Math.min(lines.length, start + length)
          : start;
        const shown = new Shown(hash);
        for (const [i, line] of lines.entries()) shown.add(i + 1, line.text);
        const seen = new SeenFiles();
        seen.add(shown.observation("/f", "v", "read", lines.length)!);
        const views = seen.views("/f");
        const kept = () => null;
        const resolver = new Resolver({ lines: document.lines, version: "v", views, kept, hash });
        const anchor = (n: number) => `${n}:${hash(lines[n - 1]?.text ?? "")}`;
        const edit: Edit = {
          op,
          start: anchor(start),
          ...(end === start ? {} : { end: anchor(end) }),
          ...(op === "delete" ? {} : { content: `${content.join("\n")}\n` }),
        };
        const plan = planCall(stateOf(document), [edit], resolver);
        assert.ok(plan.ok, JSON.stringify(plan));
        edited++;
        const after = await encode(plan.state.draft.text, plan.state.codec);
        assert.ok(after);
        // The lines before and after, as the bytes they were.
        const untouched = async (part: typeof lines) =>
          await encode(part.map(({ text, eol }) => text + eol).join(""), {
            ...document.codec,
            bom: new Uint8Array(),
          }) ?? new Uint8Array();
        const isInsert = op.startsWith("insert");
        const keptAbove = op === "insert_after" ? start : start - 1;
        const head = await untouched(lines.slice(0, keptAbove));
        const tail = await untouched(lines.slice(isInsert ? keptAbove : end));
        const mark = bytes.subarray(0, document.codec.bom.length);
        const skip = utf16Mark(document.codec);
        const wantedHead = Buffer.concat([mark, head.subarray(skip)]);
        const wantedTail = tail.subarray(skip);
        assert.deepEqual(Buffer.from(bytes.subarray(0, wantedHead.length)), wantedHead);
        assert.deepEqual(Buffer.from(after.subarray(0, wantedHead.length)), wantedHead);
        assert.deepEqual(
          Buffer.from(after.subarray(after.length - wantedTail.length)),
          Buffer.from(wantedTail),
        );
        assert.ok(after.length >= wantedHead.length + wantedTail.length);
      }),
      { numRuns: 500 * RUNS },
    );
    assert.ok(edited > 300 * RUNS, `only ${edited} were put to the test`);
  });
});

/** `encode` writes the mark of UTF-16 in any case: bytes to leave out of a part. */
function utf16Mark({ name }: Codec): number {
  return name.startsWith("utf-16") ? 2 : 0;
}
