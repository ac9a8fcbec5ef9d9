// One call of a plugin's tool, through the one door of the loop: arguments, effects, permission, the
// plugin's own context on the real disk, bounds of the result. What a model makes of it is run-session.ts.

import { invoke, type InvokeEnv, prepare } from "../loop/invoke.ts";
import type { PluginDefinition } from "../plugins/sdk.ts";
import type { Effect } from "../session/records.ts";
import { type ToolEntry, ToolError } from "../tools/tool.ts";
import { type PluginUnderTest, toolsOf, underTest } from "./plugin.ts";
import { policyOf, testSession, TOOL_LIMITS } from "./session.ts";
import type { TemporaryWorkspace } from "./workspace.ts";

export interface ToolOptions extends Omit<PluginUnderTest, "plugin"> {
  workspace: TemporaryWorkspace;
  /**
   * Permission rules, `["Net(api.acme.dev)", "Edit(src/**)"]`: what they do not allow is refused. Default:
   * everything that the manifest declares is allowed.
   */
  allow?: readonly string[];
  /** Aborting it is the user's interrupt. */
  signal?: AbortSignal;
}

export interface ToolRun {
  /** What the model reads, bounded as it would be. */
  output: string;
  /** The line for people: the tool's own, else the first line of the output. */
  summary: string;
  /** What the call said it would do. */
  effects: Effect[];
  /** Live output (`ctx.progress`). */
  progress: string;
}

/**
 * Runs a tool of a plugin once, as the loop does for a model.
 *
 * @param input The arguments as the model would send them; they are checked, and small slips are mended.
 * @throws {ToolError} with the text that the model would read: wrong arguments, a refusal, effects or
 * capabilities beyond the manifest, and whatever the tool throws.
 * @throws {Error} when manifest and code do not fit each other, or one of `allow` is no rule.
 */
export async function runTool(
  plugin: PluginDefinition,
  tool: string,
  input: unknown,
  { workspace, allow, signal = new AbortController().signal, ...how }: ToolOptions,
): Promise<ToolRun> {
  const policy = policyOf(allow);
  const owner = await underTest({ plugin, ...how }, workspace);
  const settings = new Map([[owner.plugin.manifest.name, how.config ?? {}]]);
  const effects: Effect[] = [];
  const tools = new Map(
    [...toolsOf([owner], settings, workspace)].map(([name, entry]) =>
      [name, watched(entry, effects)] as const
    ),
  );
  const { session, host, close } = testSession(workspace.path, workspace.home);
  let progress = "";
  const env: InvokeEnv = {
    session,
    policy,
    host,
    tools,
    limits: TOOL_LIMITS,
    turn: 1,
    step: 1,
    signal,
    emit: (event) => void (progress += event.type === "call_output" ? event.text : ""),
  };
  try {
    // Arguments come as JSON: a Date or undefined in them would be a test of something else.
    const args: unknown = JSON.parse(JSON.stringify(input ?? {}));
    const prepared = await prepare({ id: "call_1", name: tool, args }, env);
    const { status, text, summary } = await invoke(prepared, undefined, env);
    if (status !== "ok" && status !== "noop") throw new ToolError(text);
    return { output: text, summary, effects, progress };
  } finally {
    close();
  }
}

/** The entry, with what its call announces written down. */
function watched({ spec, load }: ToolEntry, effects: Effect[]): ToolEntry {
  return {
    spec,
    async load() {
      const tool = await load();
      return {
        ...tool,
        async effects(input, ctx) {
          const said = await tool.effects(input, ctx);
          effects.push(...said);
          return said;
        },
      };
    },
  };
}
