// The context of a plugin's tool while it runs: files, programs and hosts, each checked against what the
// manifest declares and what the call said it would do (and was allowed to). Code that goes around it is
// not stopped here: a plugin in this process is trusted code (docs/plugins.md).

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { isInside } from "../permission/paths.ts";
import { replaceFile } from "../runtime/replace-file.ts";
import type { Effect } from "../session/records.ts";
import { type ToolContext, ToolError } from "../tools/tool.ts";
import { type Capabilities, extensionOf, type Plugin, type SettingValue } from "./manifest.ts";
import { logLine } from "./log.ts";
import { startWorker } from "./worker.ts";
import type { ExecOptions, PluginContext, PluginFiles, PluginSkill } from "./sdk.ts";

const EXEC_MS = 60_000;
const MAX_OUTPUT = 10 * 1024 * 1024;
const MAX_REDIRECTS = 5;
/** Characters. */
const MAX_QUESTION = 4000;
const MAX_CHOICES = 50;

/** What is around a piece of a plugin while it runs: a tool's call, or a command of the person. */
export type Surroundings = Pick<
  ToolContext,
  "session" | "call" | "host" | "signal" | "loaded" | "ask" | "emit"
>;

export interface PluginRuntime {
  plugin: Plugin;
  /** Settings as the user set them, by name. */
  settings: Readonly<Record<string, SettingValue>>;
  /** Takes secrets out of what is shown; absent: there are none. */
  mask?(text: string): string;
  /** Skills as a call sees them. */
  skills(ctx: Surroundings): readonly PluginSkill[];
  /** Folder of the plugin's own data. */
  data: string;
}

/** Runs a piece of a plugin with its context; what it started in the background ends with it. */
export async function withPluginContext<T>(
  runtime: PluginRuntime,
  effects: readonly Effect[],
  ctx: Surroundings,
  run: (ctx: PluginContext) => T | Promise<T>,
): Promise<T> {
  const end = new AbortController();
  try {
    return await run(pluginContext(runtime, effects, ctx, end.signal));
  } finally {
    end.abort();
  }
}

/**
 * Makes the context of one call. `effects`: what the call said it would do; permission was asked for that.
 *
 * @param end Aborted when the call is over, in any way.
 */
export function pluginContext(
  { plugin, settings, skills, data, mask = (text) => text }: PluginRuntime,
  effects: readonly Effect[],
  ctx: Surroundings,
  end: AbortSignal = ctx.signal,
): PluginContext {
  const { capabilities = {}, config = {} } = extensionOf(plugin);
  const { name } = plugin.manifest;
  const defaults = Object.entries(config).flatMap(([key, { default: value }]) =>
    value === undefined ? [] : [[key, value] as const]
  );
  return {
    session: { id: ctx.session.id, cwd: ctx.session.cwd },
    signal: ctx.signal,
    skills: skills(ctx),
    config: { ...Object.fromEntries(defaults), ...settings },
    files: pluginFiles(plugin, capabilities, effects, ctx),
    store: {
      get: () => Promise.resolve(readStore(join(data, "store.json"))),
      set: (value) =>
        Promise.resolve(
          replaceFile(join(data, "store.json"), JSON.stringify(value ?? null), 0o600),
        ),
    },
    exec: async (program, args = [], options = {}) => {
      if (!(capabilities.exec ?? []).includes(program)) {
        throw undeclared(name, `run ${program}`, `capabilities.exec: ["${program}"]`);
      }
      if (!effects.some(({ kind }) => kind === "exec")) throw unsaid(name, "run programs", "exec");
      return await run(program, args, options, ctx);
    },
    fetch: (url, init) =>
      boundedFetch(name, capabilities, effects, url, { signal: ctx.signal, ...init }),
    progress: (text) => ctx.emit(mask(text)),
    ids: {
      project: ctx.session.root,
      session: ctx.session.id,
      turn: ctx.call.turn,
      call: ctx.call.id,
      parent: ctx.session.parent ?? null,
    },
    log(text) {
      const { session: { id: session }, call: { id: call, turn } } = ctx;
      try {
        logLine(data, mask(text), { session, turn, call });
      } catch (error) {
        ctx.emit(`the plugin ${name} cannot write its log: ${(error as Error).message}`);
      }
    },
    ask: (question, { choices = [] } = {}) =>
      askPerson(name, mask(question), choices.map(mask), ctx),
    worker: (path) => startWorker(plugin, path, AbortSignal.any([ctx.signal, end])),
  };
}

async function askPerson(
  plugin: string,
  text: string,
  choices: readonly string[],
  { ask, signal }: Surroundings,
): Promise<string> {
  if (text.trim() === "" || text.length > MAX_QUESTION || choices.length > MAX_CHOICES) {
    throw new ToolError(
      `the plugin ${plugin} asks a question that cannot be put: it needs 1 to ${MAX_QUESTION} characters and at most ${MAX_CHOICES} choices`,
    );
  }
  if (!ask) {
    throw new ToolError(
      `the plugin ${plugin} wants to ask the user, and nobody can be asked here: there is no terminal. ` +
        `The question was: ${text}`,
    );
  }
  const answer = await ask({ from: `the plugin ${plugin}`, text, choices });
  signal.throwIfAborted();
  if (answer === null) throw new ToolError(`the user gave no answer to: ${text}`);
  return answer;
}

