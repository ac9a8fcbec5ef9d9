// Rules for certain files and skills in a running session: when they enter the context, that they only
// ever enter at its end, once, and that no compaction loses them.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { z } from "zod";
import { planFolds } from "../../src/context/compact.ts";
import { isUsersWord } from "../../src/context/history.ts";
import { findKnowledge, type Found } from "../../src/knowledge/find.ts";
import { skillsFor } from "../../src/knowledge/skills.ts";
import { compactNow } from "../../src/loop/compact-now.ts";
import type { AgentEvent } from "../../src/loop/events.ts";
import { requestFor } from "../../src/loop/request.ts";
import { turn, type TurnDeps } from "../../src/loop/turn.ts";
import type { ChatRequest } from "../../src/provider/provider.ts";
import { bash } from "../../src/tools/bash.ts";
import { edit } from "../../src/tools/edit.ts";
import { read } from "../../src/tools/read.ts";
import { search } from "../../src/tools/search.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { type Bench, bench, type Reply, scripted } from "../support/scripted.ts";

const LIMITS = { outputTokens: 2500, readTokens: 6000, bashTimeout: 10 };
const SQL =
  "--- Project rules: .nanocode/rules/sql.md for **/*.sql, db/** ---\nUPPER CASE KEYWORDS";

/** `Skill {name}` as the plugin has it. */
function skillTool(found: () => Found): Tool {
  return {
    name: "Skill",
    description: "loads",
    input: z.strictObject({ name: z.string() }),
    example: { name: "x" },
    effects: () => [],
    isConcurrencySafe: () => true,
    async run(input, ctx) {
      const { name } = input as { name: string };
      const skill = skillsFor(found().skills, ctx).find((one) => one.name === name);
      return { output: await skill?.body() ?? "none" };
    },
  };
}

interface Desk extends Bench {
  put(path: string, text: string): void;
  /** Runs a turn with these replies; gives its requests and events. */
  play(replies: Reply[], text?: string, over?: Partial<TurnDeps>): Promise<Played>;
  reopened(): Desk;
}

interface Played {
  requests: ChatRequest[];
  events: AgentEvent[];
}

async function desk(files: Record<string, string>): Promise<Desk> {
  let found: Found = { files: [], rules: [], skills: [], warnings: [] };
  const b = bench([read, edit, bash, search, skillTool(() => found)] as Tool[]);
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(b.folder, path)), { recursive: true });
    writeFileSync(join(b.folder, path), text);
  };
  for (const [path, text] of Object.entries(files)) put(path, text);
  const root = b.folder;
  found = await findKnowledge(
    { home: join(root, "home"), root, cwd: root, project: "own", folders: [] },
    [],
    false,
  );
  assert.deepEqual(found.warnings, []);
  const made = (session = b.session): Desk => ({
    ...b,
    session,
    put,
    async play(replies, text = "go", over = {}) {
      const provider = scripted(replies);
      const deps = { ...b.deps(provider), knowledge: found, toolLimits: LIMITS, ...over };
      const events: AgentEvent[] = [];
      for await (const event of turn(session, { text, source: "typed" }, deps)) events.push(event);
      return { requests: provider.requests, events };
    },
    reopened: () => made(b.reload()),
  });
  return made();
}

const FILES = {
  ".nanocode/rules/sql.md": '---\nglobs: ["**/*.sql", "db/**"]\n---\nUPPER CASE KEYWORDS\n',
  ".nanocode/rules/ts.md": "---\nglobs: *.ts\n---\nno any\n",
  ".nanocode/skills/deploy/SKILL.md": "---\ndescription: Deploys.\n---\nPush the button.\n",
  "db/a.sql": "select 1;\n",
  "b.txt": "text\n",
  "c.ts": "let c;\n",
};

const reads = (...paths: string[]): Reply => ({
  calls: paths.map((path) => ({ name: "Read", args: { files: [{ path }] } })),
});
const done: Reply = { text: "done" };
const create = { op: "create", content: "let d;\n" };

