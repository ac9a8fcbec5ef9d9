import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { View } from "../../src/ui/terminal/layout.ts";
import { reflows, Screen } from "../../src/ui/terminal/screen.ts";
import { wrap } from "../../src/ui/text.ts";
import { VirtualTerminal } from "./vt.ts";

const RUNS = Number(process.env.NANOCODE_RUNS ?? 1);
/** Options of a test whose runs multiply. */
const DEEP = { timeout: 60_000 * Math.max(1, RUNS) };

function screenOn(terminal: VirtualTerminal, view: () => View): Screen {
  const port = {
    write: (text: string) => terminal.write(text),
    size: () => ({ columns: terminal.columns, rows: terminal.height }),
  };
  return new Screen(port, view, { reflows: false });
}

const viewOf = (lines: string[], row: number, column: number): View => ({
  rows: lines.map((text) => ({ text })),
  cursor: { row, column },
});

describe("screen", () => {
  it("draws output above the live area and puts the cursor into the prompt", () => {
    const terminal = new VirtualTerminal(20, 6);
    let view = viewOf(["status", "> "], 1, 2);
    const screen = screenOn(terminal, () => view);
    screen.flush();
    screen.print("one\ntwo");
    view = viewOf(["status 2", "more", "> abc"], 2, 4);
    screen.flush();
    assert.deepEqual(terminal.screen, ["one", "two", "status 2", "more", "> abc"]);
    assert.deepEqual(terminal.cursor, { row: 4, column: 4 });
    view = viewOf(["> "], 0, 2);
    screen.flush();
    assert.deepEqual(terminal.screen, ["one", "two", "> "].map((row) => row.trimEnd()));
    screen.print("three");
    screen.close();
    assert.deepEqual(terminal.screen, ["one", "two", "three", ""]);
  });
  it("scrolls output into the scrollback, and nothing of the live area", () => {
    const terminal = new VirtualTerminal(20, 4);
    const screen = screenOn(terminal, () => viewOf(["status", "> "], 1, 2));
    for (let i = 0; i < 10; i++) {
      screen.print(`line ${i}`);
      screen.flush();
    }
    assert.deepEqual(terminal.scrollback, Array.from({ length: 8 }, (_, i) => `line ${i}`));
    assert.deepEqual(terminal.screen, ["line 8", "line 9", "status", ">"]);
  });
  it("keeps of a live area that is too tall the rows at the prompt", () => {
    const terminal = new VirtualTerminal(20, 3);
    const screen = screenOn(terminal, () => viewOf(["a", "b", "c", "d", "> "], 4, 2));
    screen.flush();
    screen.flush();
    assert.deepEqual(terminal.screen, ["c", "d", ">"]);
    assert.deepEqual(terminal.scrollback, []);
  });
  it("takes a size of 0 for unknown", () => {
    let written = "";
    const port = {
      write: (text: string) => (written += text),
      size: () => ({ columns: 0, rows: 0 }),
    };
    const screen = new Screen(port, () => viewOf(["x".repeat(200)], 0, 0), { reflows: true });
    screen.flush();
    assert.match(written, /x{79}…/);
  });
  it("many changes make one frame", async () => {
    const terminal = new VirtualTerminal(20, 6);
    let frames = 0;
    const screen = screenOn(terminal, () => {
      frames++;
      return viewOf([`frame ${frames}`], 0, 0);
    });
    for (let i = 0; i < 100; i++) screen.refresh();
    while (frames === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    assert.equal(frames, 1);
    screen.close();
    screen.refresh();
    screen.print("late");
    screen.flush();
    assert.equal(frames, 1);
  });
  it("never loses, doubles or garbles a line of output, whatever the live area does", DEEP, () => {
    const text = fc.array(fc.constantFrom("a", "漢", "👩\u200d💻", "word ", "e\u0301"), {
      maxLength: 30,
    })
      .map((parts) => parts.join("").trimEnd());
    const step = fc.record({
      print: fc.array(text, { maxLength: 3 }),
      live: fc.array(text, { minLength: 1, maxLength: 6 }),
      row: fc.nat(5),
      column: fc.nat(30),
    });
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 12 }),
        fc.integer({ min: 2, max: 25 }),
        fc.integer({ min: 1, max: 8 }),
        (steps, columns, height) => {
          const terminal = new VirtualTerminal(columns, height);
          let view = viewOf([""], 0, 0);
          const screen = screenOn(terminal, () => view);
          const printed: string[] = [];
          for (const { print, live, row, column } of steps) {
            for (const line of print) {
              printed.push(...wrap(line, columns));
              screen.print(line);
            }
            view = viewOf(live, Math.min(row, live.length - 1), column);
            screen.flush();
          }
          screen.close();
          const seen = [...terminal.scrollback, ...terminal.screen];
          while (seen.at(-1) === "") seen.pop();
          const expected = printed.map((row) => row.trimEnd());
          while (expected.at(-1) === "") expected.pop();
          assert.deepEqual(seen, expected);
        },
      ),
      { numRuns: 200 * RUNS },
    );
  });
  it("waits until a screen that got narrower keeps its size, then erases what reflowed", async () => {
    let columns = 40;
    const written: string[] = [];
    const port = {
      write: (text: string) => written.push(text),
      size: () => ({ columns, rows: 24 }),
    };
    const screen = new Screen(port, () => viewOf(["x".repeat(39), "> "], 1, 2), { reflows: true });
    screen.flush();
    // The frame must be old enough to have certainly reached a terminal.
    const drawn = performance.now();
    while (performance.now() - drawn < 60) await new Promise((resolve) => setTimeout(resolve, 5));
    columns = 10;
    screen.flush();
    assert.equal(written.length, 1);
    while (written.length === 1) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.match(written[1] ?? "", /\r\x1b\[4A/);
    screen.close();
  });
  it("does not wait when the screen was narrow for a moment only", () => {
    let columns = 40;
    const written: string[] = [];
    const port = {
      write: (text: string) => written.push(text),
      size: () => ({ columns, rows: 24 }),
    };
    const screen = new Screen(port, () => viewOf(["x".repeat(39), "> "], 1, 2), { reflows: true });
    screen.flush();
    columns = 10;
    screen.flush();
    columns = 40;
    screen.flush();
    assert.equal(written.length, 2);
    assert.match(written[1] ?? "", /\r\x1b\[1A/);
    screen.close();
  });
  it("knows the terminals that do not reflow", () => {
    assert.equal(reflows({ TERM: "xterm-256color" }), true);
    assert.equal(reflows({ TERM: "xterm-256color", XTERM_VERSION: "XTerm(379)" }), false);
    assert.equal(reflows({ TERM: "linux" }), false);
    assert.equal(reflows({ TERM: "screen-256color", TMUX: "/tmp/x" }), true);
  });
});
