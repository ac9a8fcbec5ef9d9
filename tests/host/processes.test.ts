// Running commands: SH-03, SH-04, SH-05, SH-06, SH-07, SH-10, SH-12, SH-16, SH-17, SH-18 as far as the
// host decides them.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import type { RunResult } from "../../src/host/host.ts";
import { localHost } from "../../src/host/local.ts";
import { removeTemporary, runs, scriptCommand, start, temporary, until } from "./support.ts";
import { heavy } from "../support/heavy.ts";

/** For a machine that has other work too. */
const LONG = { timeout: 120_000 };
const hosts: ReturnType<typeof localHost>[] = [];

function newHost(env?: string[]) {
  const host = localHost({ locks: "/nonexistent", env });
  hosts.push(host);
  return host;
}

interface Options {
  timeoutMs?: number;
  cwd?: string;
  signal?: AbortSignal;
  host?: ReturnType<typeof localHost>;
}

async function run(command: string, options: Options = {}): Promise<RunResult & { text: string }> {
  let text = "";
  const result = await (options.host ?? newHost()).run(
    {
      command,
      cwd: options.cwd ?? tmpdir(),
      timeoutMs: options.timeoutMs ?? 20_000,
      onOutput: (part) => text += part,
    },
    options.signal ?? new AbortController().signal,
  );
  return { ...result, text };
}

/** Pid printed by `sh -c 'echo $$; exec sleep …'`. */
const pidIn = (text: string) => Number(/\d+/.exec(text)?.[0]);

function suite(name: string, body: () => void): void {
  describe(name, () => {
    removeTemporary();
    afterEach(() => {
      for (const host of hosts.splice(0)) host.killAll();
    });
    body();
  });
}

