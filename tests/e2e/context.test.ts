// /context and /compact of the compiled binary in a real terminal, and `nanocode context` beside it, with
// a strict server that summarises, goes silent or fails when it is asked for a summary.

import assert from "node:assert/strict";
import { appendFileSync, readdirSync } from "node:fs";
import { afterEach, describe, it } from "node:test";
import { startServer, type Step, type StrictServer } from "../support/strict-server.ts";
import { Tmux } from "../support/tmux.ts";
import { BINARY, join, modelEnv, records, run, type Sandbox, sandbox } from "./support.ts";

let box: Sandbox;
let server: StrictServer | undefined;
let terminal: Tmux | undefined;
afterEach(async () => {
  terminal?.kill();
  terminal = undefined;
  await server?.close();
  server = undefined;
  box.close();
});

const GOOD: Step = { text: '{"summary":"numbers were printed","constraints":["be brief"]}' };

/** The newest turn is small enough in it to be kept by a compaction. */
const WINDOW = 40_000;

/** Each turn prints numbers and says `done N`; `summary` answers the request for a summary. */
async function open(summary: Step, columns = 80, env: Record<string, string> = {}) {
  box = sandbox({ ".nanocode/config.json": `{"context":{"window":${WINDOW}}}` });
  let turns = 0;
  server = await startServer(({ body }) => {
    if (!body.tools) return summary;
    const tool = body.messages.findLastIndex(({ role }) => role === "tool");
    const user = body.messages.findLastIndex(({ content }) => /task$/.test(String(content)));
    if (tool > user) return { text: `done ${++turns}` };
    return { calls: [{ name: "Bash", args: { command: "seq 1 400" } }] };
  });
  const variables = Object.entries({ ...box.env, ...modelEnv(server.url), ...env })
    .map(([name, value]) => `${name}='${value}'`).join(" ");
  terminal = new Tmux(
    `env -i TERM=xterm-256color LANG=C.UTF-8 ${variables} '${BINARY}' --yolo; echo "exit=$?"; exec cat`,
    { columns, rows: 50, cwd: box.work },
  );
  const t = terminal;
  await t.until(/\/help lists the commands/);
  const send = async (text: string, shows: RegExp) => {
    t.type(text);
    t.press("Enter");
    return await t.until(shows);
  };
  return {
    t,
    send,
    async leave() {
      t.press("C-d");
      await t.until(/exit=0/);
      assert.deepEqual(server?.errors, []);
    },
  };
}

const nanocode = (...args: string[]) =>
  run(args, { cwd: box.work, env: { ...box.env, NO_COLOR: "1" } });
const sessionFile = () => {
  const folder = join(box.home, ".nanocode", "sessions");
  const name = readdirSync(folder, { recursive: true }).map(String).find((file) =>
    file.endsWith(".jsonl")
  );
  return join(folder, name ?? "none");
};
const typesOf = () => records(box.home).map(({ type }) => type);

