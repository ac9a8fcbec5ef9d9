// The core tools of this release. Their specs are compiled into the binary, so that neither their code
// nor zod is loaded before the first request has left.

import type { SessionPlugins } from "../plugins/session.ts";
import type { ToolSpec } from "../provider/provider.ts";
import type { Tool, ToolEntry } from "../tools/tool.ts";

type Plugins = () => SessionPlugins;

const LOADERS: readonly ((plugins: Plugins) => Promise<Tool>)[] = [
  async () => (await import("../tools/bash.ts")).bash as Tool,
  async () => (await import("../tools/edit.ts")).edit as Tool,
  async () => (await import("../tools/list.ts")).list as Tool,
  async () => (await import("../tools/note.ts")).note as Tool,
  async (plugins) => (await import("../plugins/gateway.ts")).gateway(plugins),
  async () => (await import("../tools/read.ts")).read as Tool,
  async () => (await import("../tools/recall.ts")).recall as Tool,
  async () => (await import("../tools/search.ts")).search as Tool,
];

/**
 * Entries of the core tools; `specs` are the compiled ones, in the same order, null from source.
 *
 * @param plugins Those of the session, for the tool Plugin.
 */
export async function coreTools(
  specs: readonly ToolSpec[] | null,
  plugins: Plugins = noSession,
): Promise<ToolEntry[]> {
  const known = specs ?? await makeSpecs();
  return LOADERS.map((load, i) => ({ spec: known[i] as ToolSpec, load: () => load(plugins) }));
}

const noSession: Plugins = () => {
  throw new Error("there is no session");
};

async function makeSpecs(): Promise<ToolSpec[]> {
  const { inputSchema } = await import("../tools/arguments.ts");
  const tools = await Promise.all(LOADERS.map((load) => load(noSession)));
  return tools.map((tool) => ({
    name: tool.name,
    description: tool.description,
    schema: inputSchema(tool),
  }));
}

/**
 * Loads and exercises what the first calls need, while the model is still thinking: modules, argument
 * parsing, the anchor hash. A failure here will be met, and said, by the call itself.
 */
export async function warmUp(entries: Iterable<ToolEntry>): Promise<void> {
  try {
    const { parseToolArguments } = await import("../tools/arguments.ts");
    const { anchors } = await import("../tools/anchor.ts");
    const hash = await anchors();
    hash("warm");
    await import("../host/processes.ts");
    for (const { load, spec } of entries) {
      const tool = await load();
      parseToolArguments(tool, tool.example, spec.schema);
    }
  } catch { /* said by the call */ }
}
