import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { EMPTY_BOARD } from "../../src/context/board.ts";
import {
  type FileNow,
  type FilesPlacement,
  fileState,
  type Range,
} from "../../src/context/files.ts";
import { historyOf } from "../../src/context/history.ts";
import { estimateTokens } from "../../src/context/tokens.ts";
import type { SessionRecord } from "../../src/session/records.ts";
import { statedIn } from "../support/shown-rows.ts";
import { header, record, reply, result, user } from "./support.ts";

const range = (from: number, to: number, shift = 0): Range => ({ from, to, shift });

function fileNow(name: string, over: Partial<FileNow> = {}): FileNow {
  return {
    path: `/repo/${name}`,
    shown: name,
    state: "text",
    version: "v2",
    total: 20,
    mtimeMs: 0,
    known: [range(1, 20)],
    changed: [],
    unseen: [],
    rows: (from, to) => Array.from({ length: to - from + 1 }, (_, i) => `${from + i}:abc|row`),
    texts: (from, to) => Array.from({ length: to - from + 1 }, () => "row"),
    ...over,
  };
}

const changedFile = (name: string, over: Partial<FileNow> = {}) =>
  fileNow(name, { known: [range(1, 4), range(7, 20)], changed: [range(5, 6)], ...over });

const stateOf = (
  records: SessionRecord[],
  files: FileNow[],
  placement: FilesPlacement = "inline",
) => fileState(historyOf(records), EMPTY_BOARD, { files, placement, window: 100_000 });

/** A result that showed lines of a file. */
const showed = (tr: number, name: string, kind: string, version: string, over: object = {}) =>
  result(`c${tr}`, tr, 1, {
    header: `${kind === "edit" ? "Edit" : "Read"} ${name}`,
    observations: [{
      path: `/repo/${name}`,
      version,
      kind,
      total: 20,
      ranges: [[1, 1]],
      texts: [["x"]],
    }],
    ...over,
  });
const changeOf = (name: string, before: string, after: string) =>
  record({ type: "change", call: "c", path: `/repo/${name}`, kind: "edit", before, after });
const start = () => [header(), user("go")];

