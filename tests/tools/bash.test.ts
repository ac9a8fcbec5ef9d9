// Bash: what the model and the person are told of a command (SH-03, SH-07, SH-10, SH-12, SH-14, SH-15,
// SH-16). How commands run and end is tests/host/processes.test.ts.

import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import fc from "fast-check";
import { boundResult, type SpilledText } from "../../src/context/results.ts";
import { parseToolArguments } from "../../src/tools/arguments.ts";
import { bash } from "../../src/tools/bash.ts";
import { escapeInvisible, PlainText } from "../../src/tools/plain-text.ts";
import type { ToolContext, ToolOutput } from "../../src/tools/tool.ts";
import { type ToolBench, toolBench } from "../support/tool-context.ts";
import { heavy } from "../support/heavy.ts";

const RUNS = Number(process.env.NANOCODE_RUNS ?? 1);
/** For a machine that has other work too. */
const LONG = { timeout: 600_000 };
let bench: ToolBench;

interface Input {
  command: string;
  cwd?: string;
  timeout?: number;
}

function call(input: Input, over?: Partial<ToolContext>): Promise<ToolOutput> {
  return bash.run(input, bench.context(over));
}

/** The text with the duration made constant. */
async function text(input: Input, over?: Partial<ToolContext>): Promise<string> {
  const { output } = await call(input, over);
  assert.equal(typeof output, "string");
  return (output as string).replace(/seconds="\d+\.\d"/, 'seconds="N"');
}

