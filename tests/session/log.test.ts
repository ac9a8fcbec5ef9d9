import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import fc from "fast-check";
import { tryLock } from "../../src/runtime/lock.ts";
import { sha256 } from "../../src/runtime/hash.ts";
import { BlobStore } from "../../src/session/blobs.ts";
import { parseLog, SessionLog } from "../../src/session/log.ts";
import { createLog, reopenLog } from "../../src/session/open.ts";
import { newId, type SessionRecord } from "../../src/session/records.ts";
import { findSession, listSessions, projectFolder } from "../../src/session/store.ts";

const RUNS = Number(process.env["NANOCODE_RUNS"] ?? 1);
let folder = "";
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "nanocode-log-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const user = (text: string) => ({ type: "user", turn: 1, step: 0, text, source: "typed" }) as const;
const texts = (records: readonly SessionRecord[]) =>
  records.flatMap((record) => record.type === "user" ? [record.text] : []);

/** A case file's message line, as one of our records. */
const line = (text: string) =>
  JSON.stringify({ v: 1, id: newId(), t: "2026-01-01T00:00:00Z", ...user(text) });

describe("session log", () => {
  it("appends records one a line and reads them back", () => {
    const path = join(folder, "a", "s.jsonl");
    const log = SessionLog.create(path);
    log.append(user("one"));
    log.append(user("two\nlines"));
    log.close();
    assert.equal(readFileSync(path, "utf8").trimEnd().split("\n").length, 2);
    const again = SessionLog.open(path);
    assert.deepEqual(texts(again.records), ["one", "two\nlines"]);
    assert.deepEqual(again.problems, []);
    again.close();
  });

  it("a half-written last line is cut off, said, and does not spoil the next append (SE-01)", () => {
    const path = join(folder, "s.jsonl");
    writeFileSync(path, `${["1", "2", "3", "4"].map(line).join("\n")}\n${line("5").slice(0, 40)}`);
    const log = SessionLog.open(path);
    assert.deepEqual(texts(log.records), ["1", "2", "3", "4"]);
    assert.match(log.problems[0] ?? "", /line 5 was half written/);
    log.append(user("new"));
    log.close();
    const again = SessionLog.open(path);
    assert.deepEqual(texts(again.records), ["1", "2", "3", "4", "new"]);
    assert.deepEqual(again.problems, []);
    again.close();
    assert.match(readFileSync(`${path}.bad`, "utf8"), /"v":1/);
  });

  it("a last line that only lacks its newline is kept", () => {
    const path = join(folder, "s.jsonl");
    writeFileSync(path, `${line("1")}\n${line("2")}`);
    const log = SessionLog.open(path);
    log.append(user("3"));
    log.close();
    const again = SessionLog.open(path);
    assert.deepEqual(texts(again.records), ["1", "2", "3"]);
    again.close();
  });

  it("bad lines in the middle are reported and kept aside; all else is there (SE-02)", () => {
    const path = join(folder, "s.jsonl");
    writeFileSync(
      path,
      [line("1"), line("2"), "\0".repeat(300), "{not json}", line("3"), line("4"), ""].join("\n"),
    );
    const log = SessionLog.open(path);
    assert.deepEqual(texts(log.records), ["1", "2", "3", "4"]);
    assert.equal(log.problems.length, 2);
    log.close();
    assert.match(readFileSync(`${path}.bad`, "utf8"), /not json/);
    const size = readFileSync(`${path}.bad`).length;
    SessionLog.open(path).close();
    assert.equal(readFileSync(`${path}.bad`).length, size);
  });

  it("only LF separates records: U+2028, U+2029 and U+0085 are text (SE-04)", () => {
    const path = join(folder, "s.jsonl");
    const text = "a\u2028b\u2029c\u0085d";
    const log = SessionLog.create(path);
    log.append(user(text));
    log.close();
    assert.deepEqual(texts(parseLog(readFileSync(path)).records), [text]);
  });

  it("records and fields of a newer release are kept", () => {
    const path = join(folder, "s.jsonl");
    writeFileSync(
      path,
      `${JSON.stringify({ v: 9, id: "x", t: "t", type: "hologram", deep: { a: 1 } })}\n`,
    );
    const log = SessionLog.open(path);
    assert.equal(log.records.length, 1);
    log.append(user("1"));
    log.close();
    assert.match(readFileSync(path, "utf8"), /"hologram","deep":\{"a":1\}/);
  });

  it("whatever is appended to the file, what was whole before is read back (property)", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "binary" })),
        fc.uint8Array({ maxLength: 60 }),
        (messages, junk) => {
          const good = messages.map((text) => line(text.toWellFormed()));
          const bytes = Buffer.concat([
            Buffer.from(good.map((text) => `${text}\n`).join("")),
            junk,
          ]);
          const loaded = parseLog(bytes);
          assert.deepEqual(
            texts(loaded.records).slice(0, messages.length),
            messages.map((text) => text.toWellFormed()),
          );
          assert.ok(loaded.sound >= Buffer.byteLength(good.map((text) => `${text}\n`).join("")));
        },
      ),
      { numRuns: 50 * RUNS },
    );
  });

  it("20 MB in 10,000 records load (SE-04)", () => {
    const path = join(folder, "s.jsonl");
    const text = "x".repeat(2000);
    writeFileSync(path, Array.from({ length: 10_000 }, () => line(text)).join("\n"));
    assert.equal(parseLog(readFileSync(path)).records.length, 10_000);
  });

  it("a full disk is said, and the file stays sound", () => {
    // ulimit -f limits the size of any file that the process writes, here to 4 MB
    const script = join(folder, "full.ts");
    writeFileSync(
      script,
      `
      import { SessionLog } from ${
        JSON.stringify(new URL("../../src/session/log.ts", import.meta.url).href)
      };
      process.on("SIGXFSZ", () => {});
      const log = SessionLog.create(${JSON.stringify(join(folder, "s.jsonl"))});
      let said = "";
      for (let i = 0; i < 100 && !said; i++) {
        try { log.append({ type: "user", turn: 1, step: 0, text: "y".repeat(100_000), source: "typed" }); }
        catch (error) { said = error.name + ": " + error.message; }
      }
      console.log(said);
    `,
    );
    const runtime = process.execPath.endsWith("deno")
      ? `"${process.execPath}" run -A --no-check`
      : `"${process.execPath}"`;
    const { stdout } = spawnSync("bash", ["-c", `ulimit -f 4096; exec ${runtime} "${script}"`], {
      encoding: "utf8",
    });
    assert.match(stdout, /SessionError: cannot write the session file/);
    const loaded = parseLog(readFileSync(join(folder, "s.jsonl")));
    assert.ok(loaded.records.length > 3);
    assert.deepEqual(loaded.problems, []);
  });
});

