// `nanocode -p`: one turn without a terminal. Nothing ever waits for an answer.

import { turn, type UserInput } from "../loop/turn.ts";
import { EXIT, UserError } from "../runtime/errors.ts";
import { jsonRenderer, streamJsonRenderer } from "../ui/json.ts";
import { direct, isTerminal, outOf } from "../ui/out.ts";
import { printRenderer } from "../ui/print.ts";
import { type Renderer, TurnTally } from "../ui/renderer.ts";
import { visible } from "../ui/text.ts";
import { PLAIN, wantsColors } from "../ui/theme.ts";
import type { Options } from "./args.ts";
import { exitCode } from "./exit-code.ts";
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
  const input: UserInput = words.startsWith("/")
    ? await (await import("./prompt-commands.ts"))
      .headlessInput(words, prompt, setup.knowledge.commands, warn)
    : { text: prompt, source: "typed" };
  const session = setup.session();
  for (const warning of setup.warnings) warn(warning);
  const tally = new TurnTally();
  const deps = setup.turnDeps(interrupt.signal);
  for await (const event of turn(session, input, deps)) {
    tally.add(event);
    renderer.event(event);
  }
  const code = exitCode(tally.reason, tally.denied.length > 0);
  await renderer.end(tally.summary(code));
  return code;
}