suite("host: run", () => {
  it("gives exit code and both streams in order of arrival", async () => {
    const { code, signal, text } = await run(
      "for i in 1 2 3; do echo o$i; echo e$i >&2; done; exit 7",
    );
    assert.deepEqual([code, signal], [7, null]);
    assert.equal(text, "o1\ne1\no2\ne2\no3\ne3\n");
  });

  it("names the signal that ended the shell", async () => {
    const { code, signal } = await run("kill -TERM $$");
    assert.deepEqual([code, signal], [null, "SIGTERM"]);
  });

  it("gives commands a pipe that can be opened again by name", async () => {
    const { code, text } = await run(
      "echo a > /dev/stderr && echo b | tee /dev/stderr > /dev/stdout",
    );
    assert.equal(code, 0, text);
    assert.equal(text, "a\nb\nb\n");
  });

  it("leaves the command as it is: here-documents, comments, own traps, line numbers", async () => {
    const command =
      "trap 'echo bye' EXIT\ncat <<'EOT'\n'a' \"b\" $c `d` \\\nEOT\necho $LINENO $# # end";
    assert.equal((await run(command)).text, "'a' \"b\" $c `d` \\\n5 0\nbye\n");
    const syntax = await run("echo x\nif )");
    assert.equal(syntax.code, 2);
    assert.match(syntax.text, /^x\nbash: -c: line 2: syntax error/);
    assert.doesNotMatch(syntax.text, /PIPESTATUS/);
  });

  it("runs nothing of the user's start files and hides its own helpers", async () => {
    const home = temporary();
    for (const name of [".bashrc", ".profile", ".bash_profile"]) {
      writeFileSync(join(home, name), "echo started\n");
    }
    const before = process.env.HOME;
    process.env.HOME = home;
    try {
      assert.equal(
        (await run("echo ${BASH_ENV-unset} ${DENO_EXTRA_STDIO_FDS-unset}")).text,
        "unset unset\n",
      );
    } finally {
      process.env.HOME = before;
    }
  });

  it("decodes UTF-8 across the borders of chunks, and junk as U+FFFD", LONG, async () => {
    const word = "a中文🙂é";
    const { text } = await run(`for i in $(seq 30000); do printf '${word}'; done; printf '\\377z'`);
    assert.equal(text, word.repeat(30000) + "\ufffdz");
    const split = await run("printf 'a\\344\\270'; sleep 0.2; printf '\\255b\\360\\237'");
    assert.equal(split.text, "a中b\ufffd");
  });

  it("delivers output while the command runs", async () => {
    const seen: string[] = [];
    const stop = new AbortController();
    const result = await newHost().run({
      command: "echo first; sleep 60",
      cwd: tmpdir(),
      timeoutMs: 60_000,
      onOutput: (text) => {
        seen.push(text);
        stop.abort();
      },
    }, stop.signal);
    assert.ok(result.aborted);
    assert.deepEqual(seen, ["first\n"]);
  });

  it("ends the command and rejects when the consumer of its output throws", async () => {
    const host = newHost();
    let pid = 0;
    await assert.rejects(
      host.run({
        command: "echo $$; sleep 60",
        cwd: tmpdir(),
        timeoutMs: 60_000,
        onOutput: (text) => {
          pid = pidIn(text);
          throw new Error("disk full");
        },
      }, new AbortController().signal),
      /disk full/,
    );
    assert.ok(pid > 0 && !runs(pid));
  });

  it("says which stage of a pipeline failed, but not for SIGPIPE (SH-10)", async () => {
    const cases: [command: string, code: number, notes: string[]][] = [
      [`sh -c "echo out; exit 3" | tail -1`, 0, ["an earlier pipeline stage exited 3"]],
      ["yes | head -1", 0, []],
      ["grep zzz /etc/hostname | wc -l", 0, ["an earlier pipeline stage exited 1"]],
      ["false; echo done", 0, []],
      ["(exit 4) | (exit 5) | cat # why", 0, ["earlier pipeline stages exited 4, 5"]],
      ["set -o pipefail; (exit 4) | cat", 4, ["an earlier pipeline stage exited 4"]],
      ["true | false", 1, []],
      ["set -x; true | true", 0, []],
    ];
    for (const [command, code, notes] of cases) {
      const result = await run(command);
      assert.deepEqual([result.code, result.notes], [code, notes], command);
    }
  });

  heavy("keeps memory bounded whatever the output (SH-07)", LONG, async () => {
    const before = process.memoryUsage.rss();
    let count = 0;
    let peak = 0;
    const result = await newHost().run({
      command: "yes | head -c 300000000",
      cwd: tmpdir(),
      timeoutMs: 120_000,
      onOutput: (text) => {
        count += text.length;
        peak = Math.max(peak, process.memoryUsage.rss());
      },
    }, new AbortController().signal);
    assert.equal(result.code, 0);
    assert.equal(count, 300_000_000);
    assert.ok(peak - before < 200e6, `grew by ${peak - before} bytes`);
  });

  it("names a wrong working directory (SH-12)", async () => {
    const dir = temporary();
    writeFileSync(join(dir, "f"), "");
    await assert.rejects(run("pwd", { cwd: join(dir, "none") }), {
      name: "HostError",
      code: "ENOENT",
      message: `working directory does not exist: ${join(dir, "none")}`,
    });
    await assert.rejects(run("pwd", { cwd: join(dir, "f") }), {
      name: "HostError",
      code: "ENOTDIR",
      message: `working directory is not a directory: ${join(dir, "f")}`,
    });
  });

  it("refuses what no system can run, in words", async () => {
    await assert.rejects(run(`: ${"x".repeat(300_000)}`), { name: "HostError" });
    await assert.rejects(run("echo a\0b"), { name: "HostError" });
  });
});

suite("host: a command that waits for a person (SH-05, SH-06, SH-17)", () => {
  const commands: [command: string, output: RegExp][] = [
    [`read -p "sure? " x; echo got:$x`, /^got:\n$/],
    [`sh -c "read y < /dev/tty"`, /tty/],
    ["cat /dev/stdin | wc -c", /^0\n$/],
    ["seq 2 | cat < /dev/stdin", /^1\n2\n$/],
    ["cat <<'EOT'\n'q' $x `y`\nEOT", /^'q' \$x `y`\n$/],
    [
      "git -c init.defaultBranch=main init -q . && git log; git clone -q https://127.0.0.1:1/x",
      /fatal/,
    ],
    [
      "git -c init.defaultBranch=main init -q . && echo a > a && git add a && " +
      "git -c user.name=n -c user.email=n@example.org commit",
      /no editor can be opened here.*git commit -m/,
    ],
    ["echo $PAGER $GIT_PAGER; tty", /^cat cat\nnot a tty\n$/],
  ];
  for (const [command, output] of commands) {
    it(`ends at once: ${command.slice(0, 50).replaceAll("\n", "\\n")}`, LONG, async () => {
      const result = await run(command, { cwd: temporary(), timeoutMs: 15_000 });
      assert.ok(!result.timedOut);
      assert.match(result.text, output);
    });
  }
});

