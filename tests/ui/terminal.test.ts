import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, afterEach, before, describe, it as test } from "node:test";
import { interactive } from "../../src/ui/terminal/terminal.ts";
import { width } from "../../src/ui/text.ts";
import { Tmux, type TmuxOptions } from "../support/tmux.ts";

const ROOT = resolve(import.meta.dirname ?? ".", "../..");

describe("without a terminal", () => {
  test("the interactive session does not begin, and says what to use", async () => {
    const stdin = Object.assign(Object.create(process.stdin) as typeof process.stdin, {
      isTTY: false,
    });
    const session = interactive({
      stdin,
      async *run() {},
      queue: () => () => true,
      commands: [],
      info: "",
      historyFile: null,
    });
    await assert.rejects(session, /needs a terminal.*nanocode -p/);
  });
});

// The rest drives the session in tmux. It runs on Bun only, the runtime of the binary: the demo program
// is started with the runtime that runs the tests, and once is enough for two cores.
if ("Bun" in globalThis) {
  /** The machine may be slow; conditions have a deadline of their own. */
  const it = (name: string, run: () => Promise<void>) => test(name, { timeout: 60_000 }, run);

  describe("in a terminal", () => {
    let folder = "";
    let open: Tmux[] = [];
    let files = 0;
    before(() => {
      folder = mkdtempSync(join(tmpdir(), "nanocode-ui-"));
    });
    afterEach(() => {
      for (const terminal of open) terminal.kill();
      open = [];
    });
    after(() => rmSync(folder, { recursive: true }));

    /** Starts the demo; after it a shell says how it ended and how it left the terminal. */
    async function demo(
      { env = {}, ...options }: TmuxOptions & { env?: Record<string, string> } = {},
    ) {
      const log = join(folder, `log-${++files}`);
      const variables = Object.entries({ UI_DEMO_LOG: log, ...env })
        .map(([name, value]) => `${name}='${value}'`).join(" ");
      const script = [
        "trap : INT", // a Ctrl-C outside of raw mode is for the program, not for this shell
        `env ${variables} "${process.execPath}" tests/support/ui-demo.ts`,
        'echo "exit=$?"',
        "stty -a | grep -Eo -- '-?(icanon|isig)' | tr '\\n' ' '",
        "exec cat -v",
      ].join("; ");
      const terminal = new Tmux(script, { cwd: ROOT, ...options });
      open.push(terminal);
      await terminal.until(/demo session|echo/);
      const entries = () =>
        existsSync(log)
          ? readFileSync(log, "utf8").trimEnd().split("\n").map((line) =>
            JSON.parse(line) as Record<string, unknown>
          )
          : [];
      return Object.assign(terminal, {
        entries,
        /** The prompts that reached the agent. */
        prompts: () => entries().filter(({ text }) => text !== undefined).map(({ text }) => text),
        async send(text: string) {
          terminal.type(text);
          terminal.press("Enter");
          await terminal.until(/./);
        },
        /** After the program: modes off, cursor shown, pastes plain again. */
        async restored(code: number) {
          await terminal.until(new RegExp(`exit=${code}\\b`));
          await terminal.until(/ icanon|^icanon/m);
          assert.doesNotMatch(terminal.screen(), /-icanon|-isig/);
          assert.equal(terminal.format("#{cursor_flag}#{wrap_flag}"), "11");
          const file = join(folder, `paste-${++files}`);
          writeFileSync(file, "pasted after");
          terminal.paste(file);
          await terminal.until(/ pasted after/);
        },
      });
    }

    /** A file with what is to be pasted. */
    function clipboard(text: string): string {
      const file = join(folder, `clip-${++files}`);
      writeFileSync(file, text);
      return file;
    }

    it("answers, and leaves the terminal as it was", async () => {
      const t = await demo();
      await t.send("hello");
      const screen = await t.until(
        /done · 1 step · 12\.3k tokens in, 678 out · 81% cached · \$0\.0123/,
      );
      assert.match(
        screen,
        /> hello\n\nthinking about it\n\nHello 漢字 👩\u200d💻 done\nsecond line\n\ndone/,
      );
      await t.send("tools");
      await t.until(/I will look\.\n\n● Read src\/a\.ts 1:80\n {2}└ 80 lines\n\nAll fine\.\n/);
      t.press("C-d");
      await t.restored(0);
      assert.doesNotMatch(t.screen(), /^>$/m);
    });

    it("starts with the prompt it was given", async () => {
      const t = await demo({ env: { UI_DEMO_FIRST: "hello" } });
      await t.until(/second line\n\ndone/);
      assert.deepEqual(t.prompts(), ["hello"]);
    });

    it("shows what a model says, and is not steered by it", async () => {
      const t = await demo();
      await t.send("hostile");
      await t.until(/title \\x1b\]0;owned\\x07 bidi \\u202e zero\\u200bwidth \\x9b31m/);
      assert.notEqual(t.format("#{pane_title}"), "owned");
    });

    describe("TU-01 pastes", () => {
      it("several lines in brackets are one request", async () => {
        const t = await demo();
        t.paste(clipboard("line1\nline2\n\nline4"));
        await t.until(/> line1\n {2}line2\n\n {2}line4/);
        t.press("Enter");
        await t.until(/got 4 lines/);
        assert.deepEqual(t.prompts(), ["line1\nline2\n\nline4"]);
      });
      it("several lines without brackets, in one burst, are one request", async () => {
        const t = await demo();
        t.paste(clipboard("line1\nline2\n\nline4"), false);
        await t.until(/> line1\n {2}line2\n\n {2}line4/);
        t.press("Enter");
        await t.until(/got 4 lines/);
        assert.deepEqual(t.prompts(), ["line1\nline2\n\nline4"]);
      });
      it("a false end and control bytes do no harm", async () => {
        const t = await demo();
        t.paste(clipboard("one\x1b[201~\rtwo\x07\x1b[31m\x9b three\nfour"));
        await t.until(/four/);
        t.press("Enter");
        await t.until(/got 3 lines/);
        assert.deepEqual(t.prompts(), ["one\ntwo three\nfour"]);
      });
      for (const bracketed of [true, false]) {
        it(`a megabyte ${bracketed ? "in" : "without"} brackets is one request`, async () => {
          const t = await demo();
          const text = Array.from({ length: 30_000 }, (_, i) => `line ${i} of a paste 漢字`).join(
            "\n",
          );
          t.paste(clipboard(text), bracketed);
          await t.until(/line 29999 of a paste 漢字/);
          t.press("Enter");
          await t.until(/got 30000 lines/);
          assert.equal(t.prompts().length, 1);
          assert.ok(t.prompts()[0] === text);
          await t.until(/… 29980 more lines/, () => t.history());
        });
      }
    });

    describe("TU-03 sizes", () => {
      it("survives any width while text streams and something is typed", async () => {
        const t = await demo({ columns: 120 });
        await t.send("flood");
        await t.until(/漢字/);
        t.type("typed 漢字");
        // Something must have been drawn at one size before the next one comes.
        const file = join(folder, `raw-${++files}`);
        t.run("pipe-pane", `cat > '${file}'`);
        const drawn = () => existsSync(file) ? statSync(file).size : 0;
        const moreDrawn = async () => {
          const before = drawn();
          await t.until(/yes/, () => drawn() > before + 2000 ? "yes" : "no");
        };
        for (const columns of [7, 3, 40, 200, 7]) {
          t.resize(columns, 24);
          await moreDrawn();
        }
        // Wide again, no line of the output is lost. (A live area that suddenly is taller than the
        // screen leaves a copy in the scrollback: the terminal reflows before it tells.)
        t.resize(200, 50);
        await moreDrawn();
        const found = t.history().matchAll(/(\d+) 漢字かな/g);
        const seen = new Set([...found].map((match) => Number(match[1])));
        for (let i = 0; i < Math.max(...seen); i++) assert.ok(seen.has(i), `line ${i} is lost`);
        assert.ok(seen.size > 20);
        // tmux itself cannot be narrower: 3.3a dies of wide characters in one column.
        for (const [columns, rows] of [[1, 24], [0, 0], [2, 2], [1, 1]]) {
          execFileSync("stty", [
            ...["-F", t.format("#{pane_tty}")],
            ...["cols", String(columns), "rows", String(rows)],
          ]);
          await moreDrawn();
        }
        t.resize(100, 30);
        await t.until(/Esc interrupts.*\n> typed 漢字$/m);
        t.press("Escape");
        await t.until(/interrupted · 1 step[^\n]*\n\n> typed 漢字\n/);
      });
      it("leaves nothing of the prompt behind when a terminal that reflows gets narrow", async () => {
        const t = await demo({ columns: 120 });
        // A full screen: with room below, tmux moves the upper rows out of reach when it reflows.
        for (let i = 0; i < 3; i++) await t.send("/help");
        await t.until(/(Ctrl-D +leave[^]*){2}\n>\n*$/);
        const text = "漢字 and more words, ".repeat(12).trim();
        t.type(text);
        let since = performance.now();
        /** Has the prompt been laid out for this width, and arrived, so that it is reckoned with? */
        const drawn = (columns: number) => {
          const rows = t.screen().trimEnd().split(/^> /m).at(-1)?.split("\n") ?? [];
          const whole = rows.map((row) => row.trim()).join("").replaceAll(" ", "");
          const first = width(rows[0] ?? "") + 2;
          const fits = first <= columns && first > columns - 5 &&
            rows.slice(1).every((row) => row.startsWith("  "));
          const now = performance.now();
          if (!fits || whole !== text.replaceAll(" ", "")) since = now;
          return now - since > 100 ? "yes" : "no";
        };
        await t.until(/yes/, () => drawn(120));
        for (const columns of [60, 40, 90, 50]) {
          since = performance.now();
          t.resize(columns, 24);
          await t.until(/yes/, () => drawn(columns));
        }
        t.press("C-c");
        const history = await t.until(/\n\n> ?\n*$/, () => t.history());
        assert.doesNotMatch(history, /漢字|words/);
        assert.equal(history.match(/Ctrl-D +leave/g)?.length, 3);
      });
    });

    it("queues what is typed while a turn runs", async () => {
      const t = await demo();
      await t.send("steer");
      await t.until(/wait for the queue/);
      await t.send("go left");
      await t.until(/> go left\n\nsteered by go left/);
      assert.deepEqual(t.prompts(), ["steer"]);
    });

    it("sends what was queued too late as the next turn", async () => {
      const t = await demo();
      const flag = join(folder, `flag-${++files}`);
      await t.send(`busy ${flag}`);
      await t.until(/● Bash busy/);
      await t.send("hello");
      await t.until(/queued: hello/);
      writeFileSync(flag, "");
      await t.until(/no longer busy[^]*> hello\n[^]*second line\n\ndone/);
      assert.deepEqual(t.prompts(), [`busy ${flag}`, "hello"]);
    });

    it("Esc and Ctrl-C interrupt; what was queued goes back to the prompt", async () => {
      const t = await demo();
      for (const key of ["Escape", "C-c"]) {
        await t.send("stuck");
        await t.until(/tick \d+/);
        await t.send("later");
        await t.until(/queued: later/);
        t.press(key);
        await t.until(/● Bash sleep 1000\n {2}└ interrupted\n\ninterrupted[^\n]*\n\n> later\n/);
        t.press("C-u");
        await t.until(/^>$/m);
      }
      assert.deepEqual(t.prompts(), ["stuck", "stuck"]);
    });

    it("Ctrl-C clears what is typed, then says how to leave, then leaves", async () => {
      const t = await demo();
      t.type("typed");
      await t.until(/> typed/);
      t.press("C-c");
      await t.until(/^>$/m);
      t.press("C-c");
      await t.until(/Press Ctrl-C again to leave/);
      t.press("C-c");
      await t.restored(0);
    });

    it("Ctrl-C twice leaves a turn that does not stop", async () => {
      const t = await demo();
      await t.send("hang");
      await t.until(/● Bash hang/);
      t.press("C-c");
      await t.until(/interrupting/);
      t.press("C-c");
      await t.restored(130);
    });

    describe("approval", () => {
      const answers: [keys: string[], expected: unknown][] = [
        [["Enter"], { decision: "allow" }],
        [["a", "Enter"], { decision: "allow", remember: true }],
        [["wrong file", "Enter"], { decision: "deny", reason: "wrong file" }],
      ];
      it("takes yes, always and a reason to refuse", async () => {
        const t = await demo();
        for (const [keys, expected] of answers) {
          await t.send("ask");
          await t.until(
            /-old\n {2}\+new\n {2}writes \/work\/src\/a\.ts\n[^]*Allow\? \[Y\/n\/a or reason\]/,
          );
          t.press(...keys);
          await t.until(/^{"answer/, () => JSON.stringify(t.entries().at(-1)));
          assert.deepEqual(t.entries().at(-1)?.answer, expected);
          await t.until(/\ndone[^\n]*\n\n>\n*$/);
        }
      });
      it("shows a long diff folded, and whole on request", async () => {
        const t = await demo();
        await t.send("ask long");
        await t.until(/more lines; answer v to see all[^]*Allow\?/);
        assert.doesNotMatch(t.history(), /line 299/);
        t.type("v");
        t.press("Enter");
        await t.until(/line 299 漢字\n[^]*Allow\? \[Y\/n\/a or reason\]\n/);
        t.press("Enter");
        await t.until(/answer: /);
      });
      for (const key of ["Escape", "C-c"]) {
        it(`is refused by ${key}, which interrupts the turn`, async () => {
          const t = await demo();
          await t.send("ask");
          await t.until(/Allow\?/);
          t.press(key);
          await t.until(/^interrupted/m);
          assert.deepEqual(t.entries().at(-1)?.answer, { decision: "deny" });
        });
      }
      it("does not take what is being typed for the queue", async () => {
        const t = await demo();
        // Keys keep coming until the question is there and waits. (Should this machine stop for so
        // long that the question opens first, it is asked again.)
        for (let tries = 0; !/until you stop typing/.test(t.screen()); tries++) {
          assert.ok(tries < 1000);
          if (/Allow\?/.test(t.screen())) {
            t.press("Escape");
            await t.until(/interrupted[^\n]*\n\n>/);
          }
          if (!/Esc interrupts/.test(t.screen())) {
            t.press("C-u");
            await t.send("ask delayed");
          }
          t.type("x");
        }
        t.press("Enter");
        await t.until(/queued: x+/);
        await t.until(/Allow\?/);
        t.press("Enter");
        await t.until(/answer: {"decision":"allow"}/);
      });
    });

    it("keeps inputs for the next session, for the owner only", async () => {
      const history = join(folder, "history");
      const env = { UI_DEMO_HISTORY: history };
      const first = await demo({ env });
      await first.send("hello");
      await first.until(/second line/);
      await first.send("tools");
      await first.until(/All fine/);
      first.press("C-d");
      await first.restored(0);
      assert.equal(statSync(history).mode & 0o777, 0o600);
      const t = await demo({ env });
      t.press("Up", "Up");
      await t.until(/^> hello/m);
      t.press("Down");
      await t.until(/^> tools/m);
      t.press("C-u", "C-r");
      t.type("hel");
      await t.until(/search: hel\n> hello/);
      t.press("Enter", "Enter");
      await t.until(/second line/);
    });

    it("runs commands, and names the nearest for an unknown one", async () => {
      const t = await demo();
      await t.send("/help");
      await t.until(/\/status +say that all is well/);
      await t.send("/statsu");
      await t.until(/no command \/statsu\. Did you mean \/status\?/);
      await t.send("/status today");
      await t.until(/all is well today/);
      await t.send("/review a.ts");
      await t.until(/got 1 lines/);
      assert.deepEqual(t.prompts(), ["echo review a.ts"]);
      await t.send("/exit");
      await t.restored(0);
    });

    const ends = [["a crash", "crash", 1], ["process.exit", "exit", 3], [
      "SIGTERM",
      "stuck",
      143,
    ]] as const;
    for (const [what, prompt, code] of ends) {
      it(`restores the terminal after ${what}`, async () => {
        const t = await demo();
        await t.send(prompt);
        if (prompt === "stuck") {
          await t.until(/tick/);
          const shell = t.format("#{pane_pid}");
          const children = execFileSync("ps", ["-o", "pid=", "--ppid", shell], {
            encoding: "utf8",
          });
          process.kill(Number(children.trim().split(/\s+/)[0]), "SIGTERM");
        }
        await t.restored(code);
        if (prompt === "crash") assert.match(t.screen(), /error: scripted crash/);
      });
    }

    describe("TU-05 colours", () => {
      /** Everything the program writes, byte for byte. */
      async function raw(env: Record<string, string>): Promise<string> {
        const file = join(folder, `raw-${++files}`);
        const t = await demo({ env });
        t.run("pipe-pane", `cat > '${file}'`);
        await t.send("tools");
        await t.until(/All fine[^]*81% cached/);
        t.press("C-d");
        await t.until(/exit=0/);
        await t.until(/exit=0/, () => readFileSync(file, "utf8"));
        return readFileSync(file, "utf8");
      }
      const SGR = /\x1b\[[1-9][\d;]*m/;
      it("are there", async () => assert.match(await raw({ NO_COLOR: "" }), SGR));
      it("are not there with NO_COLOR", async () => {
        assert.doesNotMatch(await raw({ NO_COLOR: "1", FORCE_COLOR: "1" }), SGR);
      });
      it("nor is any escape code with TERM=dumb", async () => {
        const text = await raw({ TERM: "dumb" });
        assert.match(text, /● Read src\/a\.ts 1:80\r\n/);
        assert.doesNotMatch(text, /\x1b/);
      });
    });

    it("works on plain lines with TERM=dumb", async () => {
      const t = await demo({ env: { TERM: "dumb" } });
      await t.send("ask");
      await t.until(/Allow\? \[Y\/n\/a or reason\]/);
      await t.send("not now");
      await t.until(/answer: {"decision":"deny","reason":"not now"}/);
      await t.send("stuck");
      await t.until(/> stuck/);
      t.press("C-c");
      await t.until(/interrupted/);
      t.press("C-d");
      await t.restored(0);
    });
  });
}
