// `nanocode plugin verify`: are config.json, lock and cache one? Every file is hashed again. For scripts, the exit
// code says what is wrong.

import { type ConfiguredPlugin, loadConfig, withSource } from "../config/config.ts";
import { type CacheState, PluginCache } from "../plugins/cache.ts";
import { readPlugin } from "../plugins/discover.ts";
import { lockPath } from "../plugins/fetched.ts";
import { MISMATCH } from "../plugins/fetch-npm.ts";
import { grantDiff, grantsOf } from "../plugins/grants.ts";
import { type LockEntry, readLock } from "../plugins/lock.ts";
import { parseSource } from "../plugins/sources.ts";
import { visible } from "../ui/text.ts";
import { projectRoot, type Workspace } from "./workspace.ts";

/** Exit codes; the gravest of what was found wins, in this order. */
export const VERIFY = { ok: 0, mismatch: MISMATCH, missing: 4, drift: 5 } as const;
type Verdict = keyof typeof VERIFY;

export async function verifyPlugins(
  workspace: Workspace,
  print: (text: string) => Promise<number>,
): Promise<number> {
  const { home, root } = workspace;
  const places = { home, root: projectRoot(workspace) };
  const plugins = withSource((await loadConfig({ home, root })).plugins);
  const cache = new PluginCache(home);
  const rows: [name: string, verdict: Verdict, why: string][] = [];
  for (const tier of ["user", "project"] as const) {
    if (tier === "project" && places.root === null) continue;
    const lock = readLock(lockPath(places, tier)).plugins;
    const asked = plugins.filter((plugin) => plugin.tier === tier);
    for (const plugin of asked) {
      const entry = Object.hasOwn(lock, plugin.name) ? lock[plugin.name] : undefined;
      const verdict = await verdictOn(plugin, entry, cache);
      if (verdict !== null) rows.push([plugin.name, ...verdict]);
    }
    for (const name of Object.keys(lock)) {
      if (asked.some((plugin) => plugin.name === name)) continue;
      rows.push([name, "drift", "is in the lock, but no config.json asks for it"]);
    }
  }
  const text = rows.map(([name, verdict, why]) =>
    `${verdict.padEnd(8)}  ${name}${why && `: ${why}`}\n`
  );
  await print(visible(text.join("")) || "no fetched plugins\n");
  const worst = (Object.keys(VERIFY) as Verdict[]).filter((one) => one !== "ok")
    .find((one) => rows.some(([, verdict]) => verdict === one));
  return VERIFY[worst ?? "ok"];
}

/** Null for a folder, which nothing pins. */
async function verdictOn(
  { source, tier, name }: ConfiguredPlugin,
  entry: LockEntry | undefined,
  cache: PluginCache,
): Promise<[Verdict, string] | null> {
  if (parseSource(source, tier === "user" || source.startsWith("git+")).kind === "path") {
    return null;
  }
  if (entry === undefined) return ["drift", "is not in the lock: run nanocode plugin sync"];
  if (entry.source !== source) {
    return [
      "drift",
      `the lock has it from ${entry.source}, the config asks for ${source}: run nanocode plugin sync`,
    ];
  }
  const state: CacheState = cache.check(entry.tree, true);
  if (state === "missing") {
    return ["missing", "was not fetched on this machine: run nanocode plugin sync"];
  }
  if (state === "mismatch") {
    return [
      "mismatch",
      `${cache.pathOf(entry.tree)} is not what the lock pins: run nanocode plugin sync`,
    ];
  }
  const found = await readPlugin({ tier, folder: cache.pathOf(entry.tree), within: null });
  if (found.fault !== null) return ["mismatch", found.fault];
  const { added, removed } = grantDiff(entry.grants, grantsOf(found.manifest));
  const wrong = [...added.map((one) => `+ ${one}`), ...removed.map((one) => `- ${one}`)];
  if (found.name !== name || wrong.length > 0) {
    return [
      "mismatch",
      `the lock does not say what its manifest says (${wrong.join(", ") || found.name})`,
    ];
  }
  return ["ok", ""];
}
