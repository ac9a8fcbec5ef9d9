// Loading a plugin's module: what can go wrong with it is its own fault and told, and code of a plugin that
// was trusted or pinned is that code, or none.

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { importPlugin, PluginError } from "../../src/plugins/load.ts";
import type { Manifest } from "../../src/plugins/manifest.ts";
import { treeOf } from "../../src/plugins/tree-hash.ts";
import { manifest, type Places, places } from "./support.ts";

/** Bun hands each module over as it is loaded; Deno has nothing like it. */
const onBun = typeof Bun !== "undefined" ? it : it.skip;

describe("loading a plugin", () => {
  let at: Places;
  beforeEach(() => at = places());
  afterEach(() => at.close());

  /** A plugin `w` of the project with these files beside its manifest. */
  const plugin = (files: Record<string, string>) => {
    const text = manifest("w", { entry: "./index.ts" });
    for (const [name, content] of Object.entries({ "plugin.json": text, ...files })) {
      at.write(`work/.nanocode/plugins/w/${name}`, content);
    }
    const folder = join(at.root, ".nanocode/plugins/w");
    return { manifest: JSON.parse(text) as Manifest, folder };
  };
  const failure = (why: RegExp) => (error: unknown) => {
    assert.ok(error instanceof PluginError);
    assert.match(error.message, why);
    return true;
  };

  it("an endless loop at the top level is given up, and this process goes on", async () => {
    const looping = plugin({ "index.ts": "for (;;) {}\n" });
    await assert.rejects(
      importPlugin(looping, { limitMs: 1500 }),
      failure(/w was not loaded within 1\.5 s \(a wait or a loop at its top level\?\)/),
    );
  });

  it("and so is a wait", async () => {
    const waiting = plugin({
      "index.ts": "await new Promise(() => setInterval(() => {}, 1000));\n",
    });
    await assert.rejects(
      importPlugin(waiting, { limitMs: 1000 }),
      failure(/w was not loaded within 1 s/),
    );
  });

  it("a process that dies of it is only the one that tried", async () => {
    const dying = plugin({ "index.ts": 'process.kill(process.pid, "SIGKILL");\n' });
    await assert.rejects(importPlugin(dying), failure(/crashed the process/));
  });

  it("what came back once is not tried again until a file changes", async () => {
    const log = join(at.root, "log");
    const index = (more: string) =>
      `import { appendFileSync } from "node:fs";
       appendFileSync(${JSON.stringify(log)}, "x");
       export default {};${more}\n`;
    const logging = plugin({ "index.ts": index("") });
    const times = async (generation: number) => {
      writeFileSync(log, "");
      await importPlugin(logging, { home: at.home, generation });
      return readFileSync(log, "utf8").length;
    };
    assert.equal(await times(1), 2); // in the other process and here
    assert.equal(await times(2), 1);
    writeFileSync(join(logging.folder, "index.ts"), index("// changed"));
    assert.equal(await times(3), 2);
  });

  it("of a trusted plugin only the trusted files are loaded, however late", async () => {
    const trusted = plugin({
      "index.ts": `export default { late: () => import("./late.ts") };\n`,
      "late.ts": "export const said = 1;\n",
    });
    const { hash: tree } = treeOf(trusted.folder);
    const definition = await importPlugin({ ...trusted, tree }) as { late?(): Promise<unknown> };
    writeFileSync(join(trusted.folder, "late.ts"), "export const said = 2;\n");
    if (typeof Bun !== "undefined") {
      await assert.rejects(definition.late?.() ?? Promise.resolve(), /late\.ts differs/);
    }
    await assert.rejects(
      importPlugin({ ...trusted, tree }, { generation: 1 }),
      failure(/not what was trusted or pinned any more .*\/reload/),
    );
  });

  onBun("a .git folder, which no hash covers, is no place for its code", async () => {
    const hiding = plugin({
      "index.ts": `import "./.git/more.ts"; export default {};\n`,
      ".git/more.ts": `await Bun.write(${JSON.stringify(join(at.root, "ran"))}, "");\n`,
    });
    const { hash: tree } = treeOf(hiding.folder);
    await assert.rejects(importPlugin({ ...hiding, tree }), failure(/\.git\/more\.ts differs/));
    assert.ok(!existsSync(join(at.root, "ran")));
  });

  onBun("nor is the rest of the repository", async () => {
    at.write("work/src/more.ts", "export default 1;\n");
    const reaching = plugin({
      "index.ts": `import "../../../src/more.ts"; export default {};\n`,
    });
    const { hash: tree } = treeOf(reaching.folder);
    await assert.rejects(
      importPlugin({ ...reaching, tree }, { root: at.root }),
      failure(/src\/more\.ts is in no plugin's folder/),
    );
  });

  it("a module of deeds only, with require, does them", async () => {
    const index = `import "./deed.ts"; export default {};\n`;
    const deed = `require("node:fs").writeFileSync(${
      JSON.stringify(join(at.root, "did"))
    }, "x");\n`;
    const doing = plugin({ "index.ts": index, "deed.ts": typeof Bun === "undefined" ? "" : deed });
    await importPlugin(doing);
    if (typeof Bun !== "undefined") assert.ok(existsSync(join(at.root, "did")));
  });

  it("several faults of one file are told by the first, with its place", async () => {
    const wrong = plugin({ "index.ts": "syntax error here (\n" });
    await assert.rejects(importPlugin(wrong), failure(/cannot be loaded: .*index\.ts:1/));
  });
});
