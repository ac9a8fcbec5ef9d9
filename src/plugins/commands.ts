// Commands that plugins contribute: `/name args` runs a handler of the plugin's module, which is imported then. Not
// here: commands that files define (knowledge/commands.ts), and asking for permission (cli/plugin-commands.ts).

import type { Effect } from "../session/records.ts";
import { type PluginRuntime, type Surroundings, withPluginContext } from "./context.ts";
import { PluginError } from "./load.ts";
import { type CommandDeclaration, extensionOf, type Plugin } from "./manifest.ts";
import { checkEffects, type LoadedPlugin, masked } from "./registry.ts";
import type { CommandResult, PluginCommand } from "./sdk.ts";

export interface CommandEntry {
  /** What is typed behind the slash: the bare name while it is unique, else `plugin:name`. */
  name: string;
  plugin: string;
  description: string;
  /** What it would do with these words. @throws {PluginError} for more than was declared */
  effects(args: string): Promise<Effect[]>;
  /** @param effects What was allowed. */
  run(args: string, effects: readonly Effect[], around: Surroundings): Promise<CommandResult>;
}

/**
 * The commands of the plugins.
 *
 * @param taken Names that keep their meaning: built-in commands, and those of files.
 */
export function pluginCommands(
  loaded: readonly LoadedPlugin[],
  taken: ReadonlySet<string>,
  runtimeOf: (plugin: Plugin) => PluginRuntime,
): CommandEntry[] {
  const all = loaded.flatMap((owner) =>
    (extensionOf(owner.plugin).contributes?.commands ?? []).map((declared) => ({ owner, declared }))
  );
  return all.map(({ owner, declared }) => {
    const { manifest, tier } = owner.plugin;
    const clashes = taken.has(declared.name) ||
      all.some((other) =>
        other.owner !== owner && other.declared.name === declared.name &&
        (tier !== "built-in" || other.owner.plugin.tier === "built-in")
      );
    const name = clashes ? `${manifest.name}:${declared.name}` : declared.name;
    return entryOf(name, owner, declared, runtimeOf);
  });
}

function entryOf(
  name: string,
  owner: LoadedPlugin,
  declared: CommandDeclaration,
  runtimeOf: (plugin: Plugin) => PluginRuntime,
): CommandEntry {
  const plugin = owner.plugin.manifest.name;
  const find = async (): Promise<PluginCommand> => {
    const { commands = [] } = await owner.definition();
    const command = commands.find((one) => one.name === declared.name);
    if (command) return command;
    throw new PluginError(plugin, `declares the command ${declared.name} but does not define it`);
  };
  return {
    name,
    plugin,
    description: declared.description,
    async effects(args) {
      const effects = (await find()).effects?.(args) ?? [];
      checkEffects(owner.plugin, `/${name}`, declared.effects, effects);
      return effects;
    },
    async run(args, effects, around) {
      const runtime = runtimeOf(owner.plugin);
      const { mask = (text: string) => text } = runtime;
      const command = await find();
      const interrupted = rejection(around.signal);
      try {
        // A handler need not heed the signal.
        const result: unknown = await Promise.race([
          withPluginContext(runtime, effects, around, (ctx) => command.run(args, ctx)),
          interrupted.promise,
        ]);
        const { prompt, output } = (result ?? {}) as { prompt?: unknown; output?: unknown };
        if (typeof prompt === "string") return { prompt: mask(prompt) };
        if (typeof output === "string") return { output: mask(output) };
        throw new PluginError(plugin, `answered /${name} with neither {prompt} nor {output}`);
      } catch (error) {
        throw masked(error, mask);
      } finally {
        interrupted.stop();
      }
    },
  };
}

/** A promise that fails when the signal aborts. */
function rejection(signal: AbortSignal): { promise: Promise<never>; stop(): void } {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {});
  const abort = () => reject(new Error("interrupted"));
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  return { promise, stop: () => signal.removeEventListener("abort", abort) };
}
