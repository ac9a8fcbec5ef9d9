// The planner against a slow, obvious model: a list of slots, one for each line as the batch began.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { applyPatch } from "diff";
import fc from "fast-check";
import { anchors } from "../../src/tools/anchor.ts";
import { hunksBetween, unifiedDiff } from "../../src/tools/diff.ts";
import { Lines, openDocument, type TextDocument } from "../../src/tools/document.ts";
import { encode } from "../../src/tools/encodings.ts";
import type { Edit } from "../../src/tools/edit-fields.ts";
import { type FileState, planCall, stateOf } from "../../src/tools/edit-plan.ts";
import { Shown } from "../../src/tools/lines.ts";
import { Resolver } from "../../src/tools/resolve.ts";
import { SeenFiles } from "../../src/tools/seen.ts";
import { type Line, PATIENT, RUNS, splitLines } from "./support.ts";

const hash = await anchors();

function open(text: string | Uint8Array): TextDocument {
  const opened = openDocument(Buffer.from(text as string));
  assert.equal(opened.kind, "text");
  return (opened as { document: TextDocument }).document;
}

/** Resolver of a file that was shown whole and has not changed since. */
function allShown(document: TextDocument): Resolver {
  const shown = new Shown(hash);
  for (const [i, { text }] of splitLines(document.lines.text).entries()) shown.add(i + 1, text);
  const seen = new SeenFiles();
  const observation = shown.observation("/f", "v1", "read", document.lines.length);
  if (observation) seen.add(observation);
  const { lines } = document;
  return new Resolver({ lines, version: "v1", views: seen.views("/f"), kept: () => null, hash });
}

/** One line as the batch began, and what stands in its place. */
interface Slot {
  before: Line[];
  body: Line[];
  after: Line[];
  /** The replaced range this line is in. */
  range: [from: number, to: number] | null;
}

/** An edit by numbers of base lines instead of anchors. */
interface Point {
  op: "replace" | "delete" | "insert_before" | "insert_after" | "replace_all";
  from: number;
  to: number;
  content: string[];
  old: string;
  new: string;
}

/** Applies one point; false where the rules forbid it. */
function applyToSlots(slots: Slot[], base: readonly Line[], point: Point): boolean {
  const { op, from, to, content } = point;
  const usual = usualOf(base);
  const eol = base[from - 1]?.eol || usual;
  const slot = slots[from - 1] as Slot;
  const after = (slots[to - 1] as Slot).after;
  // Only what is last in the file may lack an ending, and only what is not blank.
  const isLast = op === "insert_after" || (op === "replace" && after.length === 0);
  const last = base[(op === "replace" ? to : from) - 1]?.eol ||
    (isLast && content.at(-1) !== "" ? "" : usual);
  const lines = content.map((text, i): Line => ({
    text,
    eol: i === content.length - 1 ? last : eol,
  }));
  if (op === "replace_all") {
    let found = 0;
    for (const [n, s] of slots.entries()) {
      for (const part of [s.before, s.body, s.after]) {
        for (const [i, line] of part.entries()) {
          found += line.text.split(point.old).length - 1;
          part[i] = { text: line.text.split(point.old).join(point.new), eol: line.eol };
        }
        const end = part.at(-1);
        if (end?.text !== "" || end.eol !== "") continue;
        part.pop(); // nothing is left of a last line without an ending
        if (part === s.body) s.range ??= [n + 1, n + 1];
      }
    }
    return found > 0;
  }
  if (op === "insert_before") {
    if (slot.range && slot.range[0] !== from) return false;
    slot.before.push(...lines);
    return true;
  }
  if (op === "insert_after") {
    if (slot.range && slot.range[1] !== from) return false;
    // What was last needs an ending now.
    const parts = slots.slice(0, from).flatMap((s) => [s.before, s.body, s.after]);
    const part = parts.findLast(({ length }) => length > 0);
    const end = part?.at(-1);
    if (part && end?.eol === "") part[part.length - 1] = { ...end, eol: usual };
    slot.after.push(...lines);
    return true;
  }
  const inside = slots.slice(from - 1, to);
  if (inside.some(({ range }) => range !== null)) return false;
  if (inside.some((s, i) => i > 0 && s.before.length > 0)) return false;
  if (inside.some((s, i) => i < inside.length - 1 && s.after.length > 0)) return false;
  for (const s of inside) {
    s.body = [];
    s.range = [from, to];
  }
  if (op === "replace") slot.body = lines;
  return true;
}

