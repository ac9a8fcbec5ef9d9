// Plugins as files for tests that drive the binary: one tool, Weather, or whatever the manifest says.

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** A manifest with our part. */
export const manifestOf = (name: string, ours: object, more: object = {}): string =>
  JSON.stringify({
    name,
    version: "0.1.0",
    ...more,
    extensions: { "dev.nanocode": { apiVersion: 1, ...ours } },
  });

/** The declaration of Weather. */
export const weatherTool = (more: object = {}) => ({
  name: "Weather",
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

/**
 * A module that defines Weather.
 *
 * @param body Of `run({ city }, ctx)`.
 * @param more Further fields of the tool, each with a comma behind it.
 */
export const weatherCode = (body: string, more = ""): string => `
import { definePlugin, defineTool } from "nanocode";
import { z } from "zod";
export default definePlugin({ tools: [defineTool({
  name: "Weather", description: "Tells the weather.", input: z.strictObject({ city: z.string() }),
  example: { city: "Rome" }, ${more}
  async run({ city }, ctx) { ${body} },
})] });
`;

/** Writes files below a folder. */
export function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    const full = join(folder, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text);
  }
}
