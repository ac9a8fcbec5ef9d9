import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AgentEvent } from "../../src/loop/events.ts";
import { printRenderer } from "../../src/ui/print.ts";
import { TurnTally } from "../../src/ui/renderer.ts";
import { makeTheme } from "../../src/ui/colors.ts";
import { wantsColors } from "../../src/ui/theme.ts";
import { at, end, fakeOut, start, turnEnd, usage } from "./fake.ts";

async function print(
  events: AgentEvent[],
  { tty = { out: false, err: false }, colors = false } = {},
): Promise<{ stdout: string; stderr: string; both: string }> {
  const shared = { text: "" };
  const both = tty.out && tty.err ? shared : undefined;
  const stdout = fakeOut(tty.out, both);
  const stderr = fakeOut(tty.err, both);
  const renderer = printRenderer({ stdout, stderr, theme: makeTheme(colors) });
  const tally = new TurnTally();
  for (const event of events) {
    tally.add(event);
    renderer.event(event);
  }
  await renderer.end(tally.summary(0));
  return { stdout: stdout.text, stderr: stderr.text, both: shared.text };
}

const TURN = [
  at({ type: "turn_start", text: "hi", source: "typed", model: "m", provider: "p" }),
  at({ type: "text", text: "I will look.\n" }),
  start("c1", "Read", "src/a.ts 1:80"),
  end("c1", "Read", "80 lines"),
  usage(1000, 50, 0, 0.01),
  at({ type: "text", text: "The file is " }, 2),
  at({ type: "text", text: "fine." }, 2),
  usage(2000, 50, 1000, 0.01),
  turnEnd("The file is fine."),
];

