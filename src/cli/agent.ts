// `nanocode` and `nanocode -p`: the agent itself.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { UserError } from "../runtime/errors.ts";
import type { Options } from "./args.ts";
import type { Program } from "./run.ts";
import type { Setup } from "./setup.ts";
import { findWorkspace, type Workspace } from "./workspace.ts";

export async function agentCommand(options: Options, program: Program): Promise<number> {
  if (!options.print && !(process.stdin.isTTY && process.stdout.isTTY)) {
    throw new UserError(
      "there is no terminal to talk in",
      'Use nanocode -p "prompt" (a file or pipe on stdin is read as extra input).',
    );
  }
  if (!options.print && options.output !== "text") {
    throw new UserError("--output works only together with -p");
  }
  const given = options.print && !(options.demo && options.words.length === 0)
    ? await (await import("./headless.ts")).headlessPrompt(options)
    : "";
  const { setup, suggestion = "" } = options.demo
    ? await setUpDemo(options, program)
    : await setUpOrAsk(options, program);
  try {
    if (options.print) {
      return await (await import("./headless.ts")).runHeadless(options, setup, given || suggestion);
    }
    return await (await import("./chat.ts")).chat(options, setup, suggestion);
  } finally {
    await setup.end();
    setup.close();
  }
}

interface Ready {
  setup: Setup;
  /** A prompt to try, in the demo. */
  suggestion?: string;
}

async function setUpDemo(options: Options, program: Program): Promise<Ready> {
  const [{ setUp }, { openDemo }] = await Promise.all([import("./setup.ts"), import("./demo.ts")]);
  const demo = openDemo(program);
  process.stderr.write(demo.notice);
  const workspace = { ...findWorkspace(demo.folder), root: demo.folder };
  const setup = await setUp({ ...options, model: demo.model }, program, workspace, demo.grant);
  return { setup, suggestion: demo.prompt };
}

/** `-r` without an id, at a terminal: the person chooses. */
async function withSession(options: Options, workspace: Workspace): Promise<Options> {
  if (options.print || options.resume !== "") return options;
  const { listSessions, projectFolder } = await import("../session/store.ts");
  const files = listSessions(projectFolder(workspace.home, workspace.root)).filter((file) =>
    file.bytes > 0
  );
  if (files.length === 0) return options;
  const { pickSession } = await import("./offer.ts");
  return { ...options, resume: await pickSession(files) };
}

/** Are there plugins at all, or names of some? Looking at them takes modules that most starts do without. */
function mayHoldPlugins({ root }: Workspace): boolean {
  if (existsSync(join(root, ".nanocode", "plugins"))) return true;
  try {
    return readFileSync(join(root, ".nanocode", "config.json"), "utf8").includes("plugins");
  } catch {
    return false;
  }
}

/** Sets up; a person at a terminal without any key is offered what there is. */
async function setUpOrAsk(given: Options, program: Program): Promise<Ready> {
  const [{ setUp }, { NoModelError }] = await Promise.all([
    import("./setup.ts"),
    import("../provider/choose.ts"),
  ]);
  const workspace = findWorkspace(given.cwd);
  if (!given.print && mayHoldPlugins(workspace)) {
    await (await import("./trust.ts")).askTrust(workspace, given.trustDigest);
  }
  const options = await withSession(given, workspace);
  try {
    return { setup: await setUp(options, program, workspace) };
  } catch (error) {
    if (options.print || !(error instanceof NoModelError)) throw error;
    const { offer } = await import("./offer.ts");
    const choice = await offer(error);
    if (choice === "demo") return await setUpDemo(options, program);
    return { setup: await setUp({ ...options, model: choice }, program, workspace) };
  }
}
