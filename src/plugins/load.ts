// Imports the code of a plugin and contains what can go wrong with it: a syntax error, a throw, a hang, a
// call of process.exit, a throw that comes later. Whatever happens, the session goes on and says which
// plugin and why. Not here: whether it may be loaded at all (trust.ts, lock.ts).

import { sep } from "node:path";
import { pathToFileURL } from "node:url";
import { insidePlugin } from "./discover.ts";
import { extensionOf, type Plugin } from "./manifest.ts";
import type { PluginDefinition } from "./sdk.ts";

/** A module that has not loaded by then is given up (milliseconds). */
const LOAD_MS = 10_000;

/** A plugin's own fault; the message names the plugin. */
export class PluginError extends Error {
  override name = "PluginError";
  readonly plugin: string;
  constructor(plugin: string, what: string) {
    super(`the plugin ${plugin} ${what}`);
    this.plugin = plugin;
  }
}

let served: Promise<void> | undefined;

/**
 * Serves `nanocode` and `zod` to modules outside the binary, once. Deno's import map does the same when
 * run from source.
 */
export function serveHostModules(): Promise<void> {
  return served ??= typeof Bun === "undefined" ? Promise.resolve() : serve();
}

async function serve(): Promise<void> {
  // Loaded before: once they are served, importing them here would ask for what is served.
  const [{ plugin }, nanocode, zod] = await Promise.all([
    import("bun"),
    import("./sdk.ts"),
    import("zod"),
  ]);
  plugin({
    name: "nanocode-host",
    setup(build) {
      build.module("nanocode", () => ({ exports: { ...nanocode }, loader: "object" }));
      build.module("zod", () => ({ exports: { ...zod, default: zod }, loader: "object" }));
      build.module("nanocode/testing", () => { // until `nanocode plugin test` serves it
        throw new Error("nanocode/testing is there in tests only (nanocode plugin test)");
      });
    },
  });
}

/** Serves one more module to code outside the binary. Deno's import map does the same. */
export async function serveModule(name: string, exports: object): Promise<void> {
  if (typeof Bun === "undefined") return;
  const { plugin } = await import("bun");
  const setup = (build: Bun.PluginBuilder) =>
    void build.module(name, () => ({ exports: { ...exports }, loader: "object" }));
  plugin({ name, setup });
}

/** Folders of plugins whose code runs here, with their names. */
const running = new Map<string, string>();

/** A throw that comes when nobody waits for it any more is the plugin's own: told, and the session goes on. */
function containLateThrows(): void {
  const onLate = (error: unknown) => {
    const stack = error instanceof Error ? error.stack ?? "" : "";
    const owner = [...running].find(([folder]) => stack.includes(folder + sep));
    const message = error instanceof Error ? error.message : String(error);
    if (owner === undefined) {
      process.stderr.write(`nanocode: ${message}\n`);
      process.exit(1);
    }
    process.stderr.write(`warning: the plugin ${owner[1]} failed later, by itself: ${message}\n`);
  };
  process.on("uncaughtException", onLate);
  process.on("unhandledRejection", onLate);
}

/** Imports a plugin's module. `generation` tells a reloaded module from the one before. @throws {PluginError} */
export async function importPlugin(
  { manifest, folder }: Pick<Plugin, "manifest" | "folder">,
  generation = 0,
): Promise<PluginDefinition> {
  const { name } = manifest;
  const { entry } = extensionOf({ manifest });
  if (entry === undefined) throw new PluginError(name, "has no entry module");
  const path = insidePlugin(folder, entry);
  if (path === null) {
    throw new PluginError(name, `names the entry ${entry}, which is not a file in its folder`);
  }
  await serveHostModules();
  if (running.size === 0) containLateThrows();
  running.set(folder, name);
  if (generation > 0) forget(folder);
  const isBun = typeof Bun !== "undefined";
  const url = pathToFileURL(path).href +
    (generation === 0 || isBun ? "" : `?generation=${generation}`);
  const exited = guardExit(name);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    const why = `was not loaded within ${LOAD_MS / 1000} s (a wait at its top level?)`;
    timer = setTimeout(() => reject(new PluginError(name, why)), LOAD_MS);
  });
  try {
    const module = await Promise.race([import(url), late]) as { default?: unknown };
    return definitionOf(name, module.default);
  } catch (error) {
    if (error instanceof PluginError) throw error;
    throw new PluginError(name, `cannot be loaded: ${placeOf(error, folder)}`);
  } finally {
    clearTimeout(timer);
    exited.restore();
  }
}

/**
 * Lets the next import read all modules of a folder anew, helpers too: Bun keeps ES modules in
 * require.cache as well. Deno has no way but another URL, which refreshes the entry only.
 */
function forget(folder: string): void {
  const { cache } = process.getBuiltinModule("node:module").createRequire(import.meta.url);
  for (const key of Object.keys(cache)) if (key.startsWith(folder + sep)) delete cache[key];
}

export function definitionOf(name: string, value: unknown): PluginDefinition {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new PluginError(name, "has no default export made by definePlugin({…})");
  }
  return value as PluginDefinition;
}

/** While a plugin loads, process.exit throws: a module must not end the person's session. */
function guardExit(name: string): { restore(): void } {
  const exit = process.exit;
  const guard = ((code?: number) => {
    throw new PluginError(name, `called process.exit(${code ?? ""}) while it was loaded`);
  }) as typeof process.exit;
  process.exit = guard;
  return {
    restore() {
      if (process.exit === guard) process.exit = exit;
    },
  };
}

/** A fault in one line, with file and line where it says so. */
function placeOf(error: unknown, folder: string): string {
  if (!(error instanceof Error)) return String(error);
  const { position } = error as { position?: { file?: string; line?: number } };
  const message = error.message.split("\n", 1)[0] ?? "";
  const file = position?.file?.replace(`${folder}/`, "");
  const stack = /\(?([^\s()]+):(\d+):\d+\)?/.exec(
    (error.stack ?? "").split("\n").find((line) => line.includes(folder)) ?? "",
  );
  if (file) return `${message} (${file}:${position?.line ?? "?"})`;
  return stack
    ? `${message} (${stack[1]?.replace(`${folder}/`, "").replace(/\?.*$/, "")}:${stack[2]})`
    : message;
}
