import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { describe, it } from "node:test";
import { outOf, type Writable } from "../../src/ui/out.ts";

/** A stream whose writes end as told; the callbacks run later, as a real one's do. */
function fakeStream(outcome: () => Error | null): Writable & { written: string } {
  return {
    written: "",
    write(text, done) {
      const error = outcome();
      if (!error) this.written += text;
      queueMicrotask(() => done?.(error));
      return true;
    },
    on: () => undefined,
  };
}

const failure = (code: string) => Object.assign(new Error(`${code}: it failed`), { code });

describe("out", () => {
  it("has drained when everything is written", async () => {
    const stream = fakeStream(() => null);
    const out = outOf(stream, "standard output");
    out.write("a");
    out.write("b");
    await out.drained();
    assert.equal(stream.written, "ab");
    await out.drained();
  });
  it("ends quietly when the reader went away (EPIPE)", async () => {
    let writes = 0;
    const out = outOf(fakeStream(() => ++writes > 1 ? failure("EPIPE") : null), "standard output");
    out.write("a");
    out.write("b");
    await out.drained();
    assert.equal(out.closed.aborted, true);
    out.write("c");
    await out.drained();
    assert.equal(writes, 2);
  });
  it("says so when the output cannot be written", async () => {
    const out = outOf(fakeStream(() => failure("ENOSPC")), "standard output");
    out.write("a");
    await assert.rejects(
      out.drained(),
      /^Error: Cannot write to standard output: ENOSPC.* Free some space/,
    );
  });
});

describe("a real process", () => {
  const demo = resolve(import.meta.dirname ?? ".", "../support/print-demo.ts");
  const runtime = "Deno" in globalThis
    ? `"${process.execPath}" run -A --no-check`
    : `"${process.execPath}"`;
  /** A shell line in which `demo` is the program, on the runtime of this test. */
  const shell = (line: string, env: Record<string, string> = {}) =>
    spawnSync("sh", ["-c", line.replaceAll("demo", `${runtime} "${demo}"`)], {
      encoding: "utf8",
      env: { ...process.env, ...env },
      timeout: 60_000,
      maxBuffer: 64 * 1024 * 1024,
    });

  for (const output of ["text", "stream-json"]) {
    it(`ends quietly when the reader of ${output} goes away`, () => {
      const { stdout, stderr } = shell(`(demo ${output} 20000; echo "exit=$?" >&2) | head -1`);
      assert.equal(stdout.split("\n").length, 2);
      assert.match(stderr, /exit=0\n$/);
      assert.doesNotMatch(stderr, /EPIPE|Error/i);
    });
    it(`loses nothing of ${output} into a slow pipe`, () => {
      const { stdout } = shell(`demo ${output} 5000 2>/dev/null | (sleep 0.3; cat)`);
      assert.match(stdout, /line 4999 /);
      assert.equal(stdout.match(/\n/g)?.length, output === "text" ? 5000 : 5003);
    });
  }
  it("says so when the disk is full", () => {
    const { stderr, status } = shell("demo text 5000 >/dev/full");
    assert.equal(status, 1);
    assert.match(stderr, /Cannot write to standard output: .*space/);
  });
  it("writes no escape byte into a pipe, whatever the environment wants (TU-05)", () => {
    for (const output of ["text", "json", "stream-json"]) {
      const { stdout, stderr } = shell(`demo ${output} 3`, {
        FORCE_COLOR: "1",
        CLICOLOR_FORCE: "1",
      });
      assert.doesNotMatch(stdout + stderr, /\x1b/);
      assert.match(stdout, /line 2 /);
    }
  });
});