const isTail = (text: string) => /^--- (?:Memory|FILE STATE) ---/.test(text);
const body = ({ messages }: ChatRequest) => messages.filter(({ text }) => !isTail(text));
const textsOf = (request: ChatRequest | undefined) =>
  request ? body(request).map(({ text }) => text) : [];
const count = (request: ChatRequest | undefined, part: string) =>
  textsOf(request).join("\n").split(part).length - 1;

/** Each request begins with the one before it, minus its tail. */
function assertAppended(requests: ChatRequest[]): void {
  for (const [i, request] of requests.entries()) {
    const before = requests[i - 1];
    if (!before) continue;
    assert.deepEqual(body(request).slice(0, body(before).length), body(before), `request ${i}`);
    const at = request.messages.findIndex(({ text }) => isTail(text));
    assert.ok(request.messages.slice(at).every(({ text }) => isTail(text)), "the tail is last");
  }
}

describe("a rule for certain files", () => {
  it("is said behind the batch that first reads or edits one of them, once a session", async () => {
    const b = await desk(FILES);
    const { requests, events } = await b.play([
      reads("b.txt"),
      { calls: [{ name: "Search", args: { query: "select" } }] },
      reads("b.txt", "db/a.sql"),
      reads("db/a.sql"),
      { calls: [{ name: "Edit", args: { path: "d.ts", edits: [create] } }] },
      done,
    ]);
    assert.equal(requests.length, 6);
    assertAppended(requests);
    assert.deepEqual(requests.map((request) => count(request, SQL)), [0, 0, 0, 1, 1, 1]);
    assert.deepEqual(requests.map((request) => count(request, "no any")), [0, 0, 0, 0, 0, 1]);
    const roles = body(requests[3] as ChatRequest).slice(-4).map(({ role }) => role);
    assert.deepEqual(roles, ["assistant", "tool", "tool", "user"]);
    assert.match(textsOf(requests[3]).at(-1) ?? "", /^Rules for files that you have just read/);
    assert.deepEqual(events.flatMap((event) => event.type === "loaded" ? [event.name] : []), [
      ".nanocode/rules/sql.md",
      ".nanocode/rules/ts.md",
    ]);

    const { records } = b.session.log;
    const loaded = records.filter((record) => record.type === "loaded");
    assert.deepEqual(loaded.map(({ kind, path }) => [kind, path]), [
      ["rule", join(b.folder, ".nanocode/rules/sql.md")],
      ["rule", join(b.folder, ".nanocode/rules/ts.md")],
    ]);
    const said = records.filter((record) => record.type === "user");
    assert.deepEqual(said.map(({ source }) => source), ["typed", "rule", "rule"]);
    assert.deepEqual(loaded.map((record) => record.in), said.slice(1).map(({ id }) => id));
    assert.match(loaded[0]?.version ?? "", /^[0-9a-f]{8}$/);
    assert.deepEqual(records.filter(isUsersWord).map(({ text }) => text), ["go"]);

    const again = b.reopened();
    const later = await again.play([reads("db/a.sql"), done], "more");
    assert.deepEqual(textsOf(later.requests[0]).slice(0, -1), [
      ...textsOf(requests[5]),
      "done",
    ]);
    assert.equal(count(later.requests[1], SQL), 1);
    b.close();
  });

  it("is said together with others that a batch calls for, and not for files outside", async () => {
    const b = await desk(FILES);
    const outside = mkdtempSync(join(tmpdir(), "nanocode-outside-"));
    writeFileSync(join(outside, "x.ts"), "let x;\n");
    const { requests } = await b.play([
      reads(join(outside, "x.ts")),
      reads("c.ts", "db/a.sql"),
      done,
    ]);
    rmSync(outside, { recursive: true });
    assert.match(textsOf(requests[1]).join(), /let x;/);
    assert.equal(count(requests[1], "Rules for files"), 0);
    const last = textsOf(requests[2]).at(-1) ?? "";
    assert.match(
      last,
      /sql\.md for [^\n]*\nUPPER CASE KEYWORDS\n\n--- Project rules: .*ts\.md for \*\.ts ---\nno any$/,
    );
    assert.equal(b.session.log.records.filter(({ type }) => type === "loaded").length, 2);
    b.close();
  });

  it("is recorded also when the turn is interrupted with its batch", async () => {
    const b = await desk(FILES);
    const abort = new AbortController();
    const stop: Reply = {
      calls: [
        { name: "Read", args: { files: [{ path: "c.ts" }] } },
        { name: "Bash", args: { command: "sleep 30" } },
      ],
    };
    const provider = scripted([stop]);
    const deps = { ...b.deps(provider), toolLimits: LIMITS, signal: abort.signal };
    const found = await findKnowledge(
      { home: join(b.folder, "home"), root: b.folder, cwd: b.folder, project: "own", folders: [] },
      [],
      false,
    );
    const input = { text: "go", source: "typed" } as const;
    for await (const event of turn(b.session, input, { ...deps, knowledge: found })) {
      if (event.type === "call_start" && event.tool === "Bash") abort.abort();
    }
    const { requests } = await b.play([done], "and now");
    assert.equal(count(requests[0], "no any"), 1);
    b.close();
  });
});

