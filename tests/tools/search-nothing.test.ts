// Search that finds nothing says why that may be: nothing was looked at, or the pattern is another one
// here than in grep (SR-02: "no matches" must be true).

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { Desk } from "./support.ts";

const FILES = { "a.ts": "foo bar\nFooBar\n$var = 1\n", "b.bin": Uint8Array.of(102, 111, 111, 0) };

async function search(query: Record<string, unknown>, desk = new Desk(FILES)) {
  using open = desk;
  return await open.run({ tool: "Search", args: { queries: [query] } });
}

describe("Search without a match", () => {
  const HINTS: [query: Record<string, unknown>, hint: RegExp | null][] = [
    [{ pattern: "foo\\|bar" }, /\\\| is a plain bar; alternatives are a\|b/],
    [{ pattern: "foo[[:space:]]bar" }, /write \\s, \\w/],
    [{ pattern: "\\<foo\\>" }, /a word's edge is \\b/],
    [{ pattern: "\\Afoo" }, /a line's ends are \^ and \$/],
    [{ pattern: "/foo/i" }, /slashes around the pattern/],
    [{ pattern: "$var" }, /the sign itself is \\\$/],
    [{ pattern: "FOO" }, /case-sensitive; \(\?i\) in front to ignore case/],
    [{ pattern: "FOO", literal: true }, /case-sensitive; write it in small letters/],
    [{ pattern: "foo", glob: "*.js" }, /no file was searched: none here fits the glob/],
    [{ pattern: "foo", path: "*.js" }, /no file was searched: none here fits the glob/],
    [{ pattern: "nothing like it" }, null],
    [{ pattern: "foo\\|bar", literal: true }, null],
  ];
  for (const [query, hint] of HINTS) {
    it(`${JSON.stringify(query)} → ${hint ?? "nothing to say"}`, async () => {
      const { text, status } = await search(query);
      assert.equal(status, "ok");
      assert.match(text, /matches="0" files="0"/);
      if (hint) assert.match(text, hint);
      else assert.doesNotMatch(text, /^\[/m);
    });
  }

  it("says nothing of that where there are matches", async () => {
    assert.doesNotMatch((await search({ pattern: "Foo|\\Abar" })).text, /^\[/m);
    assert.match((await search({ pattern: "(?i)FOO" })).text, /matches="2"/);
  });

  it("is an error for a file that is named and cannot be searched", async () => {
    const binary = await search({ pattern: "foo", path: "b.bin" });
    assert.equal(binary.status, "error");
    assert.match(binary.text, /error="not searched"[^]*b\.bin cannot be searched[^]*1 binary/);
    const desk = new Desk();
    spawnSync("mkfifo", [desk.at("pipe")]);
    assert.match(
      (await search({ pattern: "x", path: "pipe" }, desk)).text,
      /pipe is a device, pipe/,
    );
    const device = await search({ pattern: "x", path: "/dev/zero" });
    assert.match(device.text, /\/dev\/zero is a device, pipe or socket; it cannot be searched/);
  });

  it("does not show the temp file of a write that was killed", async () => {
    const desk = new Desk({ "f.txt": "old foo\n", ".nanocode-0123456789abcdef.tmp": "new foo\n" });
    const { text } = await search({ pattern: "foo" }, desk);
    assert.match(text, /matches="1" files="1">\n> f\.txt:/);
  });

  it("searches a file whose size the system does not tell", async () => {
    assert.match((await search({ pattern: "^Name:", path: "/proc/self/status" })).text, /:1:\w+\|/);
  });
});
