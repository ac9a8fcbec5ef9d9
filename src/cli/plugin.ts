// `nanocode plugin …`: reads the words and hands over to one file a group of commands. Only these commands
// resolve and fetch; a start never does.

import { nearest } from "../runtime/nearest.ts";
import { UserError } from "../runtime/errors.ts";
import type { Program } from "./run.ts";
import { parseWords } from "./words.ts";
import { findWorkspace } from "./workspace.ts";

export const PLUGIN_OPTIONS = {
  user: { type: "boolean" },
  json: { type: "boolean" },
  yes: { type: "boolean", short: "y" },
  frozen: { type: "boolean" },
} as const;
type Option = keyof typeof PLUGIN_OPTIONS;

/** Each command with the words behind it, and the options it takes. */
const COMMANDS: Readonly<
  Record<string, { words: [min: number, max: number]; usage: string; options: Option[] }>
> = {
  new: { words: [1, 1], usage: "new NAME [--user]", options: ["user"] },
  add: { words: [1, 1], usage: "add SOURCE [--user] [--yes]", options: ["user", "yes"] },
  remove: { words: [1, 1], usage: "remove NAME [--user]", options: ["user"] },
  list: { words: [0, 0], usage: "list [--json]", options: ["json"] },
  search: { words: [1, 8], usage: "search WORD", options: ["json"] },
  update: { words: [0, 1], usage: "update [NAME] [--yes]", options: ["yes"] },
  verify: { words: [0, 0], usage: "verify", options: [] },
  sync: { words: [0, 0], usage: "sync [--frozen] [--yes]", options: ["frozen", "yes"] },
  test: { words: [0, 1], usage: "test [NAME]", options: [] },
  "sync-manifest": { words: [0, 1], usage: "sync-manifest [NAME]", options: [] },
};
const USAGE = Object.values(COMMANDS).map(({ usage }) => `nanocode plugin ${usage}`).join("\n  ");

export async function pluginCommand(
  argv: readonly string[],
  program: Program,
  print: (text: string) => Promise<number>,
): Promise<number> {
  const { values, positionals: [command, ...words] } = parseWords(argv, PLUGIN_OPTIONS, USAGE);
  if (command === undefined) throw new UserError("plugin needs a command", USAGE);
  const known = Object.hasOwn(COMMANDS, command) ? COMMANDS[command] : undefined;
  if (known === undefined) {
    const near = nearest(command, Object.keys(COMMANDS));
    throw new UserError(
      `there is no nanocode plugin ${command}${near ? ` (did you mean ${near}?)` : ""}`,
      USAGE,
    );
  }
  const extra = Object.keys(values).find((name) => !known.options.includes(name as Option));
  if (extra !== undefined || words.length < known.words[0] || words.length > known.words[1]) {
    throw new UserError(
      extra !== undefined
        ? `plugin ${command} does not take --${extra}`
        : `plugin ${command} got ${words.length === 0 ? "nothing" : words.join(" ")}`,
      `nanocode plugin ${known.usage}`,
    );
  }
  const workspace = findWorkspace(undefined);
  const { user = false, json = false, yes = false, frozen = false } = values;
  const [word] = words;
  switch (command) {
    case "new":
      return await print((await import("./plugin-new.ts")).makePlugin(word ?? "", workspace, user));
    case "list":
      return await print(
        await (await import("./plugin-list.ts")).listPlugins(program, workspace, json),
      );
    case "test":
      return await (await import("./plugin-code.ts")).testPlugin(word, workspace, print);
    case "sync-manifest":
      return await print(await (await import("./plugin-code.ts")).syncManifest(word, workspace));
    case "search":
      return await print(
        await (await import("./plugin-search.ts")).searchPlugins(words.join(" "), workspace, json),
      );
    case "verify":
      return await (await import("./plugin-verify.ts")).verifyPlugins(workspace, print);
  }
  const { PluginSources } = await import("./plugin-sources.ts");
  const sources = await PluginSources.open(workspace, yes);
  switch (command) {
    case "add":
      return await sources.add(word ?? "", user);
    case "remove":
      return await sources.remove(word ?? "", user);
    case "update":
      return await sources.update(word);
    default:
      return await sources.sync(frozen);
  }
}
