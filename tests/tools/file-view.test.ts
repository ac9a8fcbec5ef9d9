import assert from "node:assert/strict";
import { mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type FileNow, type Range, shownFiles } from "../../src/context/files.ts";
import { historyOf } from "../../src/context/history.ts";
import { sha256 } from "../../src/runtime/hash.ts";
import type { Observation } from "../../src/session/records.ts";
import { FileViewer } from "../../src/tools/file-view.ts";
import { header, reply, result, user } from "../context/support.ts";
import { toolBench } from "../support/tool-context.ts";

const RUNS = Number(process.env["NANOCODE_RUNS"] ?? 1);
const numbered = (n: number) => Array.from({ length: n }, (_, i) => `line ${i + 1}`);
const textOf = (lines: readonly string[], eol = "\n") => lines.map((line) => line + eol).join("");

/** A file of which versions are shown, and what has become of them. */
function watched() {
  const bench = toolBench();
  const path = join(bench.root, "a.ts");
  const viewer = new FileViewer(bench.host, bench.blobs, bench.root);
  const shown: Observation[] = [];
  return {
    bench,
    path,
    write: (lines: readonly string[], eol = "\n") => writeFileSync(path, textOf(lines, eol)),
    /** Records that lines were shown of a text, as Read does. */
    show(lines: readonly string[], ranges: [number, number][], over: Partial<Observation> = {}) {
      const version = bench.blobs.keep(Buffer.from(textOf(lines)));
      const texts = ranges.map(([from, to]) => lines.slice(from - 1, to));
      const total = lines.length;
      shown.unshift({ path, version, kind: "read", total, ranges, texts, ...over });
    },
    async look(): Promise<FileNow> {
      const [now] = await viewer.look([{ path, shown: [...shown] }]);
      return now as FileNow;
    },
    close: () => bench.close(),
  };
}

/** `1:4 2:3!`: known ranges with their shift, `!` changed, `-5` removed in front of 5, `?` unseen. */
function brief({ known, changed, unseen }: Pick<FileNow, "known" | "changed" | "unseen">): string {
  const shift = (n: number) => n === 0 ? "" : n > 0 ? `+${n}` : `${n}`;
  const parts: [from: number, to: number, text: string][] = [
    ...known.map(({ from, to, shift: by }) => [from, to, `${from}:${to}${shift(by)}`] as const),
    ...changed.map(({ from, to }) =>
      [from, to, to < from ? `-${from}` : `${from}:${to}!`] as const
    ),
    ...unseen.map(({ from, to }) => [from, to, `${from}:${to}?`] as const),
  ].map((part) => [...part]);
  return parts.sort(([a, x], [b, y]) => a - b || x - y).map(([, , text]) => text).join(" ");
}

const spliced = (lines: readonly string[], at: number, remove: number, ...added: string[]) =>
  lines.toSpliced(at - 1, remove, ...added);
const ten = numbered(10);

const EXAMPLES: {
  what: string;
  shown: [number, number][];
  now: readonly string[];
  is: string;
}[] = [
  { what: "nothing changed", shown: [[1, 10]], now: ten, is: "1:10" },
  {
    what: "lines put in above",
    shown: [[4, 6]],
    now: spliced(ten, 2, 0, "x", "y"),
    is: "4:5? 6:8+2",
  },
  { what: "lines put in below", shown: [[4, 6]], now: spliced(ten, 8, 0, "x"), is: "4:6" },
  {
    what: "a line changed inside",
    shown: [[1, 10]],
    now: spliced(ten, 5, 1, "x"),
    is: "1:4 5:5! 6:10",
  },
  {
    what: "lines put in inside",
    shown: [[1, 10]],
    now: spliced(ten, 5, 0, "x", "y"),
    is: "1:4 5:6! 7:12+2",
  },
  {
    what: "lines deleted inside",
    shown: [[1, 10]],
    now: spliced(ten, 5, 2),
    is: "1:4 -5 5:8-2 9:10?",
  },
  { what: "lines deleted above", shown: [[5, 8]], now: spliced(ten, 1, 2), is: "3:6-2 7:8?" },
  { what: "the last lines deleted", shown: [[1, 10]], now: ten.slice(0, 8), is: "1:8 -9 9:10?" },
  {
    what: "lines appended to a file shown whole",
    shown: [[1, 10]],
    now: [...ten, "x"],
    is: "1:10 11:11!",
  },
  { what: "lines appended, the end not shown", shown: [[1, 9]], now: [...ten, "x"], is: "1:9" },
  { what: "lines put in front of all", shown: [[1, 3]], now: ["x", ...ten], is: "1:1! 2:4+1" },
  { what: "everything replaced", shown: [[2, 3]], now: ["x", "y", "z"], is: "1:3!" },
  { what: "truncated to nothing", shown: [[1, 3]], now: [], is: "1:3?" },
  {
    what: "a change between two ranges that were shown",
    shown: [[1, 3], [8, 10]],
    now: spliced(ten, 5, 1, "x", "y"),
    is: "1:3 8:8? 9:11+1",
  },
];

