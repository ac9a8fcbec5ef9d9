// `nanocode plugin new`: makes the folder of a plugin that works: a manifest, a module with a tool, a test.

import { existsSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isInside } from "../permission/paths.ts";
import { EXTENSION, MANIFEST_FILE } from "../plugins/manifest.ts";
import { PLUGIN_NAME } from "../plugins/manifest.ts";
import { UserError } from "../runtime/errors.ts";
import { visible } from "../ui/text.ts";
import type { Workspace } from "./workspace.ts";

/** Makes the folder and tells what is in it. Nothing that exists is touched. */
export function makePlugin(name: string, workspace: Workspace, forUser: boolean): string {
  if (!PLUGIN_NAME.test(name)) {
    throw new UserError(
      `${name} cannot be the name of a plugin`,
      "A name has 1 to 64 of a-z, 0-9, - and ., with a letter or digit at both ends.",
    );
  }
  const base = forUser ? workspace.home : join(workspace.root, ".nanocode");
  const folder = join(base, "plugins", name);
  if (!forUser && !isInside(workspace.root, realTarget(folder))) {
    throw new UserError(
      `${folder} is behind a link that leads out of the project (${realTarget(folder)})`,
      "Nothing was made. Remove the link, or make the plugin for yourself: --user.",
    );
  }
  if (existsSync(folder)) {
    throw new UserError(
      `${folder} exists already`,
      "Choose another name, or change what is there.",
    );
  }
  const tool = toolName(name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, MANIFEST_FILE), manifestOf(name, tool));
  writeFileSync(join(folder, "index.ts"), moduleOf(tool));
  writeFileSync(join(folder, "index.test.ts"), testOf(tool));
  return [
    `made ${visible(folder)}`,
    `  ${MANIFEST_FILE.padEnd(13)}  what the model is told, and what the plugin may do`,
    "  index.ts       what it does",
    `  index.test.ts  run by nanocode plugin test ${name}`,
    `After changes of the tool's name, description or input: nanocode plugin sync-manifest ${name}`,
    ...(forUser
      ? []
      : ["It belongs to this project: trust it with nanocode trust --all, or at the next start."]),
    "",
  ].join("\n");
}

/** Where a folder that is to be made would really lie. */
function realTarget(path: string): string {
  return existsSync(path) ? realpathSync(path) : join(realTarget(dirname(path)), basename(path));
}

/** `git-log` → `GitLog`. */
function toolName(name: string): string {
  return name.split(/[.-]+/).map((part) => part.charAt(0).toUpperCase() + part.slice(1)).join("")
    .replace(/^(?=\d)/, "Tool");
}

function manifestOf(name: string, tool: string): string {
  const manifest = {
    name,
    version: "0.1.0",
    description: `The tool ${tool}.`,
    extensions: {
      [EXTENSION]: {
        apiVersion: 1,
        entry: "./index.ts",
        activation: [`onTool:${tool}`],
        contributes: {
          tools: [{
            name: tool,
            description: "Greets somebody by name.",
            inputSchema: {
              type: "object",
              properties: { name: { type: "string" } },
              required: ["name"],
              additionalProperties: false,
            },
            effects: [],
            concurrencySafe: true,
          }],
        },
      },
    },
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

function moduleOf(tool: string): string {
  return `import { definePlugin, defineTool } from "nanocode";
import { z } from "zod";

export default definePlugin({
  tools: [
    defineTool({
      name: "${tool}",
      description: "Greets somebody by name.",
      input: z.strictObject({ name: z.string() }),
      example: { name: "Ada" },
      async run({ name }) {
        return { output: \`Hello, \${name}!\` };
      },
    }),
  ],
});
`;
}

function testOf(tool: string): string {
  return `// Every exported function is a test: nanocode plugin test runs them in turn.
import assert from "node:assert/strict";
import { runTool, temporaryWorkspace } from "nanocode/testing";
import plugin from "./index.ts";

const manifest = new URL("./plugin.json", import.meta.url);

export async function greets() {
  await using workspace = await temporaryWorkspace();
  const { output } = await runTool(plugin, "${tool}", { name: "Ada" }, { workspace, manifest });
  assert.equal(output, "Hello, Ada!");
}
`;
}
