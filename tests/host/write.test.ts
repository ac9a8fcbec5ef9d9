// Writing: FE-17 (links), FE-18 (mode bits), FE-20 (external change), FE-40 (full disk), and nanocode
// processes beside each other.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { localHost } from "../../src/host/local.ts";
import { removeTemporary, runs, scriptCommand, start, temporary, until } from "./support.ts";
import { heavy } from "../support/heavy.ts";

/** For a machine that has other work too. */
const LONG = { timeout: 120_000 };

const bytes = (text: string) => new TextEncoder().encode(text);

function setup() {
  const dir = temporary();
  const locks = join(dir, "state/locks");
  const work = join(dir, "work");
  mkdirSync(work);
  return { work, locks, host: localHost({ locks }) };
}

/** Neither temp files nor locks are left. */
function assertClean(work: string, locks: string): void {
  assert.deepEqual(readdirSync(work).filter((name) => name.endsWith(".tmp")), []);
  assert.deepEqual(existsSync(locks) ? readdirSync(locks) : [], []);
}

function lockOf(locks: string, path: string): string {
  return join(locks, createHash("sha256").update(path).digest("hex"));
}

describe("host: write", () => {
  removeTemporary();

  it("creates a file and its folders with 0666 less the umask", async () => {
    const { work, locks, host } = setup();
    const file = join(work, "a/b/new.txt");
    const before = process.umask(0o027);
    try {
      await host.write(file, bytes("x\n"), null);
    } finally {
      process.umask(before);
    }
    assert.equal(readFileSync(file, "utf8"), "x\n");
    assert.equal(statSync(file).mode & 0o7777, 0o640);
    assertClean(dirname(file), locks);
  });

  it("refuses to create what exists, and leaves it alone", async () => {
    const { work, locks, host } = setup();
    const file = join(work, "f");
    writeFileSync(file, "old");
    await assert.rejects(host.write(file, bytes("new"), null), {
      code: "ECHANGED",
      message: /changed on disk: it exists now; nothing was written/,
    });
    assert.equal(readFileSync(file, "utf8"), "old");
    assertClean(work, locks);
  });

  it("refuses when the file is not what was expected (FE-20)", async () => {
    const { work, locks, host } = setup();
    const file = join(work, "f");
    for (const now of ["old\nuser\n", "OLD\n", ""]) {
      writeFileSync(file, now);
      await assert.rejects(host.write(file, bytes("new"), bytes("old\n")), { code: "ECHANGED" });
      assert.equal(readFileSync(file, "utf8"), now);
    }
    await assert.rejects(host.write(join(work, "none"), bytes("new"), bytes("old\n")), {
      code: "ECHANGED",
      message: /it no longer exists/,
    });
    assertClean(work, locks);
  });

  it("sees a change made by another program while it was writing (FE-20)", LONG, async () => {
    const { work, locks, host } = setup();
    const file = join(work, "f");
    writeFileSync(file, "old");
    const writing = host.write(file, new Uint8Array(50_000_000), bytes("old"));
    const refused = assert.rejects(writing, { code: "ECHANGED" });
    await until("a temp file", () => readdirSync(work).some((name) => name.endsWith(".tmp")));
    writeFileSync(file, "user");
    await refused;
    assert.equal(readFileSync(file, "utf8"), "user");
    assertClean(work, locks);
  });

  for (const mode of [0o755, 0o640, 0o600, 0o666, 0o2755]) {
    it(`keeps mode ${mode.toString(8)} (FE-18)`, async () => {
      const { work, host } = setup();
      const file = join(work, "s.sh");
      writeFileSync(file, "#!/bin/sh\necho 1\n");
      chmodSync(file, mode);
      await host.write(file, bytes("#!/bin/sh\necho 2\n"), readFileSync(file));
      assert.equal(statSync(file).mode & 0o7777, mode);
      assert.equal(readFileSync(file, "utf8"), "#!/bin/sh\necho 2\n");
    });
  }

  it("keeps the owner where the system permits it", async () => {
    const { work, host } = setup();
    const file = join(work, "f");
    writeFileSync(file, "a");
    const root = process.getuid?.() === 0;
    if (root) chownSync(file, 1234, 2345);
    const before = statSync(file);
    await host.write(file, bytes("b"), bytes("a"));
    const after = statSync(file);
    assert.deepEqual([after.uid, after.gid], [before.uid, before.gid]);
    if (root) assert.deepEqual([after.uid, after.gid], [1234, 2345]);
  });

  it("writes where a link leads, which stays one (FE-17)", async () => {
    const { work, locks, host } = setup();
    mkdirSync(join(work, "real"));
    writeFileSync(join(work, "real/t.md"), "hello\n");
    symlinkSync("real/t.md", join(work, "link.md"));
    const target = await host.realpath(join(work, "link.md"));
    await host.write(target, bytes("HELLO\n"), bytes("hello\n"));
    assert.equal(readlinkSync(join(work, "link.md")), "real/t.md");
    assert.ok(!lstatSync(join(work, "real/t.md")).isSymbolicLink());
    assert.equal(readFileSync(join(work, "real/t.md"), "utf8"), "HELLO\n");
    assertClean(join(work, "real"), locks);
  });

  it("creates the target of a dangling link beside the target", async () => {
    const { work, host } = setup();
    symlinkSync("elsewhere/new", join(work, "l"));
    await host.write(await host.realpath(join(work, "l")), bytes("x"), null);
    assert.equal(readFileSync(join(work, "elsewhere/new"), "utf8"), "x");
    assert.ok(lstatSync(join(work, "l")).isSymbolicLink());
  });

  for (const what of ["file", "folder"]) {
    it(`takes a link in the place of the ${what} for a change, whatever it leads to`, async () => {
      const { work, locks, host } = setup();
      for (const folder of ["in", "out"]) {
        mkdirSync(join(work, folder));
        writeFileSync(join(work, folder, "f"), "old");
      }
      const file = join(work, "in/f");
      rmSync(what === "file" ? file : join(work, "in"), { recursive: true });
      symlinkSync(what === "file" ? "../out/f" : "out", what === "file" ? file : join(work, "in"));
      await assert.rejects(host.write(file, bytes("new"), bytes("old")), {
        code: "ECHANGED",
        message: `${file} changed on disk: a link leads from there to ${work}/out/f now; ` +
          "nothing was written",
      });
      assert.equal(readFileSync(join(work, "out/f"), "utf8"), "old");
      assertClean(join(work, "out"), locks);
    });

    it(`sees a link put in the place of the ${what} while it was writing`, LONG, async () => {
      const { work, locks, host } = setup();
      mkdirSync(join(work, "in"));
      mkdirSync(join(work, "out"));
      for (const folder of ["in", "out"]) writeFileSync(join(work, folder, "f"), "old");
      const file = join(work, "in/f");
      const writing = host.write(file, new Uint8Array(50_000_000), bytes("old"));
      const refused = assert.rejects(writing, { code: "ECHANGED" });
      const temps = () => readdirSync(join(work, "in")).filter((name) => name.endsWith(".tmp"));
      await until("a temp file", () => temps().length > 0);
      if (what === "file") {
        rmSync(file);
        symlinkSync("../out/f", file);
      } else {
        renameSync(join(work, "in"), join(work, "was"));
        symlinkSync("out", join(work, "in"));
      }
      await refused;
      assert.equal(readFileSync(join(work, "out/f"), "utf8"), "old");
      assertClean(join(work, "out"), locks);
    });
  }

  it("refuses a loop of links, a folder, and a path through a file", async () => {
    const { work, locks, host } = setup();
    symlinkSync("loop", join(work, "loop"));
    writeFileSync(join(work, "f"), "");
    const cases: [string, string][] = [["loop", "ELOOP"], [".", "EISDIR"], ["f/x", "ENOTDIR"]];
    for (const [path, code] of cases) {
      await assert.rejects(host.write(join(work, path), bytes("x"), null), {
        name: "HostError",
        code,
      });
    }
    assertClean(work, locks);
  });

  it("refuses a read-only file, for root too", async () => {
    const { work, locks, host } = setup();
    const file = join(work, "f");
    writeFileSync(file, "old");
    chmodSync(file, 0o444);
    await assert.rejects(host.write(file, bytes("new"), bytes("old")), {
      code: "EACCES",
      message: `cannot write ${file}: it is read-only (mode 0444, EACCES)`,
    });
    assert.equal(readFileSync(file, "utf8"), "old");
    assertClean(work, locks);
  });

  it("says so where the lock folder cannot be made", async () => {
    const { work } = setup();
    writeFileSync(join(work, "file"), "");
    const host = localHost({ locks: join(work, "file/locks") });
    await assert.rejects(host.write(join(work, "new"), bytes("x"), null), {
      code: "ENOTDIR",
      message: /lock/,
    });
  });
});

