import assert from "node:assert/strict";
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { parseArgs } from "../../src/cli/args.ts";
import { contextCommand, type ContextJson } from "../../src/cli/context.ts";
import { compactNow, undoCompaction } from "../../src/loop/compact-now.ts";
import { UserError } from "../../src/runtime/errors.ts";
import { projectFolder } from "../../src/session/store.ts";
import { bench, scripted } from "../support/scripted.ts";

describe("nanocode context", () => {
  let folder = "";
  const known = process.env["NANOCODE_HOME"];
  before(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "nanocode-context-")));
    process.env["NANOCODE_HOME"] = join(folder, "home");
  });
  after(() => {
    if (known === undefined) delete process.env["NANOCODE_HOME"];
    else process.env["NANOCODE_HOME"] = known;
    rmSync(folder, { recursive: true });
  });

  /** A project with the sessions of these ids, the first the newest. */
  async function project(name: string, ...ids: string[]) {
    const root = join(folder, name);
    mkdirSync(root);
    const sessions = projectFolder(join(folder, "home"), root);
    const b = bench();
    const provider = scripted([
      { calls: [{ name: "Echo", args: { text: "word ".repeat(400) } }] },
      { text: "first" },
      { text: '{"summary":"a word was echoed"}' },
      { text: "second" },
    ]);
    const over = { model: { provider, model: "m\x1b[2J\u202e", window: 50_000, prices: null } };
    await b.run(provider, over);
    await compactNow(b.session, b.deps(provider, over), () => {});
    await b.run(provider, over);
    await undoCompaction(b.session, b.deps(provider, over));
    if (ids.length > 0) mkdirSync(sessions, { recursive: true });
    for (const [i, id] of ids.entries()) {
      const path = join(sessions, `${id}.jsonl`);
      copyFileSync(b.session.log.path, path);
      utimesSync(path, 1e9 - i, 1e9 - i);
    }
    b.close();
    return { root, sessions, path: (id: string) => join(sessions, `${id}.jsonl`) };
  }

  async function context(root: string, ...argv: string[]): Promise<string> {
    let printed = "";
    const code = await contextCommand(parseArgs(["context", ...argv, "--cwd", root]), (text) => {
      printed += text;
      return Promise.resolve(0);
    });
    assert.equal(code, 0);
    return printed;
  }

  const fails = async (root: string, ...argv: string[]): Promise<UserError> => {
    const error = await context(root, ...argv).catch((error: unknown) => error);
    assert.ok(error instanceof UserError, String(error));
    return error;
  };

  it("draws the newest session, or the one whose id begins so", async () => {
    const { root } = await project("newest", "0aab", "0abc");
    const text = await context(root);
    assert.match(text, /^Session 0aab · 3 requests · m\\x1b\[2J\\u202e\n/);
    assert.match(text, /compacted once, last \S+ → \d+ tokens \(taken back\)\n/);
    assert.match(text, /Last request: about \S+ of 50\.0k tokens/);
    assert.match(text, / 2\.1 .*broke: \w+ \(the history was compacted\)\n/);
    assert.match(text, /prefix broken once\n$/);
    assert.ok(!text.includes("\x1b"));
    assert.match(await context(root, "0ab"), /^Session 0abc /);
  });

  it("--json is one document with every request, the compactions and the totals", async () => {
    const { root } = await project("json", "0abc");
    const text = await context(root, "--json");
    assert.equal(text.indexOf("\n"), text.length - 1);
    assert.doesNotMatch(text, /[\x1b\u202e]/);
    const report = JSON.parse(text) as ContextJson;
    assert.deepEqual([report.version, report.session, report.window], [1, "0abc", 50_000]);
    assert.deepEqual(report.requests.map(({ turn, step }) => [turn, step]), [[1, 1], [1, 2], [
      2,
      1,
    ]]);
    const [first, second, third] = report.requests;
    assert.deepEqual([first?.input, first?.cached, first?.output], [100, 50, 10]);
    assert.equal(first?.model, "m\x1b[2J\u202e");
    assert.ok(second && second.predicted > 0 && second.broke === undefined);
    assert.match(third?.broke?.why ?? "", /compacted/);
    for (const request of report.requests) {
      assert.equal(request.blocks.reduce((sum, { tokens }) => sum + tokens, 0) > 0, true);
      assert.match(request.blocks[0]?.hash ?? "", /^[0-9a-f]{8}$/);
      assert.match(request.tail[0] ?? "", /Memory/);
    }
    const [compaction] = report.compactions;
    assert.deepEqual([compaction?.by, compaction?.undone], ["model", true]);
    const { requests, counted, input, cached, broken } = report.totals;
    assert.deepEqual([requests, counted, input, cached, broken], [3, 3, 300, 150, 1]);
  });

  it("every field of the document stands in docs/context.md", async () => {
    const { root } = await project("fields", "0abc");
    const report = JSON.parse(await context(root, "--json")) as ContextJson;
    const page = readFileSync(new URL("../../docs/context.md", import.meta.url), "utf8");
    const [, section = ""] = page.split("prints one document");
    const objects = [report, ...report.requests, ...report.compactions, report.totals];
    for (const field of new Set(objects.flatMap(Object.keys))) {
      assert.match(section, new RegExp(`[\`{ ]${field}[\`,}]`), field);
    }
    for (const { name } of report.requests.flatMap(({ blocks }) => blocks)) {
      assert.match(page, new RegExp(`^\\|[^|]*\`${name}\``, "m"));
    }
  });

  it("only reads: another nanocode may be writing the last line", async () => {
    const { root, sessions, path } = await project("busy", "0abc");
    appendFileSync(path("0abc"), '{"type":"reply","id":"half');
    writeFileSync(`${path("0abc")}.lock`, `${process.pid}`);
    const bytes = readFileSync(path("0abc"));
    const names = readdirSync(sessions);
    assert.match(await context(root), /^Session 0abc · 3 requests/);
    assert.deepEqual(readFileSync(path("0abc")), bytes);
    assert.deepEqual(readdirSync(sessions), names);
  });

  it("a session without requests says so", async () => {
    const { root, path } = await project("bare", "0abc");
    const [header] = readFileSync(path("0abc"), "utf8").split("\n");
    writeFileSync(path("0abc"), `${header}\n`);
    assert.match(await context(root), /0 requests\nNo request has been sent in this session yet\./);
    const { requests, window } = JSON.parse(await context(root, "--json")) as ContextJson;
    assert.deepEqual([requests, window], [[], null]);
  });

  it("no session, an unknown id and one that fits several are said, with what there is", async () => {
    const none = await project("none");
    const empty = await fails(none.root);
    assert.deepEqual([empty.exit, empty.message], [2, "this project has no session yet"]);
    const { root } = await project("some", "0aab", "0abc");
    const unknown = await fails(root, "0zz");
    assert.equal(unknown.exit, 2);
    assert.match(unknown.message, /no session of this project begins with "0zz"/);
    assert.match(unknown.hint ?? "", /0aab .*0abc/);
    assert.match((await fails(root, "0a")).message, /several sessions begin with "0a"/);
  });
});