describe("print", () => {
  it("puts only the answer on stdout, and progress on stderr", async () => {
    const { stdout, stderr } = await print(TURN);
    assert.equal(stdout, "The file is fine.\n");
    assert.equal(
      stderr,
      "I will look.\n● Read src/a.ts 1:80\n  └ 80 lines\n" +
        "done · 2 steps · 3.0k tokens in, 100 out · 33% cached · $0.0200 · 1.5 s\n",
    );
  });
  it("writes the text as it comes where both are a terminal, and the answer not twice", async () => {
    const { both } = await print(TURN, { tty: { out: true, err: true } });
    assert.equal(
      both,
      "I will look.\n● Read src/a.ts 1:80\n  └ 80 lines\nThe file is fine.\n" +
        "done · 2 steps · 3.0k tokens in, 100 out · 33% cached · $0.0200 · 1.5 s\n",
    );
  });
  it("begins a line of progress on a line of its own", async () => {
    const events = [
      at({ type: "text", text: "no line end" }),
      start("c1", "Read", "a"),
      turnEnd("no line end"),
    ];
    const { both } = await print(events, { tty: { out: true, err: true } });
    assert.match(both, /^no line end\n● Read a\ndone/);
  });
  it("names the call where results come after several calls", async () => {
    const events = [
      start("c1", "Read", "a"),
      start("c2", "Read", "b"),
      end("c1", "Read", "1 line"),
      end("c2", "Read", "2 lines"),
    ];
    const { stderr } = await print(events);
    assert.match(stderr, /^● Read a\n● Read b\n {2}└ Read a: 1 line\n {2}└ Read b: 2 lines\n/);
  });
  it("says that the history was compacted, how, and why without the model", async () => {
    const sizes = { before: 112_000, after: 31_000 };
    const { stdout, stderr } = await print([
      at({ type: "compact", how: "model", ...sizes }),
      at({ type: "compact", how: "folded", ...sizes }),
      at({ type: "compact", how: "mechanical", ...sizes, why: "HTTP 500:\n\x1b[2Jdown" }),
    ]);
    assert.equal(stdout, "");
    assert.deepEqual(stderr.split("\n").slice(0, 3), [
      "compacted: 112.0k → 31.0k tokens (summary by the model)",
      "compacted: 112.0k → 31.0k tokens (old results folded to one line each; Recall shows them)",
      "compacted: 112.0k → 31.0k tokens (summary made without the model: HTTP 500: \\x1b[2Jdown)",
    ]);
  });
  it("says what failed, was refused or skipped", async () => {
    const { stderr } = await print([
      start("c1", "Bash", "rm x"),
      end("c1", "Bash", "permission is needed", { status: "refused" }),
      end("c2", "Edit", "an earlier call was refused", { status: "skipped" }),
      end("c3", "Read", "no such file", { status: "error" }),
    ]);
    assert.match(stderr, /└ refused: permission is needed\n/);
    assert.match(stderr, /└ Edit: skipped: an earlier/);
    assert.match(stderr, /└ Read: error: no such file/);
  });
  it("drops the text of a failed attempt", async () => {
    const { stdout, stderr } = await print([
      at({ type: "text", text: "half an ans" }),
      at({ type: "retry", attempt: 2, waitMs: 4000, reason: "connection\nlost" }),
      at({ type: "text", text: "whole answer" }),
      turnEnd("whole answer"),
    ]);
    assert.equal(stdout, "whole answer\n");
    assert.match(stderr, /^retrying in 4\.0 s \(attempt 2\): connection lost\n/);
    assert.doesNotMatch(stderr, /half/);
  });
  it("takes a reply that another one follows for progress", async () => {
    const { stdout, stderr } = await print([
      at({ type: "text", text: "first" }),
      at({ type: "steer", text: "and?" }, 2),
      at({ type: "text", text: "second" }, 2),
      turnEnd("second"),
    ]);
    assert.equal(stdout, "second\n");
    assert.match(stderr, /^first\n/);
  });
  it("prints the answer also when a limit ended the turn, and says which", async () => {
    const limit = "Stopped after 2 steps: raise it with --max-steps";
    const { stdout, stderr } = await print([
      at({ type: "text", text: "so far" }),
      start("c1", "Read", "a"),
      end("c1", "Read", "1 line"),
      turnEnd("so far", { reason: "steps", detail: limit }),
    ]);
    assert.equal(stdout, "so far\n");
    assert.match(stderr, new RegExp(`${limit} · 2 steps`));
  });
  it("shows warnings, and errors with what to do", async () => {
    const { stderr } = await print([
      at({ type: "warn", message: "80% of the budget" }),
      at({ type: "error", message: "no key", hint: "Set OPENAI_API_KEY." }),
    ]);
    assert.match(stderr, /^warning: 80% of the budget\nerror: no key\n {2}Set OPENAI_API_KEY\.\n/);
  });
  it("writes no escape byte into a pipe, whatever the model or a tool says", async () => {
    const evil = "\x1b[31mred\x1b]0;t\x07\x9b2J";
    const { stdout, stderr } = await print([
      at({ type: "text", text: evil }),
      start("c1", evil, evil),
      end("c1", evil, evil, { status: "error" }),
      at({ type: "warn", message: evil }),
      at({ type: "error", message: evil, hint: evil }),
      turnEnd(evil, { reason: "steps", detail: evil }),
    ]);
    for (const text of [stdout, stderr]) assert.doesNotMatch(text, /[\x1b\x07\x9b]/);
    assert.match(stdout, /\\x1b\[31mred/);
  });
  it("colours only standard error", async () => {
    const { stdout, stderr } = await print(TURN, { colors: true });
    assert.doesNotMatch(stdout, /\x1b/);
    assert.match(stderr, /\x1b\[36m●/);
  });
});

describe("colours (TU-05)", () => {
  const cases: [boolean, Record<string, string>, boolean][] = [
    [true, {}, true],
    [true, { NO_COLOR: "" }, true],
    [true, { NO_COLOR: "1" }, false],
    [true, { TERM: "dumb" }, false],
    [false, {}, false],
    [false, { FORCE_COLOR: "1" }, false],
  ];
  for (const [isTTY, env, expected] of cases) {
    it(`${expected ? "on" : "off"} for tty=${isTTY} ${JSON.stringify(env)}`, () => {
      assert.equal(wantsColors({ isTTY }, env), expected);
      const painted = makeTheme(wantsColors({ isTTY }, env)).bad("x");
      assert.equal(painted.includes("\x1b"), expected);
    });
  }
});
