// A workspace on the real disk with the tools of this folder, driven as the loop drives them: arguments
// parsed, beginBatch once, calls in order, observations into the views.

import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Host } from "../../src/host/host.ts";
import { localHost } from "../../src/host/local.ts";
import { EMPTY_BOARD } from "../../src/context/board.ts";
import { sha256 } from "../../src/runtime/hash.ts";
import { parseToolArguments } from "../../src/tools/arguments.ts";
import { type Eol, Lines } from "../../src/tools/document.ts";
import { edit } from "../../src/tools/edit.ts";
import { read } from "../../src/tools/read.ts";
import { SeenFiles } from "../../src/tools/seen.ts";
import { type Tool, type ToolContext, ToolError, type ToolOutput } from "../../src/tools/tool.ts";

/** Scale of random runs: 1 in `npm test`, 20 in `npm run test:deep`. */
export const RUNS = Number(process.env.NANOCODE_RUNS ?? 1);

/** For tests that run long in `npm run test:deep`, or on large files. */
export const PATIENT = { timeout: 600_000 };

/** A line as tests compare it. */
export interface Line {
  text: string;
  eol: Eol;
}

export function splitLines(text: string): Line[] {
  const lines = new Lines(text);
  return Array.from(lines.map(({ text }) => text), (text, i) => ({ text, eol: lines.eol(i + 1) }));
}

export interface Call {
  tool: "Read" | "Edit" | "External";
  args: unknown;
}

export interface Result extends ToolOutput {
  text: string;
  status: NonNullable<ToolOutput["status"]>;
}

export class Desk {
  readonly root: string;
  readonly cwd: string;
  host: Host;
  seen = new SeenFiles();
  readonly blobs = new Map<string, Uint8Array>();
  limits = { outputTokens: 2500, readTokens: 6000, bashTimeout: 60 };
  readonly #top: string;

  constructor(files: Record<string, string | Uint8Array> = {}) {
    this.#top = realpathSync(mkdtempSync(join(tmpdir(), "nanocode-tools-")));
    this.root = join(this.#top, "work");
    this.cwd = this.root;
    mkdirSync(this.root);
    this.host = localHost({ locks: join(this.#top, "locks") });
    for (const [path, content] of Object.entries(files)) this.write(path, content);
  }

  [Symbol.dispose](): void {
    rmSync(this.#top, { recursive: true, force: true });
  }

  at(path: string): string {
    return join(this.root, path);
  }

  write(path: string, content: string | Uint8Array): void {
    mkdirSync(dirname(this.at(path)), { recursive: true });
    writeFileSync(this.at(path), content);
  }

  bytes(path: string): Buffer {
    return readFileSync(this.at(path));
  }

  text(path: string): string {
    return this.bytes(path).toString("utf8");
  }

  context(batch?: unknown): ToolContext {
    return {
      session: { id: "test", root: this.root, cwd: this.cwd },
      call: { id: "call", tr: "tr.1", turn: 1, step: 1 },
      host: this.host,
      signal: new AbortController().signal,
      limits: this.limits,
      seen: this.seen,
      board: EMPTY_BOARD,
      results: { keys: () => [], get: () => null },
      batch,
      emit: () => {},
      openOutput: () => {
        throw new Error("not used here");
      },
      keep: (bytes) => {
        const name = sha256(bytes);
        this.blobs.set(name, bytes.slice());
        return name;
      },
      kept: (name) => this.blobs.get(name) ?? null,
    };
  }

  /** The calls of one reply. `External` writes `{path, write}` as another program would. */
  async batch(calls: Call[], between?: (index: number) => void): Promise<Result[]> {
    const tools: Record<string, Tool> = { Read: read as Tool, Edit: edit as Tool };
    const parsed = calls.map(({ tool, args }) => {
      const definition = tools[tool];
      return definition ? { definition, arguments: parseToolArguments(definition, args) } : null;
    });
    const inputs = parsed.flatMap((call) =>
      call?.definition === edit as Tool && call.arguments.ok ? [call.arguments.input] : []
    );
    const state = inputs.length > 0
      ? await (edit as Tool).beginBatch?.(inputs, this.context())
      : undefined;
    const results: Result[] = [];
    for (const [i, call] of parsed.entries()) {
      between?.(i);
      if (!call) {
        const { path, write } = calls[i]?.args as { path: string; write: string };
        this.write(path, write);
        results.push({ output: "", text: "", status: "ok" });
      } else results.push(await this.#invoke(call.definition, call.arguments, state));
    }
    return results;
  }

  async #invoke(
    tool: Tool,
    parsed: ReturnType<typeof parseToolArguments<unknown>>,
    state: unknown,
  ): Promise<Result> {
    const ctx = this.context(state);
    let output: ToolOutput;
    try {
      if (!parsed.ok) throw new ToolError(parsed.error);
      await tool.effects(parsed.input, ctx);
      output = await tool.run(parsed.input, ctx);
    } catch (error) {
      if (!(error instanceof Error) || !/ToolError|HostError/.test(error.name)) throw error;
      const observations = error instanceof ToolError ? error.observations : [];
      output = { output: error.message, status: "error", observations };
    }
    for (const observation of output.observations ?? []) this.seen.add(observation);
    return { ...output, text: String(output.output), status: output.status ?? "ok" };
  }

  async run(call: Call): Promise<Result> {
    return (await this.batch([call]))[0] as Result;
  }

  async edit(path: string, ...edits: Record<string, unknown>[]): Promise<Result> {
    return await this.run({ tool: "Edit", args: { path, edits } });
  }

  async read(path: string, ranges?: number[][], columns?: number[]): Promise<Result> {
    return await this.run({ tool: "Read", args: { files: [{ path, ranges, columns }] } });
  }
}
