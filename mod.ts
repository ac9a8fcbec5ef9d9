// nanocode: entry of the program and public API (what `import … from "nanocode"` gives a plugin).
// Light on purpose: --version and --help answer before anything heavy is imported.

export {
  connectChat,
  connectReplay,
  definePlugin,
  defineTool,
  ToolError,
} from "./src/plugins/sdk.ts";
export type {
  CallFragment,
  ChatRequest,
  Connect,
  ConnectOptions,
  Delta,
  Message,
  Provider,
  ProviderFailure,
  Usage,
} from "./src/provider/provider.ts";
export type {
  CommandResult,
  ExecOptions,
  ExecResult,
  HookAnswer,
  HookInput,
  PluginCommand,
  PluginContext,
  PluginDefinition,
  PluginFiles,
  PluginHook,
  PluginIds,
  PluginSkill,
  PluginTool,
  PluginWorker,
} from "./src/plugins/sdk.ts";

if (import.meta.main) {
  const { run } = await import("./src/cli/run.ts");
  await run({ assets: new URL("./", import.meta.url), bundled: null });
}
