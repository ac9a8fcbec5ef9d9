// A plugin's manifest (plugin.json, Agent Plugins 1.0.0) and our part of it under
// extensions["dev.nanocode"]. Types and reading; the strict validation of strangers' manifests comes
// with plugins from disk, bundled ones are checked by a test.

import type { DeclaredProvider } from "../provider/choose.ts";
import type { ToolSpec } from "../provider/provider.ts";

export const EXTENSION = "dev.nanocode";

/** A tool as declared: what the model sees, so that no code is imported to build the tool list. */
export interface ToolDeclaration {
  name: string;
  description: string;
  inputSchema: ToolSpec["schema"];
}

/** A provider as declared; `cassette` is a recording inside the plugin's folder. */
export type ProviderDeclaration = DeclaredProvider;

export interface Extension {
  apiVersion: 1;
  /** Module with the code, relative to the plugin's folder; absent for a plugin of data only. */
  entry?: string;
  contributes?: {
    tools?: ToolDeclaration[];
    providers?: ProviderDeclaration[];
  };
}

export interface Manifest {
  name: string;
  version: string;
  description: string;
  extensions: { [EXTENSION]: Extension };
}

/** A plugin: its declared manifest, where it lies, and its module, imported when first needed. */
export interface Plugin {
  manifest: Manifest;
  /** Folder of the plugin; inside the binary it is a path of the embedded file system. */
  folder: string;
  load(): Promise<PluginModule>;
}

/** What a plugin's entry module exports. */
export interface PluginModule {
  default: { tools?: readonly unknown[] };
}

/** Our part of a manifest. */
export function extensionOf(plugin: Plugin): Extension {
  return plugin.manifest.extensions[EXTENSION];
}
