// The SDK: what `import … from "nanocode"` gives a plugin. Small on purpose; our bundled plugins use
// nothing else of the core.

import type { z } from "zod";
import type { Effect } from "../session/records.ts";

export { ToolError } from "../tools/tool.ts";

/** What a running plugin tool may use. */
export interface PluginContext {
  readonly session: { id: string; cwd: string };
  readonly signal: AbortSignal;
  /** Skills that exist in this session. */
  readonly skills: readonly PluginSkill[];
  /** Live output for whoever watches. */
  progress(text: string): void;
}

export interface PluginSkill {
  readonly name: string;
  readonly description: string;
  /** The skill's instructions. */
  body(): Promise<string>;
}

export interface PluginTool<I = unknown> {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodType<I>;
  /** A correct call, shown when arguments are wrong. */
  readonly example: I;
  effects?(input: I): Effect[];
  isConcurrencySafe?(input: I): boolean;
  run(input: I, ctx: PluginContext): Promise<{ output: string; summary?: string }>;
}

export interface PluginDefinition {
  tools?: readonly PluginTool[];
}

/** Defines a tool; its input type comes from the zod schema. */
export function defineTool<I>(tool: PluginTool<I>): PluginTool {
  return tool as PluginTool;
}

/** Defines a plugin: the default export of its entry module. */
export function definePlugin(plugin: PluginDefinition): PluginDefinition {
  return plugin;
}
