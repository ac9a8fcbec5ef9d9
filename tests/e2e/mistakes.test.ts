// The usual mistakes of models with Read, Edit and Search, through the compiled binary: the scripted model
// makes one, then builds its next call from nothing but the text it was answered with, and the files must
// end right. What is taken silently needs no second call.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import { startServer, type Step } from "../support/strict-server.ts";
import { join, modelEnv, readFileSync, records, run, sandbox } from "./support.ts";

interface Call {
  name: "Read" | "Edit" | "Search";
  /** A string is sent as it stands, else as JSON. */
  args: unknown;
}

/** What a model does next, given the text of the last result (and of all so far). */
type Move = (told: string, all: readonly string[]) => Call;

/** The text and status of each call's result, in order. */
interface Answer {
  status: string;
  text: string;
}

const SUM = `export function total(items) {
  let sum = 0;
  for (const item of items) {
    sum += item;
  }
  return sum;
}
`;

const BETTER = SUM.replace("sum += item", "sum += item.price");

/** Plays a model that makes these moves; `outside` happens before the move of that index. */
async function play(
  files: Record<string, string>,
  moves: readonly Move[],
  outside: Record<number, (work: string) => void> = {},
): Promise<{ answers: Answer[]; file(path: string): string }> {
  const box = sandbox(files);
  const server = await startServer((request, n): Step => {
    const move = moves[n];
    if (!move) return { text: "Done." };
    outside[n]?.(box.work);
    const results = request.body.messages.filter(({ role }) => role === "tool");
    const told = results.map(({ content }) => String(content));
    return { calls: [move(told.at(-1) ?? "", told)] };
  });
  try {
    const { code, stderr } = await run(["-p", "do it", "--yolo"], {
      cwd: box.work,
      env: { ...box.env, ...modelEnv(server.url) },
    });
    assert.equal(code, 0, stderr);
    assert.deepEqual(server.errors, []);
    const answers = records(box.home).filter(({ type }) => type === "result")
      .map(({ status, text }): Answer => ({ status: String(status), text: String(text) }));
    assert.equal(answers.length, moves.length);
    const kept = new Map(
      Object.keys(files).map((path) => [path, readFileSync(join(box.work, path), "utf8")]),
    );
    return { answers, file: (path) => kept.get(path) ?? "" };
  } finally {
    await server.close();
    box.close();
  }
}

const read: Move = () => ({ name: "Read", args: { files: [{ path: "a.ts" }] } });
const edit = (...edits: unknown[]): Call => ({ name: "Edit", args: { path: "a.ts", edits } });

/** The anchor that a result shows in front of a text. */
function anchorOf(told: string, text: string): string {
  const row = told.split("\n").find((line) => line.slice(line.indexOf("|") + 1) === text);
  const anchor = row && /^(?:> \S+?:)?(\d+:[a-z]{3})\|/.exec(row)?.[1];
  assert.ok(anchor, `no anchor of ${JSON.stringify(text)} in:\n${told}`);
  return anchor;
}

/** What a pattern captures in an answer: a model can only use what stands there. */
function found(told: string, pattern: RegExp): string {
  const [, group] = pattern.exec(told) ?? [];
  assert.ok(group !== undefined, `${pattern} is not in:\n${told}`);
  return group;
}

/** The anchor of the call that was answered: its arguments stand in the answer's first line. */
const sent = (told: string) => found(told, /(\d+:[a-z]{3})/);

const LINE = "    sum += item;";
const RIGHT = "    sum += item.price;";
/** The right call, by the anchor that the last answer shows. */
const rightReplace = (told: string): Call =>
  edit({ op: "replace", start: anchorOf(told, LINE), content: RIGHT });