describe("the context in a terminal", () => {
  it("/context draws it, /compact shortens it, --undo brings it back, nanocode context reads it", async () => {
    const { t, send, leave } = await open(GOOD);
    await send("/context", /error: the session has not begun/);
    await send("first task", /done 1\n\ndone ·/);
    await send("second task", /done 2\n\ndone ·/);
    let screen = await send("/context", /total: .* cached/);
    assert.match(screen, /Session 0\w+ · 4 requests · m\n/);
    assert.match(
      screen,
      /Next request: about \S+ of 40\.0k tokens \(\d+%\), compacted from 25\.5k on\n/,
    );
    assert.match(screen, /\n {2}results +█+/);
    assert.match(screen, /\n +1\.1 .*\n +1\.2 .*\n +2\.1 .*\n +2\.2 /);
    assert.match(t.run("capture-pane", "-p", "-e"), /results +\x1b\[36m█/);

    screen = await send("/compact --preview", /no model was asked\./);
    assert.match(screen, /in the place of turn 1 \(4 records\)/);
    assert.match(screen, /your message and the newest turn\./);
    const asked = server?.requests.length;
    await send(
      "/compact --all",
      /error: \/compact does not know "--all": it takes nothing, --prev/,
    );
    assert.equal(server?.requests.length, asked);
    await send("/compact", /compacted: \S+k → \S+k tokens \(summary by the model\)/);
    screen = await send("/context", /\n {2}summary +▏?█*[\s\S]*total:/);
    assert.match(screen, /compacted once, last/);

    // Another process looks while this one has the session open.
    const other = await nanocode("context");
    assert.deepEqual([other.code, other.stderr], [0, ""]);
    assert.match(other.stdout, /^Session 0\w+ · 4 requests · m\ncompacted once[\s\S]*Last request/);
    assert.ok(!other.stdout.includes("\x1b"));

    await send("third task", /done 3\n\ndone ·/);
    const after = JSON.stringify(server?.requests.at(-1)?.body.messages);
    assert.match(after, /numbers were printed/);
    assert.match(after, /first task/);
    assert.match(await send("/context", /prefix broken once/), /broke: \w+ \(the history was comp/);

    await send("/compact --undo", /Taken back: turn 1 \(4 records\) word for word again/);
    await send("/compact --undo", /Nothing to take back/);
    await send("fourth task", /done 4\n\ndone ·/);
    const back = JSON.stringify(server?.requests.at(-1)?.body.messages);
    assert.doesNotMatch(back, /numbers were printed/);
    assert.match(back, /done 1/);
    await leave();

    const json = JSON.parse((await nanocode("context", "--json")).stdout);
    assert.equal(json.requests.length, 8);
    assert.equal(json.compactions[0].undone, true);
    assert.deepEqual(
      json.requests.filter(({ broke }: { broke?: unknown }) => broke).map((
        { turn, broke }: { turn: number; broke: { why: string } },
      ) => [turn, broke.why]),
      [[3, "the history was compacted"], [4, "a compaction was taken back"]],
    );
    // A line that is no record is told, a half-written last one is another nanocode's next record.
    appendFileSync(sessionFile(), '{"type":"reply","id":"half');
    const half = await nanocode("context");
    assert.deepEqual([half.code, half.stderr], [0, ""]);
    appendFileSync(sessionFile(), "\x1b\n{");
    const damaged = await nanocode("context");
    assert.match(damaged.stdout, / 8 requests /);
    assert.match(damaged.stderr, /^warning: session 0\w+: line \d+ is no record .*\n$/);
    const unknown = await nanocode("context", "0zzzz");
    assert.deepEqual([unknown.code, unknown.stdout], [2, ""]);
    assert.match(
      unknown.stderr,
      /no session of this project begins with "0zzzz"\n {2}The newest are: 0/,
    );
  });

  for (const key of ["Escape", "C-c"]) {
    it(`${key} interrupts /compact: nothing is recorded, and what was typed comes back`, async () => {
      const { t, send, leave } = await open({ hang: "headers" });
      await send("first task", /done 1\n\ndone ·/);
      await send("/compact", /Esc interrupts/);
      await send("and then this task", /queued: and then this task/);
      t.press(key);
      await t.until(/Interrupted: nothing was compacted\.[\s\S]*> and then this task/);
      assert.ok(!typesOf().includes("compact"));
      t.press("Enter");
      await t.until(/done 2\n\ndone ·/);
      await leave();
    });
  }

  it("a provider that fails leaves a summary without the model, and the reason is shown", async () => {
    const { send, leave } = await open({ status: 400, body: "no summaries here" });
    await send("first task", /done 1\n\ndone ·/);
    await send(
      "/compact",
      /compacted: \S+k → \S+k tokens \(summary made without the model: the model gave no\s+summary: no summaries here\)/,
    );
    await send("second task", /done 2\n\ndone ·/);
    assert.match(
      JSON.stringify(server?.requests.at(-1)?.body.messages),
      /the user asked: first task/,
    );
    await leave();
  });

  it("200 columns, no colours", async () => {
    const { t, send, leave } = await open(GOOD, 200, { NO_COLOR: "1" });
    await send("first task", /done 1\n\ndone ·/);
    await send("/context", /total: .* cached/);
    const screen = t.run("capture-pane", "-p", "-e");
    assert.ok(!screen.includes("\x1b[3"), screen);
    assert.match(screen, /\n {2}tools +█{20,59}\S? +\S+ +\d+%\n/);
    await leave();
  });
});

describe("-p", () => {
  it("says on stderr that it compacted, and in stream-json as an event", async () => {
    box = sandbox({ ".nanocode/config.json": '{"context":{"window":12000,"outputTokens":2000}}' });
    let step = 0;
    server = await startServer(({ body }) => {
      if (!body.tools) return GOOD;
      const calls = [{ name: "Bash", args: { command: `seq ${++step} 3000` } }];
      return step % 5 === 0 ? { text: "done" } : { calls };
    });
    const env = { ...box.env, ...modelEnv(server.url) };
    const once = (...args: string[]) => run(["--yolo", ...args], { cwd: box.work, env });
    assert.equal((await once("-p", "one")).code, 0);
    const text = await once("-c", "-p", "two");
    assert.equal(text.code, 0, text.stderr);
    assert.match(text.stderr, /^compacted: \S+k → \S+k tokens \(summary by the model\)$/m);
    assert.equal(text.stdout, "done\n");
    const stream = await once("-c", "-p", "three", "--output", "stream-json");
    const events = stream.stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
    const compact = events.find(({ type }) => type === "compact");
    assert.deepEqual([compact?.how, compact?.turn], ["model", 3]);
    assert.ok(compact.after < compact.before);
    assert.match((await nanocode("context")).stdout, /of 12\.0k tokens/);
  });
});
