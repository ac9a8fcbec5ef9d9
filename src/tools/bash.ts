// Bash: one shell command. How it runs and ends is the host's; here is what the model is told of it.
// Output goes to the session's sink as it comes, so that memory does not grow with it, and to whoever
// watches.

import { constants } from "node:os";
import { resolve } from "node:path";
import { z } from "zod";
import type { SpilledText } from "../context/results.ts";
import type { RunResult } from "../host/host.ts";
import PROMPT from "./bash.md" with { type: "text" };
import { escapeInvisible, PlainText } from "./plain-text.ts";
import { defineTool, type ToolContext, ToolError, type ToolOutput } from "./tool.ts";

/** Seconds; spec/tools. */
const MAX_TIMEOUT = 600;
/** Live output: at most one piece in this time (milliseconds), of about this many characters. */
const LIVE_MS = 100;
const LIVE_CHARS = 8_000;
/** First line of what the sink keeps: the header is known only at the end and takes its place. */
const OPENING = "<Bash>\n";

const input = z.strictObject({
  command: z.string(),
  cwd: z.string().optional(),
  timeout: z.number().positive().optional(),
});

type Input = z.infer<typeof input>;

export const bash = defineTool<Input>({
  name: "Bash",
  description: PROMPT.trim(),
  input,
  example: { command: "npm test" },
  aliases: { workdir: "cwd", path: "cwd", directory: "cwd", dir: "cwd", script: "command" },
  title: ({ command }) => command.trim(),
  isConcurrencySafe: () => false,
  async effects({ command, cwd }, ctx) {
    return [{ kind: "exec", command, cwd: await folder(cwd, ctx) }];
  },
  preview: ({ command }) => Promise.resolve(escapeInvisible(command)),
  run,
});

function folder(cwd: string | undefined, ctx: ToolContext): Promise<string> {
  return ctx.host.realpath(resolve(ctx.session.cwd, cwd ?? "."));
}

async function run({ command, cwd, timeout }: Input, ctx: ToolContext): Promise<ToolOutput> {
  if (command.trim() === "") {
    throw new ToolError(
      'Bash: the command is empty. Nothing was run. A correct call: {"command": "npm test"}',
    );
  }
  const wanted = timeout ?? ctx.limits.bashTimeout;
  const seconds = Math.min(wanted, MAX_TIMEOUT);
  const sink = ctx.openOutput();
  const plain = new PlainText();
  const live = new Live((text) => ctx.emit(text));
  let lastCharacter = "\n";
  const take = (text: string) => {
    if (text === "") return;
    lastCharacter = text.slice(-1);
    sink.write(text);
    live.push(text);
  };
  sink.write(OPENING);
  let result: RunResult;
  try {
    result = await ctx.host.run({
      command,
      cwd: await folder(cwd, ctx),
      timeoutMs: seconds * 1000,
      onOutput: (text) => take(plain.push(text)),
    }, ctx.signal);
    take(plain.end());
  } finally {
    live.end();
  }
  sink.write(`${lastCharacter === "\n" ? "" : "\n"}</Bash>`);
  for (const note of notesOf(result, wanted, seconds)) sink.write(`\nnote: ${note}`);
  const took = (result.ms / 1000).toFixed(1);
  const { attribute, words } = outcome(result, seconds);
  return {
    output: withHeader(await sink.end(), `<Bash ${attribute} seconds="${took}">\n`),
    status: result.aborted ? "interrupted" : "ok",
    ...(result.aborted ? {} : { ran: { command, exit: result.timedOut ? null : result.code } }),
    summary: `${words} in ${took}s`,
  };
}

function notesOf(result: RunResult, wanted: number, seconds: number): string[] {
  const killed = `killed at the timeout of ${seconds} s, so the output may be incomplete; ` +
    `a call can ask for up to ${MAX_TIMEOUT} s`;
  return [
    ...(result.timedOut ? [killed] : []),
    ...result.notes.map((note) => new PlainText().push(`${note}\n`).trimEnd()),
    ...(wanted > seconds ? [`timeout is at most ${seconds} s; ${wanted} was lowered`] : []),
  ];
}

/** Puts the header where the opening line stands; the number of lines stays, so Recall's agree. */
function withHeader(output: string | SpilledText, header: string): string | SpilledText {
  if (typeof output === "string") return header + output.slice(OPENING.length);
  return { ...output, head: header + output.head.slice(OPENING.length) };
}

/** How the command ended: for the model, and for people. */
function outcome(
  { aborted, timedOut, signal, code }: RunResult,
  timeout: number,
): { attribute: string; words: string } {
  if (aborted) return { attribute: 'interrupted="by the user"', words: "interrupted by the user" };
  if (timedOut) {
    return { attribute: `timeout="${timeout}"`, words: `killed at the timeout of ${timeout}s` };
  }
  if (signal !== null) return { attribute: `signal="${signal}"`, words: `ended by ${signal}` };
  // A shell reports a child that a signal ended as 128 plus the signal's number.
  const child = Object.entries(constants.signals).find(([, number]) => number + 128 === code);
  const exit = `${code ?? "unknown"}${child === undefined ? "" : ` (${child[0]})`}`;
  return { attribute: `exit="${exit}"`, words: `exit ${exit}` };
}

/** Passes on live output a few times a second; of a flood only the newest. */
class Live {
  #show: (text: string) => void;
  #text = "";
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(show: (text: string) => void) {
    this.#show = show;
  }

  push(text: string): void {
    this.#text += text;
    if (this.#text.length > 2 * LIVE_CHARS) this.#text = this.#text.slice(-LIVE_CHARS);
    this.#timer ??= setTimeout(() => this.end(), LIVE_MS);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#text !== "") this.#show(this.#text);
    this.#text = "";
  }
}
