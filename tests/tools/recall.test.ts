// Recall: CX-06, SH-14, SH-15, and that the calls which texts name give all of a stored output, whatever
// it holds and however large it is.

import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import fc from "fast-check";
import { boundResult, type StoredResult } from "../../src/context/results.ts";
import { estimateTokens } from "../../src/context/tokens.ts";
import { storedResult } from "../../src/loop/session.ts";
import { parseToolArguments } from "../../src/tools/arguments.ts";
import { bash } from "../../src/tools/bash.ts";
import { Grepper } from "../../src/tools/recall-grep.ts";
import { recall } from "../../src/tools/recall.ts";
import { compilePattern } from "../../src/tools/search-pattern.ts";
import { type Tool, type ToolContext, ToolError, type ToolOutput } from "../../src/tools/tool.ts";
import { type Bench, bench, scripted } from "../support/scripted.ts";
import { type ToolBench, toolBench } from "../support/tool-context.ts";
import { heavy } from "../support/heavy.ts";

const RUNS = Number(process.env["NANOCODE_RUNS"] ?? 1);
const LONG = { timeout: 300_000 };

interface Args {
  keys: string[];
  ranges?: number[][];
  columns?: number[];
  grep?: string;
}

let desk: ToolBench;
let stored: Map<string, StoredResult>;
beforeEach(() => {
  desk = toolBench();
  stored = new Map();
});
afterEach(() => desk.close());

/** Stores a result under the next key: in the records, or `inFile`. */
function store(text: string, inFile = false): string {
  const tr = `tr.${stored.size + 1}`;
  const result = { tr, header: `Bash job ${tr}`, text };
  const file = () => join(desk.blobs.folder, desk.blobs.keep(Buffer.from(text)));
  stored.set(tr, inFile ? { ...result, text: "cut", file: file() } : result);
  return tr;
}

function context(readTokens = 6000, over: Partial<ToolContext> = {}): ToolContext {
  return desk.context({
    limits: { outputTokens: 2500, readTokens, bashTimeout: 60 },
    results: { keys: () => [...stored.keys()], get: (key) => stored.get(key) ?? null },
    ...over,
  });
}

/** A call as the loop makes it: arguments parsed first. */
async function call(args: unknown, ctx = context()): Promise<ToolOutput & { text: string }> {
  const parsed = parseToolArguments(recall, args);
  assert.ok(parsed.ok, JSON.stringify(parsed));
  const output = await recall.run(parsed.input, ctx);
  assert.equal(typeof output.output, "string");
  return { ...output, text: output.output as string };
}

const text = async (args: unknown, ctx?: ToolContext) => (await call(args, ctx)).text;
const rows = async (args: unknown) =>
  (await text(args)).split("\n").filter((row) => /^\d+\|/.test(row));
const errorOf = async (args: unknown) => {
  const error = await call(args).then(() => null, (error: unknown) => error);
  assert.ok(error instanceof ToolError, "it should have been an error");
  return error.message;
};

/** The calls that a text of ours names; rows of a stored text begin with their number. */
function callsIn(text: string): Args[] {
  const ours = text.split("\n").filter((row) => !/^\d+\|/.test(row)).join("\n");
  const lists = String.raw`(?:,"(?:ranges|columns)":\[[\d,[\]-]*\])*`;
  return [...ours.matchAll(new RegExp(`Recall (\\{"keys":\\[[^\\]]*\\]${lists}\\})`, "g"))]
    .map(([, json = ""]) => JSON.parse(json) as Args);
}

/** Lines put together from pages: by key, then by number, then by the character they begin with. */
class Pages {
  readonly #parts = new Map<string, Map<number, Map<number, string>>>();
  calls = 0;

