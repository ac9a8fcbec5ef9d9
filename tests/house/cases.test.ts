// Every bug of tests/cases/bugs.md in these areas is named by a test, so that none is forgotten and each
// can be found by its id.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

/** Areas whose cases are all covered: reading and editing, search, context, files of settings. */
const AREAS = ["FE", "SR", "CX", "CF"];

const tests = fileURLToPath(new URL("../", import.meta.url));

/** Ids in the tests' titles and comments. */
function named(): Set<string> {
  const files = readdirSync(tests, { recursive: true }).map(String)
    .filter((name) => name.endsWith(".test.ts") && !name.startsWith("house"));
  const texts = files.map((name) => readFileSync(join(tests, name), "utf8"));
  // In a title or comment; `given("FE-01/…")` alone only reads the case's input.
  return new Set(texts.flatMap((text) => text.match(/\b[A-Z]{2}-\d{2}\b(?!["/])/g) ?? []));
}

describe("the cases of bugs.md", () => {
  const bugs = readFileSync(join(tests, "cases/bugs.md"), "utf8");
  const titles = [...bugs.matchAll(/^### (([A-Z]{2})-\d{2}): (.*)$/gm)];
  const ids = named();
  for (const area of AREAS) {
    it(`${area}: each is named by a test`, () => {
      const own = titles.filter(([, , of]) => of === area);
      assert.ok(own.length > 0);
      const missing = own.filter(([, id = ""]) => !ids.has(id));
      assert.deepEqual(missing.map(([title]) => title), []);
    });
  }
});