describe("Bash", () => {
  beforeEach(() => {
    bench = toolBench();
  });
  afterEach(() => bench.close());

  it("gives a header line, the output of both streams, and a closing line", async () => {
    assert.equal(
      await text({ command: "echo out; echo err >&2; echo last" }),
      '<Bash exit="0" seconds="N">\nout\nerr\nlast\n</Bash>',
    );
    assert.equal(await text({ command: "true" }), '<Bash exit="0" seconds="N">\n</Bash>');
    assert.equal(await text({ command: "printf x" }), '<Bash exit="0" seconds="N">\nx\n</Bash>');
  });

  it("reports a non-zero exit as a result, not as a failure", async () => {
    const output = await call({ command: "echo no; exit 3" });
    assert.equal(output.status, "ok");
    assert.match(output.summary ?? "", /^exit 3 in \d\.\ds$/);
    assert.match(output.output as string, /^<Bash exit="3" seconds="\d\.\d">\nno\n<\/Bash>$/);
  });

  it("names signals", async () => {
    assert.match(await text({ command: "kill -KILL $$" }), /^<Bash signal="SIGKILL" /);
    assert.match(
      await text({ command: "sh -c 'kill -SEGV $$'" }),
      /^<Bash exit="139 \(SIGSEGV\)" /,
    );
  });

  it("says that the timeout ended the command, what was kept, and what can be asked for", async () => {
    const output = await call({ command: "echo kept; sleep 80", timeout: 0.3 });
    assert.equal(output.status, "ok");
    assert.match(
      output.output as string,
      /^<Bash timeout="0\.3" seconds="\d\.\d">\nkept\n<\/Bash>\nnote: killed at the timeout of 0\.3 s.*up to 600 s$/,
    );
    assert.match(output.summary ?? "", /^killed at the timeout of 0\.3s in \d/);
  });

  it("takes the default timeout from the limits, and lowers one over 600 s with a note", async () => {
    const limits = { outputTokens: 2500, readTokens: 6000, bashTimeout: 0.3 };
    assert.match(await text({ command: "sleep 81" }, { limits }), /^<Bash timeout="0\.3"/);
    assert.match(
      await text({ command: "true", timeout: 120_000 }),
      /<\/Bash>\nnote: timeout is at most 600 s; 120000 was lowered$/,
    );
  });

  it("gives an interrupted result with what was written before the abort (SH-16)", async () => {
    const stop = new AbortController();
    const running = call({ command: "echo before; sleep 82" }, {
      signal: stop.signal,
      emit: () => stop.abort(),
    });
    const output = await running;
    assert.equal(output.status, "interrupted");
    assert.match(output.output as string, /^<Bash interrupted="by the user" .*>\nbefore\n<\/Bash>/);
    assert.match(output.summary ?? "", /^interrupted by the user/);
  });

  it("tells of a failed earlier stage of the pipeline (SH-10)", async () => {
    assert.equal(
      await text({ command: `sh -c "echo out; exit 3" | tail -1` }),
      '<Bash exit="0" seconds="N">\nout\n</Bash>\nnote: an earlier pipeline stage exited 3',
    );
    assert.doesNotMatch(await text({ command: "yes | head -1" }), /note/);
  });

  it("tells what still runs in the background (SH-03)", async () => {
    assert.match(
      await text({ command: "setsid sleep 83 & echo started", timeout: 3 }),
      /^<Bash exit="0" seconds="N">\nstarted\n<\/Bash>\nnote: still running .*sleep \(pid \d+\)$/,
    );
  });

  it("refuses an empty command and names a wrong folder (SH-12)", async () => {
    await assert.rejects(call({ command: " \n" }), /the command is empty/);
    const none = join(bench.root, "none");
    await assert.rejects(call({ command: "pwd", cwd: "none" }), {
      message: `working directory does not exist: ${none}`,
    });
    writeFileSync(join(bench.root, "file"), "");
    await assert.rejects(call({ command: "pwd", cwd: "file" }), {
      message: `working directory is not a directory: ${join(bench.root, "file")}`,
    });
  });

  it("runs in the workspace, or in cwd, as its real path", async () => {
    mkdirSync(join(bench.root, "real"));
    symlinkSync("real", join(bench.root, "link"));
    assert.match(await text({ command: "pwd" }), new RegExp(`\n${bench.root}\n`));
    assert.match(await text({ command: "pwd", cwd: "link" }), new RegExp(`\n${bench.root}/real\n`));
    assert.deepEqual(await bash.effects({ command: "pwd", cwd: "link" }, bench.context()), [
      { kind: "exec", command: "pwd", cwd: join(bench.root, "real") },
    ]);
  });

  it("never runs beside another call", () => {
    assert.equal(bash.isConcurrencySafe({ command: "ls" }), false);
  });

  it("previews the whole command with nothing hidden", async () => {
    const command = `echo ${"x".repeat(3000)}\u202e\x1b[2K\u200b\nrm -r y`;
    const preview = await bash.preview?.({ command }, bench.context()) ?? "";
    assert.equal(
      preview,
      `echo ${"x".repeat(3000)}\\u{202e}\\x1b[2K\\u{200b}\nrm -r y`,
    );
  });

  it("accepts near-miss arguments and refuses unknown ones by listing the right ones", () => {
    const parsed = parseToolArguments(bash, { cmd: "ls", directory: "src", timeout: "5" });
    assert.deepEqual(parsed, { ok: true, input: { command: "ls", cwd: "src", timeout: 5 } });
    const wrong = parseToolArguments(bash, { command: "ls", shell: "zsh" });
    assert.ok(!wrong.ok);
    assert.match(wrong.error, /"shell".*accepted: command, cwd, timeout/);
  });

  it(
    "keeps head, tail, exit code and true numbers of a long output (SH-14, SH-15)",
    LONG,
    async () => {
      const { output } = await call({
        command: "for i in $(seq 60000); do echo ok $i; done; echo '2 failed, 98 passed'; exit 1",
      });
      const spilled = output as SpilledText;
      assert.equal(typeof spilled.spill, "string");
      const { text } = boundResult(output, 500, "tr.1", bench.blobs);
      assert.match(text, /^<Bash exit="1" seconds="\d+\.\d">\nok 1\nok 2\n/);
      assert.match(text, /\nok 60000\n2 failed, 98 passed\n<\/Bash>$/);
      const [, first, last, total] = /lines (\d+)-(\d+) of (\d+) not shown/.exec(text) ?? [];
      assert.equal(total, "60003");
      const all = new TextDecoder().decode(bench.blobs.get(spilled.spill) ?? undefined).split("\n");
      const shown = text.split("\n");
      const marker = shown.findIndex((line) => line.includes("not shown"));
      assert.deepEqual(shown.slice(1, marker), all.slice(1, Number(first) - 1));
      assert.deepEqual(shown.slice(marker + 1), all.slice(Number(last)));
    },
  );

  it(
    "passes on live output while the command runs, and only the newest of a flood",
    LONG,
    async () => {
      let early = "";
      const stop = new AbortController();
      await call({ command: "echo first; sleep 84" }, {
        signal: stop.signal,
        emit: (part) => {
          early += part;
          stop.abort();
        },
      });
      assert.equal(early, "first\n");
      await call({ command: "seq 1 300000" });
      const all = bench.emitted.join("");
      assert.ok(all.endsWith("299999\n300000\n"));
      assert.ok(bench.emitted.every((part) => part.length <= 16_000));
    },
  );

  heavy("does not grow with the output (SH-07)", LONG, async () => {
    const before = process.memoryUsage.rss();
    const { output } = await call({ command: "yes | head -c 100000000" });
    assert.equal((output as SpilledText).bytes, 100_000_000 + "<Bash>\n</Bash>".length);
    assert.ok(process.memoryUsage.rss() - before < 200e6);
  });

  it("has a description within 150 tokens", () => {
    assert.ok(bash.description.length / 4 <= 150, `${bash.description.length} characters`);
  });
});

