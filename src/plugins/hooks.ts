// Hooks: what plugins want to know of, or have a say in, before and after things happen. Handlers of a
// plugin's module, or commands (hook-command.ts). Order: tier, then name; the first deny ends it. A hook
// that fails, takes too long or answers what its event does not take counts as its declaration says. Not
// here: when an event happens and what a denial leads to (loop/hooks.ts).

import { oneLine } from "../runtime/one-line.ts";
import type { HookDeclaration, HookEvent, Tier } from "./manifest.ts";
import { extensionOf } from "./manifest.ts";
import type { LoadedPlugin } from "./registry.ts";
import type { HookAnswer, HookCall, HookInput } from "./sdk.ts";

const TIMEOUT_MS = 10_000;
/** Characters of a note or a reason that are kept. */
const MAX_TEXT = 8000;
const TIERS: readonly Tier[] = ["built-in", "user", "project", "flag"];
const FIELDS: readonly (keyof HookAnswer)[] = ["deny", "args", "note"];
/** What an answer may hold; other events only hear. */
const TAKES: { readonly [event in HookEvent]?: readonly (keyof HookAnswer)[] } = {
  "session.start": ["note"],
  "prompt.submit": ["deny", "note"],
  "request.before": ["deny", "note"],
  "tool.before": ["deny", "args"],
  "compact.before": ["deny"],
};

export interface Denial {
  plugin: string;
  reason: string;
}

/** Text of a plugin for the model; `folder` is the plugin's. */
export interface HookNote {
  plugin: string;
  folder: string;
  text: string;
}

/** What hooks said: nothing, a denial, other arguments, notes. */
export interface HookOutcome {
  denied?: Denial;
  /** Set when a hook gave other arguments. */
  args?: unknown;
  notes: HookNote[];
}

interface Registered {
  owner: LoadedPlugin;
  declared: HookDeclaration;
}

export class Hooks {
  readonly #hooks: readonly Registered[];
  readonly #cwd: string;
  readonly #warn: (message: string) => void;

