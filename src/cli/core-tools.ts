// The core tools of this release. Their specs are compiled into the binary, so that neither their code
// nor zod is loaded before the first request has left.

import type { ToolSpec } from "../provider/provider.ts";
import type { Tool, ToolEntry } from "../tools/tool.ts";

const LOADERS: readonly (() => Promise<Tool>)[] = [
  async () => (await import("../tools/bash.ts")).bash as Tool,
  async () => (await import("../tools/edit.ts")).edit as Tool,
  async () => (await import("../tools/list.ts")).list as Tool,
  async () => (await import("../tools/note.ts")).note as Tool,
  async () => (await import("../tools/read.ts")).read as Tool,
  async () => (await import("../tools/recall.ts")).recall as Tool,
  async () => (await import("../tools/search.ts")).search as Tool,
];

/** Entries of the core tools; `specs` are the compiled ones, in the same order, null from source. */
export async function coreTools(specs: readonly ToolSpec[] | null): Promise<ToolEntry[]> {
  const known = specs ?? await makeSpecs();
  return LOADERS.map((load, i) => ({ spec: known[i] as ToolSpec, load }));
}

async function makeSpecs(): Promise<ToolSpec[]> {
  const { inputSchema } = await import("../tools/arguments.ts");
  const tools = await Promise.all(LOADERS.map((load) => load()));
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
