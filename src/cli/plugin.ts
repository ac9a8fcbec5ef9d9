// `nanocode plugin`: makes a plugin's folder, lists plugins with why they are off, and writes a manifest's
// tools from the code.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundled } from "../plugins/bundled.ts";
import { discover, type Found } from "../plugins/discover.ts";
import { EXTENSION, type Manifest, MANIFEST_FILE, PLUGIN_NAME } from "../plugins/manifest.ts";
import { openPlugins } from "../plugins/open.ts";
import { TrustStore } from "../plugins/trust.ts";
import { UserError } from "../runtime/errors.ts";
import { replaceFile } from "../runtime/replace-file.ts";
import { visible } from "../ui/text.ts";
import type { Program } from "./run.ts";
import { findWorkspace, projectRoot, type Workspace } from "./workspace.ts";
import { parseWords } from "./words.ts";

const USAGE = "nanocode plugin new NAME [--user] | list [--json] | sync-manifest NAME";
export const PLUGIN_OPTIONS = { user: { type: "boolean" }, json: { type: "boolean" } } as const;

export async function pluginCommand(
  argv: readonly string[],
  program: Program,
  print: (text: string) => Promise<number>,
): Promise<number> {
  const { values, positionals: [command, name, ...rest] } = parseWords(argv, PLUGIN_OPTIONS, USAGE);
  const workspace = findWorkspace(undefined);
  if (command === "list" && name === undefined) {
    return await print(await list(program, workspace, values.json ?? false));
  }
  if (rest.length === 0 && name !== undefined) {
    if (command === "new") return await print(make(name, workspace, values.user ?? false));
    if (command === "sync-manifest") return await print(await syncManifest(name, workspace));
  }
  throw new UserError(
    command === undefined
      ? "plugin needs a command"
      : `there is no nanocode plugin ${[command, name, ...rest].filter(Boolean).join(" ")}`,
    USAGE,
  );
}

/** Makes the folder of a plugin that works. Nothing that exists is touched. */
function make(name: string, workspace: Workspace, forUser: boolean): string {
  if (!PLUGIN_NAME.test(name)) {
    throw new UserError(
      `${name} cannot be the name of a plugin`,
      "A name has 1 to 64 of a-z, 0-9, - and ., with a letter or digit at both ends.",
    );
  }
  const folder = join(
    forUser ? workspace.home : join(workspace.root, ".nanocode"),
    "plugins",
    name,
  );
  if (existsSync(folder)) {
    throw new UserError(
      `${folder} exists already`,
      "Choose another name, or change what is there.",
    );
  }
  const tool = name.split(/[.-]/).map((part) => part.charAt(0).toUpperCase() + part.slice(1)).join(
    "",
  )
    .replace(/^(?=\d)/, "Tool");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, MANIFEST_FILE), manifestOf(name, tool));
  writeFileSync(join(folder, "index.ts"), moduleOf(tool));
  return [
    `made ${visible(folder)}`,
    `  ${MANIFEST_FILE}  what the model is told, and what the plugin may do`,
    "  index.ts     what it does",
    `After changes of the tool's name, description or input: nanocode plugin sync-manifest ${name}`,
    ...(forUser
      ? []
      : ["It belongs to this project: trust it with nanocode trust --all, or at the next start."]),
    "",
  ].join("\n");
}

function manifestOf(name: string, tool: string): string {
  return `${
    JSON.stringify(
      {
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
      },
      null,
      2,
    )
  }\n`;
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

async function list(program: Program, workspace: Workspace, json: boolean): Promise<string> {
  const { home, cwd } = workspace;
  const { plugins } = await bundled(program.assets, program.bundled);
  const folders = { home, root: projectRoot(workspace), flags: [], cwd };
  const { states } = await openPlugins(plugins, folders, new TrustStore(home));
  if (json) return `${JSON.stringify(states, null, 2)}\n`;
  const width = Math.max(...states.map(({ name }) => name.length));
  return states.map(({ name, tier, version, why }) =>
    visible(
      `${name.padEnd(width)}  ${tier.padEnd(8)}  ${version.padEnd(7)}  ${
        why === null ? "on" : `off: ${why}`
      }`,
    ) + "\n"
  ).join("");
}

/** Writes the tools of the code into the manifest; effects and the like that stand there stay. */
async function syncManifest(name: string, workspace: Workspace): Promise<string> {
  const { home, cwd } = workspace;
  const root = projectRoot(workspace);
  const all = await discover({ home, root, flags: [], cwd });
  const found = all.findLast((one) => one.name === name);
  if (!found) {
    const names = [...new Set(all.map((one) => one.name))].join(", ") || "none";
    throw new UserError(`there is no plugin ${name}`, `The plugins on the disk are: ${names}.`);
  }
  if (found.fault !== null) {
    throw new UserError(`the plugin ${name} cannot be used: ${found.fault}`);
  }
  await refuseUntrusted(found, workspace);
  const [{ importPlugin }, { inputSchema }] = await Promise.all([
    import("../plugins/load.ts"),
    import("../tools/arguments.ts"),
  ]);
  const { tools = [] } = await importPlugin(found);
  const path = join(found.folder, MANIFEST_FILE);
  const manifest = JSON.parse(readFileSync(path, "utf8").replace(/^\ufeff/, "")) as Manifest;
  const ours = (manifest.extensions ??= {})[EXTENSION] ??= { apiVersion: 1 };
  const before = ours.contributes?.tools ?? [];
  ours.contributes = {
    ...ours.contributes,
    tools: tools.map((tool) => {
      const { effects = [], concurrencySafe = false } = before.find((one) =>
        one.name === tool.name
      ) ?? {};
      const { name, description } = tool;
      return { name, description, inputSchema: inputSchema(tool), effects, concurrencySafe };
    }),
  };
  replaceFile(path, `${JSON.stringify(manifest, null, 2)}\n`, 0o666);
  const names = tools.map((tool) => tool.name).join(", ") || "no tool";
  return `${visible(path)} declares ${visible(names)}\n`;
}

/** Importing runs code: a project's plugin must be trusted as it is. */
async function refuseUntrusted(found: Found, workspace: Workspace): Promise<void> {
  const root = projectRoot(workspace);
  if (found.tier !== "project" || root === null || found.manifest === null) return;
  const { trustItemOf } = await import("../plugins/open.ts");
  const store = new TrustStore(workspace.home);
  const standing = store.standing(
    root,
    trustItemOf({ manifest: found.manifest, folder: found.folder }),
  );
  if (standing === "yes") return;
  throw new UserError(
    `the plugin ${found.name} is this project's and not trusted as it is; its code has to run for this`,
    "Look at it with nanocode trust; nanocode trust --dev also accepts your own further changes.",
  );
}