  add(page: string): void {
    let key = "";
    const rows = page.split("\n");
    for (const [i, row] of rows.entries()) {
      key = /^<Recall key="(.*?)"/.exec(row)?.[1] ?? key;
      const [, line, text] = /^(\d+)\|(.*)$/su.exec(row) ?? [];
      if (line === undefined || text === undefined) continue;
      const cut = /^\[line (\d+) cut: characters (\d+)-(\d+) of /.exec(rows[i + 1] ?? "");
      const [number = 0, from = 0, to = 0] = cut?.slice(1).map(Number) ?? [Number(line), 1, -1];
      assert.equal(number, Number(line));
      if (to !== -1) assert.equal(Array.from(text).length, to - from + 1);
      this.#put(key, number, from, text);
    }
  }

  /** All lines of a result from `first` on; none may be missing. */
  text(key: string, first = 1): string {
    const lines = [...this.#parts.get(key) ?? []].sort(([a], [b]) => a - b);
    return lines.map(([line, parts], i) => {
      assert.equal(line, first + i, "a line is missing");
      let text = "";
      for (const [from, part] of [...parts].sort(([a], [b]) => a - b)) {
        assert.equal(from, Array.from(text).length + 1, `line ${line}: characters are missing`);
        text += part;
      }
      return text;
    }).join("\n");
  }

  #put(key: string, line: number, from: number, text: string): void {
    const lines = this.#parts.get(key) ?? new Map<number, Map<number, string>>();
    const parts = lines.get(line) ?? new Map<number, string>();
    this.#parts.set(key, lines.set(line, parts));
    parts.set(from, text);
  }
}

/** Makes a call and every call that is named from there on. */
async function follow(first: Args, ctx: ToolContext): Promise<Pages> {
  const pages = new Pages();
  const open = [first];
  const limit = ctx.limits.readTokens;
  for (let next = open.shift(); next; next = open.shift()) {
    const page = await text(next, ctx);
    assert.ok(estimateTokens(page) <= Math.max(limit, 2300), `${estimateTokens(page)} of ${limit}`);
    pages.add(page);
    open.push(...callsIn(page));
    assert.ok(++pages.calls < 5000, "the calls do not come to an end");
  }
  return pages;
}

/** Whether a text ends with a newline is the one thing that lines do not tell. */
const withoutFinalNewline = (text: string) => text.replace(/\n$/, "");

/** A cut result: what stands before its marker, the marker, and what stands behind it. */
function parts(bounded: string): [head: string, marker: string, tail: string] {
  const marker = /^\[tr\.\d+: [^\n]* not shown, about \d+ tokens; Recall \{[^\n]*\}\]\n/m.exec(
    bounded,
  );
  assert.ok(marker);
  const end = marker.index + marker[0].length;
  return [bounded.slice(0, marker.index), marker[0], bounded.slice(end)];
}

describe("Recall: pages", () => {
  it("shows a result that was not cut from the records", async () => {
    store("one\ntwo\n");
    const { output, status, summary, observations, note } = await call({ keys: ["tr.1"] });
    assert.equal(
      output,
      '<Recall key="tr.1" call="Bash job tr.1" lines="2">\n1|one\n2|two\n</Recall>',
    );
    assert.deepEqual([status, summary, observations, note], [
      "ok",
      "2 lines",
      undefined,
      undefined,
    ]);
  });

  it("shows ranges of several results, and what is wrong with a range", async () => {
    store("a1\na2\na3\n");
    store("b1\nb2\nb3\nb4\nb5", true);
    assert.deepEqual(await rows({ keys: ["tr.2", "tr.1"], ranges: [[4, -1], [1, 2]] }), [
      "1|b1",
      "2|b2",
      "4|b4",
      "5|b5",
      "1|a1",
      "2|a2",
    ]);
    const page = await text({ keys: ["tr.1"], ranges: [[4, 9], [3, 2], [2, 9]] });
    assert.match(page, /error: range \[4,9\]: the result has 3 lines; a range is \[start, end\]/);
    assert.match(page, /error: range \[3,2\]/);
    assert.match(page, /\n2\|a2\n3\|a3\n/);
    assert.equal((await call({ keys: ["tr.1"], ranges: [[4, 9]] })).status, "error");
  });

  it("names the calls for the rest where a page is full, also for other keys", async () => {
    const many = Array.from({ length: 400 }, (_, i) => `line ${i + 1}`).join("\n");
    store(many, true);
    store("short\n");
    store("other\n");
    const page = await text({ keys: ["tr.1", "tr.2", "tr.3"] }, context(500));
    const [rest, others, ...none] = callsIn(page);
    assert.deepEqual(none, []);
    const shown = page.match(/^\d+\|/gm)?.length ?? 0;
    assert.ok(shown > 50);
    assert.deepEqual(rest, { keys: ["tr.1"], ranges: [[shown + 1, 400]] });
    assert.deepEqual(others, { keys: ["tr.2", "tr.3"] });
    const narrow = await text(
      { keys: ["tr.1", "tr.2"], ranges: [[1, 300], [350, -1]] },
      context(500),
    );
    assert.deepEqual(callsIn(narrow), [
      { keys: ["tr.1"], ranges: [[shown + 1, 300], [350, 400]] },
      { keys: ["tr.2"], ranges: [[1, 300], [350, -1]] },
    ]);
  });

  it("cuts a long line with a note as Read does, and shows the rest of it by columns", async () => {
    const long = `${"é".repeat(2500)}🦊end`;
    store(`a\n${long}\nb`, true);
    const page = await text({ keys: ["tr.1"] });
    assert.match(
      page,
      /\n2\|é{2000}\n\[line 2 cut: characters 1-2000 of 2504; for more: Recall \{.*\}\]\n3\|b\n/,
    );
    assert.deepEqual(callsIn(page), [{ keys: ["tr.1"], ranges: [[2, 2]], columns: [2001, -1] }]);
    const rest = await text(callsIn(page)[0]);
    assert.match(rest, /\n2\|é{500}🦊end\n\[line 2 cut: characters 2001-2504 of 2504\]\n/);
    assert.match(
      await text({ keys: ["tr.1"], ranges: [[3, 3]], columns: [2, 5] }),
      /has 1 characters\]/,
    );
    const narrow = { keys: ["tr.1"], ranges: [[2, 2]], columns: [2499, 2501] };
    assert.match(await text(narrow), /\n2\|éé🦊\n/);
    assert.match(await text({ keys: ["tr.1"], columns: [3, 1] }), /error: columns \[3,1\]/);
  });

  it("says which results exist where a key is unknown, and shows the others", async () => {
    assert.match(await errorOf({ keys: ["tr.1"] }), /no result "tr\.1": none is stored yet/);
    for (let i = 1; i <= 9; i++) store(`text ${i}`);
    const message = await errorOf({ keys: ["tr.99", "x"] });
    assert.match(
      message,
      /^Recall: there is no result "tr\.99", "x"\. 9 results exist; the newest: /,
    );
    assert.match(message, /tr\.9 \(Bash job tr\.9\), .*, tr\.5 \(Bash job tr\.5\)$/);
    const { text, status } = await call({ keys: ["tr.99", "tr.3"] });
    assert.match(text, /^error: there is no result "tr\.99"\..*\n<Recall key="tr\.3"/);
    assert.equal(status, "ok");
  });

  it("shows what was shown where the file of the full text is gone, and says so", async () => {
    store("all of it", true);
    rmSync(stored.get("tr.1")?.file as string);
    const page = await text({ keys: ["tr.1"] });
    assert.match(page, /\nnote: the full text is gone \(.* was removed\); this is what was shown/);
    assert.match(page, /\n1\|cut\n/);
  });

  it("says that an empty text is empty, and ends a result's attributes safely", async () => {
    stored.set("tr.1", { tr: "tr.1", header: 'Bash echo "<&>"', text: "" });
    assert.equal(
      await text({ keys: ["tr.1"] }),
      '<Recall key="tr.1" call="Bash echo &quot;<&amp;>&quot;" lines="0">\nThe result is empty.\n</Recall>',
    );
  });

  it("is not bothered by bytes that are no text, nor by texts that look like its own rows", async () => {
    const odd =
      "\ufeffa\0b\x1b[31m\r\n3|x\n</Recall>\n[line 1 cut: characters 1-2 of 3]\n\ufffd\n\u2028";
    for (const inFile of [false, true]) {
      const key = store(odd, inFile);
      assert.deepEqual((await follow({ keys: [key] }, context())).text(key), odd);
    }
    mkdirSync(desk.blobs.folder, { recursive: true });
    const file = join(desk.root, "raw");
    writeFileSync(file, Uint8Array.from([0x61, 0xff, 0xfe, 0x0a, 0xe4, 0x0a, 0x62]));
    stored.set("tr.9", { tr: "tr.9", header: "T", text: "cut", file });
    assert.deepEqual(await rows({ keys: ["tr.9"] }), ["1|a\ufffd\ufffd", "2|\ufffd", "3|b"]);
    assert.deepEqual(await rows({ keys: ["tr.9"], grep: "b" }), ["3|b"]);
  });
});

