// The program: dispatches to a subcommand, and turns every failure into one line what and one line
// what to do. --version and --help answer before anything heavy is imported.

import type { BundledList } from "../plugins/bundled.ts";
import { EXIT, UserError } from "../runtime/errors.ts";
import { VERSION } from "../version.ts";

export interface Program {
  /** Folder of mod.ts, or the root of the binary's embedded files. */
  assets: URL;
  /** The bundled plugins as compiled in; null when run from source. */
  bundled: BundledList | null;
}

/** Runs the command line of this process and sets its exit code. */
export async function run(program: Program): Promise<void> {
  const argv = process.argv.slice(2);
  if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-v")) {
    console.log(VERSION); // process.stdout would cost as much again as the whole start
    return;
  }
  if (argv[0] === "__scan") return await (await import("../tools/search-serve.ts")).serve();
  if (argv[0] === "__probe-plugin" && argv[1]) {
    await (await import("../plugins/probe-process.ts")).probeModule(argv[1]);
  }
  let code: number;
  try {
    code = await dispatch(argv, program);
  } catch (error) {
    code = await report(error);
  }
  // What still holds the event loop (sockets kept alive) must not hold the user.
  process.exit(code);
}

async function dispatch(argv: string[], program: Program): Promise<number> {
  if (argv[0] === "trust") {
    return await (await import("./trust.ts")).trustCommand(argv.slice(1), print);
  }
  if (argv[0] === "plugin") {
    return await (await import("./plugin.ts")).pluginCommand(argv.slice(1), program, print);
  }
  const { parseArgs } = await import("./args.ts");
  const options = parseArgs(argv);
  if (options.help) {
    const { helpText } = await import("./help.ts");
    return await print(helpText());
  }
  if (options.version) return await print(`${VERSION}\n`);
  const [command] = options.words;
  if (!options.print && options.words.length === 1) {
    if (command === "config") {
      return await (await import("./config.ts")).configCommand(options, print);
    }
    if (command === "models") {
      return await (await import("./models.ts")).modelsCommand(options, program, print);
    }
  }
  // A session's id is one word: more are a prompt that begins with this one.
  if (!options.print && command === "context" && options.words.length <= 2) {
    return await (await import("./context.ts")).contextCommand(options, print);
  }
  if (options.json) {
    throw new UserError(
      "--json works only together with nanocode context",
      "For one turn write: nanocode -p … --output json.",
    );
  }
  const { agentCommand } = await import("./agent.ts");
  return await agentCommand(options, program);
}

function print(text: string): Promise<number> {
  return new Promise((resolve) => {
    process.stdout.on("error", () => resolve(EXIT.done)); // the reader went away: nothing to tell
    process.stdout.write(text, () => resolve(EXIT.done));
  });
}

async function report(error: unknown): Promise<number> {
  const known = error instanceof UserError;
  const message = error instanceof Error ? error.message : String(error);
  const hint = known
    ? error.hint
    : "This is a fault of nanocode. NANOCODE_DEBUG=1 shows where; your session is kept (nanocode -c).";
  const { visible } = await import("../ui/text.ts");
  process.stderr.write(`nanocode: ${visible(message)}\n${hint ? `  ${visible(hint)}\n` : ""}`);
  if (process.env["NANOCODE_DEBUG"] && error instanceof Error) {
    process.stderr.write(`${error.stack}\n`);
  }
  return known ? error.exit : EXIT.failure;
}
