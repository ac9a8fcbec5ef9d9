// Compiles the binary: writes the entry with the list of bundled plugins and skills, then runs
// `bun build --compile` with the flags of DESIGN §5. Usage: bun scripts/compile.ts [--target T] [--outfile F]

import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { coreTools } from "../src/cli/core-tools.ts";
import { bundled } from "../src/plugins/bundled.ts";
import { extensionOf } from "../src/plugins/manifest.ts";
import { COMPILE_FLAGS } from "./compile-flags.ts";

const root = dirname(import.meta.dirname);
const { values } = parseArgs({
  options: { target: { type: "string" }, outfile: { type: "string", default: "dist/nanocode" } },
});

// The entry lies at the top level, so that embedded paths are the same as in the source tree.
const entry = join(root, ".entry.ts");
writeFileSync(entry, await entrySource());
// Bun writes source maps beside the binary although it embeds them: build aside, move the binary.
const outfile = resolve(root, values.outfile);
const aside = mkdtempSync(join(tmpdir(), "nanocode-build-"));
try {
  const { status } = spawnSync(process.execPath, [
    "build",
    ...COMPILE_FLAGS,
    "--asset",
    "./skills",
    "--asset",
    "./plugins",
    ...(values.target ? [`--target=${values.target}`] : []),
    entry,
    // Workers of plugins begin in a file of their own.
    "./src/plugins/worker-entry.ts",
    "--outfile",
    join(aside, basename(outfile)),
  ], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) process.exit(status ?? 1);
  mkdirSync(dirname(outfile), { recursive: true });
  const binary = readdirSync(aside).find((name) =>
    name === basename(outfile) || name === `${basename(outfile)}.exe`
  );
  if (!binary) throw new Error("the build made no binary");
  const target = join(dirname(outfile), binary);
  rmSync(target, { force: true }); // a running binary cannot be written to, but it can be replaced
  copyFileSync(join(aside, binary), target);
  chmodSync(target, 0o755);
} finally {
  rmSync(aside, { recursive: true, force: true });
  rmSync(entry, { force: true });
}

async function entrySource(): Promise<string> {
  const { plugins, skills } = await bundled(new URL("../", import.meta.url), null);
  const pluginLines = plugins.map((plugin) => {
    const directory = basename(plugin.folder);
    const { entry } = extensionOf(plugin);
    const load = entry
      ? `() => import("./plugins/${join(directory, entry)}")`
      : `() => Promise.reject(new Error("the plugin has no code"))`;
    const manifest = JSON.stringify(
      JSON.parse(readFileSync(join(plugin.folder, "plugin.json"), "utf8")),
    );
    return `    { directory: "${directory}", manifest: ${manifest}, load: ${load} },`;
  });
  const skillLines = skills.map(({ name, description, folder }) =>
    `    ${JSON.stringify({ name, description, directory: basename(folder) })},`
  );
  return [
    "// Written by scripts/compile.ts.",
    `import { run } from "./src/cli/run.ts";`,
    'await run({ assets: new URL("./", import.meta.url), bundled: {',
    `  coreTools: ${JSON.stringify((await coreTools(null)).map((entry) => entry.spec))},`,
    "  plugins: [",
    ...pluginLines,
    "  ],",
    "  skills: [",
    ...skillLines,
    "  ],",
    "} });",
    "",
  ].join("\n");
}
