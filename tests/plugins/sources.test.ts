import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseSource } from "../../src/plugins/sources.ts";

const REV = "0123456789abcdef0123456789abcdef01234567";
const HEX = "a".repeat(64);

const good: [text: string, is: object][] = [
  ["./tools/x", { kind: "path", path: "./tools/x" }],
  ["npm:nano-review@^1.2.0", { kind: "npm", name: "nano-review", range: "^1.2.0" }],
  ["npm:@acme/review@1.x || >=2 <3", { kind: "npm", name: "@acme/review", range: "1.x || >=2 <3" }],
  ["npm:@acme/review", { kind: "npm", name: "@acme/review", range: "latest" }],
  [`git+https://h.example/a/b.git#${REV}`, {
    kind: "git",
    url: "https://h.example/a/b.git",
    transport: "https",
    ref: { rev: REV },
  }],
  ["git+https://h.example/a/b#v1.2.3", {
    kind: "git",
    url: "https://h.example/a/b",
    transport: "https",
    ref: { tag: "v1.2.3" },
  }],
  [`https://h.example/x.tgz#sha256-${HEX}`, {
    kind: "tarball",
    url: "https://h.example/x.tgz",
    sha256: HEX,
  }],
  [`https://h.example/x.tgz?y=1#sha256-${Buffer.from(HEX, "hex").toString("base64")}`, {
    kind: "tarball",
    url: "https://h.example/x.tgz?y=1",
    sha256: HEX,
  }],
];

const onlyTyped = [
  "/abs/plugin",
  "../sibling",
  "git+ssh://git@h.example/a/b.git#v1",
  "git+file:///srv/repo#v1",
];

const bad: [text: string, says: RegExp][] = [
  ["", /is no source/],
  ["weather", /is no source/],
  ["-oProxyCommand=x", /is no source/],
  ["--upload-pack=x", /is no source/],
  ["file:///etc", /is no source/],
  ["ext::sh -c id", /is no source/],
  ["git+ext::sh -c id#v1", /no git\+https address/],
  ["git+http://h.example/a#v1", /no git\+https address/],
  ["git+git://h.example/a#v1", /no git\+https address/],
  ["git@h.example:a/b.git#v1", /is no source/],
  ["git+https://h.example/a/b", /names no version/],
  ["git+https://h.example/a/b#", /names no version/],
  ["git+https://h.example/a/b#-x", /no tag or full commit/],
  ["git+https://h.example/a/b#a..b", /no tag or full commit/],
  ["git+https://h.example/a/b#x.lock", /no tag or full commit/],
  ["git+https://h.example/a/b#a b", /no tag or full commit/],
  ["git+https://h.example/a/b#refs/heads/x:y", /no tag or full commit/],
  ["git+https://me@h.example/a/b#v1", /name or password/],
  ["git+https://me:pw@h.example/a/b#v1", /name or password/],
  ["git+ssh://git:pw@h.example/a/b#v1", /name or password/],
  ["git+ssh://-oProxyCommand=x/a#v1", /no git\+https address|no address|name or password/],
  ["git+ssh://-x@h.example/a#v1", /name or password/],
  ["git+https://h.example/a?x=1#v1", /no address of a repository/],
  ["npm:", /no name of a package/],
  ["npm:../x@1", /no name of a package/],
  ["npm:@acme@1", /no name of a package/],
  ["npm:Name@1", /no name of a package/],
  ["npm:x@git+https://h.example/a", /no range of versions/],
  ["npm:x@file:../y", /no range of versions/],
  ["npm:x@", /no range of versions/],
  ["https://h.example/x.tgz", /has no hash/],
  ["https://h.example/x.tgz#sha1-abc", /a hash that is none/],
  ["https://h.example/x.tgz#sha256-abc", /a hash that is none/],
  [`http://h.example/x.tgz#sha256-${HEX}`, /no https address/],
  [`http://127.0.0.1.evil.example/x.tgz#sha256-${HEX}`, /no https address/],
  [`https://me:pw@h.example/x.tgz#sha256-${HEX}`, /name or password/],
  ["npm:x@1\n", /is no source/],
  ["./x\0y", /is no source/],
];

describe("a source", () => {
  for (const [text, is] of good) {
    it(`is read: ${text.slice(0, 50)}`, () => assert.deepEqual(parseSource(text, false), is));
  }
  for (const text of onlyTyped) {
    it(`counts only when a person typed it: ${text}`, () => {
      parseSource(text, true);
      assert.throws(() => parseSource(text, false), /because a file|outside the project/);
    });
  }
  for (const [text, says] of bad) {
    it(`is refused: ${JSON.stringify(text).slice(0, 60)}`, () => {
      assert.throws(() => parseSource(text, true), says);
      assert.throws(() => parseSource(text, false));
    });
  }
  it("of this machine may be plain http, because nobody sits in between", () => {
    assert.equal(parseSource(`http://127.0.0.1:8/x.tgz#sha256-${HEX}`, false).kind, "tarball");
  });
});
