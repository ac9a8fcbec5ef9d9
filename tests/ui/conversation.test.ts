import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Channel, channel } from "../../src/loop/channel.ts";
import type { AgentEvent } from "../../src/loop/events.ts";
import type { Ask, AskRequest } from "../../src/loop/permit.ts";
import { nearest } from "../../src/runtime/nearest.ts";
import { Conversation, type ConversationDeps } from "../../src/ui/terminal/conversation.ts";
import { makeTheme } from "../../src/ui/colors.ts";
import { at, end, fakeClock, start, turnEnd } from "./fake.ts";

interface Turn {
  text: string;
  source: string;
  signal: AbortSignal;
  ask: Ask;
  events: Channel<AgentEvent>;
  /** Ends it as the loop does. */
  finish(reason?: "done" | "interrupt" | "provider"): Promise<void>;
}

/** Lets everything that is ready run. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 0));

const REQUEST: AskRequest = {
  call: "c1",
  tool: "Edit",
  title: "src/a.ts",
  effects: [{ kind: "write", path: "/work/src/a.ts" }],
  preview: "+new",
  reason: "",
  scope: "edits inside the workspace",
};

function talk(more: Partial<ConversationDeps> = {}) {
  const clock = fakeClock();
  const turns: Turn[] = [];
  const queued: string[] = [];
  const restored: string[] = [];
  let printed = "";
  let exit: number | null = null;
  const conversation = new Conversation(
    {
      theme: makeTheme(false),
      commands: [],
      queue(text) {
        queued.push(text);
        return () => {
          const index = queued.indexOf(text);
          if (index !== -1) queued.splice(index, 1);
          return index !== -1;
        };
      },
      run(text, source, { signal, ask }) {
        const events = channel<AgentEvent>();
        turns.push({
          text,
          source,
          signal,
          ask,
          events,
          async finish(reason = "done") {
            events.push(turnEnd("", { reason }));
            events.close();
            await settle();
          },
        });
        return events;
      },
      ...more,
    },
    {
      print: (text) => (printed += `${text}\n`),
      changed: () => {},
      restore: (text) => restored.push(text),
      size: () => ({ columns: 80, rows: 24 }),
    },
    clock,
  );
  void conversation.finished.then((code) => (exit = code));
  return {
    conversation,
    clock,
    turns,
    queued,
    restored,
    printed: () => printed,
    exit: () => exit,
    live: () =>
      [...conversation.liveRows({ columns: 80, rows: 20 }), ...conversation.statusRows()].map((
        { text },
      ) => text),
    turn(index: number): Turn {
      const turn = turns[index];
      assert.ok(turn, `turn ${index} was not started`);
      return turn;
    },
  };
}

describe("a turn in the terminal", () => {
  it("shows input, reasoning, text, calls and the end, apart from each other", async () => {
    const t = talk();
    t.conversation.submit("do it");
    const { events, finish } = t.turn(0);
    events.push(at({ type: "reasoning", text: "hm" }));
    events.push(at({ type: "text", text: "\n\nI will " }));
    events.push(at({ type: "text", text: "look.\n\nFirst here.\n\n" }));
    events.push(start("c1", "Read", "src/a.ts 1:80"));
    events.push(end("c1", "Read", "80 lines"));
    events.push(start("c2", "Bash", "make"));
    events.push(end("c2", "Bash", "exit 2", { status: "error" }));
    await finish();
    assert.equal(
      t.printed(),
      "> do it\n\nhm\n\nI will look.\n\nFirst here.\n\n● Read src/a.ts 1:80\n  └ 80 lines\n" +
        "● Bash make\n  └ error: exit 2\n\ndone · 2 steps · 1.5 s\n",
    );
    assert.equal(t.conversation.mode, "idle");
  });
  it("keeps an unfinished line in the live area", async () => {
    const t = talk();
    t.conversation.submit("go");
    t.turn(0).events.push(at({ type: "text", text: "first\nsec" }));
    await settle();
    assert.match(t.printed(), /first\n$/);
    assert.equal(t.live()[0], "sec");
  });
  it("shows the last six lines of a running command, then only the result", async () => {
    const t = talk();
    t.conversation.submit("go");
    const { events } = t.turn(0);
    events.push(start("c1", "Bash", "make"));
    for (let i = 0; i < 20; i++) {
      events.push(at({ type: "call_output", call: "c1", text: `line ${i}\r\n` }));
    }
    events.push(at({ type: "call_output", call: "c1", text: "10%\r\x1b[32m20%\x1b[0m\x1b[2K" }));
    await settle();
    assert.deepEqual(t.live().slice(0, 7), [
      "● Bash make",
      "  line 15",
      "  line 16",
      "  line 17",
      "  line 18",
      "  line 19",
      "  20%\\x1b[2K",
    ]);
    events.push(end("c1", "Bash", "exit 0"));
    await settle();
    assert.match(t.printed(), /● Bash make\n {2}└ exit 0\n$/);
    assert.doesNotMatch(t.live().join("\n"), /line/);
  });
  it("says the answer of a limit where it is not the text just shown", async () => {
    const t = talk();
    t.conversation.submit("go");
    const { events } = t.turn(0);
    events.push(at({ type: "text", text: "so far" }));
    events.push(turnEnd("so far\nStopped at 2 steps.", { reason: "steps" }));
    events.close();
    await settle();
    assert.equal(t.printed().match(/so far/g)?.length, 1);
    assert.match(t.printed(), /Stopped at 2 steps\./);
  });
  it("closes calls that got no result", async () => {
    const t = talk();
    t.conversation.submit("go");
    t.turn(0).events.push(start("c1", "Bash", "sleep 9"));
    await t.turn(0).finish("interrupt");
    assert.match(t.printed(), /● Bash sleep 9\n {2}└ interrupted\n\ninterrupted · /);
  });
  it("says that the history was compacted", async () => {
    const t = talk();
    t.conversation.submit("go");
    t.turn(0).events.push(at({ type: "compact", how: "model", before: 9000, after: 3000 }));
    await settle();
    assert.match(t.printed(), /\ncompacted: 9\.0k → 3\.0k tokens \(summary by the model\)\n$/);
  });
  it("survives a turn that throws", async () => {
    const t = talk();
    t.conversation.submit("go");
    t.turn(0).events.close(new Error("the session file is broken"));
    await settle();
    assert.match(t.printed(), /error: the session file is broken\n/);
    assert.equal(t.conversation.mode, "idle");
  });
  it("shows a diff that nobody was asked about, folded", async () => {
    const t = talk();
    t.conversation.submit("go");
    const { events } = t.turn(0);
    const display = Array.from({ length: 40 }, (_, i) => `+l${i}`).join("\n");
    events.push(start("c1", "Edit", "a"));
    events.push(end("c1", "Edit", "1 edit", { display }));
    await settle();
    assert.match(t.printed(), /1 edit\n {4}\+l0\n[^]*… 28 more lines/);
  });
  it("echoes an input of several lines as it is", () => {
    const t = talk();
    t.conversation.submit("one\n\ntwo\n three");
    assert.equal(t.printed(), "> one\n\n  two\n   three\n");
  });
  it("folds the echo of a long paste", () => {
    const t = talk();
    t.conversation.submit("x\n".repeat(50_000));
    assert.match(t.printed(), /… 49980 more lines/);
    assert.equal(t.turn(0).text.length, 99_999);
    const u = talk();
    u.conversation.submit("漢".repeat(10_000));
    assert.match(u.printed(), /漢\n {2}… 6000 more characters\n/);
  });
});

describe("text typed while a turn runs", () => {
  it("is queued, shown, and enters by steer", async () => {
    const t = talk();
    t.conversation.submit("go");
    t.conversation.submit("and more");
    assert.deepEqual(t.queued, ["and more"]);
    assert.ok(t.live().includes("queued: and more"));
    t.queued.shift();
    t.turn(0).events.push(at({ type: "steer", text: "and more" }));
    await settle();
    assert.ok(!t.live().includes("queued: and more"));
    assert.match(t.printed(), /> and more/);
    await t.turn(0).finish();
    assert.equal(t.turns.length, 1);
  });
  it("becomes the next turn when this one ended without it", async () => {
    const t = talk();
    t.conversation.submit("go");
    t.conversation.submit("one");
    t.conversation.submit("two");
    await t.turn(0).finish();
    assert.equal(t.turn(1).text, "one\n\ntwo");
    assert.equal(t.turn(1).source, "queued");
    assert.deepEqual(t.queued, []);
  });
  it("is not sent twice when the turn took it without saying so", async () => {
    const t = talk();
    t.conversation.submit("go");
    t.conversation.submit("one");
    t.queued.length = 0;
    await t.turn(0).finish();
    assert.equal(t.turns.length, 1);
  });
  for (const reason of ["interrupt", "provider"] as const) {
    it(`goes back to the prompt after ${reason}`, async () => {
      const t = talk();
      t.conversation.submit("go");
      t.conversation.submit("one");
      await t.turn(0).finish(reason);
      assert.deepEqual(t.restored, ["one"]);
      assert.deepEqual(t.queued, []);
      assert.equal(t.turns.length, 1);
    });
  }
  it("keeps its order around a command", async () => {
    const ran: string[] = [];
    const t = talk({ commands: [{ name: "model", help: "", run: (args) => void ran.push(args) }] });
    t.conversation.submit("go");
    t.conversation.submit("before");
    t.conversation.submit("/model x");
    t.conversation.submit("after");
    assert.deepEqual(t.queued, ["before"]);
    await t.turn(0).finish();
    assert.equal(t.turn(1).text, "before");
    assert.deepEqual(ran, []);
    await t.turn(1).finish();
    assert.deepEqual(ran, ["x"]);
    assert.equal(t.turn(2).text, "after");
  });
});

describe("commands", () => {
  it("lists them by /help, also while a turn runs", () => {
    const t = talk({ commands: [{ name: "status", help: "how it is", run: () => {} }] });
    t.conversation.submit("go");
    t.conversation.submit("/help");
    assert.match(
      t.printed(),
      /\/exit {4}leave\n {2}\/help {4}what can be typed here\n {2}\/status {2}how it is\n/,
    );
  });
  it("names the nearest for an unknown one, which is not sent to the model", () => {
    const t = talk();
    t.conversation.submit("/hlep");
    assert.match(t.printed(), /There is no command \/hlep\. Did you mean \/help\?/);
    assert.equal(t.turns.length, 0);
  });
  it("takes a path for a message", () => {
    const t = talk();
    t.conversation.submit("/usr/bin/env is what?");
    assert.equal(t.turns.length, 1);
  });
  it("may show painted lines and events, and knows the width", async () => {
    const t = talk({
      commands: [{
        name: "look",
        help: "",
        run({ length }, { show, event, print, columns, theme }) {
          show([theme.strong(`columns ${columns}`), "", "\x1b[1mpainted\x1b[22m"]);
          event(at({ type: "compact", how: "folded", before: 9000, after: 3000 }));
          print(`\x1b${length}`);
        },
      }],
    });
    t.conversation.submit("/look");
    await settle();
    assert.match(
      t.printed(),
      /columns 80\n\n\x1b\[1mpainted\x1b\[22m\ncompacted: 9\.0k → 3\.0k tokens.*\n\\x1b0\n$/,
    );
    assert.equal(t.conversation.mode, "idle");
  });
  it("an interrupted one gives back what was typed meanwhile", async () => {
    const t = talk({
      commands: [{
        name: "wait",
        help: "",
        run: (_args, { signal }) =>
          new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve())),
      }],
    });
    t.conversation.submit("/wait");
    t.conversation.submit("and then this");
    assert.ok(t.conversation.escape());
    await settle();
    assert.deepEqual([t.turns, t.restored], [[], ["and then this"]]);
  });
  it("sends the prompt of a prompt command", async () => {
    const t = talk({
      commands: [{ name: "review", help: "", run: (args) => ({ prompt: `review ${args}` }) }],
    });
    t.conversation.submit("/review a.ts");
    await settle();
    assert.equal(t.turn(0).text, "review a.ts");
    assert.equal(t.turn(0).source, "command");
  });
  it("shows the message of one that throws", async () => {
    const t = talk({
      commands: [{
        name: "x",
        help: "",
        run() {
          throw new Error("no such \x1b model");
        },
      }],
    });
    t.conversation.submit("/x");
    await settle();
    assert.match(t.printed(), /error: no such \\x1b model/);
    assert.equal(t.conversation.mode, "idle");
  });
  it("leaves by /exit", async () => {
    const t = talk();
    t.conversation.submit("/exit");
    await settle();
    assert.equal(t.exit(), 0);
  });
  it("nearest gives up on what is far", () => {
    assert.equal(nearest("mod", ["model", "help"]), "model");
    assert.equal(nearest("xyzzy", ["model", "help"]), null);
  });
});

describe("interrupting and leaving", () => {
  it("Ctrl-C or Esc once aborts the turn", () => {
    for (const press of ["ctrlC", "escape"] as const) {
      const t = talk();
      t.conversation.submit("go");
      t.conversation[press]();
      assert.equal(t.turn(0).signal.aborted, true);
      assert.match(t.live().join(), /interrupting/);
      assert.equal(t.exit(), null);
    }
  });
  it("Ctrl-C again leaves a turn that does not stop", async () => {
    const t = talk();
    t.conversation.submit("go");
    t.conversation.ctrlC();
    t.clock.pass(10_000);
    t.conversation.ctrlC();
    await settle();
    assert.equal(t.exit(), 130);
  });
  it("Ctrl-C twice within 2 s at the prompt leaves", async () => {
    const t = talk();
    t.conversation.ctrlC();
    assert.match(t.live().join(), /again to leave/);
    t.clock.pass(2001);
    assert.deepEqual(t.live(), []);
    t.conversation.ctrlC();
    await settle();
    assert.equal(t.exit(), null);
    t.clock.pass(1999);
    t.conversation.ctrlC();
    await settle();
    assert.equal(t.exit(), 0);
  });
  it("Ctrl-C once more after the interrupted turn ended leaves", async () => {
    const t = talk();
    t.conversation.submit("go");
    t.conversation.ctrlC();
    await t.turn(0).finish("interrupt");
    t.conversation.ctrlC();
    await settle();
    assert.equal(t.exit(), 0);
  });
  it("gives a running turn a moment to stop its commands", async () => {
    const t = talk();
    t.conversation.submit("go");
    t.conversation.quit(143);
    await settle();
    assert.equal(t.turn(0).signal.aborted, true);
    assert.equal(t.exit(), null);
    await t.turn(0).finish("interrupt");
    assert.equal(t.exit(), 143);
  });
  it("but not longer than 2 s", async () => {
    const t = talk();
    t.conversation.submit("go");
    t.conversation.quit(143);
    t.clock.pass(2000);
    await settle();
    assert.equal(t.exit(), 143);
  });
});

describe("questions", () => {
  const answers: [string, object][] = [
    ["", { decision: "allow" }],
    ["a", { decision: "allow", remember: true }],
    ["n", { decision: "deny" }],
    ["not that file", { decision: "deny", reason: "not that file" }],
  ];
  for (const [text, expected] of answers) {
    it(`are answered by ${JSON.stringify(text)}`, async () => {
      const t = talk();
      t.conversation.submit("go");
      t.clock.pass(1000);
      const answer = t.turn(0).ask(REQUEST, t.turn(0).signal);
      assert.equal(t.conversation.mode, "ask");
      assert.match(t.printed(), /● Edit src\/a\.ts\n {2}\+new\n {2}writes \/work\/src\/a\.ts\n/);
      assert.deepEqual(t.live(), [
        "Allow? [Y/n/a or reason]",
        "a = always in this session: edits inside the workspace",
      ]);
      t.conversation.submit(text);
      assert.deepEqual(await answer, expected);
      assert.equal(t.conversation.mode, "busy");
    });
  }
  it("come one at a time", async () => {
    const t = talk();
    t.conversation.submit("go");
    const { ask, signal } = t.turn(0);
    const first = ask(REQUEST, signal);
    const second = ask({ ...REQUEST, title: "src/b.ts" }, signal);
    assert.doesNotMatch(t.printed(), /src\/b\.ts/);
    t.conversation.submit("y");
    assert.match(t.printed(), /src\/b\.ts/);
    t.conversation.submit("n");
    assert.deepEqual([await first, await second], [{ decision: "allow" }, { decision: "deny" }]);
  });
  for (const press of ["ctrlC", "escape"] as const) {
    it(`are refused by ${press}, which interrupts the turn`, async () => {
      const t = talk();
      t.conversation.submit("go");
      const { ask, signal } = t.turn(0);
      const both = Promise.all([ask(REQUEST, signal), ask(REQUEST, signal)]);
      t.conversation[press]();
      assert.deepEqual(await both, [{ decision: "deny" }, { decision: "deny" }]);
      assert.equal(signal.aborted, true);
    });
  }
  it("are refused when the turn is over its time", async () => {
    const t = talk();
    t.conversation.submit("go");
    const timeout = new AbortController();
    const answer = t.turn(0).ask(REQUEST, timeout.signal);
    timeout.abort();
    assert.deepEqual(await answer, { decision: "deny" });
    assert.equal(t.conversation.mode, "busy");
    assert.deepEqual(await t.turn(0).ask(REQUEST, timeout.signal), { decision: "deny" });
  });
  it("take no Enter that was meant for something else", async () => {
    const t = talk();
    t.conversation.submit("go");
    t.clock.pass(5000);
    t.conversation.typed();
    t.clock.pass(100);
    const answer = t.turn(0).ask(REQUEST, t.turn(0).signal);
    assert.equal(t.conversation.mode, "busy");
    assert.match(t.live().join(), /waits until you stop typing/);
    t.conversation.typed();
    t.conversation.submit("typed for the queue");
    assert.deepEqual(t.queued, ["typed for the queue"]);
    t.clock.pass(699);
    assert.equal(t.conversation.mode, "busy");
    t.clock.pass(1);
    assert.equal(t.conversation.mode, "ask");
    t.conversation.submit("y");
    assert.deepEqual(await answer, { decision: "allow" });
  });
});
