import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AskRequest } from "../../src/loop/permit.ts";
import { approvalBox, approvalQuestion, parseAnswer } from "../../src/ui/terminal/approval.ts";
import { makeTheme } from "../../src/ui/colors.ts";

const plain = makeTheme(false);
const SIZE = { columns: 80, rows: 24 };

const request = (more: Partial<AskRequest>): AskRequest => ({
  call: "c1",
  tool: "Edit",
  title: "src/a.ts",
  effects: [{ kind: "write", path: "/work/src/a.ts" }],
  preview: "",
  reason: "",
  scope: "edits inside the workspace",
  ...more,
});

describe("the answer to an approval", () => {
  const answers: [string, ReturnType<typeof parseAnswer>][] = [
    ["", { decision: "allow" }],
    ["y", { decision: "allow" }],
    [" YES ", { decision: "allow" }],
    ["a", { decision: "allow", remember: true }],
    ["always", { decision: "allow", remember: true }],
    ["n", { decision: "deny" }],
    ["No", { decision: "deny" }],
    ["use the other file", { decision: "deny", reason: "use the other file" }],
    ["yes but only one", { decision: "deny", reason: "yes but only one" }],
    ["ja", { decision: "deny", reason: "ja" }],
  ];
  for (const [text, expected] of answers) {
    it(JSON.stringify(text), () => assert.deepEqual(parseAnswer(text), expected));
  }
  it("v shows all only where something is folded", () => {
    assert.equal(parseAnswer("v", 12), "view");
    assert.deepEqual(parseAnswer("v", 0), { decision: "deny", reason: "v" });
  });
});

describe("the question of trust", () => {
  const effects = [{ kind: "trust" as const, what: "the plugin x\u202e" }];
  it("takes nothing for no, knows no always, and says so", () => {
    assert.deepEqual(parseAnswer("", 0, effects), { decision: "deny" });
    assert.deepEqual(parseAnswer("y", 0, effects), { decision: "allow" });
    assert.deepEqual(parseAnswer("a", 0, effects), { decision: "deny", reason: "a" });
    const asked = request({ effects, scope: "" });
    assert.deepEqual(approvalQuestion(asked, 0), ["Trust it? [y/N or reason]"]);
    assert.match(
      approvalBox(asked, plain, SIZE).lines.join("\n"),
      /trusts from now on: the plugin x\\u202e/,
    );
  });
});

describe("the approval box", () => {
  it("shows call, diff and resolved path", () => {
    const { lines, hidden } = approvalBox(request({ preview: "-old\n+new\n" }), plain, SIZE);
    assert.deepEqual(lines, ["● Edit src/a.ts", "  -old", "  +new", "  writes /work/src/a.ts"]);
    assert.equal(hidden, 0);
  });
  it("colours a diff, not a command", () => {
    const colors = makeTheme(true);
    const diff = approvalBox(request({ preview: "-old\n+new" }), colors, SIZE).lines.join("\n");
    assert.match(diff, /\x1b\[31m-old/);
    assert.match(diff, /\x1b\[32m\+new/);
    const command = request({
      tool: "Bash",
      preview: "+x",
      effects: [{ kind: "exec", command: "+x", cwd: "/work" }],
    });
    assert.ok(approvalBox(command, colors, SIZE).lines.includes("  +x"));
  });
  it("shows a command whole, however long, with where it runs", () => {
    const command = Array.from({ length: 100 }, (_, i) => `echo ${i}`).join("\n");
    const { lines, hidden } = approvalBox(
      request({
        tool: "Bash",
        title: "echo 0…",
        effects: [{ kind: "exec", command, cwd: "/work" }],
      }),
      plain,
      SIZE,
    );
    assert.equal(hidden, 0);
    assert.ok(lines.includes("  runs in /work:"));
    for (let i = 0; i < 100; i++) assert.ok(lines.includes(`    echo ${i}`));
  });
  it("does not repeat a command that the preview shows", () => {
    const effects = [{ kind: "exec", command: "make", cwd: "/work" } as const];
    assert.deepEqual(
      approvalBox(request({ tool: "Bash", title: "make", preview: "make", effects }), plain, SIZE)
        .lines,
      [
        "● Bash make",
        "  make",
        "  runs in /work",
      ],
    );
  });
  it("folds a long diff to the screen and says how to see all", () => {
    const preview = Array.from({ length: 300 }, (_, i) => `+line ${i}`).join("\n");
    const folded = approvalBox(request({ preview }), plain, SIZE);
    assert.ok(folded.lines.length <= SIZE.rows - 6, String(folded.lines.length));
    assert.ok(folded.lines.some((line) => line.includes(`${folded.hidden} more lines; answer v`)));
    assert.equal(folded.lines.filter((line) => line.includes("+line")).length + folded.hidden, 300);
    assert.match(approvalQuestion(request({}), folded.hidden)[0] ?? "", /\[Y\/n\/a or reason\].*v/);
    const all = approvalBox(request({ preview }), plain, SIZE, true);
    assert.equal(all.hidden, 0);
    assert.equal(all.lines.filter((line) => line.includes("+line")).length, 300);
  });
  it("folds a line that is longer than the screen", () => {
    const { lines, hidden } = approvalBox(
      request({ preview: `+${"漢".repeat(100_000)}` }),
      plain,
      SIZE,
    );
    assert.equal(hidden, 1);
    assert.ok(lines.join("").length < 3000);
  });
  it("shows hidden characters in everything", () => {
    const evil = "a\x1b[2K\u202eb";
    const { lines } = approvalBox(
      request({
        tool: evil,
        title: evil,
        preview: evil,
        reason: evil,
        effects: [
          { kind: "read", path: evil },
          { kind: "exec", command: `x${evil}`, cwd: evil },
          { kind: "net", host: evil },
          { kind: "spend", what: evil },
        ],
      }),
      plain,
      SIZE,
    );
    assert.doesNotMatch(
      lines.join("\n") + approvalQuestion(request({ scope: evil }), 0).join(""),
      /[\x1b\u202e]/,
    );
    assert.ok(lines.every((line) => line.includes("\\x1b[2K\\u202e")));
  });
  it("survives screens of any size", () => {
    for (const columns of [1, 7, 200]) {
      for (const rows of [1, 5, 100]) {
        const preview = "+漢字\n".repeat(50);
        assert.ok(approvalBox(request({ preview }), plain, { columns, rows }).lines.length > 2);
      }
    }
  });
});