describe("mistakes that are taken for what they mean", () => {
  const FORMS: [name: string, move: Move][] = [
    ["file_path for path", (told) => ({
      name: "Edit",
      args: {
        file_path: "a.ts",
        edits: [{ op: "replace", start: anchorOf(told, LINE), content: RIGHT }],
      },
    })],
    ["filename for path", (told) => ({
      name: "Edit",
      args: {
        filename: "a.ts",
        edits: [{ op: "replace", start: anchorOf(told, LINE), content: RIGHT }],
      },
    })],
    ["file for path, one edit without its list", (told) => ({
      name: "Edit",
      args: { file: "a.ts", op: "replace", start: anchorOf(told, LINE), content: RIGHT },
    })],
    ["old_string and new_string", () => ({
      name: "Edit",
      args: { file_path: "a.ts", old_string: LINE, new_string: RIGHT },
    })],
    ["old_string and new_string with replace_all as a flag", () => ({
      name: "Edit",
      args: { file_path: "a.ts", old_string: LINE, new_string: RIGHT, replace_all: true },
    })],
    [
      "old_string and new_string in the list",
      () => edit({ op: "replace_text", old_string: LINE, new_string: RIGHT }),
    ],
    ["oldText and newText, no op", () => edit({ oldText: LINE, newText: RIGHT })],
    ["edits as a JSON string", (told) => ({
      name: "Edit",
      args: {
        path: "a.ts",
        edits: JSON.stringify([{ op: "replace", start: anchorOf(told, LINE), content: RIGHT }]),
      },
    })],
    ["edits as one object", (told) => ({
      name: "Edit",
      args: {
        path: "a.ts",
        edits: { op: "replace", start: anchorOf(told, LINE), content: RIGHT },
      },
    })],
    [
      "an anchor with its line's text",
      (told) => edit({ op: "replace", start: `${anchorOf(told, LINE)}|${LINE}`, content: RIGHT }),
    ],
    [
      "an anchor with a path in front",
      (told) => edit({ op: "replace", start: `a.ts:${anchorOf(told, LINE)}`, content: RIGHT }),
    ],
    [
      "line for start",
      (told) => edit({ op: "replace", line: anchorOf(told, LINE), content: RIGHT }),
    ],
    ["every field filled in", (told) =>
      edit({
        op: "replace",
        start: anchorOf(told, LINE),
        end: anchorOf(told, LINE),
        content: `${RIGHT}\n`,
        old: "",
        new: null,
      })],
    ["arguments encoded twice", (told) => ({
      name: "Edit",
      args: JSON.stringify(JSON.stringify(
        edit({ op: "replace", start: anchorOf(told, LINE), content: RIGHT }).args,
      )),
    })],
    ["arguments in a fence", (told) => ({
      name: "Edit",
      args: "```json\n" +
        JSON.stringify(edit({ op: "replace", start: anchorOf(told, LINE), content: RIGHT }).args) +
        "\n```",
    })],
  ];
  for (const [name, move] of FORMS) {
    it(name, async () => {
      const { answers, file } = await play({ "a.ts": SUM }, [read, move]);
      assert.deepEqual(answers.map(({ status }) => status), ["ok", "ok"], String(answers[1]?.text));
      assert.equal(file("a.ts"), BETTER);
    });
  }

  const READS: [name: string, args: unknown, lines: number[]][] = [
    ["files as a string", { files: "a.ts" }, [1, 2, 3, 4, 5, 6, 7]],
    ["files as a list of strings", { files: ["a.ts"] }, [1, 2, 3, 4, 5, 6, 7]],
    ["a path at the top", { path: "a.ts", ranges: [[2, 3]] }, [2, 3]],
    ["one flat range", { files: [{ path: "a.ts", ranges: [2, 3] }] }, [2, 3]],
    ["ranges in words", { files: [{ path: "a.ts", ranges: "1-2" }] }, [1, 2]],
    ["a list of ranges in words", { files: [{ path: "a.ts", ranges: ["1-2", "4:4"] }] }, [1, 2, 4]],
    ["a range as an object", { path: "a.ts", range: { start: 6, end: 7 } }, [6, 7]],
    ["offset and limit", { file_path: "a.ts", offset: 3, limit: 2 }, [3, 4]],
    ["numbers as strings", { path: "a.ts", start_line: "3", end_line: "4" }, [3, 4]],
    ["arguments in a fence", '```json\n{"path": "a.ts", "ranges": [[1, 1]]}\n```', [1]],
    ["an end past the last line", { path: "a.ts", ranges: [[6, 600]] }, [6, 7]],
  ];
  for (const [name, args, lines] of READS) {
    it(`Read: ${name}`, async () => {
      const { answers: [answer] } = await play({ "a.ts": SUM }, [() => ({ name: "Read", args })]);
      assert.equal(answer?.status, "ok", String(answer?.text));
      const shown = answer?.text.match(/^\d+(?=:[a-z]{3}\|)/gm)?.map(Number);
      assert.deepEqual(shown, lines);
    });
  }

  const SEARCHES: [name: string, args: unknown][] = [
    ["queries as a string", { queries: "total" }],
    ["a pattern at the top", { pattern: "total", path: "a.ts" }],
    ["query and file", { queries: [{ query: "total", file: "a.ts" }] }],
    ["literal as a string", { queries: [{ pattern: "total(", literal: "true" }] }],
  ];
  for (const [name, args] of SEARCHES) {
    it(`Search: ${name}`, async () => {
      const { answers: [answer] } = await play({ "a.ts": SUM }, [() => ({ name: "Search", args })]);
      assert.match(answer?.text ?? "", /^> a\.ts:1:[a-z]{3}\|export function total/m);
    });
  }
});