describe("$name in a prompt", () => {
  it("shows the skill behind the prompt; named again it is a pointer", async () => {
    const b = await desk(FILES);
    const first = await b.play(
      [{ calls: [{ name: "Bash", args: { command: "true" } }] }, done],
      "$deploy it",
    );
    assertAppended(first.requests);
    const [, , prompt, skill] = body(first.requests[0] as ChatRequest);
    assert.deepEqual([prompt?.role, prompt?.text], ["user", "$deploy it"]);
    assert.equal(skill?.role, "user");
    assert.match(skill?.text ?? "", /^<Skill name="deploy" of="project"[^>]*>\nPush the button\./);
    const second = await b.play([done], "again $deploy");
    assert.deepEqual(textsOf(second.requests[0]).slice(-2), [
      "again $deploy",
      "The skill deploy is already loaded: with the messages of turn 1.",
    ]);
    assert.deepEqual(b.session.log.records.filter(isUsersWord).map(({ text }) => text), [
      "$deploy it",
      "again $deploy",
    ]);
    b.close();
  });

  it("of text that was queued stands behind it in the request that sends it", async () => {
    const b = await desk(FILES);
    const waiting = ["use $deploy", "quick"];
    const queue = {
      peek: () => waiting,
      drop: (n: number) => void waiting.splice(0, n),
    };
    const provider = scripted([reads("b.txt"), done]);
    const knowledge = await findKnowledge(
      { home: join(b.folder, "home"), root: b.folder, cwd: b.folder, project: "own", folders: [] },
      [],
      false,
    );
    const deps = { ...b.deps(provider), toolLimits: LIMITS, knowledge, queue };
    const events: AgentEvent[] = [];
    for await (const event of turn(b.session, { text: "go", source: "typed" }, deps)) {
      events.push(event);
    }
    assertAppended(provider.requests);
    const [one, two, skill] = textsOf(provider.requests[0]).slice(-3);
    assert.deepEqual([one, two], ["use $deploy", "quick"]);
    assert.match(skill ?? "", /Push the button/);
    assert.deepEqual(events.flatMap((event) => event.type === "steer" ? [event.text] : []), [
      "use $deploy",
      "quick",
    ]);
    const later = await b.play([done], "on");
    assertAppended([provider.requests[1] as ChatRequest, later.requests[0] as ChatRequest]);
    b.close();
  });

  it("of a skill that is gone is a warning, and the turn goes on", async () => {
    const b = await desk(FILES);
    rmSync(join(b.folder, ".nanocode/skills/deploy"), { recursive: true });
    const { requests, events } = await b.play([done], "$deploy");
    assert.deepEqual(textsOf(requests[0]).slice(-1), ["$deploy"]);
    const warnings = events.flatMap((event) => event.type === "warn" ? [event.message] : []);
    assert.match(warnings.join(), /^The skill deploy cannot be loaded: .*no such file/);
    b.close();
  });
});