function usualOf(base: readonly Line[]): "\n" | "\r\n" {
  const crlf = base.filter(({ eol }) => eol === "\r\n").length;
  return crlf > base.filter(({ eol }) => eol === "\n").length ? "\r\n" : "\n";
}

function render(slots: Slot[]): string {
  return slots.flatMap(({ before, body, after }) => [...before, ...body, ...after])
    .map(({ text, eol }) => text + eol).join("");
}

function editOf(point: Point, base: readonly Line[]): Edit {
  const anchor = (line: number) => `${line}:${hash(base[line - 1]?.text ?? "")}`;
  const { op, from, to } = point;
  const content = point.content.map((text) => `${text}\n`).join("");
  if (op === "replace_all") return { op, old: point.old, new: point.new };
  if (op === "delete") return { op, start: anchor(from), end: anchor(to) };
  if (op === "replace") return { op, start: anchor(from), end: anchor(to), content };
  return { op, start: anchor(from), content };
}

const text = fc.constantFrom("a", "b", "}", "", "  x", "aa", "é");
const documents = fc.record({
  lines: fc.array(fc.record({ text, eol: fc.constantFrom<"\n" | "\r\n">("\n", "\n", "\r\n") }), {
    minLength: 1,
    maxLength: 8,
  }),
  ended: fc.boolean(),
  bom: fc.boolean(),
}).map(({ lines, ended, bom }) => {
  const body = lines.map((line) => line.text + line.eol).join("");
  return (bom ? "\ufeff" : "") + (ended ? body : body.replace(/\r?\n$/, ""));
}).filter((body) => body !== "" && body !== "\ufeff");
const point = fc.record({
  op: fc.constantFrom<Point["op"]>(
    "replace",
    "replace",
    "delete",
    "insert_before",
    "insert_after",
    "insert_after",
    "replace_all",
  ),
  at: fc.nat(100),
  length: fc.constantFrom(0, 0, 0, 1, 2, 3),
  content: fc.array(fc.constantFrom("a", "b", "new", "}", ""), { minLength: 1, maxLength: 3 }),
  old: fc.constantFrom("a", "b", "}", "new", "q"),
  new: fc.constantFrom("", "z", "aa", "$&"),
});
const batches = fc.array(fc.array(point, { minLength: 1, maxLength: 3 }), {
  minLength: 1,
  maxLength: 4,
});