describe("Recall: following the calls", () => {
  const line = fc.oneof(
    { weight: 6, arbitrary: fc.string({ unit: "grapheme", maxLength: 60 }) },
    { weight: 2, arbitrary: fc.constantFrom("", "\r", "9|x", "</Recall>", "\ufeff", "[tr.1: ]") },
    {
      weight: 1,
      arbitrary: fc.tuple(fc.constantFrom("x", "é", "中", "🦊", "ab🦊"), fc.nat(3000))
        .map(([unit, n]) => unit.repeat(n)),
    },
  ).map((text) => text.replaceAll("\n", " ").toWellFormed());
  const output = fc.tuple(fc.array(line, { maxLength: 25 }), fc.nat(6))
    .map(([lines, times]) => Array(times + 1).fill(lines.join("\n")).join("\n"));

  it("gives all of a text, whatever it holds (SH-15)", LONG, async () => {
    await fc.assert(
      fc.asyncProperty(
        output,
        fc.boolean(),
        fc.integer({ min: 300, max: 3000 }),
        async (all, inFile, tokens) => {
          stored.clear();
          const key = store(all, inFile);
          const pages = await follow({ keys: [key] }, context(tokens));
          assert.equal(pages.text(key), withoutFinalNewline(all));
        },
      ),
      { numRuns: 20 * RUNS },
    );
  });

  it("gives, from the call in a cut result, all that is not in it", LONG, async () => {
    await fc.assert(
      fc.asyncProperty(output, fc.integer({ min: 100, max: 800 }), async (all, tokens) => {
        const bounded = boundResult(all, tokens, "tr.1", desk.blobs);
        if (bounded.spill === undefined) return;
        const file = join(desk.blobs.folder, bounded.spill);
        stored.set("tr.1", { tr: "tr.1", header: "T", text: bounded.text, file });
        const [head, marker, tail] = parts(bounded.text);
        const [named] = callsIn(marker);
        assert.ok(named);
        const pages = await follow(named, context(700));
        const lines = all.split("\n");
        const [from, to] = named.ranges?.[0] ?? [1, lines.length];
        const before = lines.slice(0, (from ?? 1) - 1).map((text) => `${text}\n`).join("");
        const behind = lines.slice(to).join("\n");
        assert.ok(head.startsWith(before), "lines before the range are not all shown");
        assert.ok(tail.endsWith(behind), "lines behind the range are not all shown");
        const shown = lines.slice((from ?? 1) - 1, to).join("\n");
        assert.equal(
          withoutFinalNewline(pages.text("tr.1", from)),
          withoutFinalNewline(shown),
        );
      }),
      { numRuns: 20 * RUNS },
    );
  });
});

