// Writes docs/plugin.schema.json: the JSON Schema of a plugin's manifest, from the schema that checks it. A test
// fails when the file is not what this writes. Usage: bun scripts/plugin-schema.ts

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { manifestJsonSchema } from "../src/plugins/manifest-schema.ts";

const path = join(import.meta.dirname, "..", "docs", "plugin.schema.json");
writeFileSync(path, `${JSON.stringify(manifestJsonSchema(), null, 2)}\n`);
