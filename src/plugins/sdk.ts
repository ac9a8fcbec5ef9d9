// The SDK: what `import … from "nanocode"` gives a plugin. Small on purpose and versioned (apiVersion 1);
// our bundled plugins use nothing else of the core. What of it is enforced, and what is only declared,
// says docs/plugins.md.

import type { z } from "zod";
import type { Connect } from "../provider/provider.ts";
import type { Effect } from "../session/records.ts";

export { ToolError } from "../tools/tool.ts";

/** What a running plugin tool may use. Files, programs and hosts are checked against its manifest. */
export interface PluginContext {
  readonly session: { id: string; cwd: string };
  /** Where this runs, for whatever crosses a process. */
  readonly ids: PluginIds;
  /** Aborted when the user interrupts. */
  readonly signal: AbortSignal;
  /** Skills that exist in this session. */
  readonly skills: readonly PluginSkill[];
  /** The plugin's settings, with their defaults. */
  readonly config: Readonly<Record<string, string | number | boolean>>;
  readonly files: PluginFiles;
  /** A JSON value of the plugin's own that outlives the session, in the user's folder. */
  readonly store: { get(): Promise<unknown>; set(value: unknown): Promise<void> };
  /**
   * Runs a program without a shell's meaning of its arguments.
   *
   * @throws {ToolError} when the manifest's `capabilities.exec` or the call's own effects do not hold it.
   */
  exec(program: string, args?: readonly string[], options?: ExecOptions): Promise<ExecResult>;
  /**
   * As the global fetch; redirects are followed only to hosts that are allowed, too.
   *
   * @throws {ToolError} when `capabilities.net` or the call's own effects do not hold the host.
   */
  fetch(url: string | URL, init?: RequestInit): Promise<Response>;
  /** Live output for whoever watches. */
  progress(text: string): void;
  /**
   * Writes a line into the plugin's own log, `~/.nanocode/plugin-data/NAME/log.txt`, with time, session, turn and
   * call. The file has a bound; secrets do not enter it.
   */
  log(text: string): void;
  /**
   * Asks the person. With `choices` the answer is one of them.
   *
   * @throws {ToolError} when nobody can be asked, or the person gave no answer.
   */
  ask(question: string, options?: { choices?: readonly string[] }): Promise<string>;
  /**
   * Starts a worker thread with a module of the plugin's folder, whose default export is a function: what it gives
   * for a message is the answer to a request. The worker ends with this call.
   *
   * @throws {ToolError} when the module is not a file of the plugin.
   */
  worker(path: string): PluginWorker;
}

/** `call` is `/name` in a command; `parent` is the session that this one was forked from. */
export interface PluginIds {
  /** Real path of the workspace. */
  project: string;
  session: string;
  turn: number;
  call: string;
  parent: string | null;
}

export interface PluginWorker {
  /**
   * Messages and answers are copied as by `structuredClone`.
   *
   * @throws {ToolError} for a fault of the worker, `timeoutMs` milliseconds without an answer, or an interrupt.
   */
  request(
    message: unknown,
    options?: { signal?: AbortSignal; timeoutMs?: number },
  ): Promise<unknown>;
  terminate(): Promise<void>;
}

export interface ExecOptions {
  /** Default: the session's working folder. */
  cwd?: string;
  /** Milliseconds; default 60,000. */
  timeoutMs?: number;
}

export interface ExecResult {
  /** Null when a signal or the timeout ended it. */
  exit: number | null;
  /** stdout and stderr in order of arrival. */
  output: string;
}

/** Files within `capabilities.fs`; paths are absolute or relative to the session's working folder. */
export interface PluginFiles {
  read(path: string): Promise<Uint8Array>;
  readText(path: string): Promise<string>;
  /** Names; folders end with `/`. */
  list(path: string): Promise<string[]>;
  exists(path: string): Promise<boolean>;
  /** In one step, keeping what others wrote meanwhile: it fails when the file changed since `read`. */
  write(path: string, content: string | Uint8Array): Promise<void>;
}

export interface PluginSkill {
  readonly name: string;
  readonly description: string;
  /**
   * The skill's instructions and the files beside it, or where the model has them already. The result of
   * the call is kept through compactions, so it should hold this text as it is.
   */
  body(): Promise<string>;
}

