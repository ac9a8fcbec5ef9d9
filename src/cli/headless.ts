// `nanocode -p`: one turn without a terminal. Nothing ever waits for an answer.

import type { AgentEvent } from "../loop/events.ts";
import type { Session } from "../loop/session.ts";
import { turn } from "../loop/turn.ts";
import type { CommandEntry } from "../plugins/commands.ts";
import { EXIT, UserError } from "../runtime/errors.ts";
import { jsonRenderer, streamJsonRenderer } from "../ui/json.ts";
import { direct, isTerminal, outOf } from "../ui/out.ts";
import { printRenderer } from "../ui/print.ts";
import { type Renderer, TurnTally } from "../ui/renderer.ts";
import { visible } from "../ui/text.ts";
import { PLAIN, wantsColors } from "../ui/theme.ts";
import type { Options } from "./args.ts";
import { exitCode } from "./exit-code.ts";
import type { HeadlessInput } from "./prompt-commands.ts";
import type { Setup } from "./setup.ts";
import { readStdin } from "./stdin.ts";

/** The prompt of `-p`: the words, and what came on stdin. */
export async function headlessPrompt(options: Options): Promise<string> {
  const words = options.words.join(" ");
  const warn = (message: string) => process.stderr.write(`warning: ${message}\n`);
  const input = await readStdin({ wait: words === "-" || words === "", warn });
  const prompt = [words === "-" ? "" : words, input.trimEnd()].filter((part) => part.trim() !== "")
    .join("\n\n");
  if (prompt === "") {
    throw new UserError("-p needs a prompt", 'Write nanocode -p "what to do", or pipe it in.');
  }
  return prompt;
}

/** Runs the turn and gives the exit code. */
export async function runHeadless(options: Options, setup: Setup, prompt: string): Promise<number> {
  const stdout = outOf(direct(1, () => process.stdout), "standard output");
  const stderr = outOf(direct(2, () => process.stderr), "standard error");
  const theme = wantsColors({ isTTY: isTerminal(2) }, process.env)
    ? (await import("../ui/colors.ts")).makeTheme(true)
    : PLAIN;
  const renderer: Renderer = options.output === "json"
    ? jsonRenderer({ stdout, stderr })
    : options.output === "stream-json"
    ? streamJsonRenderer({ stdout })
    : printRenderer({ stdout, stderr, theme });
  const interrupt = new AbortController();
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  const onSignal = () => {
    if (interrupt.signal.aborted) {
      setup.close();
      process.exit(EXIT.interrupted);
    }
    interrupt.abort();
  };
  for (const signal of signals) process.on(signal, onSignal);
  stdout.closed.addEventListener("abort", () => interrupt.abort()); // the reader went away
  const warn = (message: string) => stderr.write(`warning: ${visible(message)}\n`);
  const words = options.words.join(" ");
  const input: HeadlessInput = words.startsWith("/")
    ? await slashInput(words, prompt, setup, { signal: interrupt.signal, warn })
    : { text: prompt, source: "typed" };
  const session = setup.session();
  for (const warning of setup.warnings) warn(warning);
  const tally = new TurnTally();
  const deps = setup.turnDeps(interrupt.signal);
  const events = input.output === undefined
    ? turn(session, input, deps)
    : [shownOnly(session, input.output)];
  for await (const event of events) {
    tally.add(event);
    renderer.event(event);
  }
  const code = exitCode(tally.reason, tally.denied.length > 0);
  await renderer.end(tally.summary(code));
  return code;
}

/** A prompt that begins with a slash: commands of files and of plugins. */
async function slashInput(
  words: string,
  prompt: string,
  setup: Setup,
  { signal, warn }: { signal: AbortSignal; warn(message: string): void },
): Promise<HeadlessInput> {
  const { headlessInput } = await import("./prompt-commands.ts");
  const progress = (text: string) => void process.stderr.write(`${visible(text)}\n`);
  return await headlessInput(words, prompt, setup.knowledge.commands, warn, async () => {
    const [{ headlessEntries }, { runContributed }] = await Promise.all([
      import("./slash-commands.ts"),
      import("./plugin-commands.ts"),
    ]);
    const entries = await headlessEntries(setup);
    return {
      names: entries.map(({ name }) => name),
      run: (name, args) =>
        runContributed(
          entries.find((entry) => entry.name === name) as CommandEntry,
          args,
          setup,
          { signal, progress },
        ),
    };
  });
}

/** What a command shows without a turn, as the end of one. */
function shownOnly({ id, turn }: Session, answer: string): AgentEvent {
  const time = new Date().toISOString();
  const base = { session: id, turn, step: 0, time };
  return { ...base, type: "turn_end", reason: "done", answer, steps: 0, ms: 0 };
}