describe("Recall: grep", () => {
  const log = (n: number) =>
    Array.from({ length: n }, (_, i) => i % 100 === 99 ? `FAIL test ${i + 1}` : `ok ${i + 1}`).join(
      "\n",
    );

  it("gives the lines that match with their numbers in the full output", async () => {
    const key = store(log(500), true);
    const { text, status, summary } = await call({ keys: [key], grep: "fail.*[12]00$" });
    assert.equal(
      text,
      '<Recall key="tr.1" call="Bash job tr.1" lines="500" matches="2">\n' +
        "100|FAIL test 100\n200|FAIL test 200\n</Recall>",
    );
    assert.deepEqual([status, summary], ["ok", "2 matching lines"]);
    assert.deepEqual(await rows({ keys: [key], grep: "Fail" }), [], "a capital letter counts");
    assert.equal((await call({ keys: [key], grep: "nothing" })).status, "ok");
  });

  it("looks through several results at once, within ranges where there are any", async () => {
    store("x 1\ny\nx 2\nx 3");
    store("no\nx 4", true);
    const args = { keys: ["tr.1", "tr.2"], grep: "^x" };
    assert.deepEqual(await rows(args), ["1|x 1", "3|x 2", "4|x 3", "2|x 4"]);
    assert.deepEqual(await rows({ ...args, ranges: [[2, 3]] }), ["3|x 2", "2|x 4"]);
    assert.deepEqual(await rows({ ...args, grep: "no\\nx" }), ["1|no", "2|x 4"]);
  });

  it("says how many more there are, and the call it names shows them", LONG, async () => {
    const key = store(log(100_000), true);
    const wanted = Array.from(
      { length: 1000 },
      (_, i) => `${100 * (i + 1)}|FAIL test ${100 * (i + 1)}`,
    );
    const seen: string[] = [];
    let next: unknown = { keys: [key], grep: "FAIL" };
    while (next !== undefined) {
      const page = await text(next, context(2000));
      assert.ok(estimateTokens(page) <= 2000);
      assert.match(page, / lines="100000" matches="\d+">/);
      seen.push(...page.split("\n").filter((row) => /^\d+\|/.test(row)));
      const [, more, json] = /^\[(\d+) more matching lines?: Recall (\{.*\})\]$/m.exec(page) ?? [];
      assert.equal(Number(more ?? 0), 1000 - seen.length);
      next = json === undefined ? undefined : JSON.parse(json);
    }
    assert.deepEqual(seen, wanted);
  });

  it("shows of a long line the part around the match", async () => {
    store(`${"é".repeat(5000)}needle${"x".repeat(5000)}`, true);
    const page = await text({ keys: ["tr.1"], grep: "needle" });
    assert.match(page, /\n1\|é{150}needlex{244}\n\[line 1 cut: characters 4851-5250\]\n/);
  });

  heavy("finds what looking at each line alone finds, in texts of many pieces", LONG, () => {
    const word = fc.constantFrom("ab", "abc", "ABC", "b\r", "中a", "", "🦊", "aaaa");
    const chunk = fc.array(fc.array(word, { maxLength: 4 }).map((words) => words.join(" ")), {
      minLength: 1,
      maxLength: 30,
    });
    const patterns = fc.constantFrom("abc", "a+b?$", "^$", "🦊|中", "B", "c ab");
    fc.assert(
      fc.property(chunk, patterns, fc.integer({ min: 1, max: 30_000 }), (chunk, source, times) => {
        const all = Array(times).fill(chunk.join("\n")).join("\n");
        const file = join(desk.root, "big");
        writeFileSync(file, all);
        const compiled = compilePattern(source, false);
        assert.ok(compiled.ok);
        const { pattern } = compiled;
        const job = {
          texts: [{ file }],
          pattern,
          spans: [[2, 1e9]] as [number, number][],
          maxRows: 1e9,
        };
        const scan = new Grepper(job).scan(0);
        let next = scan.next();
        while (!next.done) next = scan.next();
        const { rows, count, total } = next.value;
        const found = rows.map(({ line, text }) => `${line}|${text}`);
        const lines = all.split("\n");
        if (lines.at(-1) === "") lines.pop();
        const engine = new RegExp(pattern.source, pattern.flags);
        const right = lines.flatMap((line, i) =>
          i > 0 && engine.test(line.replace(/\r$/, "")) ? [`${i + 1}|${line}`] : []
        );
        assert.equal(total, lines.length);
        assert.equal(count, right.length);
        assert.deepEqual(found, right);
      }),
      { numRuns: 10 * RUNS },
    );
  });

  heavy("matches a line of more bytes than are held, part by part", LONG, () => {
    const file = join(desk.root, "line");
    const mb = 1024 * 1024;
    writeFileSync(file, `a\n${"x".repeat(40 * mb)}needle${"🦊".repeat(7 * mb)}needle\nneedle 2\n`);
    const compiled = compilePattern("needle", false);
    assert.ok(compiled.ok);
    const texts = [{ file }];
    const job = {
      texts,
      pattern: compiled.pattern,
      spans: [[1, 9]] as [number, number][],
      maxRows: 9,
    };
    const scan = new Grepper(job).scan(0);
    let next = scan.next();
    while (!next.done) next = scan.next();
    const { rows, total } = next.value;
    assert.deepEqual(rows.map(({ line }) => line), [2, 3]);
    assert.equal(rows[0]?.part?.from, 40 * mb - 150 + 1);
    assert.equal(total, 3);
  });

  it("says why a pattern is invalid and how to look for it as text (SR-02)", async () => {
    const key = store("f(x)\nok");
    const message = await errorOf({ keys: [key], grep: "f(" });
    const [, literal = ""] =
      /not a valid regular expression: \S.*as text: (\{.*\})$/.exec(message) ?? [];
    assert.deepEqual(await rows({ keys: [key], ...JSON.parse(literal) }), ["1|f(x)"]);
    assert.match(
      await errorOf({ keys: [key], grep: "f", columns: [1, 2] }),
      /columns go with ranges/,
    );
  });

  heavy(
    "ends an endless pattern instead of hanging, and never as nothing found",
    LONG,
    async () => {
      const key = store(`${"a".repeat(60)}!\ny${"x".repeat(300)}\n`, true);
      for (const pattern of ["(a+)+$", "(x+x+)+y"]) {
        assert.match(await errorOf({ keys: [key], grep: pattern }), /pattern too expensive/);
      }
      assert.deepEqual(await rows({ keys: [key], grep: "a!" }), [`1|${"a".repeat(60)}!`]);
    },
  );

  it("ends when it is interrupted", async () => {
    const interrupt = new AbortController();
    const key = store(log(100), true);
    interrupt.abort();
    const ctx = context(6000, { signal: interrupt.signal });
    await assert.rejects(call({ keys: [key], grep: "x" }, ctx));
    await assert.rejects(call({ keys: [key] }, ctx));
  });
});