describe("session store", () => {
  it("lists good files and is not disturbed by empty, binary and strange ones (SE-03)", () => {
    writeFileSync(join(folder, "0good.jsonl"), `${line("1")}\n`);
    writeFileSync(join(folder, "0empty.jsonl"), "");
    writeFileSync(join(folder, "0bin.jsonl"), new Uint8Array([0, 255, 1, 254]));
    mkdirSync(join(folder, "x.jsonl"));
    assert.deepEqual(listSessions(folder).map((file) => file.id).sort(), [
      "0bin",
      "0empty",
      "0good",
    ]);
    assert.deepEqual(listSessions(join(folder, "missing")), []);
    const found = findSession(folder, "0g");
    assert.equal(!Array.isArray(found) && found.id, "0good");
    assert.equal((findSession(folder, "0") as unknown[]).length, 3);
  });

  it("two projects of one name have different folders", () => {
    assert.notEqual(projectFolder("/h", "/a/app"), projectFolder("/h", "/b/app"));
    assert.match(projectFolder("/h", "/a/my app"), /my-app-[0-9a-f]{8}$/);
  });

  it("a session in use is forked: its records are copied, its file is not touched", () => {
    const header = { root: "/r", cwd: "/r", version: "0", environment: "e" };
    const first = createLog(folder, header);
    first.log.append(user("mine"));
    const blob = first.blobs.keep(Buffer.from("kept"));
    const before = readFileSync(first.log.path, "utf8");
    const fork = reopenLog(first.log.path, folder);
    assert.ok(fork.forkedFrom);
    assert.deepEqual(texts(fork.log.records), ["mine"]);
    assert.deepEqual(fork.blobs.get(blob), Buffer.from("kept"));
    fork.log.append(user("other"));
    assert.equal(readFileSync(first.log.path, "utf8"), before);
    const head = fork.log.records[0];
    assert.equal(head?.type === "header" && head.parent?.session, fork.forkedFrom);
    fork.close();
    first.close();
    const again = reopenLog(first.log.path, folder);
    assert.equal(again.forkedFrom, undefined);
    again.close();
  });

  it("a lock of a dead process is taken over", () => {
    const path = join(folder, "l.lock");
    const { pid } = spawnSync("true");
    writeFileSync(path, `${pid} 1\n`);
    const lock = tryLock(path);
    assert.ok(lock);
    assert.equal(tryLock(path), null);
    lock.release();
    assert.equal(existsSync(path), false);
  });
});

describe("blobs and ids", () => {
  it("a blob is named by the sha-256 of its bytes, whole or piece by piece", () => {
    const store = new BlobStore(join(folder, "b"));
    const name = store.keep(Buffer.from("hello"));
    assert.equal(name, sha256("hello"));
    const writer = store.open();
    writer.write(Buffer.from("hel"));
    writer.write(Buffer.from("lo"));
    assert.equal(writer.end(), name);
    assert.equal(store.get("../../etc/passwd"), null);
    assert.equal(store.get("0".repeat(64)), null);
  });

  it("ids sort by creation, also within a millisecond and when the clock steps back", () => {
    const now = Date.now() + 60_000;
    const ids = [newId(now), newId(now), newId(now - 5000), newId(now + 1)];
    assert.deepEqual([...ids].sort(), ids);
  });
});