describe("host: write on a full disk (FE-40)", () => {
  removeTemporary();
  const size = 600_000;

  /** Runs `writer.ts write` on a file of 600 KB under a shell that limits it first. */
  async function limited(shell: string[], dir: string, more: number) {
    const file = join(dir, "f");
    const locks = join(dir, "locks");
    const command = scriptCommand("writer.ts", "write", file, locks, String(size + more));
    const { code, text } = await start([...shell, ...command]).ended;
    assert.equal(code, 0, text);
    return text;
  }

  it("reports EFBIG, keeps the original and removes the temp file", LONG, async () => {
    const dir = temporary();
    writeFileSync(join(dir, "f"), "y".repeat(size));
    // Ignored signals are inherited: without this the limit kills Deno instead of giving an error.
    const shell = ["bash", "-c", `trap '' XFSZ; ulimit -f 800; exec "$@"`, "sh"];
    const result = JSON.parse(await limited(shell, dir, 600_000));
    assert.equal(result.name, "HostError");
    assert.equal(result.code, "EFBIG");
    assert.match(result.message, /cannot write .*allowed file size.*EFBIG/);
    assert.equal(readFileSync(join(dir, "f"), "utf8"), "y".repeat(size));
    assertClean(dir, join(dir, "locks"));
  });

  if (process.getuid?.() === 0) {
    it("reports ENOSPC on a disk of 1 MB", LONG, async () => {
      const dir = temporary();
      const script = `mount -t tmpfs -o size=1m tmpfs "$0" && head -c ${size} /dev/zero > "$0/f" &&
        "$@" && cmp -n ${size} "$0/f" /dev/zero && wc -c < "$0/f" && ls -A "$0" "$0/locks"`;
      const text = await limited(["unshare", "-m", "sh", "-c", script, dir], dir, 600_000);
      const [json = "", bytesLeft, ...names] = text.trim().split("\n");
      assert.equal(JSON.parse(json).code, "ENOSPC");
      assert.match(JSON.parse(json).message, /no space is left on the disk/);
      assert.equal(Number(bytesLeft), size);
      assert.deepEqual(names.filter((name) => name !== ""), [
        `${dir}:`,
        "f",
        "locks",
        `${dir}/locks:`,
      ]);
    });
  }
});

