// Plugins on the disk for tests: a home and a project in a temporary folder.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { PluginFolders } from "../../src/plugins/discover.ts";

export interface Places {
  home: string;
  root: string;
  folders: PluginFolders;
  write(path: string, text: string): void;
  close(): void;
}

export function places(): Places {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "nanocode-plugins-")));
  const [home, root] = [join(folder, "home"), join(folder, "work")];
  mkdirSync(home);
  mkdirSync(root);
  return {
    home,
    root,
    folders: { home, root, flags: [], cwd: root },
    write(path, text) {
      const full = join(folder, path);
      mkdirSync(dirname(full), { recursive: true });
      writeFileSync(full, text);
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** A manifest with our part. */
export function manifest(name: string, ours: object): string {
  return JSON.stringify({
    name,
    version: "1.0.0",
    extensions: { "dev.nanocode": { apiVersion: 1, ...ours } },
  });
}

export const cityTool = (name: string, more: object = {}) => ({
  name,
  description: "Tells the weather.",
  inputSchema: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
  effects: [],
  ...more,
});

/** A module without imports, so that no host module is needed: the schema is zod's own shape by duck typing. */
export const hookModule = (body: string) =>
  `export default { hooks: [{ event: "tool.before", run(input) { ${body} } }] };\n`;