suite("host: deadline and abort", () => {
  it("kills the whole group at the deadline, keeping what was written", async () => {
    const { timedOut, aborted, text, ms } = await run(
      "echo kept; sh -c 'echo $$; sleep 61 & exec sleep 62'",
      { timeoutMs: 400 },
    );
    assert.deepEqual([timedOut, aborted], [true, false]);
    assert.match(text, /^kept\n/);
    assert.ok(!runs(pidIn(text)));
    assert.ok(ms >= 400 && ms < 5_000, `${ms} ms`);
  });

  it("kills what left the group, and names it (SH-03)", async () => {
    const result = await run("setsid sh -c 'echo $$; exec sleep 63' & sleep 64", {
      timeoutMs: 500,
    });
    assert.ok(result.timedOut);
    const pid = pidIn(result.text);
    assert.ok(pid > 0 && !runs(pid));
    assert.match(result.notes.join(), new RegExp(`left the command's process group: .*pid ${pid}`));
  });

  it("kills what ignores every other signal", async () => {
    const { timedOut, text } = await run("trap '' TERM INT HUP; echo $$; while :; do :; done", {
      timeoutMs: 300,
    });
    assert.ok(timedOut);
    assert.ok(!runs(pidIn(text)));
  });

  it("aborts the same way (SH-16)", async () => {
    const stop = new AbortController();
    const host = newHost();
    let text = "";
    const running = host.run({
      command: "setsid sh -c 'echo $$; exec sleep 65' & sleep 66",
      cwd: tmpdir(),
      timeoutMs: 60_000,
      onOutput: (part) => {
        text += part;
        stop.abort();
      },
    }, stop.signal);
    const result = await running;
    assert.deepEqual([result.aborted, result.timedOut], [true, false]);
    assert.ok(!runs(pidIn(text)));
  });

  it("starts nothing when it is aborted already", async () => {
    const file = join(temporary(), "made");
    const result = await run(`touch ${file}`, { signal: AbortSignal.abort() });
    assert.ok(result.aborted);
    assert.ok(!existsSync(file));
  });

  it("does not look at the wall clock (SH-18)", async () => {
    const real = Date.now;
    let offset = 0;
    Date.now = () => real() + offset;
    try {
      const running = run("sleep 0.3; echo done", { timeoutMs: 20_000 });
      offset = 3_600_000;
      const { timedOut, text, ms } = await running;
      assert.deepEqual([timedOut, text], [false, "done\n"]);
      assert.ok(ms < 20_000);
    } finally {
      Date.now = real;
    }
  });
});

suite("host: processes left behind", () => {
  it("returns when the shell exits, and says what still runs (SH-03)", LONG, async () => {
    for (const how of ["", "setsid ", "nohup setsid "]) {
      const host = newHost();
      const result = await run(`${how}sh -c 'echo $$; exec sleep 67' & sleep 0.2; echo started`, {
        host,
      });
      const pid = pidIn(result.text);
      assert.equal(result.code, 0);
      assert.match(result.text, /started/);
      assert.ok(result.ms < 10_000);
      assert.ok(runs(pid), "left alone while the session lasts");
      assert.match(result.notes.join(), new RegExp(`still running in the background.*pid ${pid}`));
      host.killAll();
      await until("the background process is gone", () => !runs(pid), 2_000);
    }
  });

  it("does not mix their later output into the next command, nor block them", LONG, async () => {
    const host = newHost();
    const file = join(temporary(), "done");
    await run(`(sleep 0.3; head -c 1000000 /dev/zero | tr '\\0' x; touch ${file}) & echo one`, {
      host,
    });
    const second = await run("sleep 0.6; echo two", { host });
    assert.equal(second.text, "two\n");
    await until("the background process could write all", () => existsSync(file));
  });

  it("kills everything at the end of the session, also what closed its output", async () => {
    const host = newHost();
    const file = join(temporary(), "pid");
    await run(
      `setsid sh -c 'echo $$ > ${file}.part; mv ${file}.part ${file}; exec sleep 68' > /dev/null 2>&1 &`,
      { host },
    );
    await until("the pid is written", () => existsSync(file));
    const pid = pidIn(readFileSync(file, "utf8"));
    assert.ok(runs(pid));
    host.killAll();
    await until("it is gone", () => !runs(pid), 2_000);
    assert.equal((await run("echo again", { host })).text, "again\n", "usable afterwards");
  });

  it("ends a running command when everything is killed", async () => {
    const host = newHost();
    const result = await host.run({
      command: "echo x; sleep 69",
      cwd: tmpdir(),
      timeoutMs: 60_000,
      onOutput: () => host.killAll(),
    }, new AbortController().signal);
    assert.equal(result.signal, "SIGKILL");
  });

  for (const signal of ["SIGTERM", "SIGHUP", "SIGINT", "SIGKILL"] as const) {
    it(`leaves no child when nanocode gets ${signal} (SH-04)`, LONG, async () => {
      const dir = temporary();
      const mode = signal === "SIGKILL" ? "plain" : "term";
      const temp = join(dir, "tmp");
      mkdirSync(temp);
      const command = "setsid sh -c 'echo escaped $$; exec sleep 70' & echo shell $$; sleep 71";
      const { child, ended } = start([
        "env",
        `TMPDIR=${temp}`,
        ...scriptCommand("runner.ts", mode, dir, command),
      ]);
      let text = "";
      child.stdout?.on("data", (data: Uint8Array) => text += new TextDecoder().decode(data));
      await until("both run", () => /escaped \d+\n/.test(text) && /shell \d+\n/.test(text), 15_000);
      const pids = [...text.matchAll(/\d+/g)].map((match) => Number(match[0]));
      assert.ok(pids.every(runs));
      child.kill(signal);
      await ended;
      await until("all children are gone", () => !pids.some(runs), 2_000);
      await until("the temporary folder is gone", () => readdirSync(temp).length === 0);
    });
  }
});

