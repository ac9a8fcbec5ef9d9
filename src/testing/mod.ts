// What `import … from "nanocode/testing"` gives the tests of a plugin: a temporary workspace, one call of
// a tool, one whole turn, and models that say what a test wants, or fail as real ones do. Everything runs
// on the real loop, host and checks; nothing here stands in for them. `nanocode plugin test` loads and serves
// it; no session does.

export { chaosProvider } from "./chaos.ts";
export type { ChaosFault, ChaosOptions, ChaosProvider } from "./chaos.ts";
export { goldenTranscript } from "./golden.ts";
export type { PluginUnderTest, Settings } from "./plugin.ts";
export { runSession } from "./run-session.ts";
export type { SessionInput, SessionRun } from "./run-session.ts";
export { runTool } from "./run-tool.ts";
export type { ToolOptions, ToolRun } from "./run-tool.ts";
export { scriptedProvider } from "./scripted.ts";
export type { ScriptedCall, ScriptedProvider, ScriptedStep } from "./scripted.ts";
export { temporaryWorkspace } from "./workspace.ts";
export type { TemporaryWorkspace } from "./workspace.ts";
export type { AgentEvent } from "../loop/events.ts";
export type { ChatRequest, Delta, Message, Provider } from "../provider/provider.ts";
