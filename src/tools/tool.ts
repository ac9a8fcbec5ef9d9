// What a tool is. The loop knows tools only through this: it asks a tool for its effects and whether
// an input may run beside others, and never guesses from a name (DESIGN §1.4).

import type { z } from "zod";
import type { OutputSink, SpilledText, StoredResult } from "../context/results.ts";
import type { Host } from "../host/host.ts";
import type { ToolSpec } from "../provider/provider.ts";
import type { Board } from "../context/board.ts";
import type { Change, Effect, Loaded, NoteFields, Observation, Ran } from "../session/records.ts";
import type { SeenFiles } from "./seen.ts";

/** What a call gives back. A thrown `ToolError` becomes an error result; so does any other throw. */
export interface ToolOutput {
  /** For the model; bounded by invoke(). */
  output: string | SpilledText;
  status?: "ok" | "noop" | "error" | "interrupted";
  /** One line for people, e.g. `12 lines` or `exit 1 in 0.3s`. */
  summary?: string;
  /** For people only, e.g. a diff. */
  display?: string;
  observations?: Observation[];
  changes?: Change[];
  /** The command that ran. */
  ran?: Ran;
  /** What it writes on the board (Memory). */
  note?: NoteFields;
  /** Images for models that take them. */
  images?: { mime: string; base64: string }[];
  /** Token bound of `output`, when not `limits.outputTokens` (a Read page bounds itself). */
  bound?: number;
}

/** A failure whose message is written for the model: what is wrong, what is right, the state now. */
export class ToolError extends Error {
  override name = "ToolError";
  /** Lines of files that the message shows, so that their anchors can be used. */
  readonly observations: Observation[];
  constructor(message: string, observations: Observation[] = []) {
    super(message);
    this.observations = observations;
  }
}

export interface ToolLimits {
  /** Tokens of a command or search result that the model sees. */
  outputTokens: number;
  /** Tokens of a Read page. */
  readTokens: number;
  /** Seconds before a command is killed, where the call names no timeout. */
  bashTimeout: number;
}

/** A question to the person, in words. */
export interface Question {
  /** Who asks. */
  from: string;
  text: string;
  /** The answer is one of them; absent or empty: any text. */
  choices?: readonly string[];
}

/** What a running call may use. Everything it touches outside itself goes through here. */
export interface ToolContext {
  /** `parent`: the session that this one was forked from. */
  readonly session: { id: string; root: string; cwd: string; parent?: string | null };
  readonly call: { id: string; tr: string; turn: number; step: number };
  readonly host: Host;
  readonly signal: AbortSignal;
  readonly limits: ToolLimits;
  /** What the model has been shown of files, newest first. */
  readonly seen: SeenFiles;
  /** The board as it is. */
  readonly board: Board;
  /** Keys of the results so far, and a result by its key. */
  readonly results: { keys(): string[]; get(tr: string): StoredResult | null };
  /** Rules and skills in the context: where one stands (null: nowhere), and that this call's result shows one. */
  readonly loaded: { where(path: string): string | null; add(loaded: Loaded): void };
  /** State that the calls of one batch share: `Tool.beginBatch` made it. */
  readonly batch: unknown;
  /** Asks the person; null when they gave no answer. Absent when nobody can answer. */
  readonly ask?: (question: Question) => Promise<string | null>;
  /** Live output for whoever watches; not recorded. */
  emit(text: string): void;
  openOutput(): OutputSink;
  /** Keep bytes in the session's content-addressed store; the name is their sha-256, given where known. */
  keep(bytes: Uint8Array, name?: string): string;
  /** Bytes kept under a name, or null. */
  kept(name: string): Uint8Array | null;
}

/** A call inside another tool's arguments; `wrap` gives those for other arguments of the inner one. */
export interface CarriedCall {
  tool: string;
  args: unknown;
  wrap(args: unknown): unknown;
}

/**
 * A tool. `name` matches `^[A-Za-z0-9_-]{1,64}$`. The JSON Schema sent to the model is made from
 * `input`: plain objects, no unions, no tuples (spec/tools.md).
 */
export interface Tool<I = unknown> {
  readonly name: string;
  /** Prose for the model: what it does, signature, examples, what comes back. */
  readonly description: string;
  readonly input: z.ZodType<I>;
  /** A correct call, shown in errors about wrong arguments. */
  readonly example: I;
  /**
   * Folds near-miss arguments into the expected form before validation (never guessing at content).
   * The generic repairs (field names, strings for lists, numbers as strings) happen before this.
   */
  normalize?(args: Record<string, unknown>): Record<string, unknown>;
  /** Its results get no key: what they show can be had again (Recall). */
  readonly keyless?: boolean;
  /** Other names for fields, accepted silently: `{ file_path: "path" }`. */
  readonly aliases?: Readonly<Record<string, string>>;
  effects(input: I, ctx: ToolContext): Effect[] | Promise<Effect[]>;
  /** May this call run beside other safe calls of its batch? */
  isConcurrencySafe(input: I): boolean;
  /** The call that this one carries inside: hooks see that one. Never throws. */
  carries?(input: I): CarriedCall | null;
  /** Called once per batch, before any of its calls runs, with this tool's inputs in call order. */
  beginBatch?(inputs: I[], ctx: ToolContext): Promise<unknown>;
  /** What the person sees before allowing the call (a diff, the full command). */
  preview?(input: I, ctx: ToolContext): Promise<string>;
  /** The call in one line, e.g. `src/a.ts 1:80`; without it the arguments are shown shortened. */
  title?(input: I): string;
  run(input: I, ctx: ToolContext): Promise<ToolOutput>;
}

/** A tool as the session knows it: what the model sees, and how to get the code when it is needed. */
export interface ToolEntry {
  readonly spec: ToolSpec;
  /** Loads the code, once. */
  load(): Promise<Tool>;
}

/** Gives a tool's definition its input type; the registry holds tools of any input. */
export function defineTool<I>(tool: Tool<I>): Tool<I> {
  return tool;
}