/** A mistake, what it is answered, and the call that this answer leads to. */
interface Exchange {
  name: string;
  files?: Record<string, string>;
  /** Before the mistake; default: a.ts is read. */
  first?: Move[];
  outside?: (work: string) => void;
  mistake: Move;
  says: RegExp;
  next: Move;
  /** Files in the end; default: a.ts with the right line. */
  ends?: Record<string, string>;
  /** What the answer to the right call says. */
  then?: RegExp;
  /** Calls after it. */
  rest?: Move[];
  /** It was done, with a word of warning. */
  done?: true;
}

const EXCHANGES: Exchange[] = [
  {
    name: "a line number without hash",
    mistake: () => edit({ op: "replace", start: "4", content: RIGHT }),
    says: /"4" is not an anchor: the hash is missing\. Line 4 is 4:[a-z]{3}\./,
    next: (told) =>
      edit({ op: "replace", start: found(told, /Line 4 is (\S+)\./), content: RIGHT }),
  },
  {
    name: "a line number that is a number",
    mistake: () => edit({ op: "replace", line: 4, content: RIGHT }),
    says: /the hash is missing/,
    next: rightReplace,
  },
  {
    name: "an anchor never seen, without a Read",
    first: [],
    mistake: () => edit({ op: "replace", start: "4:abc", content: RIGHT }),
    says: /4:abc was never shown for this file; line 4 is/,
    next: rightReplace,
  },
  {
    name: "the right hash at the wrong line",
    mistake: (told) => {
      const [line, hash] = anchorOf(told, LINE).split(":");
      return edit({ op: "replace", start: `${Number(line) + 1}:${hash}`, content: RIGHT });
    },
    says: /5:[a-z]{3} was never shown.*Lines with that hash: 4:/s,
    next: (told) =>
      edit({ op: "replace", start: found(told, /that hash: (\S+)\./), content: RIGHT }),
  },
  {
    name: "the line after the last",
    mistake: () => edit({ op: "insert_after", start: "8:abc", content: "// end" }),
    says: /line 8 does not exist: the file has 7 lines/,
    next: (told) => edit({ op: "insert_after", start: anchorOf(told, "}"), content: "// end" }),
    ends: { "a.ts": `${SUM}// end\n` },
  },
  {
    name: "an anchor of a line that somebody else changed",
    outside: (work) =>
      writeFileSync(join(work, "a.ts"), `// new\n${SUM.replace("sum += item;", "sum += +item;")}`),
    mistake: rightReplace,
    says: /line 4 changed on disk or was removed since it was shown/,
    next: (told) =>
      edit({ op: "replace", start: anchorOf(told, "    sum += +item;"), content: RIGHT }),
    ends: { "a.ts": `// new\n${BETTER}` },
  },
  {
    name: "an anchor of a file that somebody else emptied",
    outside: (work) => writeFileSync(join(work, "a.ts"), ""),
    mistake: rightReplace,
    says: /line 4 changed on disk or was removed.*The file is empty now; op create fills it/s,
    next: (told) => edit({ op: found(told, /empty now; op (\w+)/), content: BETTER }),
  },
  {
    name: "an anchor that the model's own edit made stale",
    first: [read, rightReplace],
    mistake: (_, [shown = ""]) =>
      edit({ op: "replace", start: anchorOf(shown, LINE), content: "    sum += item.cost;" }),
    says: /line 4 changed on disk or was removed since it was shown/,
    next: (told) =>
      edit({ op: "replace", start: anchorOf(told, RIGHT), content: "    sum += item.cost;" }),
    ends: { "a.ts": BETTER.replace("price", "cost") },
  },
  {
    name: "an end before the start",
    mistake: (told) =>
      edit({
        op: "replace",
        start: anchorOf(told, "  }"),
        end: anchorOf(told, LINE),
        content: `${RIGHT}\n  }`,
      }),
    says: /the end \(line 4\) lies before the start \(line 5\)/,
    next: (told) =>
      edit({
        op: "replace",
        start: anchorOf(told, LINE),
        end: anchorOf(told, "  }"),
        content: `${RIGHT}\n  }`,
      }),
  },
  {
    name: "anchors in the content",
    mistake: (told) => {
      const anchor = anchorOf(told, LINE);
      return edit({ op: "replace", start: anchor, content: `${anchor}|${RIGHT}` });
    },
    says: /every line of the new text begins with an anchor.*send the text alone/,
    next: rightReplace,
  },
  {
    name: "anchors in old",
    mistake: (told) =>
      edit({ op: "replace_text", old: `${anchorOf(told, LINE)}|${LINE}`, new: RIGHT }),
    says: /it holds an anchor \(4:[a-z]{3}\|\); send the text alone/,
    next: (told) => {
      const anchor = found(told, /an anchor \((\S+)\|\)/);
      const row = told.split("\n").find((line) => line.startsWith(`${anchor}|`)) ?? "";
      return edit({ op: "replace_text", old: row.slice(anchor.length + 1), new: RIGHT });
    },
  },
  {
    name: "an anchor in some of the lines of the content: written, but said",
    mistake: (told) => {
      const anchor = anchorOf(told, LINE);
      return edit({ op: "replace", start: anchor, content: `    count++;\n${anchor}|${RIGHT}` });
    },
    done: true,
    says: /note: the new text holds anchors that were shown \(first 4:[a-z]{3}\|\)/,
    next: (told) => {
      const anchor = found(told, /first (\S+)\|\)/);
      return edit({ op: "replace_text", old: `${anchor}|`, new: "" });
    },
    ends: { "a.ts": BETTER.replace(RIGHT, `    count++;\n${RIGHT}`) },
  },
  {
    name: "JSON that was cut off",
    mistake: (told) => ({
      name: "Edit",
      args: JSON.stringify(rightReplace(told).args).slice(0, -3),
    }),
    says: /not valid JSON: the JSON was cut off after \d+ characters.*Send the call again/s,
    next: (told) => {
      const start = found(told, /"start":"(\d+:[a-z]{3})"/);
      return edit({ op: "replace", start, content: RIGHT });
    },
  },
  ...["update", "edit", "modify"].map((op): Exchange => ({
    name: `op ${op}`,
    mistake: (told) => edit({ op, start: anchorOf(told, LINE), content: RIGHT }),
    says: new RegExp(`op must be one of create, .*not "${op}"`),
    next: (told) => {
      const op = found(told, /must be one of .*\b(replace), /);
      return edit({ op, start: sent(told), content: RIGHT });
    },
  })),
  ...["insert", "append"].map((op): Exchange => ({
    name: `op ${op}`,
    mistake: (told) => edit({ op, start: anchorOf(told, "}"), content: "// end" }),
    says: new RegExp(`op must be one of create, .*not "${op}"`),
    next: (told) => {
      const op = found(told, /must be one of .*\b(insert_after), /);
      return edit({ op, start: sent(told), content: "// end" });
    },
    ends: { "a.ts": `${SUM}// end\n` },
  })),
  {
    name: "no op",
    mistake: () => ({ name: "Edit", args: { path: "a.ts", content: BETTER } }),
    says: /edits\[0\]\.op is missing; it is one of create, overwrite/,
    next: (told) => edit({ op: found(told, /one of .*(overwrite)/), content: BETTER }),
  },
  {
    name: "a field of another op",
    mistake: (told) =>
      edit({ op: "insert_after", start: anchorOf(told, LINE), new: "    count++;" }),
    says: /insert_after needs content/,
    next: (told) =>
      edit({
        op: "insert_after",
        start: sent(told),
        [found(told, /insert_after needs (\w+)/)]: "    count++;",
      }),
    ends: { "a.ts": SUM.replace(LINE, `${LINE}\n    count++;`) },
  },
  {
    name: "an unknown field",
    mistake: (told) => edit({ op: "replace", at: anchorOf(told, LINE), content: RIGHT }),
    says: /unknown field "at"; accepted: op, start, end, content, old, new/,
    next: (told) =>
      edit({ op: "replace", [found(told, /accepted: op, (\w+)/)]: sent(told), content: RIGHT }),
  },
  {
    name: "create where a file is",
    first: [],
    mistake: () => edit({ op: "create", content: BETTER }),
    says: /the file exists and has 7 lines; change it with replace.*or.*overwrite/,
    next: (told) =>
      edit({
        op: "insert_before",
        start: anchorOf(told, "export function total(items) {"),
        content: "// sums up",
      }),
    ends: { "a.ts": `// sums up\n${SUM}` },
  },
  {
    name: "overwrite of what was not read",
    first: [],
    mistake: () => edit({ op: "overwrite", content: BETTER }),
    says: /the file was never shown; Read it first/,
    next: read,
    then: /<Read path="a\.ts" lines="7"/,
    rest: [() => edit({ op: "overwrite", content: BETTER })],
  },
  {
    name: "replace with empty content",
    mistake: (told) => edit({ op: "replace", start: anchorOf(told, LINE), content: "" }),
    says: /content is empty: to remove lines use delete/,
    next: (told) =>
      edit({ op: found(told, /to remove lines use (\w+)/), start: anchorOf(told, LINE) }),
    ends: { "a.ts": SUM.replace(`${LINE}\n`, "") },
  },
  {
    name: "an old that does not occur: a slip",
    mistake: () => edit({ op: "replace_text", old: "    summ += items;", new: RIGHT }),
    says: /old does not occur in the file\. The line most like it is line 4/,
    next: rightReplace,
  },
  {
    name: "an old that does not occur: other blanks",
    mistake: () => edit({ op: "replace_text", old: "\t\tsum += item;", new: RIGHT }),
    says: /Line 4 is near: the file has 4 spaces where old has 2 TABs/,
    next: rightReplace,
  },
  {
    name: "an old that does not occur: a later line differs",
    mistake: () =>
      edit({
        op: "replace_text",
        old: "  for (const item of items) {\n    sum = sum + item;\n  }",
        new: `  for (const item of items) {\n${RIGHT}\n  }`,
      }),
    says: /Its first line occurs at line 3, but what follows differs/,
    next: rightReplace,
  },
  {
    name: "an old that occurs three times",
    mistake: () => edit({ op: "replace_text", old: "sum", new: "all" }),
    says: /old occurs more than once \(lines 2, 4, 6\); add neighbouring text.*or replace_all/,
    next: (told) => edit({ op: found(told, /or (replace_all) if every/), old: "sum", new: "all" }),
    ends: { "a.ts": SUM.replaceAll("sum", "all") },
  },
  {
    name: "the same line twice in a call",
    mistake: (told) =>
      edit(
        { op: "replace", start: anchorOf(told, LINE), content: "    x;" },
        { op: "replace", start: anchorOf(told, LINE), content: RIGHT },
      ),
    says: /edit 2: line 4 was already changed by edit 1/,
    next: rightReplace,
  },
  {
    name: "a file that does not exist: a name nearly right",
    files: { "src/total.ts": SUM },
    first: [],
    mistake: () => ({
      name: "Edit",
      args: { path: "src/totals.ts", edits: [{ op: "replace_text", old: LINE, new: RIGHT }] },
    }),
    says: /src\/totals\.ts: no such file \(near names: src\/total\.ts\); to make it use op create/,
    next: (told) => ({
      name: "Edit",
      args: {
        path: found(told, /near names: (\S+)\)/),
        edits: [{ op: "replace_text", old: LINE, new: RIGHT }],
      },
    }),
    ends: { "src/total.ts": BETTER },
  },
  {
    name: "Read of a path that does not exist",
    files: { "src/total.ts": SUM },
    first: [],
    mistake: () => ({ name: "Read", args: { files: [{ path: "src/total.js" }] } }),
    says: /no such file; near names: src\/total\.ts/,
    next: (told) => ({
      name: "Read",
      args: { files: [{ path: found(told, /near names: (\S+)/) }] },
    }),
    ends: { "src/total.ts": SUM },
    then: /4:trv\|/,
  },
  {
    name: "a path with backslashes",
    files: { "src/total.ts": SUM },
    first: [],
    mistake: () => ({
      name: "Edit",
      args: { path: "src\\total.ts", edits: [{ op: "replace_text", old: LINE, new: RIGHT }] },
    }),
    says: /the path has backslashes; use src\/total\.ts/,
    next: (told) => ({
      name: "Edit",
      args: {
        path: found(told, /backslashes; use ([^\s)]+)/),
        edits: [{ op: "replace_text", old: LINE, new: RIGHT }],
      },
    }),
    ends: { "src/total.ts": BETTER },
  },
  {
    name: "Read past the end",
    first: [],
    mistake: () => ({ name: "Read", args: { path: "a.ts", ranges: [[100, 120]] } }),
    says: /the file has 7 lines; a range is \[start, end\], for example \[1, 7\]/,
    next: (told) => ({
      name: "Read",
      args: { path: "a.ts", ranges: [JSON.parse(found(told, /for example (\[.*\])/))] },
    }),
    ends: { "a.ts": SUM },
    then: /7:vpo\|/,
  },
  {
    name: "Read of a folder",
    files: { "src/total.ts": SUM },
    first: [],
    mistake: () => ({ name: "Read", args: { path: "src" } }),
    done: true,
    says: /folder="true" entries="1">\ntotal\.ts/,
    next: (told) => ({ name: "Read", args: { path: `src/${found(told, />\n(\S+)/)}` } }),
    ends: { "src/total.ts": SUM },
    then: /4:trv\|/,
  },
  {
    name: "Search with an invalid expression",
    first: [],
    mistake: () => ({ name: "Search", args: { queries: [{ pattern: "total(" }] } }),
    says: /not a valid regular expression: .*\{"pattern":"total\(","literal":true\}/,
    next: (told) => ({
      name: "Search",
      args: { queries: [JSON.parse(found(told, /as text: (\{.*?\})/))] },
    }),
    ends: { "a.ts": SUM },
    then: /matches="1" files="1">\n> a\.ts:1:/,
  },
  {
    name: "Search with an expression that takes for ever",
    files: { "a.ts": `${"a".repeat(100)}!\n${SUM}` },
    first: [],
    mistake: () => ({ name: "Search", args: { queries: [{ pattern: "^(a+)+$" }] } }),
    says: /pattern too expensive.*nothing is known about matches.*with literal: true/s,
    next: (told) => ({
      name: "Search",
      args: {
        queries: [{ pattern: "aaaa", [found(told, /with (literal): true/)]: true }],
      },
    }),
    ends: { "a.ts": `${"a".repeat(100)}!\n${SUM}` },
    then: /matches="1" files="1"/,
  },
  {
    name: "Search in a path that does not exist",
    files: { "src/total.ts": SUM },
    first: [],
    mistake: () => ({ name: "Search", args: { queries: [{ pattern: "sum", path: "scr" }] } }),
    says: /There is no file or folder scr; near names: src/,
    next: (told) => ({
      name: "Search",
      args: { queries: [{ pattern: "sum", path: found(told, /near names: (\w+)/) }] },
    }),
    ends: { "src/total.ts": SUM },
    then: /matches="3" files="1"/,
  },
];