describe("the view of a file", () => {
  for (const { what, shown, now, is } of EXAMPLES) {
    it(`${what}: ${is}`, async () => {
      const file = watched();
      file.show(ten, shown);
      file.write(now);
      const view = await file.look();
      assert.equal(view.state, "text");
      assert.equal(brief(view), is);
      file.close();
    });
  }

  it("equal lines: one of three deleted, one put in", async () => {
    const file = watched();
    file.show(["a", "}", "}", "}", "b"], [[1, 5]]);
    file.write(["a", "}", "}", "b"]);
    assert.match(brief(await file.look()), /^1:3 -4 4:4-1 5:5\?$/);
    file.write(["a", "}", "}", "}", "}", "b"]);
    assert.match(brief(await file.look()), /6:6\+1$/);
    file.close();
  });

  it("our own edit, shown by its result, then a change by someone else", async () => {
    const file = watched();
    file.show(ten, [[1, 10]]);
    const edited = spliced(ten, 3, 1, "mine 1", "mine 2");
    file.show(edited, [[2, 5]], { kind: "edit" });
    file.write(edited);
    assert.equal(brief(await file.look()), "1:5 6:11+1");
    file.write(spliced(edited, 9, 1, "theirs"));
    assert.equal(brief(await file.look()), "1:5 6:8+1 9:9! 10:11+1");
    file.close();
  });

  it("a line that is back at an old number, where a newer showing had another, counts as changed", async () => {
    const file = watched();
    file.show(ten, [[1, 10]]);
    const edited = spliced(ten, 3, 0, "mine 1", "mine 2");
    file.show(edited, [[2, 7]], { kind: "edit" });
    file.write(spliced(edited, 5, 2)); // 7 of the first showing is 7 again, but was shown as "line 5"
    const view = await file.look();
    assert.deepEqual(view.rows(7, 7).map((row) => row.split("|")[1]), ["line 7"]);
    assert.match(brief(view), /\b7:\d+!|\b[5-7]:7!/);
    file.close();
  });

  it("gone, and back", async () => {
    const file = watched();
    file.show(ten, [[1, 10]]);
    assert.equal((await file.look()).state, "gone");
    file.write(ten);
    assert.equal(brief(await file.look()), "1:10");
    rmSync(file.path);
    assert.equal((await file.look()).state, "gone");
    file.close();
  });

  it("binary now, a folder now, too large now: not compared", async () => {
    const file = watched();
    file.show(ten, [[1, 10]]);
    writeFileSync(file.path, new Uint8Array([0, 1, 2, 0]));
    assert.equal((await file.look()).state, "unwatched");
    writeFileSync(file.path, "x".repeat(4 * 1024 * 1024 + 1));
    assert.equal((await file.look()).state, "unwatched");
    rmSync(file.path);
    mkdirSync(file.path);
    assert.equal((await file.look()).state, "unwatched");
    file.close();
  });

  it("only line ends changed: the lines are as shown", async () => {
    const file = watched();
    file.show(ten, [[1, 10]]);
    file.write(ten, "\r\n");
    assert.equal(brief(await file.look()), "1:10");
    file.close();
  });

  it("a file that was shown empty and is not any more", async () => {
    const file = watched();
    file.show([], []);
    file.write([]);
    assert.equal(brief(await file.look()), "");
    file.write(["a", "b"]);
    assert.equal(brief(await file.look()), "1:2!");
    file.close();
  });

  it("where the old bytes are lost a line is the same only at its old number", async () => {
    const file = watched();
    file.show(ten, [[1, 10]], { version: sha256(Buffer.from("lost")) });
    file.write(spliced(ten, 4, 2));
    assert.equal(brief(await file.look()), "1:3 4:8! -9 9:10?", "no guess at moves");
    file.close();
  });

  it("many versions: the oldest are not looked back at, and then nothing is claimed of them", async () => {
    const file = watched();
    const lines = numbered(40);
    file.show(lines, [[1, 40]]);
    for (let n = 1; n <= 12; n++) {
      lines[n] = `version ${n}`;
      file.show(lines, [[n, n + 2]], { kind: "edit" });
    }
    lines[39] = "the last";
    file.write(lines);
    const view = await file.look();
    for (const { from, to } of view.known) {
      assert.ok(from >= 5 && to <= 15, `${from}:${to} was shown by one of the last eight`);
    }
    file.close();
  });

  it("sees a change of the same size within the same tick of the clock", async () => {
    const file = watched();
    file.show(ten, [[1, 10]]);
    file.write(ten);
    const now = new Date();
    utimesSync(file.path, now, now);
    await file.look();
    file.write(spliced(ten, 5, 1, "LINE 5"));
    utimesSync(file.path, now, now);
    assert.equal(brief(await file.look()), "1:4 5:5! 6:10");
    file.close();
  });

  it("long lines are compared whole", async () => {
    const file = watched();
    const long = "x".repeat(5000);
    const bench = file.bench;
    file.show(["a", long], [[1, 1]]);
    file.write(["a", long]);
    const view = await file.look();
    const texts = [view.texts(1, 2)];
    file.show(["a", long], [[1, 2]], { texts });
    assert.equal(brief(await file.look()), "1:2");
    file.write(["a", `${long.slice(1)}y`]);
    assert.equal(brief(await file.look()), "1:1 2:2!");
    assert.ok(bench.blobs.get(sha256(Buffer.from(textOf(["a", long])))), "what is shown is kept");
    file.close();
  });

  it("rows have anchors that Edit takes, also when their text holds a bar", async () => {
    const file = watched();
    file.show(["a|b"], [[1, 1]]);
    file.write(["a|c"]);
    assert.match((await file.look()).rows(1, 1)[0] ?? "", /^1:[a-z]{3}\|a\|c$/);
    file.close();
  });
});

