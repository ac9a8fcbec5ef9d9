// Imports the code of a plugin and contains what can go wrong with it: a syntax error, a throw, a hang, a
// call of process.exit, a throw that comes later. Whatever happens, the session goes on and says which
// plugin and why. Not here: whether it may be loaded at all (trust.ts, lock.ts).

import { readFileSync } from "node:fs";
import { relative, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { UserError } from "../runtime/errors.ts";
import { sha256 } from "../runtime/hash.ts";
import { IS_COMPILED } from "../runtime/self.ts";
import { insidePlugin } from "./discover.ts";
import { extensionOf, type Plugin } from "./manifest.ts";
import { probe } from "./probe.ts";
import type { PluginDefinition } from "./sdk.ts";
import { treeOf } from "./tree-hash.ts";

/** A module that has not loaded by then is given up. */
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
      build.onLoad({ filter: /\.(?:[mc]?tsx?|jsx|mjs)$/ }, ({ path }) => checkedModule(path));
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

/** A plugin whose code runs here; `files`: hashes of the only files that are code of it. */
interface Running {
  name: string;
  warn(message: string): void;
  files: ReadonlyMap<string, string> | null;
}

/** By the plugin's folder. */
const running = new Map<string, Running>();
/** Projects whose plugins run: other code of theirs is nobody's who was trusted. */
const projects = new Set<string>();
/** Where nanocode itself lies when run from source: its own modules come by here, too. */
const OWN = IS_COMPILED ? null : fileURLToPath(new URL("../../", import.meta.url));

/**
 * A module as it is loaded: of a plugin that was trusted or pinned, these very bytes or none, also when it is
 * loaded long after. Bun takes CommonJS from here as ES modules, so `.js` and `.cjs` are not among them.
 */
function checkedModule(path: string): { contents: string; loader: "ts" | "tsx" | "jsx" | "js" } {
  const bytes = readFileSync(path);
  const [folder, plugin] = [...running].find(([folder]) => path.startsWith(folder + sep)) ?? [];
  if (folder !== undefined && plugin?.files) {
    const name = relative(folder, path).replaceAll(sep, "/");
    if (plugin.files.get(name) !== sha256(bytes)) throw changed(plugin.name, name);
  }
  if (folder === undefined && (OWN === null || !path.startsWith(OWN))) {
    if ([...projects].some((root) => path.startsWith(root + sep))) {
      throw new Error(`${path} is in no plugin's folder, and only that was trusted: move it there`);
    }
  }
  const extension = path.slice(path.lastIndexOf(".") + 1);
  const loader = extension === "tsx" || extension === "jsx" ? extension : "ts";
  const text = bytes.toString();
  // Without a word that only ES modules have, Bun would take it for CommonJS and run nothing of it.
  const contents = /^\s*(?:import|export)\b/m.test(text) ? text : `${text}\nexport {};`;
  return { contents, loader: extension === "mjs" ? "js" : loader };
}

function changed(plugin: string, what: string): PluginError {
  return new PluginError(
    plugin,
    `is not what was trusted or pinned any more (${what} differs); /reload or a new session asks again`,
  );
}

const toStderr = (message: string) => void process.stderr.write(`warning: ${message}\n`);

/** The plugin whose code an error comes from. */
function ownerOf(error: unknown): Running | undefined {
  const stack = error instanceof Error ? error.stack ?? "" : "";
  return [...running].find(([folder]) => stack.includes(folder + sep))?.[1];
}

/** Does a throw that nobody waited for come from a plugin? It was told of then, and the session goes on. */
export function isPluginThrow(error: unknown): boolean {
  return ownerOf(error) !== undefined;
}

/** A throw that comes when nobody waits for it any more is the plugin's own: told, and the session goes on. */
function containLateThrows(): void {
  const onLate = (error: unknown, kind: string) => {
    const owner = ownerOf(error);
    const message = error instanceof Error ? error.message : String(error);
    if (owner !== undefined) {
      return owner.warn(`the plugin ${owner.name} failed later, by itself: ${message}`);
    }
    // Not a plugin's: for whoever else listens, or the end, as if nobody had listened.
    if (process.listenerCount(kind) > 1) return;
    process.stderr.write(`nanocode: ${message}\n`);
    process.exit(1);
  };
  for (const kind of ["uncaughtException", "unhandledRejection"]) {
    process.on(kind, (error) => onLate(error, kind));
  }
}

export interface ImportOptions {
  /** Tells a reloaded module from the one before. */
  generation?: number;
  /** `~/.nanocode`: what loaded well before is not tried again. */
  home?: string;
  /** Real path of the project. */
  root?: string | null;
  /** Told of what the plugin throws when nobody waits for it; default: stderr. */
  warn?(message: string): void;
  /** Milliseconds it has; default 10,000. */
  limitMs?: number;
  /** This is the process that only tries it (probe.ts). */
  isProbe?: boolean;
}

/** Imports a plugin's module. @throws {PluginError} */
export async function importPlugin(
  { manifest, folder, tree }: Pick<Plugin, "manifest" | "folder" | "tree">,
  { generation = 0, home, root, limitMs = LOAD_MS, isProbe = false, warn = toStderr }:
    ImportOptions = {},
): Promise<PluginDefinition> {
  const { name } = manifest;
  const { entry } = extensionOf({ manifest });
  if (entry === undefined) throw new PluginError(name, "has no entry module");
  const path = insidePlugin(folder, entry);
  if (path === null) {
    throw new PluginError(name, `names the entry ${entry}, which is not a file in its folder`);
  }
  const files = tree === undefined ? null : pinnedFiles(name, folder, tree);
  const outcome = isProbe ? null : await probe({ name, folder, entry, tree, root }, home, limitMs);
  if (outcome === "late") throw tooLate(name, limitMs);
  if (outcome === "crashed") {
    throw new PluginError(name, "crashed the process that tried to load it");
  }
  await serveHostModules();
  if (running.size === 0) containLateThrows();
  running.set(folder, { name, files, warn });
  if (files !== null && root) projects.add(root);
  if (generation > 0) forget(folder);
  const isBun = typeof Bun !== "undefined";
  const url = pathToFileURL(path).href +
    (generation === 0 || isBun ? "" : `?generation=${generation}`);
  const exited = guardExit(name);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(tooLate(name, limitMs)), limitMs);
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

function tooLate(name: string, limitMs: number): PluginError {
  const why = `was not loaded within ${limitMs / 1000} s (a wait or a loop at its top level?)`;
  return new PluginError(name, why);
}

/** Files of a tree that is still the one that was trusted or pinned, with their hashes. @throws {PluginError} */
function pinnedFiles(name: string, folder: string, tree: string): Map<string, string> {
  let found;
  try {
    found = treeOf(folder);
  } catch (error) {
    if (error instanceof UserError) throw changed(name, error.message);
    throw error;
  }
  if (found.hash !== tree) throw changed(name, folder);
  return new Map(found.files.map(({ path, sha256 }) => [path, sha256]));
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
  // Several faults come as one error without a place.
  if (error instanceof AggregateError && error.errors[0] instanceof Error) {
    return placeOf(error.errors[0], folder);
  }
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
