// The one door: every tool call, whoever asks, passes prepare(), heedHooks() and invoke(): parse, validate,
// hooks, effects, permission, run, bound. Nothing here knows a tool by name. Recording is done by batch.ts, in call
// order; scheduling too.

import { boundResult, openSink } from "../context/results.ts";
import type { Host } from "../host/host.ts";
import type { Hooks } from "../plugins/hooks.ts";
import type { HookCall } from "../plugins/sdk.ts";
import { oneLine } from "../runtime/one-line.ts";
import type {
  Change,
  Loaded,
  NoteFields,
  Observation,
  Ran,
  RecordedCall,
  ResultStatus,
} from "../session/records.ts";
import {
  type Tool,
  type ToolContext,
  type ToolEntry,
  ToolError,
  type ToolLimits,
  type ToolOutput,
} from "../tools/tool.ts";
import { askHooks, refusal } from "./hooks.ts";
import { type Asked, permit, type PermitEnv, putQuestion } from "./permit.ts";
import { storedResult } from "./session.ts";

/** What a call needs from the turn around it. */
export interface InvokeEnv extends PermitEnv {
  /** What plugins have a say in. */
  hooks?: Hooks;
  tools: ReadonlyMap<string, ToolEntry>;
  host: Host;
  limits: ToolLimits;
  turn: number;
  step: number;
}

/** A call that parsed, or the error result it already is. */
export type Prepared =
  & { call: RecordedCall; tr: string; title: string }
  & (
    /** `args`: what the input was made of: the model's, or those that a hook gave. */
    | { tool: Tool; input: unknown; args: unknown; ctx: ToolContext }
    /** `denied`: by a hook, which is a refusal and no fault of the call. */
    | { tool: null; error: string; denied?: true }
  );

/** How a call ended, ready to be recorded. */
export interface Outcome {
  status: ResultStatus;
  text: string;
  summary: string;
  spill?: string;
  display?: string;
  observations: Observation[];
  changes: Change[];
  note?: NoteFields;
  ran?: Ran;
  images: { mime: string; blob: string }[];
  /** Skills that the text shows. */
  loaded?: readonly Loaded[];
  /** A question that was put, and its answer, for the records. */
  asked?: Asked;
  /** The user refused: the rest of the batch is skipped. */
  refusedByUser?: boolean;
  ms: number;
}

/** Loaded with the first call: zod must not delay the first request. */
let tolerant: typeof import("../tools/arguments.ts") | undefined;

/** Step 1: tool known, arguments parsed and valid. Never throws. */
export async function prepare(call: RecordedCall, env: InvokeEnv): Promise<Prepared> {
  const numbered = () => `tr.${++env.session.results}`;
  const title = shorten(call.raw ?? JSON.stringify(call.args ?? {}));
  const entry = env.tools.get(call.name);
  if (!entry) {
    return {
      call,
      title,
      tr: numbered(),
      tool: null,
      error: unknownTool(call.name, env.tools),
    };
  }
  let tool: Tool;
  try {
    tool = await entry.load();
  } catch (fault) {
    const why = fault instanceof Error ? fault.message : String(fault);
    const error = `The tool ${call.name} cannot be loaded: ${why}. Nothing was done.`;
    return { call, title, tr: numbered(), tool: null, error };
  }
  const base = { call, title, tr: tool.keyless ? "-" : numbered() };
  if (call.args === null && call.raw !== undefined) {
    return { ...base, tool: null, error: await brokenJson(tool, call.raw) };
  }
  tolerant ??= await import("../tools/arguments.ts");
  const parsed = tolerant.parseToolArguments(tool, call.args, entry.spec.schema);
  if (!parsed.ok) return { ...base, tool: null, error: parsed.error };
  const { input } = parsed;
  const { args } = call;
  const shown = shorten(tool.title?.(input) ?? base.title);
  return { ...base, title: shown, tool, input, args, ctx: contextFor(call, base.tr, env) };
}

/** Step 2: hooks may deny the call, or change its arguments, which are then checked again. */
export async function heedHooks(prepared: Prepared, env: InvokeEnv): Promise<Prepared> {
  if (prepared.tool === null || !env.hooks?.has("tool.before")) return prepared;
  const { tool, input, call, tr, title } = prepared;
  const about = { call: hookCall(prepared, env) };
  const { denied, args } = await askHooks("tool.before", about, env.session, env.hooks, env);
  const base = { call, tr, title };
  if (denied) {
    return { ...base, tool: null, error: `${refusal(denied)}\nNothing was done.`, denied: true };
  }
  if (args === undefined) return prepared;
  const { parseToolArguments } = tolerant ??= await import("../tools/arguments.ts");
  const changed = tool.carries?.(input)?.wrap(args) ?? args;
  const parsed = parseToolArguments(tool, changed, env.tools.get(call.name)?.spec.schema);
  if (!parsed.ok) {
    const error = `A hook changed the arguments, and they are wrong now: ${parsed.error}`;
    return { ...base, tool: null, error };
  }
  const shown = shorten(tool.title?.(parsed.input) ?? title);
  return { ...prepared, title: shown, input: parsed.input, args: changed };
}

/** A call as hooks hear of it; one inside another's arguments as if it came by itself. */
export function hookCall(prepared: Prepared, { tools }: Pick<InvokeEnv, "tools">): HookCall {
  const { id, name, args } = prepared.call;
  const schema = tools.get(name)?.spec.schema;
  if (prepared.tool === null || !schema) return { id, tool: name, args };
  const inner = prepared.tool.carries?.(prepared.input);
  if (inner) return { id, tool: inner.tool, args: inner.args, via: name };
  const fitted = tolerant?.fitArguments(prepared.tool, prepared.args, schema);
  return { id, tool: name, args: fitted ?? prepared.args };
}