suite("host: environment of commands", () => {
  const secret = {
    OPENAI_API_KEY: "k",
    MY_TOKEN: "t",
    AWS_SECRET_ACCESS_KEY: "s",
    AWS_REGION: "r",
    DB_PASSWORD: "p",
    BUN_OPTIONS: "",
    LD_LIBRARY_PATH: "/x",
    GIT_SSH_COMMAND: "x",
    LC_TIME: "C.UTF-8",
    CARGO_HOME: "/c",
    UNKNOWN_NAME: "u",
  };

  async function environment(extra: string[]): Promise<Map<string, string>> {
    const before = { ...process.env };
    Object.assign(process.env, secret);
    try {
      const { text } = await run("env -0", { host: newHost(extra) });
      return new Map(
        text.split("\0").filter(Boolean).map((line): [string, string] => {
          const at = line.indexOf("=");
          return [line.slice(0, at), line.slice(at + 1)];
        }),
      );
    } finally {
      for (const name of Object.keys(secret)) {
        if (before[name] === undefined) delete process.env[name];
        else process.env[name] = before[name];
      }
    }
  }

  it("passes only the allow-listed names", async () => {
    const env = await environment([]);
    const passed = Object.keys(secret).filter((name) => env.has(name));
    assert.deepEqual(passed, ["LC_TIME", "CARGO_HOME"]);
    assert.equal(env.get("PATH"), process.env.PATH);
    assert.equal(env.get("PWD"), tmpdir());
  });

  it("passes what the user names, and by prefix nothing secret", async () => {
    const env = await environment(["MY_TOKEN", "AWS_*", "UNKNOWN_NAME"]);
    const passed = Object.keys(secret).filter((name) => env.has(name));
    assert.deepEqual(passed, ["MY_TOKEN", "AWS_REGION", "LC_TIME", "CARGO_HOME", "UNKNOWN_NAME"]);
  });

  it("lets the user name an editor", async () => {
    const before = process.env.EDITOR;
    process.env.EDITOR = "ed";
    try {
      assert.equal((await environment([])).get("EDITOR"), "false");
      assert.equal((await environment(["EDITOR"])).get("EDITOR"), "ed");
    } finally {
      if (before === undefined) delete process.env.EDITOR;
      else process.env.EDITOR = before;
    }
  });

  it("does not take the shell from a folder slipped into PATH", async () => {
    const dir = temporary();
    writeFileSync(join(dir, "bash"), "#!/bin/sh\necho wrong shell\n");
    chmodSync(join(dir, "bash"), 0o755);
    const before = process.env.PATH;
    process.env.PATH = `${dir}:${before}`;
    try {
      assert.equal((await run("echo right")).text, "right\n");
    } finally {
      process.env.PATH = before;
    }
    assert.equal(execFileSync(join(dir, "bash"), { encoding: "utf8" }), "wrong shell\n");
  });
});
