// What config files say of plugins, for whoever opens plugins. Read again at each call, so that /reload takes up
// what `nanocode plugin add` or the person wrote meanwhile.

import { loadConfig, type PluginEntry, withSource } from "../config/config.ts";
import type { Configured } from "../plugins/open.ts";
import { projectRoot, type Workspace } from "./workspace.ts";

/** @param loaded What was read already, for the first call. */
export function configuredPlugins(
  workspace: Workspace,
  file?: string,
  loaded?: readonly PluginEntry[],
): () => Promise<Configured> {
  const { home, root } = workspace;
  let first = loaded;
  return async () => {
    const entries = first ??
      (await loadConfig({ home, root, ...(file === undefined ? {} : { file }) })).plugins;
    first = undefined;
    const sources = withSource(entries);
    if (sources.length === 0) return { found: [], entries };
    const { fetchedPlugins } = await import("../plugins/fetched.ts");
    return {
      found: await fetchedPlugins(sources, { home, root: projectRoot(workspace) }),
      entries,
    };
  };
}