describe("FILE STATE, block by block", () => {
  it("is one line where all is as it was shown, and nothing where nothing was shown", () => {
    assert.match(stateOf(start(), [fileNow("a.ts")]).text, /\n\nFiles: all as they were shown\.$/);
    assert.equal(stateOf(start(), []).text, "");
  });

  it("names inline only what differs, in the tail every range", () => {
    const file = fileNow("a.ts", { known: [range(1, 4), range(7, 20, 2)], changed: [range(5, 6)] });
    assert.match(
      stateOf(start(), [file, fileNow("b.ts")]).text,
      /Files \(what is not named is as it was shown\):\n- a\.ts 5:6 changed by someone else, 7:20 moved \+2\n\n/,
    );
    assert.match(
      stateOf(start(), [file, fileNow("b.ts")], "tail").text,
      /Files:\n- a\.ts 1:4 current, 5:6 changed by someone else, 7:20 moved \+2\n- b\.ts 1:20 current\n/,
    );
  });

  it("names what is gone, empty, not compared, cut off and not seen", () => {
    const text = stateOf(start(), [
      fileNow("gone.ts", { state: "gone", known: [], total: 0 }),
      fileNow("big.ts", { state: "unwatched", known: [] }),
      fileNow("empty.ts", { known: [], total: 0, unseen: [range(1, 9)] }),
      fileNow("short.ts", { known: [range(1, 9)], total: 9, unseen: [range(10, 20)] }),
      fileNow("other.ts", { known: [range(1, 9)], unseen: [range(10, 12)] }),
      fileNow("hole.ts", { changed: [range(5, 4)] }),
    ]).text;
    for (
      const line of [
        "gone.ts gone",
        "big.ts not compared (too large, or no text any more)",
        "empty.ts empty",
        "short.ts ends at 9",
        "other.ts 10:12 not seen yet",
        "hole.ts lines before 5 removed by someone else",
      ]
    ) assert.ok(text.includes(`\n- ${line}\n`) || text.endsWith(`\n- ${line}`), `${line}\n${text}`);
  });

  it("tells moved lines that touch as one", () => {
    const file = fileNow("a.ts", { known: [range(1, 4), range(5, 9, 1), range(10, 20, 3)] });
    assert.match(stateOf(start(), [file]).text, /- a\.ts 5:20 moved \+1 to \+3$/m);
  });

  it("shows a changed region in three requests, then names it as omitted", () => {
    const records = start();
    const texts: string[] = [];
    for (let n = 0; n < 5; n++) {
      const { text, shown } = stateOf(records, [changedFile("a.ts")]);
      texts.push(text);
      // As the loop records it: the same lines once.
      records.push(
        record({ type: "request", raw: 1, ...(n === 0 ? { observations: shown } : {}) }),
        reply("", []),
      );
    }
    assert.deepEqual(texts.map((text) => text.includes("@@ a.ts 5:6\n5:abc|row")), [
      true,
      true,
      true,
      false,
      false,
    ]);
    assert.match(
      texts[4] ?? "",
      /Omitted, changed too; Read before you rely on them:\n- a\.ts 5:6$/,
    );
    const again = stateOf(records, [changedFile("a.ts", { version: "v3" })]).text;
    assert.match(again, /@@ a\.ts 5:6/, "another change is another region");
  });

  it("says who changed a file: an edit of ours only where nobody else wrote between", () => {
    const shownV1 = [...start(), reply("", ["c1"]), showed(1, "a.ts", "read", "v1")];
    const by = (records: SessionRecord[], over: Partial<FileNow> = {}) =>
      /5:6 changed by (.*?)(?:, |$)/m.exec(stateOf(records, [changedFile("a.ts", over)]).text)?.[1];
    assert.equal(by(shownV1), "someone else");
    assert.equal(by([...shownV1, changeOf("a.ts", "v1", "v2")]), "an edit of yours");
    assert.equal(by([...shownV1, changeOf("a.ts", "v1b", "v2")]), "a command or someone else");
    const ran = result("c9", 9, 1, {
      t: "2026-01-02T03:04:05.000Z",
      ms: 1000,
      ran: { command: "make fmt", exit: 0 },
    });
    const end = Date.parse("2026-01-02T03:04:05.000Z");
    assert.equal(by([...shownV1, ran], { mtimeMs: end - 500 }), "tr.9");
    assert.equal(by([...shownV1, ran], { mtimeMs: end + 500 }), "someone else");
  });

  it("names the last eight edits by file, and reads only where their results are out of sight", () => {
    const records = [
      ...start(),
      reply("", ["c1", "c2", "c3", "c4"]),
      showed(1, "a.ts", "read", "v1"),
      showed(2, "b.ts", "read", "v1"),
      showed(3, "a.ts", "edit", "v2"),
      showed(4, "b.ts", "edit", "v2"),
      showed(5, "a.ts", "edit", "v3"),
    ];
    const files = [fileNow("a.ts"), fileNow("b.ts")];
    const { text } = stateOf(records, files);
    assert.match(text, /Recent edits:\n- tr\.4 Edit b\.ts\n- tr\.3 tr\.5 Edit a\.ts\n/);
    assert.ok(!text.includes("Recent file events"));
    const folded = [...records, record({ type: "fold", tr: ["tr.1"] })];
    assert.match(stateOf(folded, files).text, /Recent file events:\n- tr\.1 Read a\.ts\n/);
  });

  it("keeps its facts over a compaction: edits, and that no check ran since", () => {
    const edited = showed(3, "a.ts", "edit", "v2");
    const records = [
      ...start(),
      reply("", ["c3"]),
      edited,
      record({ type: "compact", through: edited.id, by: "model", texts: ["s"], results: [] }),
      user("on", 2),
    ];
    const { text } = stateOf(records, [fileNow("a.ts")]);
    assert.match(text, /Recent edits:\n- tr\.3 Edit a\.ts\n\nCheck status:\n- Code changed since/);
  });

  it("stays within 600 tokens without Content, and what it leaves out does not pass for current", () => {
    const many = Array.from(
      { length: 60 },
      (_, n) =>
        changedFile(`src/a/rather/long/path/to/the/module-${n}.ts`, { known: [range(7, 20, 3)] }),
    );
    const { text } = stateOf(start(), many);
    const without = text.slice(0, text.indexOf("Content:"));
    assert.ok(estimateTokens(without) <= 650, `${estimateTokens(without)}`);
    assert.match(without, /- … \d+ more that differ; Read before you rely on them$/m);
    assert.equal(statedIn(text).others, "nothing said");
  });

  it("leaves a region that is larger than the budget out without making its rows", () => {
    const file = changedFile("a.ts", {
      changed: [range(1, 1_000_000)],
      rows: () => assert.fail("rows of a million lines"),
    });
    assert.match(stateOf(start(), [file]).text, /Omitted.*\n- a\.ts 1:1000000$/);
  });
});
