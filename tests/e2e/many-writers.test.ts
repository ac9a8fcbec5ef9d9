// One file and many hands: ten nanocode processes at once, a process killed between the temp file and the
// rename, and a file that becomes a link to somewhere else. No update is lost, no file is torn, nothing
// outside is touched.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { dirname } from "node:path";
import { afterEach, describe, it } from "node:test";
import {
  type RecordedRequest,
  startServer,
  type Step,
  type StrictServer,
} from "../support/strict-server.ts";
import {
  BINARY,
  existsSync,
  join,
  modelEnv,
  readFileSync,
  records,
  run,
  type Sandbox,
  sandbox,
  until,
  writeFileSync,
} from "./support.ts";

/** Processes share two cores with other tests. */
const LONG = { timeout: 180_000 };

let box: Sandbox;
const servers: StrictServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
  box?.close();
});

async function serve(
  script: Step[] | ((request: RecordedRequest, n: number) => Step | Promise<Step>),
) {
  const server = await startServer(script);
  servers.push(server);
  return server;
}

/** Runs one turn of the compiled binary in the box. */
async function turn(server: StrictServer, args: string[], wrap: string[] = []) {
  const [program = BINARY, ...before] = [...wrap, BINARY];
  return await run([...before, "-p", "go", ...args], {
    cwd: box.work,
    env: { ...box.env, ...modelEnv(server.url) },
    binary: program,
    deadline: 120_000,
  });
}

function told(request: RecordedRequest | undefined): string {
  return String(request?.body.messages.findLast(({ role }) => role === "tool")?.content ?? "");
}

/** The anchor shown for a line that begins with `text`; null when there is none. */
function anchorOf(result: string, text: string): string | null {
  const row = result.split("\n").find((line) => line.slice(line.indexOf("|") + 1).startsWith(text));
  return /^(\d+:[a-z]{3})\|/.exec(row ?? "")?.[1] ?? null;
}

function edit(path: string, ...edits: Record<string, unknown>[]): Step {
  return { calls: [{ name: "Edit", args: { path, edits } }] };
}

const readFile = (path: string, range?: [number, number]): Step => ({
  calls: [{ name: "Read", args: { files: [{ path, ...(range ? { ranges: [range] } : {}) }] } }],
});

const temps = (folder: string) => readdirSync(folder).filter((name) => name.endsWith(".tmp"));
const locks = () => {
  const folder = join(box.home, ".nanocode", "locks");
  return existsSync(folder) ? readdirSync(folder) : [];
};