  constructor(loaded: readonly LoadedPlugin[], cwd: string, warn: (message: string) => void) {
    const rank = ({ owner: { plugin } }: Registered) => TIERS.indexOf(plugin.tier);
    const nameOf = ({ owner: { plugin } }: Registered) => plugin.manifest.name;
    this.#hooks = loaded.flatMap((owner) =>
      (extensionOf(owner.plugin).contributes?.hooks ?? []).map((declared) => ({ owner, declared }))
    ).sort((a, b) => rank(a) - rank(b) || (nameOf(a) < nameOf(b) ? -1 : 1));
    this.#cwd = cwd;
    this.#warn = warn;
  }

  /** Does anybody listen? Asked before an input is made. */
  has(event: HookEvent): boolean {
    return this.#hooks.some(({ declared }) => declared.event === event);
  }

  /** Runs the hooks of an event one after the other, until `signal` is aborted. Never throws. */
  async run(
    event: HookEvent,
    input: Omit<HookInput, "event">,
    signal: AbortSignal,
    warn: (message: string) => void = this.#warn,
  ): Promise<HookOutcome> {
    const outcome: HookOutcome = { notes: [] };
    const takes = TAKES[event] ?? [];
    let full: HookInput = { event, ...input };
    for (const { owner, declared } of this.#hooks) {
      if (declared.event !== event || !matches(declared, input.call)) continue;
      if (signal.aborted) break;
      const { folder, manifest: { name: plugin } } = owner.plugin;
      let answer: HookAnswer;
      try {
        answer = await this.#answerOf({ owner, declared }, full, signal);
      } catch (error) {
        if (signal.aborted) break;
        const what = faultOf(error);
        warn(`the hook ${event} of the plugin ${plugin} failed: ${what}`);
        if (declared.onError !== "fail-closed" || !takes.includes("deny")) continue;
        answer = { deny: `its hook ${event} failed, and is declared to refuse then: ${what}` };
      }
      if (answer.deny !== undefined) {
        outcome.denied = { plugin, reason: answer.deny };
        break;
      }
      if (answer.note !== undefined) outcome.notes.push({ plugin, folder, text: answer.note });
      if (answer.args === undefined) continue;
      outcome.args = answer.args;
      full = withArgs(full, answer.args);
    }
    return outcome;
  }

  async #answerOf(
    { owner, declared }: Registered,
    input: HookInput,
    signal: AbortSignal,
  ): Promise<HookAnswer> {
    const ms = declared.timeoutMs ?? TIMEOUT_MS;
    const stop = new AbortController();
    const { promise, reject } = Promise.withResolvers<never>();
    const give = (why: string) => {
      reject(new Error(why));
      stop.abort();
    };
    const interrupt = () => give("interrupted");
    signal.addEventListener("abort", interrupt, { once: true });
    // Not AbortSignal.timeout: that alone would not keep the process alive until it fires.
    const timer = setTimeout(() => give(`it took longer than ${ms} ms`), ms);
    const work = declared.command
      ? runDeclared(owner, declared.command, input, this.#cwd, stop.signal)
      : runHandlers(owner, input, stop.signal);
    try {
      return await Promise.race([work, promise]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", interrupt);
      work.catch(() => {});
    }
  }
}

function matches({ matcher }: HookDeclaration, call: HookCall | undefined): boolean {
  if (matcher === undefined || matcher === "*") return true;
  const names = matcher.split("|");
  return call !== undefined && [call.tool, call.via ?? call.tool].some((it) => names.includes(it));
}

function withArgs(input: HookInput, args: unknown): HookInput {
  return input.call ? { ...input, call: { ...input.call, args } } : input;
}

/** Everything that a module has for the event, each seeing what the one before changed. */
async function runHandlers(
  owner: LoadedPlugin,
  input: HookInput,
  signal: AbortSignal,
): Promise<HookAnswer> {
  const handlers = (await owner.definition()).hooks?.filter(({ event }) => event === input.event);
  if (!handlers?.length) throw new Error(`its module has no handler of ${input.event}`);
  const all: HookAnswer = {};
  let now = input;
  for (const handler of handlers) {
    // Copies: what a handler does to them later changes nothing.
    const given = await handler.run(structuredClone(now), signal);
    const answer = checked(structuredClone(given), input.event as HookEvent);
    if (answer.deny !== undefined) return answer;
    if (answer.note !== undefined) {
      all.note = all.note === undefined ? answer.note : `${all.note}\n${answer.note}`;
    }
    if (answer.args === undefined) continue;
    all.args = answer.args;
    now = withArgs(now, answer.args);
  }
  return all;
}

async function runDeclared(
  { plugin }: LoadedPlugin,
  command: readonly string[],
  input: HookInput,
  cwd: string,
  signal: AbortSignal,
): Promise<HookAnswer> {
  // Loaded here: it takes longer than all else of a start without hooks.
  const { runHookCommand } = await import("./hook-command.ts");
  const answer = await runHookCommand({ command, plugin, cwd }, input, signal);
  return checked(answer, input.event as HookEvent);
}

/**
 * A stranger's answer; a denial counts whatever stands beside it.
 *
 * @throws {Error} for anything that the event does not take.
 */
function checked(value: unknown, event: HookEvent): HookAnswer {
  if (value === undefined || value === null) return {};
  if (typeof value !== "object" || Array.isArray(value)) {
    throw new Error(`it answered ${JSON.stringify(value)}, which is no object`);
  }
  const takes: readonly string[] = TAKES[event] ?? [];
  const { deny, args, note, ...rest } = value as Record<string, unknown>;
  if (takes.includes("deny") && deny !== undefined && deny !== null && deny !== false) {
    return { deny: typeof deny === "string" && deny !== "" ? shortened(deny) : "without a reason" };
  }
  const given = Object.entries({ deny, args, note, ...rest }).find(([name, field]) =>
    field !== undefined && field !== null && field !== false && !takes.includes(name)
  );
  if (given) {
    const known = takes.length === 0 ? "nothing" : takes.join(" or ");
    const what = FIELDS.some((field) => field === given[0]) ? "" : ", which no event takes";
    throw new Error(`it answered "${given[0]}"${what}; ${event} takes ${known}`);
  }
  if (note !== undefined && note !== null && typeof note !== "string") {
    throw new Error("its note is no text");
  }
  return {
    ...(args === undefined || args === null ? {} : { args }),
    ...(note ? { note: shortened(note) } : {}),
  };
}

function shortened(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}\n[cut off here]`;
}

function faultOf(error: unknown): string {
  try {
    return oneLine(error instanceof Error ? error.message : String(error), 300);
  } catch {
    return "it threw something that is no text"; // an object without a prototype
  }
}