describe("host: several writers", () => {
  removeTemporary();

  it("lets one of ten writers with the same expectation win", async () => {
    const { work, locks, host } = setup();
    const file = join(work, "f");
    writeFileSync(file, "old");
    const tries = await Promise.allSettled(
      Array.from({ length: 10 }, (_, i) => host.write(file, bytes(`new ${i}`), bytes("old"))),
    );
    const won = tries.flatMap((t, i) => t.status === "fulfilled" ? [i] : []);
    assert.equal(won.length, 1);
    for (const t of tries) if (t.status === "rejected") assert.equal(t.reason.code, "ECHANGED");
    assert.equal(readFileSync(file, "utf8"), `new ${won[0]}`);
    assertClean(work, locks);
  });

  it("lets one of ten creators win", async () => {
    const { work, locks, host } = setup();
    const file = join(work, "f");
    const tries = await Promise.allSettled(
      Array.from({ length: 10 }, (_, i) => host.write(file, bytes(`${i}`), null)),
    );
    assert.equal(tries.filter((t) => t.status === "fulfilled").length, 1);
    assertClean(work, locks);
  });

  it("loses no update of ten processes", LONG, async () => {
    const { work, locks } = setup();
    const file = join(work, "f");
    writeFileSync(file, "");
    const writers = Array.from(
      { length: 10 },
      (_, i) => start(scriptCommand("writer.ts", "append", file, locks, `w${i}`, "4")).ended,
    );
    for (const { code, text } of await Promise.all(writers)) assert.equal(code, 0, text);
    const lines = readFileSync(file, "utf8").trim().split("\n");
    const wanted = Array.from({ length: 40 }, (_, n) => `w${Math.floor(n / 4)}.${n % 4}`);
    assert.deepEqual(lines.sort(), wanted.sort());
    assertClean(work, locks);
  });

  it(
    "keeps the original when a writer is killed before the rename, and goes on after it",
    LONG,
    async () => {
      const { work, locks, host } = setup();
      const file = join(work, "f");
      writeFileSync(file, "old");
      const { child, ended } = start(
        scriptCommand("writer.ts", "write", file, locks, String(200_000_000)),
      );
      const temps = () => readdirSync(work).filter((name) => name.endsWith(".tmp"));
      await until("a temp file", () => temps().length > 0, 20_000);
      child.kill("SIGKILL");
      await ended;
      assert.equal(readFileSync(file, "utf8"), "old");
      assert.equal(temps().length, 1);
      const begin = performance.now();
      await host.write(file, bytes("new"), bytes("old"));
      assert.ok(performance.now() - begin < 4_000);
      assert.equal(readFileSync(file, "utf8"), "new");
      assertClean(work, locks);
    },
  );

  it("takes over the lock of a pid that was given to another process", async () => {
    const { work, locks, host } = setup();
    const file = join(work, "f");
    mkdirSync(locks, { recursive: true });
    writeFileSync(
      lockOf(locks, file),
      `${process.pid} 1 precious.tmp\n`,
    );
    writeFileSync(join(work, "precious.tmp"), "not ours");
    await host.write(file, bytes("x"), null);
    assert.equal(readFileSync(join(work, "precious.tmp"), "utf8"), "not ours");
    assert.deepEqual(readdirSync(locks), []);
  });

  heavy(
    "gives up with a clear error while a living process keeps the lock",
    LONG,
    async () => {
      const { work, locks, host } = setup();
      const file = join(work, "f");
      const { child, ended } = start(["sleep", "60"]);
      const pid = child.pid as number;
      try {
        await until("sleep runs", () => runs(pid));
        const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
        const started = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
        mkdirSync(locks, { recursive: true });
        writeFileSync(lockOf(locks, file), `${pid} ${started} \n`);
        await assert.rejects(host.write(file, bytes("x"), null), {
          name: "HostError",
          code: "ELOCKED",
          message: new RegExp(`process ${pid} of nanocode has held its lock for 5 s`),
        });
        assert.ok(!existsSync(file));
      } finally {
        child.kill("SIGKILL");
        await ended;
      }
    },
  );
});