describe("ten processes on one file", () => {
  const WRITERS = 10;
  const ROUNDS = 3;
  const LINES = 1_000;
  /** Some writers have neighbouring lines, some are far apart. */
  const lineOf = (writer: number) => writer < 5 ? 500 + writer : 50 + 100 * (writer - 5);

  it("lose no edit, and every state between is whole", LONG, async () => {
    const original = Array.from({ length: LINES }, (_, i) => `line ${i + 1}`);
    box = sandbox({ "shared.txt": original.map((line) => `${line}\n`).join("") });
    const path = join(box.work, "shared.txt");
    const gates = Array.from(
      { length: ROUNDS },
      () => ({ here: 0, ...Promise.withResolvers<void>() }),
    );
    let repeated = 0;

    /** Reads its line, changes it, and again until that worked; each round begins with all together. */
    function script(writer: number) {
      const line = lineOf(writer);
      let round = 0;
      let isFirst = true;
      return async (request: RecordedRequest, n: number): Promise<Step> => {
        const result = told(request);
        if (n > 0 && result.includes("status: error")) {
          assert.match(result, /changed on disk/);
          repeated++;
          return readFile("shared.txt", [line - 1, line + 1]);
        }
        if (result.includes("<Edit ")) [round, isFirst] = [round + 1, true];
        if (round === ROUNDS) return { text: "Done." };
        const start = anchorOf(
          result,
          round === 0 ? `line ${line}` : `writer ${writer} round ${round}`,
        );
        if (start === null) return readFile("shared.txt", [line - 1, line + 1]);
        const gate = gates[round];
        if (isFirst && gate) {
          if (++gate.here === WRITERS) gate.resolve();
          await gate.promise;
        }
        isFirst = false;
        const content = `writer ${writer} round ${round + 1}`;
        return edit("shared.txt", { op: "replace", start, content });
      };
    }

    const last = new Map<number, number>();
    let states = 0;
    let before = "";
    const look = () => {
      const text = readFileSync(path, "utf8");
      if (text === before) return;
      [before, states] = [text, states + 1];
      assert.ok(text.endsWith("\n"), "the end is missing");
      const lines = text.slice(0, -1).split("\n");
      assert.equal(lines.length, LINES);
      for (let writer = 0; writer < WRITERS; writer++) {
        const line = lines[lineOf(writer) - 1] ?? "";
        const round = line === original[lineOf(writer) - 1]
          ? 0
          : Number(new RegExp(`^writer ${writer} round ([1-${ROUNDS}])$`).exec(line)?.[1]);
        assert.ok(round >= (last.get(writer) ?? 0), `writer ${writer} went back: ${line}`);
        last.set(writer, round);
        lines[lineOf(writer) - 1] = original[lineOf(writer) - 1] ?? "";
      }
      assert.deepEqual(lines, original);
    };

    let running = true;
    const watching = (async () => {
      while (running) {
        look();
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    })().catch((error: unknown) => error); // told when all have ended
    const ended = await Promise.all(
      Array.from({ length: WRITERS }, async (_, writer) => {
        const server = await serve(script(writer));
        const result = await turn(server, ["--yolo"]);
        return { ...result, errors: server.errors };
      }),
    ).finally(() => running = false);
    const torn = await watching;
    if (torn) throw torn;
    look();
    for (const { code, stdout, stderr, errors } of ended) {
      assert.deepEqual(errors, []);
      assert.equal(code, 0, stderr);
      assert.equal(stdout, "Done.\n");
    }
    assert.deepEqual([...last.values()], Array.from({ length: WRITERS }, () => ROUNDS));
    assert.ok(repeated > 0, "they never met: nothing was put to the test");
    assert.ok(states > WRITERS, `the watcher saw only ${states} states`);
    assert.deepEqual([temps(box.work), locks()], [[], []]);
  });
});

describe("a crash between the temp file and its new name", () => {
  /** Kills the process as it makes this system call, which then does nothing. */
  const killAt = (call: string) =>
    `strace -f -o /dev/null -e trace=${call} -e inject=${call}:error=EIO:signal=SIGKILL`.split(" ");

  it("leaves the old bytes; the next run removes the temp file and the lock", LONG, async () => {
    box = sandbox({ "f.txt": "old\nrest\n" });
    const path = join(box.work, "f.txt");
    const crash = edit("f.txt", { op: "replace_text", old: "old", new: "new" });
    // The temp file is written, and synced before the rename; nothing else is.
    await turn(await serve([crash]), ["--yolo"], killAt("fsync"));
    assert.equal(readFileSync(path, "utf8"), "old\nrest\n");
    const [temp = ""] = temps(box.work);
    assert.equal(readFileSync(join(box.work, temp), "utf8"), "new\nrest\n");
    assert.equal(locks().length, 1);

    const again = await serve([crash, { text: "Done." }]);
    const { code, stderr } = await turn(again, ["--yolo", "-c"]);
    assert.equal(code, 0, stderr);
    assert.equal(readFileSync(path, "utf8"), "new\nrest\n");
    assert.deepEqual([readdirSync(box.work), locks()], [["f.txt"], []]);
  });

  it("leaves no half of a new file either", LONG, async () => {
    box = sandbox();
    const path = join(box.work, "new.txt");
    const create = edit("new.txt", { op: "create", content: "one\ntwo\n" });
    await turn(await serve([create]), ["--yolo"], killAt("link"));
    assert.equal(existsSync(path), false);
    assert.equal(temps(box.work).length, 1);

    const { code, stderr } = await turn(await serve([create, { text: "Done." }]), ["--yolo"]);
    assert.equal(code, 0, stderr);
    assert.equal(readFileSync(path, "utf8"), "one\ntwo\n");
    assert.deepEqual([readdirSync(box.work), locks()], [["new.txt"], []]);
  });
});

describe("a file that becomes a link to one outside the workspace", () => {
  const TEXT = "one\ntwo\nthree\n";

  function swapFile(): string {
    const outside = join(dirname(box.work), "outside.txt");
    writeFileSync(outside, TEXT);
    rmSync(join(box.work, "d/f.txt"));
    symlinkSync(outside, join(box.work, "d/f.txt"));
    return outside;
  }

  function swapFolder(): string {
    const outside = join(dirname(box.work), "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "f.txt"), TEXT);
    renameSync(join(box.work, "d"), join(box.work, "was"));
    symlinkSync(outside, join(box.work, "d"));
    return join(outside, "f.txt");
  }

  const SWAPS = [["the file", swapFile], ["its folder", swapFolder]] as const;
  const EDITS: Record<string, (result: string) => Record<string, unknown>> = {
    "by an anchor": (result) => ({
      op: "replace",
      start: anchorOf(result, "two"),
      content: "changed",
    }),
    "by a literal text": () => ({ op: "replace_text", old: "two", new: "changed" }),
  };

  for (const [what, swap] of SWAPS) {
    for (const [how, change] of Object.entries(EDITS)) {
      it(`between Read and Edit ${how}: ${what}`, LONG, async () => {
        box = sandbox({ "d/f.txt": TEXT });
        let outside = "";
        const server = await serve((request, n) => {
          if (n === 0) return readFile("d/f.txt");
          if (n > 1) return { text: "Done." };
          outside = swap();
          return edit("d/f.txt", change(told(request)));
        });
        const { code } = await turn(server, ["--allow", "Edit(**)"]);
        assert.equal(code, 4); // refused
        assert.match(told(server.requests[2]), /permission is needed \(writes \S*outside/);
        assert.doesNotMatch(told(server.requests[2]), /three/);
        assert.equal(readFileSync(outside, "utf8"), TEXT);
        assert.deepEqual(server.errors, []);
      });
    }

    it(`between the question and the answer: ${what}`, LONG, async () => {
      box = sandbox({ "d/f.txt": TEXT });
      const server = await serve([
        readFile("d/f.txt"),
        edit("d/f.txt", { op: "replace_text", old: "two", new: "changed" }),
        { text: "That was it." },
      ]);
      const socket = `nanocode-writers-${process.pid}`;
      const tmux = (...args: string[]) =>
        spawnSync("tmux", ["-L", socket, ...args], { encoding: "utf8" });
      const screen = () => tmux("capture-pane", "-p", "-t", "t").stdout;
      const env = Object.entries({ ...box.env, ...modelEnv(server.url) })
        .map(([name, value]) => `${name}='${value}'`).join(" ");
      const command = `cd '${box.work}' && env -i TERM=xterm-256color LANG=C.UTF-8 ${env} ` +
        `'${BINARY}' 'change it'; echo "exit $?"; sleep 100`;
      try {
        tmux("-f", "/dev/null", "new-session", "-d", "-s", "t", "-x", "90", "-y", "30", command);
        await until(() => /Allow\?/.test(screen()), 20_000, "the question");
        const outside = swap();
        tmux("send-keys", "-t", "t", "y", "Enter");
        await until(() => /That was it/.test(screen()), 20_000, "the answer");
        assert.equal(readFileSync(outside, "utf8"), TEXT);
        const result = told(server.requests[2]);
        assert.match(result, /d\/f\.txt changed on disk: a link leads from there to .*outside/);
        assert.match(result, /Nothing was written/);
        assert.ok(!result.includes("three"), "what is outside was shown");
        assert.deepEqual(records(box.home).filter(({ type }) => type === "change"), []);
      } finally {
        tmux("kill-server");
      }
    });
  }

  it("an error of Edit quotes no file that may not be read", LONG, async () => {
    box = sandbox({ ".env": "KEY=three\n" });
    writeFileSync(join(dirname(box.work), "outside.txt"), TEXT);
    symlinkSync("../outside.txt", join(box.work, "link.txt"));
    const calls = [".env", "../outside.txt", "link.txt"].flatMap((path) => [
      edit(path, { op: "replace", start: "1:aaa", content: "x" }),
      edit(path, { op: "replace_text", old: "thre e", new: "x" }),
      edit(path, { op: "create", content: "x" }),
    ]);
    const server = await serve([...calls, { text: "Done." }]);
    const { code } = await turn(server, []);
    assert.equal(code, 4);
    const told = server.requests.at(-1)?.body.messages.filter(({ role }) => role === "tool") ?? [];
    assert.equal(told.length, calls.length);
    for (const { content } of told) {
      assert.match(String(content), /permission is needed/);
      assert.doesNotMatch(String(content), /three|two|\d:[a-z]{3}\|/);
    }
  });
});
