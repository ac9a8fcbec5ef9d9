// Hooks: what plugins want to know of, or have a say in, before and after things happen. Handlers of a
// plugin's module, or commands (JSON on stdin; exit 0 with JSON or nothing, 2 = deny with stderr as the
// reason). Order: tier, then name; the first deny ends it. A hook that fails or takes too long counts as
// its declaration says.

import { childEnvironment } from "../host/child-env.ts";
import type { HookDeclaration, HookEvent, Tier } from "./manifest.ts";
import { extensionOf } from "./manifest.ts";
import type { LoadedPlugin } from "./registry.ts";
import type { HookAnswer, HookInput } from "./sdk.ts";

const TIMEOUT_MS = 10_000;
const MAX_OUTPUT = 256 * 1024;
const TIERS: readonly Tier[] = ["built-in", "user", "project", "flag"];

export interface Denial {
  plugin: string;
  reason: string;
}

/** What hooks said: nothing, other arguments, or a denial. */
export interface HookOutcome {
  denied?: Denial;
  /** Set when a hook gave other arguments. */
  args?: unknown;
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

  /** Runs the hooks of an event one after the other. Never throws. */
  async run(
    event: HookEvent,
    input: Omit<HookInput, "event">,
    signal: AbortSignal,
  ): Promise<HookOutcome> {
    const outcome: HookOutcome = {};
    for (const { owner, declared } of this.#hooks) {
      if (declared.event !== event || !matches(declared, input.call?.tool)) continue;
      const { name } = owner.plugin.manifest;
      const call = input.call && "args" in outcome
        ? { ...input.call, args: outcome.args }
        : input.call;
      const full: HookInput = { event, ...input, ...(call === undefined ? {} : { call }) };
      let answer: HookAnswer | void;
      try {
        answer = await this.#answerOf({ owner, declared }, full, signal);
      } catch (error) {
        if (signal.aborted) return outcome;
        const what = error instanceof Error ? error.message : String(error);
        this.#warn(`the hook ${event} of the plugin ${name} failed: ${what}`);
        if (declared.onError !== "fail-closed") continue;
        answer = {
          deny:
            `the hook ${event} of the plugin ${name} failed, and it is declared to refuse then: ${what}`,
        };
      }
      if (typeof answer !== "object" || answer === null) continue;
      if (typeof answer.deny === "string") {
        outcome.denied = { plugin: name, reason: answer.deny };
        return outcome;
      }
      if (answer.args !== undefined) outcome.args = answer.args;
    }
    return outcome;
  }

  async #answerOf(
    { owner, declared }: Registered,
    input: HookInput,
    signal: AbortSignal,
  ): Promise<HookAnswer | void> {
    const ms = declared.timeoutMs ?? TIMEOUT_MS;
    const late = AbortSignal.timeout(ms);
    const both = AbortSignal.any([signal, late]);
    const work = declared.command
      ? runCommand(declared.command, input, this.#cwd, both)
      : runHandlers(owner, input, both);
    const { promise, reject } = Promise.withResolvers<never>();
    const stop = () =>
      reject(new Error(late.aborted ? `it took longer than ${ms} ms` : "interrupted"));
    both.addEventListener("abort", stop, { once: true });
    try {
      return await Promise.race([work, promise]);
    } finally {
      both.removeEventListener("abort", stop);
      work.catch(() => {});
    }
  }
}

function matches({ matcher }: HookDeclaration, tool: string | undefined): boolean {
  return matcher === undefined || matcher === "*" ||
    (tool !== undefined && matcher.split("|").includes(tool));
}

async function runHandlers(
  owner: LoadedPlugin,
  input: HookInput,
  signal: AbortSignal,
): Promise<HookAnswer | void> {
  const { hooks = [] } = await owner.definition();
  let args: unknown;
  for (const hook of hooks.filter(({ event }) => event === input.event)) {
    const answer = await hook.run(input, signal);
    if (answer?.deny !== undefined) return answer;
    if (answer?.args !== undefined) args = answer.args;
  }
  return args === undefined ? undefined : { args };
}

/** A command in the widely used JSON form. It sees no keys of the user's environment. */
async function runCommand(
  [program = "", ...args]: readonly string[],
  input: HookInput,
  cwd: string,
  signal: AbortSignal,
): Promise<HookAnswer | void> {
  // Loaded here: it takes longer than all else of a start without hooks.
  const { spawn } = await import("node:child_process");
  return await new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd,
      env: childEnvironment(process.env, []),
      stdio: ["pipe", "pipe", "pipe"],
      signal,
    });
    let [out, err] = ["", ""];
    child.stdout.on("data", (part) => out.length < MAX_OUTPUT && (out += part));
    child.stderr.on("data", (part) => err.length < MAX_OUTPUT && (err += part));
    child.stdin.on("error", () => {}); // it need not read
    child.on("error", (error) => reject(new Error(`cannot run ${program}: ${error.message}`)));
    child.on("close", (code) => {
      if (code === 2) {
        return resolve({ deny: err.trim() || `${program} refused it without a reason` });
      }
      if (code !== 0) {
        return reject(new Error(`${program} ended with ${code}: ${err.trim().slice(0, 300)}`));
      }
      if (out.trim() === "") return resolve();
      try {
        resolve(JSON.parse(out) as HookAnswer);
      } catch {
        reject(
          new Error(`${program} printed something that is no JSON: ${out.trim().slice(0, 100)}`),
        );
      }
    });
    child.stdin.end(`${JSON.stringify(input)}\n`);
  });
}
