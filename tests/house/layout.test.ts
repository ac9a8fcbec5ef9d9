import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, it } from "node:test";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Layers from the top down (DESIGN §3); an import never points upwards. */
const LAYERS = [
  ["cli"],
  // What the tests of a plugin import: it drives the loop as the ui does. Only the cli serves it.
  ["testing"],
  ["ui"],
  ["loop"],
  ["tools", "knowledge", "plugins"],
  ["context", "permission"],
  ["provider", "session", "host", "config"],
  ["runtime"],
];

function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sources(path);
    return /\.ts$/.test(entry.name) && !entry.name.endsWith(".d.ts") ? [path] : [];
  });
}

const src = join(root, "src");
const files = sources(src).map((path) => ({
  path,
  name: relative(root, path),
  text: readFileSync(path, "utf8"),
}));
const layerOf = (path: string) =>
  LAYERS.findIndex((layer) => layer.includes(relative(src, path).split("/")[0] ?? ""));
const imports = (text: string) =>
  [...text.matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g)].map((match) => match[1] ?? "");

describe("the house", () => {
  it("imports point downwards only", () => {
    const wrong: string[] = [];
    for (const { path, name, text } of files) {
      const own = layerOf(path);
      if (own === -1) continue;
      for (const target of imports(text)) {
        const other = layerOf(resolve(dirname(path), target));
        if (other !== -1 && other < own) wrong.push(`${name} imports ${target}`);
      }
    }
    assert.deepEqual(wrong, []);
  });

  it("the loop imports no tool by name and no UI", () => {
    const wrong = files.filter(({ name }) => name.startsWith("src/loop/")).flatMap((
      { name, text },
    ) =>
      imports(text).filter((target) =>
        /tools\/(read|edit|search|bash|list|note|recall)\.ts|\/ui\//.test(target)
      ).map((target) => `${name} imports ${target}`)
    );
    assert.deepEqual(wrong, []);
  });

  it("only `nanocode plugin test` loads src/testing", () => {
    const importing = files.filter(({ name }) => !name.startsWith("src/testing/"))
      .flatMap(({ name, text }) =>
        [...text.matchAll(/(from|import\()\s*"[^"]*\/testing\/[^"]+"/g)].map((match) =>
          `${name} ${match[1]}`
        )
      );
    assert.deepEqual(importing, ["src/cli/plugin-code.ts import("]);
  });

  it("bundled plugins import only the SDK and their own packages", () => {
    const wrong = sources(join(root, "plugins")).flatMap((path) => {
      const text = readFileSync(path, "utf8");
      return [...text.matchAll(/from\s*"([^"]+)"/g)].map((match) => match[1] ?? "")
        .filter((target) =>
          target.includes("src/") ||
          (target.startsWith("..") && !resolve(dirname(path), target).startsWith(dirname(path)))
        )
        .map((target) => `${relative(root, path)} imports ${target}`);
    });
    assert.deepEqual(wrong, []);
  });

  it("stays small: the loop, the core, everything below ui and cli, and each file (docs/decisions.md)", () => {
    const lines = (folders: RegExp) =>
      files.filter(({ name }) => folders.test(name))
        .reduce((sum, { text }) => sum + text.trimEnd().split("\n").length, 0);
    assert.ok(lines(/^src\/loop\//) < 2250, `loop: ${lines(/^src\/loop\//)}`);
    const core = /^src\/(loop|context|permission|plugins|knowledge|session|config|runtime)\//;
    assert.ok(lines(core) < 12_300, `core: ${lines(core)}`);
    // src/testing is loaded by tests only: no session pays for it.
    const below = /^src\/(?!ui|cli|testing)/;
    assert.ok(lines(below) < 23_600, `below ui and cli: ${lines(below)}`);
    const long = files.filter(({ text }) => text.split("\n").length > 360);
    assert.deepEqual(long.map(({ name }) => name), []);
  });

  it("versions and names agree between package.json and deno.json", () => {
    const pkg = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const deno = JSON.parse(readFileSync(join(root, "deno.json"), "utf8"));
    assert.equal(deno.version, pkg.version);
    assert.equal(deno.exports, pkg.exports["."]);
  });
});
