import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { AgentEvent } from "../../src/loop/events.ts";
import { interactive } from "../../src/ui/terminal/terminal.ts";
import { turnEnd } from "./fake.ts";
import type { TerminalInput, TerminalOutput } from "../../src/ui/terminal/tty.ts";

// The whole session on streams that only look like a terminal: what arrives in which chunk is ours to
// say, and it runs on every runtime. A real terminal is in terminal.test.ts.

describe("the session", () => {
  let folder = "";
  let files = 0;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "nanocode-session-"));
  });
  after(() => rmSync(folder, { recursive: true }));

  function session() {
    const modes: boolean[] = [];
    const prompts: string[] = [];
    let written = "";
    const stdin = Object.assign(new EventEmitter(), {
      isTTY: true,
      setRawMode: (on: boolean) => modes.push(on),
      resume() {},
      pause() {},
    });
    const file = join(folder, `tty-${++files}`);
    const fd = openSync(file, "w");
    const stdout = Object.assign(new EventEmitter(), {
      isTTY: true,
      columns: 80,
      rows: 24,
      fd,
      write(text: string, done?: () => void) {
        written += text;
        done?.();
        return true;
      },
    });
    const finished = interactive({
      stdin: stdin as unknown as TerminalInput,
      stdout: stdout as unknown as TerminalOutput,
      env: { TERM: "xterm", NO_COLOR: "1" },
      async *run(text): AsyncGenerator<AgentEvent> {
        prompts.push(text);
        yield turnEnd("");
      },
      queue: () => () => true,
      commands: [],
      info: "info",
      historyFile: null,
    });
    return {
      modes,
      prompts,
      stdin,
      stdout,
      feed: (...chunks: string[]) => {
        for (const chunk of chunks) stdin.emit("data", new TextEncoder().encode(chunk));
      },
      written: () => written,
      async end() {
        const code = await finished;
        closeSync(fd);
        return { code, last: readFileSync(file, "utf8") };
      },
    };
  }

  it("switches raw mode and bracketed paste on, and off again", async () => {
    const s = session();
    assert.deepEqual(s.modes, [true]);
    assert.ok(s.written().includes("\x1b[?2004h"));
    s.feed("\x04");
    const { code, last } = await s.end();
    assert.equal(code, 0);
    assert.deepEqual(s.modes, [true, false]);
    assert.match(last, /\x1b\[\?2004l.*\x1b\[\?25h/);
    assert.equal(s.stdin.listenerCount("data"), 0);
  });
  it("takes the chunks of a large unbracketed paste as one input", async () => {
    const s = session();
    const lines = `${"x".repeat(100)}\r`.repeat(20);
    s.feed(lines, "a line of its own\r", "the last");
    assert.deepEqual(s.prompts, []);
    s.feed("\r");
    assert.equal(s.prompts.length, 1);
    assert.match(s.prompts[0] ?? "", /x\na line of its own\nthe last$/);
    s.feed("/exit\r");
    await s.end();
  });
  it("takes Enter right after a small burst as Enter", async () => {
    const s = session();
    s.feed("one\rtwo", "\r");
    assert.deepEqual(s.prompts, ["one\ntwo"]);
    s.feed("/exit\r");
    await s.end();
  });
  it("tells Esc from a sequence that comes in two chunks", async () => {
    const s = session();
    s.feed("ab", "\x1b", "[D", "x", "\r");
    assert.deepEqual(s.prompts, ["axb"]);
    s.feed("/exit\r");
    await s.end();
  });
  it("ends when the terminal goes away", async () => {
    const s = session();
    s.stdin.emit("end");
    assert.equal((await s.end()).code, 129);
    const t = session();
    t.stdout.emit("error", Object.assign(new Error("gone"), { code: "EPIPE" }));
    assert.equal((await t.end()).code, 129);
  });
});