describe("edit plan", () => {
  it("does to random files and batches what the obvious model does", PATIENT, async () => {
    await fc.assert(
      fc.asyncProperty(documents, batches, async (content, batch) => {
        const document = open(content);
        const base = splitLines(content.replace("\ufeff", ""));
        const resolver = allShown(document);
        let state = stateOf(document);
        let slots = base.map((line): Slot => ({
          before: [],
          body: [line],
          after: [],
          range: null,
        }));
        for (const call of batch) {
          const points = call.map(({ at, length, ...rest }): Point => {
            const from = 1 + at % base.length;
            return { ...rest, from, to: Math.min(base.length, from + length) };
          });
          const trial = structuredClone(slots);
          const possible = points.every((p) => applyToSlots(trial, base, p));
          const plan = planCall(state, points.map((p) => editOf(p, base)), resolver);
          assert.equal(plan.ok, possible, JSON.stringify({ points, plan }));
          if (!plan.ok) continue;
          slots = trial;
          await checkDiff(state, plan.state);
          state = plan.state;
          const bytes = await encode(state.draft.text, state.codec);
          const bom = content.startsWith("\ufeff") ? "\ufeff" : "";
          assert.equal(Buffer.from(bytes ?? []).toString(), bom + render(slots));
        }
      }),
      {
        numRuns: 500 * RUNS,
        // A last line whose follower was inserted and then emptied: found once in many thousand runs.
        examples: [["a", [
          [{ op: "insert_after", at: 0, length: 0, content: ["b"], old: "a", new: "" }],
          [{ op: "replace_all", at: 0, length: 0, content: ["a"], old: "b", new: "" }],
          [{ op: "replace", at: 0, length: 0, content: ["a"], old: "a", new: "" }],
        ]]],
      },
    );
  });

  it(
    "replaces literal text across lines as a text would be, and keeps the other anchors right",
    PATIENT,
    async () => {
      const piece = fc.string({
        unit: fc.constantFrom("a", "b", "\n"),
        minLength: 1,
        maxLength: 4,
      });
      const files = fc.string({
        unit: fc.constantFrom("a", "b", "c", "\n"),
        minLength: 1,
        maxLength: 30,
      });
      await fc.assert(
        fc.asyncProperty(
          files,
          fc.array(
            fc.tuple(piece, fc.string({ unit: fc.constantFrom("a", "x", "\n"), maxLength: 4 })),
          ),
          async (content, literals) => {
            const document = open(content);
            const resolver = allShown(document);
            let state: FileState = stateOf(document);
            let wanted = content;
            for (const [old, replacement] of literals) {
              const plan = planCall(
                state,
                [{ op: "replace_all", old, new: replacement }],
                resolver,
              );
              assert.equal(plan.ok, wanted.includes(old));
              if (!plan.ok) continue;
              wanted = wanted.split(old).join(replacement);
              await checkDiff(state, plan.state);
              state = plan.state;
              assert.equal(state.draft.text, wanted);
              checkPlaces(state, document.lines.length);
            }
            // Whatever was rewritten, deleting every line that can still be deleted leaves whole lines.
            for (const [i, { text: line }] of splitLines(content).entries()) {
              const before = state.draft.text.length;
              const plan = planCall(
                state,
                [{ op: "delete", start: `${i + 1}:${hash(line)}` }],
                resolver,
              );
              if (!plan.ok) continue;
              await checkDiff(state, plan.state);
              state = plan.state;
              assert.ok(state.draft.text.length <= before);
              checkPlaces(state, document.lines.length);
            }
          },
        ),
        { numRuns: 500 * RUNS },
      );
    },
  );

  it(
    "replaces literal text also where it meets inserted, changed and deleted lines",
    PATIENT,
    async () => {
      const content = fc.string({
        unit: fc.constantFrom("a", "b", "\n"),
        minLength: 1,
        maxLength: 12,
      });
      const literal = fc.string({
        unit: fc.constantFrom("a", "b", "x", "\n"),
        minLength: 1,
        maxLength: 3,
      });
      const op = fc.constantFrom<Edit["op"]>("insert_before", "insert_after", "replace", "delete");
      const ops = fc.array(fc.tuple(op, fc.nat(20), fc.constantFrom("x", "a\nx", "")), {
        maxLength: 4,
      });
      await fc.assert(
        fc.asyncProperty(
          content,
          ops,
          fc.array(fc.tuple(literal, literal)),
          async (file, list, literals) => {
            const document = open(file);
            const lines = splitLines(file);
            const resolver = allShown(document);
            let state = stateOf(document);
            const anchored = (op: Edit["op"], n: number, text: string) => {
              const start = `${n + 1}:${hash(lines[n]?.text ?? "")}`;
              return planCall(state, [{
                op,
                start,
                ...(op === "delete" ? {} : { content: `${text}\n` }),
              }], resolver);
            };
            for (const [op, at, text] of list) {
              const plan = anchored(op, at % lines.length, text);
              if (plan.ok) state = plan.state;
            }
            for (const [old, replacement] of literals) {
              const before = state.draft.text;
              const plan = planCall(
                state,
                [{ op: "replace_all", old, new: replacement }],
                resolver,
              );
              assert.equal(plan.ok, before.includes(old));
              if (!plan.ok) continue;
              await checkDiff(state, plan.state);
              state = plan.state;
              assert.equal(state.draft.text, before.split(old).join(replacement));
              checkPlaces(state, lines.length);
            }
            // What can still be deleted goes by whole lines, and nothing else goes.
            for (const n of lines.keys()) {
              const before = state.draft.text;
              const plan = anchored("delete", n, "");
              if (!plan.ok) continue;
              await checkDiff(state, plan.state);
              state = plan.state;
              const now = state.draft.text;
              let head = 0;
              while (head < now.length && now[head] === before[head]) head++;
              assert.ok(before.endsWith(now.slice(head)) || now === before.slice(0, now.length));
            }
          },
        ),
        { numRuns: 500 * RUNS },
      );
    },
  );

  it("keeps CRLF where the literal spans lines", PATIENT, () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("a", "b", "\n"), minLength: 1, maxLength: 20 }),
        fc.string({ unit: fc.constantFrom("a", "b", "\n"), minLength: 1, maxLength: 3 }),
        fc.string({ unit: fc.constantFrom("a", "x", "\n"), maxLength: 3 }),
        (content, old, replacement) => {
          const crlf = (s: string) => s.replaceAll("\n", "\r\n");
          const document = open(crlf(content));
          const plan = planCall(
            stateOf(document),
            [{ op: "replace_all", old: crlf(old), new: replacement }],
            allShown(document),
          );
          assert.equal(plan.ok, content.includes(old));
          if (!plan.ok) return;
          const got = plan.state.draft.text;
          const wanted = content.split(old).join(replacement);
          // A file without any line end has no ending to keep: LF.
          assert.equal(got, content.includes("\n") ? crlf(wanted) : wanted);
        },
      ),
      { numRuns: 300 * RUNS },
    );
  });
});

