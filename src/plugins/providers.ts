// Providers of models that plugins bring: the ones they declare, and the APIs that their modules speak. The
// built-in `chat` and `replay` come by here like any other (plugins/chat, plugins/replay).

import { join } from "node:path";
import type { Connect, Provider } from "../provider/provider.ts";
import { UserError } from "../runtime/errors.ts";
import { PluginError } from "./load.ts";
import { extensionOf, type Plugin, type ProviderDeclaration } from "./manifest.ts";
import type { LoadedPlugin } from "./registry.ts";

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

/**
 * How providers' APIs are spoken, by name. A built-in one stays what it is unless a plugin says that it
 * replaces it; the latest tier wins among the others.
 */
export function pluginApis(loaded: readonly LoadedPlugin[]): (name: string) => Promise<Connect> {
  return async (name) => {
    const owners = loaded.filter(({ plugin }) =>
      extensionOf(plugin).contributes?.apis?.includes(name)
    );
    const owner =
      owners.findLast(({ plugin }) =>
        plugin.tier !== "built-in" && extensionOf(plugin).replaces?.includes(name)
      ) ?? owners.find(({ plugin }) => plugin.tier === "built-in") ?? owners.at(-1);
    if (!owner) {
      const names = loaded.flatMap(({ plugin }) => extensionOf(plugin).contributes?.apis ?? []);
      throw new UserError(
        `no plugin speaks the API ${name}`,
        `These are spoken: ${names.join(", ")}. A plugin of the project must be trusted first.`,
      );
    }
    const plugin = owner.plugin.manifest.name;
    try {
      const { apis = {} } = await owner.definition();
      const connect = Object.hasOwn(apis, name) ? apis[name] : undefined;
      if (!connect) {
        throw new PluginError(plugin, `declares the API ${name} but does not define it`);
      }
      return async (options) => contained(await connect(options), plugin);
    } catch (error) {
      if (error instanceof PluginError) throw new UserError(error.message);
      throw error;
    }
  };
}

/** A provider that keeps its promise never to throw. @throws {UserError} when it is none. */
function contained(provider: Provider, plugin: string): Provider {
  if (typeof provider?.stream !== "function") {
    throw new UserError(`the plugin ${plugin} made no provider: it has no stream()`);
  }
  return {
    id: provider.id,
    ...(provider.models ? { models: (signal) => provider.models!(signal) } : {}),
    async *stream(request, signal) {
      try {
        yield* provider.stream(request, signal);
      } catch (error) {
        const what = error instanceof Error ? error.message : String(error);
        const message = `the plugin ${plugin} failed to speak to ${provider.id}: ${what}`;
        yield { type: "error", failure: { message, code: null, retryable: false } };
      }
    },
  };
}
