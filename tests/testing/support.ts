// A plugin for the tests of nanocode/testing: tools that read, write, run and fetch, with its manifest in a
// workspace of its own.

import { join } from "node:path";
import { definePlugin, defineTool, type PluginDefinition, ToolError } from "nanocode";
import { type TemporaryWorkspace, temporaryWorkspace } from "../../src/testing/mod.ts";
import { z } from "zod";
import { inputSchema } from "../../src/tools/arguments.ts";

export const ran: string[] = [];

export const plugin: PluginDefinition = definePlugin({
  tools: [
    defineTool({
      name: "Add",
      description: "Adds two numbers.",
      input: z.strictObject({ a: z.number(), b: z.number() }),
      example: { a: 1, b: 2 },
      isConcurrencySafe: () => true,
      async run({ a, b }, ctx) {
        ran.push(`${a}+${b}`);
        ctx.progress(`adding ${a} and ${b}\n`);
        return { output: `${a + b}`, summary: `${a} + ${b}` };
      },
    }),
    defineTool({
      name: "Copy",
      description: "Copies a file.",
      input: z.strictObject({ from: z.string(), to: z.string() }),
      example: { from: "a.txt", to: "b.txt" },
      effects: ({ to }) => [{ kind: "write", path: to }],
      async run({ from, to }, ctx) {
        await ctx.files.write(to, await ctx.files.readText(from));
        await ctx.store.set({ copied: to });
        return { output: `Copied to ${to}, ${ctx.config["greeting"]}.` };
      },
    }),
    defineTool({
      name: "Run",
      description: "Runs a program.",
      input: z.strictObject({ program: z.string() }),
      example: { program: "git" },
      effects: ({ program }) => [{ kind: "exec", command: program, cwd: "/" }],
      async run({ program }, ctx) {
        const { exit, output } = await ctx.exec(program, ["%s", "a b"]);
        return { output: `${exit} ${output}` };
      },
    }),
    defineTool({
      name: "Fail",
      description: "Fails.",
      input: z.strictObject({ how: z.string() }),
      example: { how: "ToolError" },
      async run({ how }, ctx) {
        if (how === "ToolError") throw new ToolError("There is no such thing. Try another.");
        if (how === "fetch") await ctx.fetch("https://evil.example/");
        throw new Error("boom");
      },
    }),
  ],
  hooks: [{
    event: "tool.before",
    run: ({ call }) => JSON.stringify(call?.args).includes("666") ? { deny: "not that one" } : {},
  }],
});

export const MANIFEST = {
  name: "samples",
  version: "1.0.0",
  extensions: {
    "dev.nanocode": {
      apiVersion: 1,
      entry: "./index.ts",
      contributes: {
        tools: (plugin.tools ?? []).map((tool) => ({
          name: tool.name,
          description: tool.description,
          inputSchema: inputSchema(tool),
          effects: { Copy: ["write"], Run: ["exec"] }[tool.name] ?? [],
          concurrencySafe: tool.name === "Add",
        })),
        hooks: [{ event: "tool.before" }],
      },
      capabilities: { fs: { read: ["workspace"], write: ["workspace"] }, exec: ["printf"] },
      config: { greeting: { type: "string", default: "hello" } },
    },
  },
};

/** A workspace, and the folder of the plugin's manifest in it. */
export async function place(
  files: Record<string, string> = {},
): Promise<TemporaryWorkspace & { manifest: string }> {
  const workspace = await temporaryWorkspace({
    files: { ...files, "plugin/plugin.json": JSON.stringify(MANIFEST) },
  });
  return { ...workspace, manifest: join(workspace.path, "plugin") };
}