describe("a skill that a call loads", () => {
  it("is recorded with its result; a second call, or $name, gets a pointer to it", async () => {
    const b = await desk(FILES);
    const load: Reply = { calls: [{ name: "Skill", args: { name: "deploy" } }] };
    const { requests } = await b.play([reads("b.txt"), load, load, done]);
    assert.match(textsOf(requests[2]).at(-1) ?? "", /^tool tr\.2 Skill .*\n<Skill name="deploy"/);
    assert.match(
      textsOf(requests[3]).at(-1) ?? "",
      /\nThe skill deploy is already loaded: as tr\.2\.$/,
    );
    const [loaded, ...more] = b.session.log.records.filter((record) => record.type === "loaded");
    assert.deepEqual([loaded?.kind, loaded?.in, more.length], ["skill", "tr.2", 0]);
    const again = await b.reopened().play([done], "$deploy");
    assert.match(textsOf(again.requests[0]).at(-1) ?? "", /already loaded: as tr\.2\./);
    b.close();
  });

  it("is read like a page of a file, and never folded", async () => {
    const long = "Push the button, then the lever.\n".repeat(600);
    const b = await desk({
      ...FILES,
      ".nanocode/skills/deploy/SKILL.md": `---\ndescription: d\n---\n${long}`,
    });
    const load: Reply = { calls: [{ name: "Skill", args: { name: "deploy" } }] };
    const { requests } = await b.play([
      load,
      ...Array.from({ length: 12 }, (_, i): Reply => ({
        calls: [{ name: "Bash", args: { command: `seq ${i} 3000` } }],
      })),
      done,
    ]);
    assert.ok((textsOf(requests[1]).at(-1) ?? "").includes(long.trim()));
    const folds = planFolds(b.session.log.records, 1_000_000, 0, 1);
    assert.ok(folds.length > 0 && !folds.includes("tr.1"), folds.join());
    b.close();
  });
});

describe("compaction", () => {
  it("shows rules and skills again, each once, also the second time, and takes none of it back", async () => {
    const b = await desk(FILES);
    const load: Reply = { calls: [{ name: "Skill", args: { name: "deploy" } }] };
    const filler = { calls: [{ name: "Bash", args: { command: "seq 1 3000" } }] };
    await b.play([reads("db/a.sql"), load, filler, filler, done], "first");
    const summary = JSON.stringify({ summary: "A summary." });
    const compacted = async () => {
      const provider = scripted([{ text: summary }, { text: summary }]);
      const deps = b.deps(provider, {
        model: { provider, model: "m", window: 24_000, prices: null },
      });
      const how = await compactNow(b.session, deps, () => {});
      const { request } = await requestFor(b.session, deps, []);
      return { how, request, asked: provider.requests };
    };
    const check = (request: ChatRequest) => {
      assert.equal(count(request, SQL), 1);
      assert.equal(count(request, "Push the button."), 1);
      assert.equal(count(request, "A summary."), 1);
      assert.ok(body(request).every(({ role }) => role !== "tool"));
    };
    const one = await compacted();
    assert.equal(one.how, "compacted");
    check(one.request);
    assert.doesNotMatch(JSON.stringify(one.asked), /UPPER CASE/, "the summariser need not see it");
    const words = textsOf(one.request).find((text) => text.includes("The user's words")) ?? "";
    assert.doesNotMatch(words, /UPPER CASE|Push the button/);

    const next = await b.play([reads("db/a.sql"), load, filler, filler, done], "second");
    assertAppended(next.requests);
    assert.equal(count(next.requests.at(-1), SQL), 1);
    assert.match(textsOf(next.requests[2]).at(-1) ?? "", /already loaded: as tr\.2\./);
    const two = await compacted();
    assert.equal(two.how, "compacted");
    check(two.request);
    b.close();
  });
});