/** Steps 3 to 6 for a prepared call. Never throws: whatever a tool does becomes an outcome. */
export async function invoke(prepared: Prepared, batch: unknown, env: InvokeEnv): Promise<Outcome> {
  const started = performance.now();
  const end = (outcome: Omit<Outcome, "ms">): Outcome => ({
    ...outcome,
    ms: Math.round(performance.now() - started),
  });
  if (prepared.tool === null) {
    return end(plain(prepared.denied ? "refused" : "error", prepared.error));
  }
  const { tool, input, call } = prepared;
  // An earlier call of the batch may have changed the board.
  const loads: Loaded[] = [];
  const loaded = { ...prepared.ctx.loaded, add: (entry: Loaded) => void loads.push(entry) };
  const ctx: ToolContext = { ...prepared.ctx, board: env.session.board, batch, loaded };
  try {
    const effects = await tool.effects(input, ctx);
    const permission = await permit({
      call: call.id,
      tool: tool.name,
      title: prepared.title,
      effects,
      // A call that cannot work says so here, before anybody is asked about it.
      preview: async () => await tool.preview?.(input, ctx) ?? "",
    }, env);
    const asked = permission.asked ? { asked: permission.asked } : {};
    if (env.signal.aborted) return end({ ...plain("interrupted", NOT_RUN), ...asked });
    if (!permission.allowed) {
      const { text, summary, byUser } = permission;
      return end({ ...plain("refused", text), summary, ...asked, refusedByUser: byUser });
    }
    const output = await tool.run(input, ctx);
    // A skill is read as a page of a file is.
    const page = loads.length > 0 ? { bound: env.limits.readTokens } : {};
    const outcome = finish({ ...output, ...page }, prepared.tr, env);
    return end({ ...outcome, ...asked, ...(loads.length > 0 ? { loaded: loads } : {}) });
  } catch (error) {
    if (env.signal.aborted) {
      return end(plain("interrupted", "Interrupted by the user during this call."));
    }
    // The lines such an error shows count as shown: their anchors must work.
    const observations = error instanceof ToolError ? error.observations : [];
    return end({ ...plain("error", faultText(tool.name, call, error)), observations });
  }
}

export const NOT_RUN = "Not run: interrupted by the user.";

/** An outcome that is only a text. */
export function plain(status: ResultStatus, text: string): Omit<Outcome, "ms"> {
  const first = text.split("\n", 1)[0] ?? "";
  return { status, text, summary: shorten(first), observations: [], changes: [], images: [] };
}

function finish(output: ToolOutput, tr: string, env: InvokeEnv): Omit<Outcome, "ms"> {
  const { blobs } = env.session;
  const bounded = boundResult(output.output, output.bound ?? env.limits.outputTokens, tr, blobs);
  const status = output.status ?? "ok";
  return {
    status,
    text: bounded.text,
    ...(bounded.spill === undefined ? {} : { spill: bounded.spill }),
    summary: shorten(output.summary ?? (bounded.text.split("\n", 1)[0] ?? "")),
    ...(output.display === undefined ? {} : { display: output.display }),
    observations: output.observations ?? [],
    changes: output.changes ?? [],
    ...(output.note === undefined ? {} : { note: output.note }),
    ...(output.ran === undefined ? {} : { ran: output.ran }),
    images: (output.images ?? []).map(({ mime, base64 }) => ({
      mime,
      blob: blobs.keep(Buffer.from(base64, "base64")),
    })),
  };
}

function contextFor(call: RecordedCall, tr: string, env: InvokeEnv): ToolContext {
  const { session, host, limits, signal, turn, step, ask } = env;
  const { id, root, cwd, parent } = session;
  const asked = { call: call.id, tool: call.name };
  return {
    session: { id, root, cwd, parent },
    call: { id: call.id, tr, turn, step },
    host,
    signal,
    limits,
    seen: session.seen,
    board: session.board,
    results: {
      keys: () => [...session.stored.keys()],
      get: (key) => storedResult(session, key),
    },
    loaded: { where: (path) => session.loaded.get(path) ?? null, add: () => {} },
    batch: undefined,
    ...(ask ? { ask: (question) => putQuestion(question, asked, { ask, signal }) } : {}),
    emit: (text) => env.emit({ type: "call_output", call: call.id, text }),
    openOutput: () => openSink(session.blobs),
    keep: (bytes, name) => session.blobs.keep(bytes, name),
    kept: (name) => session.blobs.get(name),
  };
}

function unknownTool(name: string, tools: ReadonlyMap<string, ToolEntry>): string {
  return `There is no tool "${name}". The tools are: ${
    [...tools.keys()].join(", ")
  }. Nothing was done.`;
}

async function brokenJson(tool: Tool, raw: string): Promise<string> {
  const { explainBroken } = await import("../provider/argument-faults.ts");
  return `${tool.name}: the arguments are not valid JSON: ${
    explainBroken(raw)
  }. Nothing was done. ` +
    `Send the call again with complete JSON, for example ${JSON.stringify(tool.example)}`;
}

/** A tool's own error is its words; anything else is a fault of the tool, named as such. */
function faultText(tool: string, call: RecordedCall, error: unknown): string {
  if (error instanceof ToolError || (error instanceof Error && error.name === "HostError")) {
    return error.message;
  }
  const what = error instanceof Error ? error.message : String(error);
  return `${tool} failed by a fault of its own: ${what || "it gave no reason"}. ` +
    `This call (${call.id}) may have had part of its effect; check before you repeat it.`;
}

function shorten(text: string): string {
  return oneLine(text, 160);
}
