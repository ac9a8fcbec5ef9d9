// What plugins contribute to a session: tools by name and providers by id. Built from manifests; a
// plugin's module is imported when its first tool is called, and must register what it declared.

import { join } from "node:path";
import { type Skill, skillBody } from "../knowledge/skills.ts";
import type { Tool, ToolEntry } from "../tools/tool.ts";
import { extensionOf, type Plugin, type ProviderDeclaration } from "./manifest.ts";
import type { PluginContext, PluginTool } from "./sdk.ts";

/** Tools of the plugins, each loadable on its own. */
export function pluginTools(plugins: readonly Plugin[], skills: readonly Skill[]): ToolEntry[] {
  return plugins.flatMap((plugin) =>
    (extensionOf(plugin).contributes?.tools ?? []).map((declared): ToolEntry => ({
      spec: {
        name: declared.name,
        description: declared.description,
        schema: declared.inputSchema,
      },
      load: async () => adapt(await findTool(plugin, declared.name), skills),
    }))
  );
}

/** Providers that plugins declare, with the paths of their recordings resolved. */
export function pluginProviders(plugins: readonly Plugin[]): ProviderDeclaration[] {
  return plugins.flatMap((plugin) =>
    (extensionOf(plugin).contributes?.providers ?? []).map((declared) => ({
      ...declared,
      ...(declared.cassette === undefined
        ? {}
        : { cassette: join(plugin.folder, declared.cassette) }),
    }))
  );
}

async function findTool(plugin: Plugin, name: string): Promise<PluginTool> {
  const module = await plugin.load();
  const tools = ((module.default as { tools?: unknown }).tools ?? []) as readonly PluginTool[];
  const tool = tools.find((candidate) => candidate.name === name);
  if (!tool) {
    throw new Error(
      `the plugin ${plugin.manifest.name} declares the tool ${name} but does not define it`,
    );
  }
  return tool;
}

/** A plugin's tool as the loop knows tools. */
function adapt(tool: PluginTool, skills: readonly Skill[]): Tool {
  return {
    name: tool.name,
    description: tool.description,
    input: tool.input,
    example: tool.example,
    effects: (input) => tool.effects?.(input) ?? [],
    isConcurrencySafe: (input) => tool.isConcurrencySafe?.(input) ?? false,
    run: (input, ctx) => {
      const pluginContext: PluginContext = {
        session: { id: ctx.session.id, cwd: ctx.session.cwd },
        signal: ctx.signal,
        skills: skills.map((skill) => ({
          name: skill.name,
          description: skill.description,
          body: () => skillBody(skill),
        })),
        progress: (text) => ctx.emit(text),
      };
      return tool.run(input, pluginContext);
    },
  };
}