export interface PluginTool<I = unknown> {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodType<I>;
  /** A correct call, shown when arguments are wrong. */
  readonly example: I;
  /** What this call would do; more than the manifest declares is a fault. */
  effects?(input: I): Effect[];
  isConcurrencySafe?(input: I): boolean;
  run(input: I, ctx: PluginContext): Promise<{ output: string; summary?: string }>;
}

/**
 * What a command comes to: a prompt that is sent to the model as the person's, or text that only the person sees.
 */
export type CommandResult = { prompt: string } | { output: string };

/** A command that a person types as `/name args`. */
export interface PluginCommand {
  readonly name: string;
  /** What it would do with these words; more than the manifest declares is a fault. */
  effects?(args: string): Effect[];
  run(args: string, ctx: PluginContext): CommandResult | Promise<CommandResult>;
}

/** What a hook gets: ids travel in every event. Token counts of requests to come are estimates. */
export interface HookInput {
  event: string;
  /** Real path of the project's root. */
  project: string;
  session: string;
  /** 0 before the first. */
  turn: number;
  step: number;
  /** `session.start`. */
  start?: { resumed: boolean; provider: string; model: string };
  /** `prompt.submit`: the person's text. */
  prompt?: string;
  /** `request.before`: what would be sent; `window` is null where it is not known. */
  request?: { provider: string; model: string; estimate: number; window: number | null };
  /** `reply.after`: `usage` is an estimate where the provider counted nothing. */
  reply?: { text: string; calls: HookCall[]; usage: HookUsage; estimated: boolean };
  /** `tool.*`, `edit.after`: the call. */
  call?: HookCall;
  /** `tool.after`, `edit.after`: its result. */
  result?: { status: string; text: string };
  /** `edit.after`: the files that the call changed, real paths. */
  changes?: { path: string; kind: string }[];
  /** `compact.before`. */
  compaction?: HookCompaction;
  /** `compact.after`: `how` is `model`, `mechanical` or `folded`. */
  compacted?: { how: string; before: number; after: number };
  /** `turn.end`, `session.end`. */
  end?: HookEnd;
}

/** A call; `args` have the names that the tool's schema has, whatever the model wrote. */
export interface HookCall {
  id: string;
  tool: string;
  args: unknown;
  /** The tool that this call came through (`Plugin`). */
  via?: string;
}

/** Tokens, of which `cached` were read from the provider's cache; null: the price is not known. */
export interface HookUsage {
  input: number;
  output: number;
  cached: number;
  usd: number | null;
}

export interface HookCompaction {
  /** `full`: the window is; `refused`: the provider said the request is too long; `asked`: by /compact. */
  why: "full" | "refused" | "asked";
  /** Tokens of the next request as it is. */
  tokens: number;
  window: number | null;
}

/** Why it ended (a session: how its last turn ended), and what the turn or this run of the session used. */
export interface HookEnd {
  reason: string;
  turns: number;
  steps: number;
  tokens: number;
  /** Null where a price is not known. */
  usd: number | null;
}

/** What a hook may answer, where its event takes it; nothing means: go on. */
export interface HookAnswer {
  /** `prompt.submit` and the `*.before`: why not. */
  deny?: string;
  /** `tool.before`: other arguments, which are checked as the model's own. */
  args?: unknown;
  /** `session.start`, `prompt.submit`, `request.before`: text for the model, marked as the plugin's. */
  note?: string;
}

export interface PluginHook {
  readonly event: string;
  run(input: HookInput, signal: AbortSignal): HookAnswer | void | Promise<HookAnswer | void>;
}

export interface PluginDefinition {
  tools?: readonly PluginTool[];
  /** How the APIs of `contributes.apis` are spoken, by name. */
  apis?: Readonly<Record<string, Connect>>;
  hooks?: readonly PluginHook[];
  commands?: readonly PluginCommand[];
  /** Called when the plugin is reloaded or the session ends. */
  dispose?(): void | Promise<void>;
}

/** Speaks Chat Completions: also for a plugin whose provider differs only in address, headers or key. */
export const connectChat: Connect = async (options) =>
  (await import("../provider/chat.ts")).chatProvider(options);

/** Plays the recording that the provider's manifest names. */
export const connectReplay: Connect = async (options) =>
  await (await import("../provider/replay.ts")).connectReplay(options);

/** Defines a tool; its input type comes from the zod schema. */
export function defineTool<I>(tool: PluginTool<I>): PluginTool {
  return tool as PluginTool;
}

/** Defines a plugin: the default export of its entry module. */
export function definePlugin(plugin: PluginDefinition): PluginDefinition {
  return plugin;
}
