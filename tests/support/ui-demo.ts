// A program for tests of the terminal: the interactive session over a scripted agent, no model and no
// tools. The first word of a prompt chooses the script; every prompt that arrives, and how the session
// ended, is appended to the file of UI_DEMO_LOG as a line of JSON.

import { appendFileSync } from "node:fs";
import type { AgentEvent, EventBody } from "../../src/loop/events.ts";
import type { Ask, AskRequest } from "../../src/loop/permit.ts";
import type { UserSource } from "../../src/session/records.ts";
import { interactive } from "../../src/ui/terminal/terminal.ts";

const log = (entry: Record<string, unknown>) => {
  if (process.env.UI_DEMO_LOG) {
    appendFileSync(process.env.UI_DEMO_LOG, `${JSON.stringify(entry)}\n`);
  }
};

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const queue: string[] = [];
let turns = 0;

interface Script {
  text: string;
  signal: AbortSignal;
  ask: Ask;
}

const DIFF = Array.from({ length: 300 }, (_, i) => `${i % 3 === 0 ? "-" : "+"}line ${i} 漢字`).join(
  "\n",
);

const WRITE: AskRequest = {
  call: "c1",
  tool: "Edit",
  title: "src/a.ts",
  effects: [{ kind: "write", path: "/work/src/a.ts" }],
  preview: "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new",
  reason: "writes /work/src/a.ts",
  scope: "edits inside the workspace",
};

const call = (tool: string, title: string): EventBody[] => [
  { type: "call_start", call: "c1", tr: "tr.1", tool, title, args: {} },
];

const end = (tool: string, summary: string): EventBody => ({
  type: "call_end",
  call: "c1",
  tr: "tr.1",
  tool,
  status: "ok",
  summary,
  text: summary,
  ms: 5,
});

async function* stuck(signal: AbortSignal): AsyncGenerator<EventBody> {
  yield* call("Bash", "sleep 1000");
  for (let i = 1; !signal.aborted; i++) {
    yield { type: "call_output", call: "c1", text: `tick ${i}\r\n` };
    await pause(20);
  }
}

const SCRIPTS: Record<string, (script: Script) => AsyncGenerator<EventBody>> = {
  async *hello() {
    yield { type: "reasoning", text: "thinking about it" };
    for (const text of ["Hello ", "漢字 ", "👩", "\u200d💻", " done\nsecond", " line\n"]) {
      yield { type: "text", text };
      await pause(5);
    }
  },
  async *tools() {
    yield { type: "text", text: "I will look.\n" };
    yield* call("Read", "src/a.ts 1:80");
    await pause(5);
    yield end("Read", "80 lines");
    yield { type: "text", text: "All fine." };
  },
  async *hostile() {
    yield { type: "text", text: "title \x1b]0;owned\x07 bidi \u202e zero\u200bwidth \x9b31m\n" };
  },
  stuck: ({ signal }) => stuck(signal),
  /** Ignores the interrupt. */
  async *hang() {
    yield* call("Bash", "hang");
    await new Promise(() => setInterval(() => {}, 1000));
  },
  async *steer({ signal }) {
    yield* call("Bash", "wait for the queue");
    while (queue.length === 0 && !signal.aborted) await pause(10);
    yield end("Bash", "exit 0");
    const text = queue.shift();
    if (text !== undefined) yield { type: "steer", text };
    yield { type: "text", text: `steered by ${text}` };
  },
  /** Goes on until a file named by the prompt appears, taking nothing from the queue. */
  async *busy({ text, signal }) {
    yield* call("Bash", "busy");
    const { existsSync } = await import("node:fs");
    while (!existsSync(text.split(" ")[1] ?? "") && !signal.aborted) await pause(10);
    yield end("Bash", "exit 0");
    yield { type: "text", text: "no longer busy" };
  },
  async *ask({ text, ask, signal }) {
    const long = text.includes("long");
    const request = long ? { ...WRITE, preview: DIFF } : WRITE;
    yield* call(request.tool, request.title);
    if (text.includes("delayed")) await pause(300);
    yield {
      type: "ask",
      call: "c1",
      tool: "Edit",
      title: "src/a.ts",
      effects: [],
      preview: request.preview,
    };
    const answer = await ask(request, signal);
    log({ answer });
    yield end("Edit", "asked");
    yield { type: "text", text: `answer: ${JSON.stringify(answer)}` };
  },
  /** Lines of wide characters until interrupted. */
  async *flood({ signal }) {
    for (let i = 0; !signal.aborted; i++) {
      yield { type: "text", text: `${i} 漢字かな交じり文 👩\u200d💻 and latin text in one line` };
      await pause(15);
      yield { type: "text", text: i % 3 === 0 ? "\n" : " … " };
    }
  },
  async *crash() {
    yield { type: "text", text: "about to crash\n" };
    setTimeout(() => {
      throw new Error("scripted crash");
    }, 0);
    await pause(10_000);
  },
  async *exit() {
    yield { type: "text", text: "about to exit\n" };
    process.exit(3);
  },
  async *throws() {
    yield { type: "text", text: "about to throw\n" };
    throw new Error("the log is broken");
  },
  async *echo({ text }) {
    yield { type: "text", text: `got ${text.split("\n").length} lines, ${text.length} characters` };
  },
};

async function* run(
  text: string,
  source: UserSource,
  { signal, ask }: { signal: AbortSignal; ask: Ask },
): AsyncGenerator<AgentEvent> {
  turns++;
  log({ text, source });
  let answer = "";
  const at = (body: EventBody): AgentEvent => {
    if (body.type === "text") answer += body.text;
    return { session: "demo", turn: turns, step: 1, time: new Date().toISOString(), ...body };
  };
  yield at({ type: "turn_start", text, source, model: "demo-model", provider: "demo" });
  const script = SCRIPTS[text.split(/\s/, 1)[0] ?? ""] ?? SCRIPTS.echo;
  if (script) { for await (const body of script({ text, signal, ask })) yield at(body); }
  const usage = { input: 12_345, output: 678, cached: 10_000 };
  yield at({
    type: "usage",
    usage,
    estimated: false,
    costUsd: 0.0123,
    contextTokens: 13_023,
    window: 128_000,
  });
  const reason = signal.aborted ? "interrupt" : "done";
  yield at({ type: "turn_end", reason, answer, steps: 1, ms: 1234 });
}

const session = interactive({
  run,
  queue(text) {
    queue.push(text);
    return () => {
      const at = queue.indexOf(text);
      if (at !== -1) queue.splice(at, 1);
      return at !== -1;
    };
  },
  commands: [
    {
      name: "status",
      help: "say that all is well",
      run: (args, { print }) => print(`all is well ${args}`),
    },
    {
      name: "review",
      help: "a prompt command",
      run: (args) => ({ prompt: `echo review ${args}` }),
    },
  ],
  info: "demo session · type /help",
  historyFile: process.env.UI_DEMO_HISTORY ?? null,
  ...(process.env.UI_DEMO_FIRST ? { first: process.env.UI_DEMO_FIRST } : {}),
});
const code = await session.catch((error: unknown) => {
  console.error(error instanceof Error ? `error: ${error.message}` : error);
  return 1;
});
log({ exit: code });
process.exit(code);