describe("terminal output as plain text", () => {
  const whole = (text: string) => {
    const plain = new PlainText();
    return plain.push(text) + plain.end();
  };
  const cases: [what: string, raw: string, plain: string][] = [
    ["colours", "\x1b[1;31mred\x1b[0m \x1b[38;5;12mblue\x1b[m\n", "red blue\n"],
    ["titles and links", "\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1b]8;;\x1b\\\n", "ab\n"],
    ["short sequences and charsets", "\x1b(Ba\x1b7b\x1b=c\n", "abc\n"],
    ["8-bit controls", "a\x9b31mb\x85c\n", "abc\n"],
    ["an unfinished sequence", "a\x1b[3", "a"],
    ["an unfinished title, up to the line end", "a\x1b]0;title\nb", "a\nb"],
    ["progress lines", "10%\r50%\r100%\ndone\n", "100%\ndone\n"],
    ["progress with erasing", "a\r\x1b[Kbb\r\x1b[K", "bb"],
    ["CRLF", "a\r\nb\r\n", "a\nb\n"],
    ["over-struck text", "N\bNA\bAM\bM_\bx\n", "NAMx\n"],
    ["controls, but newline and tab", "\0a\tb\x07c\x0c\n\n", "a\tbc\n\n"],
    ["what is no control", "é中🙂\u2028\u200b\ufffd\n", "é中🙂\u2028\u200b\ufffd\n"],
  ];
  for (const [what, raw, plain] of cases) {
    it(`handles ${what}`, () => assert.equal(whole(raw), plain));
  }

  it("gives the same for every way of cutting the stream", LONG, () => {
    const piece = fc.constantFrom(
      "a",
      "bc",
      "\n",
      "\r",
      "\r\n",
      "\x1b[31m",
      "\x1b]0;t\x07",
      "\b",
      "\x1b",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), fc.array(fc.nat(60)), (pieces, cuts) => {
        const raw = pieces.join("");
        const plain = new PlainText();
        let out = "";
        let at = 0;
        for (const cut of [...new Set(cuts)].sort((a, b) => a - b)) {
          out += plain.push(raw.slice(at, Math.max(at, cut)));
          at = Math.max(at, cut);
        }
        out += plain.push(raw.slice(at)) + plain.end();
        assert.equal(out, whole(raw));
        assert.doesNotMatch(out, /[\0-\x08\x0b-\x1f\x7f]/);
      }),
      { numRuns: 500 * RUNS },
    );
  });

  it("holds neither an endless line nor endless progress", () => {
    const plain = new PlainText();
    let out = "";
    for (let i = 0; i < 100; i++) out += plain.push("x".repeat(10_000));
    assert.ok(out.length > 900_000);
    assert.equal((out + plain.end()).length, 1_000_000);
    for (let i = 0; i < 100_000; i++) assert.equal(plain.push(`\r${i} of 100000`), "");
    assert.equal(plain.end(), "99999 of 100000");
  });

  it("escapes what could hide in a command", () => {
    assert.equal(
      escapeInvisible("a\tb\nc\u202e\u2066\r\x7f\u{e0041}"),
      "a\tb\nc\\u{202e}\\u{2066}\\x0d\\x7f\\u{e0041}",
    );
  });
});