describe("the files that are looked at", () => {
  const seen = (path: string, kind: string) => ({
    observations: [{ path, version: "v", kind, total: 1, ranges: [[1, 1]], texts: [["x"]] }],
  });

  it("are those that Read or Edit showed, the last one first; a Search shows places, not files", () => {
    const records = [
      header(),
      user("1"),
      reply("", ["a", "b", "c", "d"]),
      result("a", 1, 1, seen("/a", "read")),
      result("b", 2, 1, seen("/b", "edit")),
      result("c", 3, 1, seen("/c", "search")),
      result("d", 4, 1, seen("/a", "state")),
    ];
    const files = shownFiles(records, historyOf(records), "inline");
    assert.deepEqual(files.map(({ path, shown }) => [path, shown.length]), [["/b", 1], ["/a", 1]]);
  });
});

/** What is to be said of lines that all differ, found line by line. */
function slowly(
  showings: readonly { lines: readonly string[]; ranges: readonly [number, number][] }[],
  now: readonly string[],
): { known: Range[]; changed: Range[]; unseen: Range[] } {
  const shift = new Map<number, number>();
  const changed = new Set<number>();
  const removed = new Set<number>();
  const last = new Map<number, string>();
  for (const { lines, ranges } of showings) {
    const isShown = (n: number) => ranges.some(([from, to]) => n >= from && n <= to);
    for (let n = 1; n <= lines.length; n++) {
      if (isShown(n) && !last.has(n)) last.set(n, lines[n - 1] as string);
    }
    const before = new Map(shift);
    const blocked = new Set(changed);
    // Survivors, with one before the first and one behind the last line; between them lie the changes.
    const survivors = [
      [0, 0],
      ...lines.flatMap((line, i) => {
        const at = now.indexOf(line);
        return at === -1 ? [] : [[i + 1, at + 1]];
      }),
      [lines.length + 1, now.length + 1],
    ] as [number, number][];
    for (const [i, [to, end]] of survivors.entries()) {
      if (to >= 1 && to <= lines.length && isShown(to) && !before.has(end) && !blocked.has(end)) {
        shift.set(end, end - to);
      }
      const [from, start] = survivors[i - 1] ?? [to, end];
      const out = Array.from({ length: Math.max(0, to - from - 1) }, (_, k) => from + 1 + k);
      const into = Array.from({ length: Math.max(0, end - start - 1) }, (_, k) => start + 1 + k);
      const isAtHome = (n: number) => n === 0 || n === lines.length + 1 || isShown(n);
      const touched = out.length > 0
        ? out.some(isShown)
        : into.length > 0 && (isShown(from) || isShown(to) || lines.length === 0) &&
          isAtHome(from) &&
          isAtHome(to);
      if (!touched) continue;
      for (const n of into) if (!before.has(n)) changed.add(n);
      const known = (n: number) => n < 1 || n > now.length || before.has(n);
      if (into.length === 0 && !(known(end - 1) && known(end))) removed.add(end);
    }
  }
  const out = { known: [] as Range[], changed: [] as Range[], unseen: [] as Range[] };
  const add = (list: Range[], n: number, by: number) => {
    const range = list.at(-1);
    if (range?.to === n - 1 && range.shift === by) range.to = n;
    else list.push({ from: n, to: n, shift: by });
  };
  for (let n = 1; n <= Math.max(now.length, ...last.keys()); n++) {
    const by = shift.get(n);
    const isOther = last.has(n) && last.get(n) !== now[n - 1];
    if (changed.has(n) || (by === 0 && isOther)) add(out.changed, n, 0);
    else if (by !== undefined) add(out.known, n, by);
    else if (isOther) add(out.unseen, n, 0);
  }
  for (const n of removed) out.changed.push({ from: n, to: n - 1, shift: 0 });
  return out;
}