/** The diff of a call leads from the text before it to the one after it. */
async function checkDiff({ draft: before }: FileState, { draft: after }: FileState): Promise<void> {
  const [old, now] = [new Lines(before.text), new Lines(after.text)];
  const hunks = await hunksBetween(old, now, after.changesSince(before));
  const lf = (text: string) => text.replaceAll("\r\n", "\n");
  const patch = `${unifiedDiff("f", false, hunks)}\n`;
  if (hunks.length === 0) assert.equal(lf(before.text), lf(after.text));
  else assert.equal(applyPatch(lf(before.text), patch), lf(after.text), patch);
}

/** Base lines stand in order, and each line stands for one of them or beside it. */
function checkPlaces({ draft }: FileState, total: number): void {
  const { length } = splitLines(draft.text);
  const now = Array.from({ length: total }, (_, i) => draft.lineNow(i + 1));
  assert.deepEqual(now, now.toSorted((a, b) => a - b));
  assert.ok(now.every((line) => line >= 1 && line <= length + 1));
  const base = Array.from({ length }, (_, i) => draft.baseLine(i + 1));
  assert.deepEqual(base, base.toSorted((a, b) => a - b));
  assert.ok(base.every((line) => line >= 1 && line <= total));
}

describe("edit plan, rule by rule", () => {
  const ABC = "a\nb\nc\nd\n";
  const at = (line: number, of = ABC) => `${line}:${hash(splitLines(of)[line - 1]?.text ?? "")}`;

  function plan(edits: Edit[], content = ABC): string {
    const document = open(content);
    const result = planCall(stateOf(document), edits, allShown(document));
    return result.ok
      ? result.state.draft.text + result.notes.map((n) => `!${n}`).join("")
      : `error: ${result.faults.map(({ message }) => message).join(" / ")}`;
  }

  const FIELDS: [edit: Edit, message: RegExp][] = [
    [{ op: "replace", content: "x" }, /^error: replace needs start$/],
    [{ op: "replace", start: at(1) }, /needs content/],
    [{ op: "replace_all" }, /needs old and new/],
    [{ op: "replace_text", old: "", new: "x" }, /non-empty old/],
    [{ op: "delete", start: at(1), content: "x" }, /delete takes no content/],
    [{ op: "insert_after", start: at(1), end: at(2), content: "x" }, /takes no end/],
    [{ op: "create", start: at(1), content: "x" }, /takes no start/],
    [{ op: "replace", start: at(1), content: "x", old: "a" }, /takes no old/],
    [{ op: "replace", start: at(1), content: "" }, /delete/],
    [{ op: "insert_after", start: at(1), content: "" }, /nothing to insert/],
    [{ op: "replace", start: at(1), content: "a\0b" }, /NUL/],
    [
      { op: "replace", start: at(3), end: at(2), content: "x" },
      /the end \(line 2\) lies before the start \(line 3\)/,
    ],
    [{ op: "replace", start: "what", content: "x" }, /is not an anchor/],
    [{ op: "replace", start: "0:abc", content: "x" }, /lines count from 1/],
  ];
  for (const [edit, message] of FIELDS) {
    it(`refuses ${JSON.stringify(edit)}`, () => assert.match(plan([edit]), message));
  }

  it("takes content as lines, whatever its line ends", () => {
    const insert = (content: string) => plan([{ op: "insert_after", start: at(1), content }]);
    assert.equal(insert("x"), "a\nx\nb\nc\nd\n");
    assert.equal(insert("x\n"), "a\nx\nb\nc\nd\n");
    assert.equal(insert("x\r\ny\r\n"), "a\nx\ny\nb\nc\nd\n");
    assert.equal(insert("x\n\n"), "a\nx\n\nb\nc\nd\n");
    assert.equal(insert("\n"), "a\n\nb\nc\nd\n");
    assert.equal(insert("\n\n"), "a\n\n\nb\nc\nd\n");
  });

  it("writes a blank line with an ending where the file has no final newline", () => {
    const edit = (op: Edit["op"]) => plan([{ op, start: at(2, "a\nb"), content: "\n" }], "a\nb");
    assert.equal(edit("insert_after"), "a\nb\n\n");
    assert.equal(edit("replace"), "a\n\n");
    assert.equal(plan([{ op: "replace_all", old: "b", new: "" }], "a\nb").split("!")[0], "a\n");
  });

  it("accepts an end equal to the start, also for an insertion", () => {
    assert.equal(
      plan([{ op: "insert_after", start: at(4), end: at(4), content: "x" }]),
      "a\nb\nc\nd\nx\n",
    );
    assert.equal(plan([{ op: "delete", start: at(4), end: at(4) }]), "a\nb\nc\n");
  });

  it("reports every point of a call that cannot be done, by number", () => {
    const text = plan([
      { op: "delete", start: "1:zzz" },
      { op: "delete", start: at(2) },
      { op: "delete", start: "9" },
    ]);
    assert.match(text, /edit 1: 1:zzz was never shown/);
    assert.match(text, /edit 3: line 9 does not exist: the file has 4 lines/);
    assert.doesNotMatch(text, /edit 2/);
  });

  it("refuses replace_text where the text occurs twice, overlapping ones included", () => {
    assert.match(plan([{ op: "replace_text", old: "aa", new: "b" }], "aaa\n"), /more than once/);
    assert.equal(plan([{ op: "replace_text", old: "b\nc", new: "x" }]), "a\nx\nd\n");
  });

  it("says how many occurrences replace_all found", () => {
    assert.equal(
      plan([{ op: "replace_all", old: "x", new: "y" }], "x x\nx\n"),
      "y y\ny\n!3 occurrences replaced",
    );
  });

  const HINTS: [file: string, old: string, hint: RegExp][] = [
    [
      "all:\n\tcc\n\t@echo done\n",
      "    @echo",
      /Line 3 is near: the file has a TAB where old has 4 spaces/,
    ],
    ["x  = 1\n", "x = 1", /the file has 2 spaces where old has 1 space/],
    ["a   \nb\n", "a\nb", /the file has 3 spaces where old has the line end/],
    ["say “hi”\n", 'say "hi"', /the file has “ \(U\+201C\) where old has "/],
    ["a b\n", "a\u00a0b", /the file has 1 space where old has blanks \(U\+00A0\)/],
    [
      "if (x) {\n  a();\n}\n",
      "if (x) {\n  b();\n}",
      /first line occurs at line 1, but what follows differs/,
    ],
    ["a\n", "1:dog|a", /holds an anchor \(1:dog\|\)/],
    ["a\nb\n", "a\n2:dog|b", /holds an anchor \(2:dog\|\)/],
    ["one two\nlet total = sum;\n", "const total = sum(x)", /line most like it is line 2$/],
    ["one two\nthree\n", "four five six", /^error: old does not occur in the file$/],
    ["a\n", "zebra", /^error: old does not occur in the file$/],
  ];
  for (const [file, old, hint] of HINTS) {
    it(`explains why ${JSON.stringify(old)} is not in ${JSON.stringify(file)}`, () => {
      assert.match(plan([{ op: "replace_all", old, new: "new" }], file), hint);
    });
  }

  it("survives any text that is not found", PATIENT, () => {
    const odd = fc.string({
      unit: fc.constantFrom("a", " ", "\t", "(", "[", "\\", "-", "^", "“", "\n", "*"),
    });
    fc.assert(
      fc.property(odd, odd, (content, old) => {
        if (content === "" || old === "") return;
        assert.equal(
          plan([{ op: "replace_all", old, new: "n" }], content).startsWith("error"),
          !content.includes(old),
        );
      }),
      { numRuns: 300 * RUNS },
    );
  });

  it("writes control characters and says so", () => {
    assert.equal(
      plan([{ op: "replace", start: at(1), content: "\x1b[0m" }]),
      "\x1b[0m\nb\nc\nd\n!the text holds control characters (U+001B), written as they are",
    );
  });

  it("notes repeated context, but no closing brace that was there before", () => {
    assert.match(
      plan([{ op: "insert_after", start: at(2), content: "b\nNEW" }]),
      /first new line equals line 2/,
    );
    assert.match(
      plan([{ op: "insert_before", start: at(2), content: "NEW\nb" }]),
      /last new line equals line 2/,
    );
    assert.match(
      plan([{ op: "replace", start: at(1), content: "A\nb" }]),
      /last new line equals line 2/,
    );
    const braces = "f {\n  x\n}\n}\n";
    const block = { op: "replace" as const, start: at(2, braces), end: at(3, braces) };
    assert.equal(plan([{ ...block, content: "  y\n}" }], braces), "f {\n  y\n}\n}\n");
  });

  it("refuses content that repeats anchors only where all of it does, and only shown ones", () => {
    const replace = (content: string) => plan([{ op: "replace", start: at(2), content }]);
    const refusal = /every line of the new text begins with an anchor/;
    assert.match(replace(`${at(2)}|B\n${at(3)}|C`), refusal);
    assert.match(plan([{ op: "replace_text", old: "b", new: `${at(2)}|B\n` }]), refusal);
    const note = `!the new text holds anchors that were shown (first ${at(2)}|), which now stand ` +
      "in the file; remove them if that is not meant";
    assert.equal(replace(`${at(2)}|B\nC`), `a\n${at(2)}|B\nC\nc\nd\n${note}`);
    assert.equal(replace("12:34abc|x"), "a\n12:34abc|x\nc\nd\n");
  });

  it("takes a line that replace_all joined with another only together with it", () => {
    const join: Edit = { op: "replace_all", old: "a\nb", new: "ab" };
    assert.match(
      plan([join, { op: "delete", start: at(1) }]),
      /line 1 was already changed by .* \(lines 1-2\)/,
    );
    assert.equal(
      plan([join, { op: "replace", start: at(1), end: at(2), content: "X" }]).split("!")[0],
      "X\nc\nd\n",
    );
    assert.match(
      plan([join, { op: "insert_after", start: at(1), content: "x" }]),
      /falls inside lines 1-2/,
    );
    assert.match(
      plan([join, { op: "insert_after", start: at(2), content: "x" }]),
      /^ab\nx\nc\nd\n/,
    );
  });

  it("keeps each line end of mixed ones that a literal spans", () => {
    const literal: Edit = { op: "replace_text", old: "a\nb\nc", new: "A\nB\nC\nD" };
    assert.equal(plan([literal], "a\r\nb\nc\r\nd\n"), "A\r\nB\nC\nD\r\nd\n");
    assert.equal(
      plan([{ ...literal, old: "b", new: "b\nb" }], "a\r\nb\nc\r\n"),
      "a\r\nb\nb\nc\r\n",
    );
  });

  it("leaves the next line alone where a literal takes whole lines away", () => {
    const take: Edit = { op: "replace_all", old: "b\n", new: "" };
    assert.match(plan([take, { op: "replace", start: at(3), content: "C" }]), /^a\nC\nd\n/);
    assert.match(
      plan([take, { op: "replace", start: at(2), content: "B" }]),
      /line 2 was already changed/,
    );
  });
});
