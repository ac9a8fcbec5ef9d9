// The process that tries whether a plugin's module comes back (probe.ts). Whatever it says about itself,
// by a throw or an exit, is found again where it is really loaded; here only time and signals count.

import { importPlugin } from "./load.ts";
import { EXTENSION, type Manifest } from "./manifest.ts";
import type { Probed } from "./probe.ts";

/** @param json A `Probed`. */
export async function probeModule(json: string): Promise<never> {
  const { name, folder, entry, tree, root } = JSON.parse(json) as Probed;
  const manifest: Manifest = { name, extensions: { [EXTENSION]: { apiVersion: 1, entry } } };
  const plugin = { manifest, folder, ...(tree === undefined ? {} : { tree }) };
  await importPlugin(plugin, { root, isProbe: true }).catch(() => {});
  process.exit(0);
}

if (import.meta.main && process.argv[2]) await probeModule(process.argv[2]);