describe("the view of a file, against a slow one", () => {
  const change = fc.record({
    at: fc.integer({ min: 0, max: 30 }),
    remove: fc.integer({ min: 0, max: 5 }),
    add: fc.integer({ min: 0, max: 5 }),
    /** Part of the file that is shown then, in hundredths; null: nothing. */
    show: fc.option(fc.tuple(fc.integer({ min: 0, max: 99 }), fc.integer({ min: 0, max: 99 }))),
  });

  it("is the same for random versions and showings of lines that all differ (property)", {
    timeout: 600_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 25 }),
        fc.array(change, { minLength: 1, maxLength: 6 }),
        async (size, changes) => {
          const file = watched();
          try {
            let fresh = 0;
            const next = () => `line ${++fresh}`;
            let lines = Array.from({ length: size }, next);
            const showings: { lines: string[]; ranges: [number, number][] }[] = [];
            for (const { at, remove, add, show } of changes) {
              if (show && lines.length > 0) {
                const [a, b] = show.map((part) => 1 + Math.floor(part / 100 * lines.length));
                const ranges: [number, number][] = [[Math.min(a!, b!), Math.max(a!, b!)]];
                file.show(lines, ranges);
                showings.unshift({ lines, ranges });
              }
              const place = Math.min(at, lines.length);
              lines = lines.toSpliced(place, remove, ...Array.from({ length: add }, next));
            }
            file.write(lines);
            assert.equal(brief(await file.look()), brief(slowly(showings, lines)));
          } finally {
            file.close();
          }
        },
      ),
      { numRuns: 40 * RUNS },
    );
  });
});