describe("mistakes whose answer leads to the right call", () => {
  for (const exchange of EXCHANGES) {
    it(exchange.name, async () => {
      const { files = { "a.ts": SUM }, first = [read], rest = [], outside } = exchange;
      const { ends = { "a.ts": BETTER }, says, then, done } = exchange;
      const { answers, file } = await play(
        files,
        [...first, exchange.mistake, exchange.next, ...rest],
        outside ? { [first.length]: outside } : {},
      );
      const [answer, ...better] = answers.slice(first.length) as [Answer, Answer, ...Answer[]];
      const [last] = better;
      assert.equal(answer.status, done ? "ok" : "error", answer.text);
      assert.match(answer.text, says);
      for (const { status, text } of better) {
        assert.equal(status, "ok", `${answer.text}\n--- led to ---\n${text}`);
      }
      if (then) assert.match(last.text, then);
      for (const [path, text] of Object.entries(ends)) assert.equal(file(path), text);
    });
  }

  it("finds a line that somebody else moved, and says so", async () => {
    const { answers: [, answer], file } = await play({ "a.ts": SUM }, [read, rightReplace], {
      1: (work) => writeFileSync(join(work, "a.ts"), `// one\n// two\n${SUM}`),
    });
    assert.equal(answer?.status, "ok", String(answer?.text));
    assert.match(answer?.text ?? "", /note: 4 is now 6/);
    assert.equal(file("a.ts"), `// one\n// two\n${BETTER}`);
  });
});
