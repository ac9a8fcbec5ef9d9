// One whole turn of the real loop with a plugin's tools and hooks and a model of the test's: requests,
// calls, permission, records. No network, no terminal, and none of the core tools. One call alone is
// run-tool.ts.

import type { AgentEvent } from "../loop/events.ts";
import { turn } from "../loop/turn.ts";
import { Hooks } from "../plugins/hooks.ts";
import type { Provider } from "../provider/provider.ts";
import type { EndReason } from "../session/records.ts";
import { type PluginUnderTest, type Settings, toolsOf, underTest } from "./plugin.ts";
import { policyOf, testSession, TOOL_LIMITS } from "./session.ts";
import { transcriptOf } from "./transcript.ts";
import type { TemporaryWorkspace } from "./workspace.ts";

const MAX_STEPS = 50;

export interface SessionInput {
  workspace: TemporaryWorkspace;
  plugins: readonly PluginUnderTest[];
  /** Who answers: `scriptedProvider([…])`, `chaosProvider(1, …)`, or one of the test's own. */
  provider: Provider;
  /** What the user types. */
  prompt: string;
  /** Permission rules; default: everything that the manifests declare is allowed. */
  allow?: readonly string[];
}

export interface SessionRun {
  /** Why the turn ended; `done` when the model had nothing more to call. */
  reason: EndReason;
  /** The model's last words. */
  answer: string;
  /** As `--output stream-json` prints them. */
  events: AgentEvent[];
  /** The turn as text, for `goldenTranscript` or a look. */
  transcript: string;
  /** What hooks that failed would have told the user. */
  warnings: string[];
}

/**
 * Runs one turn. A call that fails is no failure of the turn: the model reads the error and goes on.
 *
 * @throws {Error} when the model gave no answer: a script that is over, a request that a real API would
 * refuse. The message says which.
 */
export async function runSession(
  { workspace, plugins, provider, prompt, allow }: SessionInput,
): Promise<SessionRun> {
  const policy = policyOf(allow);
  const loaded = await Promise.all(plugins.map((plugin) => underTest(plugin, workspace)));
  const settings = new Map(
    loaded.map(({ plugin }, i) => [plugin.manifest.name, plugins[i]?.config ?? {} as Settings]),
  );
  const warnings: string[] = [];
  const { session, host, close } = testSession(workspace.path, workspace.home);
  try {
    const events: AgentEvent[] = [];
    const stream = turn(session, { text: prompt, source: "typed" }, {
      model: { provider, model: "test-model", window: null, prices: null },
      tools: toolsOf(loaded, settings, workspace),
      hooks: new Hooks(loaded, workspace.path, (warning) => void warnings.push(warning)),
      host,
      policy,
      limits: { steps: MAX_STEPS },
      toolLimits: TOOL_LIMITS,
      system: "This is a test of a plugin.",
      files: "inline",
      signal: new AbortController().signal,
    });
    for await (const event of stream) events.push(event);
    const end = events.findLast((event) => event.type === "turn_end");
    if (end === undefined) throw new Error("the turn did not end");
    const error = events.findLast((event) => event.type === "error");
    if (end.reason === "provider") {
      throw new Error([end.detail ?? "the model did not answer", error?.hint].join("\n").trimEnd());
    }
    const { reason, answer } = end;
    return { reason, answer, events, transcript: transcriptOf(session.log.records), warnings };
  } finally {
    close();
    for (const owner of loaded) await owner.dispose();
  }
}
