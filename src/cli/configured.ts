// Plugins that config.json names, for whoever opens plugins. Read again at each call, so that /reload takes up
// what `nanocode plugin add` wrote meanwhile.

import { type ConfiguredPlugin, loadConfig } from "../config/config.ts";
import type { Found } from "../plugins/discover.ts";
import { projectRoot, type Workspace } from "./workspace.ts";

/** @param loaded What was read already, for the first call. */
export function configuredPlugins(
  workspace: Workspace,
  file?: string,
  loaded?: readonly ConfiguredPlugin[],
): () => Promise<readonly Found[]> {
  const { home, root } = workspace;
  let first = loaded;
  return async () => {
    const plugins = first ??
      (await loadConfig({ home, root, ...(file === undefined ? {} : { file }) })).plugins;
    first = undefined;
    if (plugins.length === 0) return [];
    const { fetchedPlugins } = await import("../plugins/fetched.ts");
    return await fetchedPlugins(plugins, { home, root: projectRoot(workspace) });
  };
}