describe("Recall: forms of arguments", () => {
  const right = { keys: ["tr.1", "tr.2"] };
  const forms: [args: unknown, right: unknown][] = [
    [{ keys: "tr.1, tr.2" }, right],
    [{ keys: "tr.1 tr.2" }, right],
    [{ keys: '["tr.1","tr.2"]' }, right],
    [{ keys: [1, 2] }, right],
    [{ tr: ["TR.1", "#2"] }, right],
    [{ id: "[tr.1], tr_2" }, { keys: ["tr.1", "tr_2"] }],
    [{ key: 12 }, { keys: ["tr.12"] }],
    [{ key: "tr12" }, { keys: ["tr.12"] }],
    [{ key: "tr.1", range: [1, 80] }, { keys: ["tr.1"], ranges: [[1, 80]] }],
    [{ key: "tr.1", range: "1-80" }, { keys: ["tr.1"], ranges: [[1, 80]] }],
    [{ key: "tr.1", lines: ["1:80", "90..-1"] }, { keys: ["tr.1"], ranges: [[1, 80], [90, -1]] }],
    [{ key: "tr.1", ranges: "[[1,80]]" }, { keys: ["tr.1"], ranges: [[1, 80]] }],
    [{ key: "tr.1", ranges: [["1", "80"]] }, { keys: ["tr.1"], ranges: [[1, 80]] }],
    [{ key: "tr.1", offset: 100, limit: 50 }, { keys: ["tr.1"], ranges: [[100, 149]] }],
    [{ key: "tr.1", start_line: 7 }, { keys: ["tr.1"], ranges: [[7, -1]] }],
    [{ key: "tr.1", pattern: "x" }, { keys: ["tr.1"], grep: "x" }],
    [{ key: "tr.1", grep: "", ranges: null }, { keys: ["tr.1"] }],
  ];
  for (const [args, right] of forms) {
    it(`takes ${JSON.stringify(args)}`, () => {
      const parsed = parseToolArguments(recall, args);
      assert.deepEqual(parsed, { ok: true, input: right });
    });
  }

  it("says what is missing or wrong", () => {
    for (
      const args of [{}, { keys: [] }, { keys: ["tr.1"], files: 1 }, {
        keys: ["tr.1"],
        ranges: "x",
      }]
    ) {
      const parsed = parseToolArguments(recall, args);
      assert.ok(!parsed.ok);
      assert.match(parsed.error, /^Recall: .*A correct call: \{"keys":\["tr\.12"\]/s);
    }
  });
});

describe("Recall in the loop", () => {
  let b: Bench;
  beforeEach(() => {
    b = bench([bash, recall] as unknown as Tool[]);
  });
  afterEach(() => b.close());

  const step = (name: string, args: unknown) => ({ calls: [{ name, args }] });
  const texts = (session = b.session) =>
    session.log.records.flatMap((record) => record.type === "result" ? [record] : []);

  /** Turns until all calls that the newest result names were made; pages of the result `tr.1`. */
  async function recallAll(session = b.session): Promise<Pages> {
    const pages = new Pages();
    const ctx = desk.context({
      limits: { outputTokens: 500, readTokens: 5000, bashTimeout: 10 },
      results: { keys: () => [...session.stored.keys()], get: (key) => storedResult(session, key) },
    });
    const [, marker] = parts(session.stored.get("tr.1")?.text ?? "");
    const open = callsIn(marker);
    assert.equal(open.length, 1);
    for (let next = open.shift(); next; next = open.shift()) {
      const page = await text(next, ctx);
      pages.add(page);
      open.push(...callsIn(page));
    }
    return pages;
  }

  for (const lines of [3000, 60_000]) {
    it(
      `fetches an output of ${lines} lines that was cut, page by page, also after a resume (SH-14)`,
      LONG,
      async () => {
        await b.run(
          scripted([step("Bash", { command: `seq ${lines}; echo end` }), { text: "ok" }]),
        );
        const { text: cut, spill } = texts()[0] ?? {};
        assert.ok(spill !== undefined);
        const [head, marker, tail] = parts(cut ?? "");
        const [from, to] = callsIn(marker)[0]?.ranges?.[0] ?? [];
        const all = [
          "<Bash>",
          ...Array.from({ length: lines }, (_, i) => `${i + 1}`),
          "end",
          "</Bash>",
        ];
        const rest = all.slice((from ?? 0) - 1, to).join("\n");
        assert.match(head, /^<Bash exit="0" seconds="[\d.]+">\n1\n2\n/);
        assert.ok(tail.endsWith(`\n${lines}\nend\n</Bash>`));
        assert.equal((await recallAll()).text("tr.1", from), rest);
        const again = b.reload();
        assert.equal((await recallAll(again)).text("tr.1", from), rest);
        again.log.close();
      },
    );
  }

  it("gets no key of its own, needs no permission, and what it names works as the next call", async () => {
    const policy = { allow: ["Bash(seq *)"], ask: [], deny: [], yolo: false };
    const requests = scripted([
      step("Bash", { command: "seq 4000" }),
      step("Recall", { key: 1 }),
      step("Recall", { key: 1, grep: "^3999$" }),
      step("Bash", { command: "seq 2" }),
      { text: "ok" },
    ]);
    await b.run(requests, { policy: { ...policy, allow: [], yolo: true } });
    const [cut, page, match, last] = texts();
    assert.deepEqual(texts().map(({ tr }) => tr), ["tr.1", "-", "-", "tr.2"]);
    assert.deepEqual([cut?.status, page?.status, match?.status, last?.status], Array(4).fill("ok"));
    assert.match(
      page?.text ?? "",
      /For the rest: Recall \{"keys":\["tr\.1"\],"ranges":\[\[\d+,4002\]\]\}$/,
    );
    assert.match(match?.text ?? "", /\n4000\|3999\n/);
    assert.equal(page?.spill, undefined, "a page is not cut again");
    assert.deepEqual([...b.session.stored.keys()], ["tr.1", "tr.2"]);
    const tools = requests.requests.at(-1)?.messages.filter(({ role }) => role === "tool");
    assert.match(tools?.[1]?.text ?? "", /^tool - Recall tr\.1\n<Recall key="tr\.1"/);
    const denied = await b.run(
      scripted([step("Recall", { key: 1, ranges: [1, 1] }), { text: "ok" }]),
      {
        policy: { allow: [], ask: [], deny: [], yolo: false },
      },
    );
    const end = denied.find((event) => event.type === "call_end");
    assert.equal(end?.type === "call_end" && end.status, "ok");
  });

  it("works for results that a compaction has left behind", async () => {
    await b.run(scripted([step("Bash", { command: "seq 4000" }), { text: "ok" }]));
    const through = b.session.log.records.at(-1)?.id ?? "";
    b.session.log.append({
      type: "compact",
      turn: 1,
      step: 2,
      through,
      by: "mechanical",
      texts: ["--- Prior Summary ---"],
      results: ["tr.1"],
      tokens: { before: 2, after: 1 },
    });
    const provider = scripted([step("Recall", { keys: ["tr.1"], ranges: [[3001, 3001]] }), {
      text: "ok",
    }]);
    await b.run(provider);
    assert.doesNotMatch(JSON.stringify(provider.requests[0]?.messages), /seq 4000/);
    assert.match(provider.requests[1]?.messages.at(-2)?.text ?? "", /\n3001\|3000\n/);
  });
});