function undeclared(plugin: string, what: string, how: string): ToolError {
  return new ToolError(
    `the plugin ${plugin} may not ${what}: its manifest does not declare it (${how})`,
  );
}

function unsaid(plugin: string, what: string, kind: string): ToolError {
  return new ToolError(
    `the plugin ${plugin} may not ${what} in this call: its effects() said nothing of ${kind}, so nobody was asked`,
  );
}

/** Is the file below one of the places: `workspace`, `plugin`, or a folder (absolute or `~/…`)? */
function covers(places: readonly string[], path: string, root: string, folder: string): boolean {
  return places.some((place) => {
    const base = place === "workspace" ? root : place === "plugin" ? folder : resolve(
      place.startsWith("~/")
        ? join(process.getBuiltinModule("node:os").homedir(), place.slice(2))
        : place,
    );
    return isInside(base, path);
  });
}

function pluginFiles(
  { manifest: { name }, folder }: Plugin,
  { fs = {} }: Capabilities,
  effects: readonly Effect[],
  { host, session: { root, cwd } }: Surroundings,
): PluginFiles {
  /** Bytes as they were read, by real path: what a write expects to find. */
  const seen = new Map<string, Uint8Array>();
  const readable = async (typed: string) => {
    const path = await host.realpath(resolve(cwd, typed));
    if (!covers(["plugin", ...fs.read ?? []], path, root, folder)) {
      throw undeclared(name, `read ${path}`, 'capabilities.fs.read, for example ["workspace"]');
    }
    return path;
  };
  const read = async (typed: string) => {
    const path = await readable(typed);
    const bytes = await host.read(path);
    seen.set(path, bytes);
    return bytes;
  };
  return {
    read,
    readText: async (path) => new TextDecoder().decode(await read(path)),
    list: async (path) =>
      (await host.readDir(await readable(path))).map(({ name, kind }) =>
        kind === "dir" ? `${name}/` : name
      ),
    exists: async (path) => await host.stat(await readable(path)) !== null,
    async write(typed, content) {
      const path = await host.realpath(resolve(cwd, typed));
      if (!covers(fs.write ?? [], path, root, folder)) {
        throw undeclared(name, `write ${path}`, 'capabilities.fs.write, for example ["workspace"]');
      }
      if (
        !effects.some((effect) => effect.kind === "write" && resolve(cwd, effect.path) === path)
      ) {
        throw unsaid(name, `write ${path}`, "write to it");
      }
      const exists = await host.stat(path) !== null;
      const expected = seen.get(path) ?? (exists ? await host.read(path) : null);
      const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
      await host.write(path, bytes, expected);
      seen.set(path, bytes);
    },
  };
}

async function run(
  program: string,
  args: readonly string[],
  { cwd, timeoutMs = EXEC_MS }: ExecOptions,
  ctx: Surroundings,
) {
  const quoted = [program, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  let output = "";
  const result = await ctx.host.run({
    command: `exec ${quoted}`,
    cwd: resolve(ctx.session.cwd, cwd ?? "."),
    timeoutMs,
    onOutput(text) {
      if (output.length < MAX_OUTPUT) output += text;
    },
  }, ctx.signal);
  return { exit: result.timedOut ? null : result.code, output };
}

/** `api.acme.dev`, or `*.acme.dev` for what is below it; compared label by label. */
export function hostMatches(pattern: string, host: string): boolean {
  const [want, has] = [pattern.toLowerCase(), host.toLowerCase()];
  return want.startsWith("*.")
    ? has.endsWith(want.slice(1)) && has.length > want.length - 1
    : want === has;
}

async function boundedFetch(
  plugin: string,
  { net = [] }: Capabilities,
  effects: readonly Effect[],
  url: string | URL,
  init: RequestInit,
): Promise<Response> {
  let target = new URL(url);
  for (let redirects = 0;; redirects++) {
    const { host, hostname, protocol } = target;
    if (protocol !== "https:" && protocol !== "http:") {
      throw new ToolError(`the plugin ${plugin} may only fetch http(s) addresses, not ${protocol}`);
    }
    if (![host, hostname].some((name) => net.some((pattern) => hostMatches(pattern, name)))) {
      throw undeclared(plugin, `talk to ${host}`, `capabilities.net: ["${hostname}"]`);
    }
    const said = effects.some((effect) =>
      effect.kind === "net" && [host, hostname].some((name) => hostMatches(effect.host, name))
    );
    if (!said) throw unsaid(plugin, `talk to ${host}`, "it");
    const response = await fetch(target, { ...init, redirect: "manual" });
    const next = response.headers.get("location");
    if (response.status < 300 || response.status > 399 || next === null) return response;
    if (redirects === MAX_REDIRECTS) {
      throw new ToolError(`${url} leads from one address to the next`);
    }
    target = new URL(next, target);
  }
}

function readStore(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}
