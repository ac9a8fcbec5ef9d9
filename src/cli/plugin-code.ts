// `nanocode plugin sync-manifest` and `test`: the two commands that run a plugin's code, so a project's must be
// trusted as it is. The manifest's tools are written from the code; a plugin's tests are the functions that its
// index.test.ts exports.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isInside } from "../permission/paths.ts";
import { PluginCache } from "../plugins/cache.ts";
import { discover, type Found } from "../plugins/discover.ts";
import { importPlugin, serveHostModules, serveModule } from "../plugins/load.ts";
import { EXTENSION, type Manifest, MANIFEST_FILE } from "../plugins/manifest.ts";
import { checkManifest } from "../plugins/manifest-schema.ts";
import { trustItemOf } from "../plugins/open.ts";
import { TrustStore } from "../plugins/trust.ts";
import { EXIT, UserError } from "../runtime/errors.ts";
import { replaceFile } from "../runtime/replace-file.ts";
import { inputSchema } from "../tools/arguments.ts";
import { visible } from "../ui/text.ts";
import { configuredPlugins } from "./configured.ts";
import { projectRoot, type Workspace } from "./workspace.ts";

export const TEST_FILE = "index.test.ts";
/** A test that has not ended by then has failed (milliseconds). */
const TEST_MS = 60_000;

type Usable = Extract<Found, { fault: null }>;

/** Writes the tools of the code into the manifest; effects and the like that stand there stay. */
export async function syncManifest(
  name: string | undefined,
  workspace: Workspace,
): Promise<string> {
  const found = await findPlugin(name, workspace);
  const { tools = [] } = await importPlugin(found);
  const path = join(found.folder, MANIFEST_FILE);
  const manifest = JSON.parse(readFileSync(path, "utf8").replace(/^\ufeff/, "")) as Manifest;
  const ours = (manifest.extensions ??= {})[EXTENSION] ??= { apiVersion: 1 };
  const before = ours.contributes?.tools ?? [];
  ours.contributes = {
    ...ours.contributes,
    tools: tools.map((tool) => {
      const { effects = [], concurrencySafe = false } = before.find((one) =>
        one.name === tool.name
      ) ?? {};
      const { name, description } = tool;
      return { name, description, inputSchema: inputSchema(tool), effects, concurrencySafe };
    }),
  };
  const text = `${JSON.stringify(manifest, null, 2)}\n`;
  const checked = checkManifest(text);
  if (!checked.ok) {
    throw new UserError(
      `what the code of ${found.name} defines cannot stand in a manifest: ${checked.fault}`,
      "Nothing was written.",
    );
  }
  replaceFile(path, text, 0o666);
  const names = tools.map((tool) => tool.name).join(", ") || "no tool";
  return `${visible(path)} declares ${visible(names)}\n`;
}

/** Runs the tests of a plugin; ends with `N passed, N failed`. */
export async function testPlugin(
  name: string | undefined,
  workspace: Workspace,
  print: (text: string) => Promise<number>,
): Promise<number> {
  const found = await findPlugin(name, workspace);
  const path = join(found.folder, TEST_FILE);
  if (!existsSync(path)) {
    throw new UserError(
      `the plugin ${found.name} has no ${TEST_FILE}`,
      `Make ${path}: every function that it exports is a test.`,
    );
  }
  const testing = await import("../testing/mod.ts"); // before zod is served: see load.ts
  await serveHostModules();
  await serveModule("nanocode/testing", testing);
  let tests: [string, () => unknown][];
  try {
    const module = await within(import(pathToFileURL(path).href)) as Record<string, unknown>;
    tests = Object.entries(module).filter((entry): entry is [string, () => unknown] =>
      typeof entry[1] === "function"
    );
  } catch (error) {
    throw new UserError(
      `${path} cannot be loaded: ${(error as Error).message}`,
      undefined,
      EXIT.failure,
    );
  }
  if (tests.length === 0) {
    throw new UserError(`${path} exports no function`, "Every function that it exports is a test.");
  }
  let failed = 0;
  for (const [test, run] of tests) {
    try {
      await within(Promise.resolve().then(run));
      process.stdout.write(`ok    ${visible(test)}\n`);
    } catch (error) {
      failed++;
      const why = error instanceof Error ? error.message : String(error);
      process.stdout.write(`${visible(`FAIL  ${test}: ${why}`)}\n`);
    }
  }
  await print(`${tests.length - failed} passed, ${failed} failed\n`);
  return failed === 0 ? EXIT.done : EXIT.failure;
}

async function within<T>(work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${TEST_MS / 1000} s`)), TEST_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The plugin of a name, or the only one there is; trusted, because its code is to run. */
async function findPlugin(name: string | undefined, workspace: Workspace): Promise<Usable> {
  const { home, cwd } = workspace;
  const all = [
    ...await discover({ home, root: projectRoot(workspace), flags: [], cwd }),
    ...(await configuredPlugins(workspace)()).found.filter(({ folder }) =>
      folder !== "" && !isInside(new PluginCache(home).folder, folder)
    ),
  ];
  const names = [...new Set(all.map((one) => one.name))];
  const wanted = name ?? (names.length === 1 ? names[0] : undefined);
  const found = all.findLast((one) => one.name === wanted);
  if (!found) {
    throw new UserError(
      wanted === undefined
        ? "which plugin is meant?"
        : `there is no plugin ${wanted} in a folder here`,
      `The plugins whose folder is yours to change are: ${names.join(", ") || "none"}.`,
    );
  }
  if (found.fault !== null) {
    throw new UserError(`the plugin ${found.name} cannot be used: ${found.fault}`);
  }
  refuseUntrusted(found, workspace);
  return found;
}

/** Importing runs code: a project's plugin must be trusted as it is. */
function refuseUntrusted({ name, tier, manifest, folder }: Usable, workspace: Workspace): void {
  const root = projectRoot(workspace);
  if (tier !== "project" || root === null) return;
  const store = new TrustStore(workspace.home);
  if (store.standing(root, trustItemOf({ manifest, folder })) === "yes") return;
  throw new UserError(
    `the plugin ${name} is this project's and not trusted as it is; its code has to run for this`,
    "Look at it with nanocode trust; nanocode trust --dev also accepts your own further changes.",
  );
}
