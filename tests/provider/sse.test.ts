// Bytes → frames: framing rules, and that cuts anywhere change nothing.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type Frame, SseDecoder } from "../../src/provider/sse.ts";
import { RUNS } from "./support.ts";

const encode = (text: string) => new TextEncoder().encode(text);

function decode(pieces: Uint8Array[], maxFrame?: number): Frame[] {
  const decoder = new SseDecoder(maxFrame);
  return [...pieces.flatMap((piece) => decoder.push(piece)), ...decoder.end()];
}

const texts = (text: string) => decode([encode(text)]).map((frame) => frame.data);

describe("SseDecoder", () => {
  for (const [name, eol] of [["LF", "\n"], ["CRLF", "\r\n"], ["CR", "\r"]] as const) {
    it(`ends lines at ${name}`, () => {
      const text = ["data: a", "", "data: b", "data: c", "", ""].join(eol);
      assert.deepEqual(texts(text), ["a", "b\nc"]);
      const bytes = Array.from(encode(text), (byte) => Uint8Array.of(byte));
      assert.deepEqual(decode(bytes).map((frame) => frame.data), ["a", "b\nc"]);
    });
  }

  it("takes a field with and without the blank, and only one blank away", () => {
    assert.deepEqual(texts("data:a\n\ndata:  b\n\ndata\n\n"), ["a", " b", ""]);
  });

  it("skips comments, ids, retries and unknown fields", () => {
    assert.deepEqual(texts(": hi\nid: 7\nretry: 10\nfoo: bar\ndata: a\n: x\n\n: only\n\n"), ["a"]);
  });

  it("names the event, and forgets it with the frame", () => {
    const frames = decode([encode("event: error\ndata: a\n\ndata: b\n\n")]);
    assert.deepEqual(frames.map((frame) => frame.event), ["error", ""]);
  });

  it("takes a line of the non-standard field error for an error event", () => {
    assert.deepEqual(decode([encode('error: {"code":400}\n\n')]), [
      { event: "error", data: '{"code":400}', whole: true },
    ]);
  });

  it("keeps the lines that are no field, within bounds", () => {
    const decoder = new SseDecoder(64);
    decoder.push(encode(': hi\nid: 1\ndata: a\n\n{"error":\n {}}\n'));
    decoder.end();
    assert.equal(decoder.other, '{"error":\n {}}\n');
    for (let n = 0; n < 100; n++) decoder.push(encode("not a field\n\n"));
    assert.ok(decoder.other.length < 100);
  });

  it("drops a BOM before a field, and none in its value, however the bytes are cut", () => {
    const text = "data: a\n\n\ufeffdata: b\n\ndata: \ufeffc\n\n";
    assert.deepEqual(texts(text), ["a", "b", "\ufeffc"]);
    assert.deepEqual(texts(`\ufeff${text}`), ["a", "b", "\ufeffc"]);
    const bytes = Array.from(encode(text), (byte) => Uint8Array.of(byte));
    assert.deepEqual(decode(bytes).map((frame) => frame.data), ["a", "b", "\ufeffc"]);
  });

  it("marks what the end of the stream cut off", () => {
    assert.deepEqual(
      decode([encode("data: a\n\ndata: b\ndata: c")]).map(({ data, whole }) => [data, whole]),
      [
        ["a", true],
        ["b\nc", false],
      ],
    );
    assert.deepEqual(decode([encode("data: a\n")]).map((frame) => frame.whole), [false]);
    assert.deepEqual(decode([encode("\n\n")]), []);
  });

  it("refuses a frame that is too long, in one line or in many, and holds no more", () => {
    const long = encode(`data: ${"x".repeat(2000)}`);
    const many = encode("data: xxxxxxxxxxxxxxxx\n".repeat(100));
    for (const bytes of [long, many]) {
      const frames = decode([encode("data: a\n\n"), bytes, encode("\n\ndata: b\n\n")], 1024);
      assert.deepEqual(frames.map((frame) => frame.event), ["", "overflow"]);
    }
    const comments = encode(": keep-alive\n".repeat(1000) + "data: a\n\n");
    assert.deepEqual(decode([comments], 1024).map((frame) => frame.data), ["a"]);
  });

  it("makes progress with fields only", () => {
    const decoder = new SseDecoder();
    decoder.push(encode(": a comment\n\n: anoth"));
    assert.equal(decoder.progress, 0);
    decoder.push(encode("er\n\nda"));
    const begun = decoder.progress;
    assert.ok(begun > 0);
    decoder.push(encode("ta: x\n"));
    const more = decoder.progress;
    assert.ok(more > begun);
    decoder.push(encode("\n: comment\n\n"));
    assert.equal(decoder.progress, more);
  });

  it("gives the same frames however the bytes are cut", () => {
    const line = fc.oneof(
      fc.constantFrom(
        "",
        "data: [DONE]",
        ": ping",
        "event: error",
        "data",
        "id: 1",
        "\ufeffdata: x",
      ),
      fc.string({ unit: "binary" }).map((text) => `data: ${text.replace(/[\r\n]/g, "")}`),
      fc.json().map((json) => `data:${json}`),
      fc.string({ unit: "grapheme" }).map((text) => text.replace(/[\r\n]/g, "")),
    );
    const body = fc.array(fc.tuple(line, fc.constantFrom("\n", "\r\n", "\r")))
      .map((lines) => lines.map(([text, eol]) => text + eol).join(""));
    fc.assert(
      fc.property(body, fc.array(fc.nat({ max: 300 })), fc.boolean(), (text, cuts, single) => {
        const bytes = encode(text);
        const places = single
          ? Array.from(bytes, (_, at) => at + 1)
          : [...cuts.map((cut) => Math.min(cut, bytes.length)), bytes.length].sort((a, b) => a - b);
        const pieces = places.map((place, at) => bytes.subarray(places[at - 1] ?? 0, place));
        assert.deepEqual(decode(pieces), decode([bytes]));
      }),
      { numRuns: 100 * RUNS },
    );
  });

  it("decodes any bytes at all", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const pieces = Array.from(bytes, (byte) => Uint8Array.of(byte));
        assert.deepEqual(decode(pieces), decode([bytes]));
      }),
      { numRuns: 100 * RUNS },
    );
  });
});
