import assert from "node:assert/strict";
import { existsSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { definePlugin, ToolError } from "nanocode";
import { runTool, temporaryWorkspace } from "../../src/testing/mod.ts";
import { MANIFEST, place, plugin } from "./support.ts";

/** Rejects with a ToolError of this text. */
const says = (text: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ToolError, `${error}`);
  assert.match(error.message, text);
  return true;
};

describe("a temporary workspace", () => {
  it("is a real folder with files, .nanocode and a home of its own, and is gone afterwards", async () => {
    let folder: string;
    {
      await using workspace = await temporaryWorkspace({
        files: { "src/a.txt": "one\n", "b.bin": Uint8Array.of(104, 105) },
      });
      const { path, home } = workspace;
      folder = dirname(path);
      assert.equal(path, realpathSync(path));
      assert.ok(existsSync(join(path, ".nanocode")) && existsSync(home));
      assert.ok(!home.startsWith(path) && !home.startsWith(homedir()));
      assert.equal(await workspace.read("src/a.txt"), "one\n");
      assert.equal(await workspace.read("b.bin"), "hi");
      await workspace.write("deep/er/c.txt", "ü");
      assert.equal(await workspace.read(join(path, "deep/er/c.txt")), "ü");
    }
    assert.ok(!existsSync(folder));
  });

  it("writes nothing outside of itself, and leaves nothing when it cannot be made", async () => {
    await using workspace = await temporaryWorkspace();
    for (const path of ["../x", "/etc/x", "", "."]) {
      await assert.rejects(workspace.write(path, ""), /is no file in the workspace/, path);
    }
    await assert.rejects(temporaryWorkspace({ files: { "../x": "" } }), /\.\.\/x is no file/);
    await workspace.remove();
    await workspace.remove();
  });
});

describe("runTool", () => {
  it("gives what model and person read, the effects and the live output", async () => {
    await using workspace = await place({ "a.txt": "text\n" });
    const { manifest } = workspace;
    assert.deepEqual(await runTool(plugin, "Add", { a: 1, b: 2 }, { workspace, manifest }), {
      output: "3",
      summary: "1 + 2",
      effects: [],
      progress: "adding 1 and 2\n",
    });
    const copied = await runTool(plugin, "Copy", { from: "a.txt", to: "b.txt" }, {
      workspace,
      manifest: pathToFileURL(join(manifest, "plugin.json")),
      config: { greeting: "salve" },
    });
    assert.equal(copied.output, "Copied to b.txt, salve.");
    assert.deepEqual(copied.effects, [{ kind: "write", path: "b.txt" }]);
    assert.equal(await workspace.read("b.txt"), "text\n");
    const printed = await runTool(plugin, "Run", { program: "printf" }, { workspace, manifest });
    assert.equal(printed.output, "0 a b");
  });

  it("keeps the plugin's store and defaults between calls of one workspace", async () => {
    await using workspace = await place({ "a.txt": "" });
    const { manifest, home } = workspace;
    const { output } = await runTool(plugin, "Copy", { from: "a.txt", to: "b.txt" }, {
      workspace,
      manifest,
    });
    assert.equal(output, "Copied to b.txt, hello.");
    assert.ok(existsSync(join(home, "plugin-data/samples/store.json")));
  });

  const refused: [why: string, tool: string, input: unknown, text: RegExp][] = [
    ["wrong arguments", "Add", { a: "x", b: 2 }, /^Add: [\s\S]*a\b[\s\S]*\{"a":1,"b":2\}/],
    ["no arguments", "Add", undefined, /^Add: /],
    ["a tool that is not there", "Sub", {}, /There is no tool "Sub".*Add, Copy, Run, Fail/],
    ["a program that is not declared", "Run", { program: "sh" }, /may not run sh: its manifest/],
    [
      "a file outside",
      "Copy",
      { from: "/etc/hostname", to: "b" },
      /may not read .*capabilities\.fs\.read/,
    ],
    ["an error of the tool's own", "Fail", { how: "ToolError" }, /^There is no such thing\. Try/],
    ["a host that is not declared", "Fail", { how: "fetch" }, /may not talk to evil\.example/],
    ["a fault", "Fail", { how: "" }, /^Fail failed by a fault of its own: boom\./],
  ];
  for (const [why, tool, input, text] of refused) {
    it(`rejects with the model's text: ${why}`, async () => {
      await using workspace = await place();
      const { manifest } = workspace;
      await assert.rejects(runTool(plugin, tool, input, { workspace, manifest }), says(text));
    });
  }

  it("asks the rules where there are some, and nobody else", async () => {
    await using workspace = await place({ "a.txt": "" });
    const how = { workspace, manifest: workspace.manifest };
    const input = { from: "a.txt", to: "b.txt" };
    await assert.rejects(
      runTool(plugin, "Copy", input, { ...how, allow: ["Bash(git)"] }),
      says(/^Refused: permission is needed/),
    );
    await assert.rejects(workspace.read("b.txt"), /ENOENT/);
    const { output } = await runTool(plugin, "Copy", input, { ...how, allow: ["Tool(Copy)"] });
    assert.match(output, /^Copied/);
    await assert.rejects(
      runTool(plugin, "Copy", input, { ...how, allow: ["Write(x)"] }),
      /"Write\(x\)" is not a permission rule/,
    );
  });

  it("tells of a manifest that is not what the code is, or that cannot be used", async () => {
    await using workspace = await place();
    const { manifest } = workspace;
    const run = () => runTool(plugin, "Add", { a: 1, b: 2 }, { workspace, manifest });
    const changed = (from: string, to: string) =>
      workspace.write("plugin/plugin.json", JSON.stringify(MANIFEST).replace(from, to));
    await changed("Adds two", "Multiplies two");
    await assert.rejects(run(), /samples describes the tool Add otherwise than its manifest/);
    await changed('"samples"', '"no such name"');
    await assert.rejects(run(), /plugin\/plugin\.json: .*name/);
    await changed('["exec"]', "[]");
    const how = { workspace, manifest };
    await assert.rejects(
      runTool(plugin, "Run", { program: "printf" }, how),
      says(/would exec in Run, which its manifest does not declare/),
    );
    await assert.rejects(
      runTool(plugin, "Add", {}, { workspace, manifest: join(manifest, "x", "plugin.json") }),
      /there is no plugin\.json in .*plugin\/x/,
    );
  });

  it("without a manifest nothing is declared, and the error says that", async () => {
    await using workspace = await temporaryWorkspace();
    assert.equal((await runTool(plugin, "Add", { a: 2, b: 2 }, { workspace })).output, "4");
    await assert.rejects(
      runTool(plugin, "Run", { program: "printf" }, { workspace }),
      says(/the plugin without-manifest would exec in Run/),
    );
    await assert.rejects(
      runTool(definePlugin({}), "Add", {}, { workspace }),
      says(/There is no tool "Add"/),
    );
  });

  it("ends a call that the signal interrupts", async () => {
    await using workspace = await temporaryWorkspace();
    const signal = AbortSignal.abort();
    await assert.rejects(
      runTool(plugin, "Add", { a: 2, b: 2 }, { workspace, signal }),
      says(/interrupted by the user/),
    );
  });
});
