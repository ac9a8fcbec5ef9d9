// A workspace on the real disk with the core tools, driven through the one door that the loop uses:
// prepare() every call of a reply, beginBatch once, invoke() in order, observations into the views.

import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Host } from "../../src/host/host.ts";
import { localHost } from "../../src/host/local.ts";
import { EMPTY_BOARD } from "../../src/context/board.ts";
import { invoke, type InvokeEnv, prepare } from "../../src/loop/invoke.ts";
import { newContext, type Session } from "../../src/loop/session.ts";
import { Grants } from "../../src/permission/grants.ts";
import { BlobStore } from "../../src/session/blobs.ts";
import type { Change, Observation } from "../../src/session/records.ts";
import { bash } from "../../src/tools/bash.ts";
import { type Eol, Lines } from "../../src/tools/document.ts";
import { edit } from "../../src/tools/edit.ts";
import { read } from "../../src/tools/read.ts";
import { search } from "../../src/tools/search.ts";
import { SeenFiles } from "../../src/tools/seen.ts";
import type { Tool, ToolContext } from "../../src/tools/tool.ts";
import { entryOf } from "../support/scripted.ts";

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
  /** `External` writes `{path, write}` as another program would. */
  tool: "Read" | "Edit" | "Search" | "Bash" | "External";
  args: unknown;
}

export interface Result {
  text: string;
  status: string;
  summary: string;
  display?: string;
  observations: Observation[];
  changes: Change[];
  images: { mime: string; blob: string }[];
}

/** The result of what is no call. */
export const OK: Result = {
  text: "",
  status: "ok",
  summary: "",
  observations: [],
  changes: [],
  images: [],
};

const TOOLS = new Map(
  ([read, edit, search, bash] as Tool[]).map((tool) => [tool.name, entryOf(tool)]),
);

export class Desk {
  readonly root: string;
  readonly cwd: string;
  host: Host;
  seen = new SeenFiles();
  readonly blobs: BlobStore;
  limits = { outputTokens: 2500, readTokens: 6000, bashTimeout: 60 };
  readonly #top: string;
  #results = 0;

  constructor(files: Record<string, string | Uint8Array> = {}) {
    this.#top = realpathSync(mkdtempSync(join(tmpdir(), "nanocode-tools-")));
    this.root = join(this.#top, "work");
    this.cwd = this.root;
    mkdirSync(this.root);
    this.blobs = new BlobStore(join(this.#top, "blobs"));
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

  context(): ToolContext {
    return {
      session: { id: "test", root: this.root, cwd: this.cwd },
      call: { id: "call", tr: "tr.1", turn: 1, step: 1 },
      host: this.host,
      signal: new AbortController().signal,
      limits: this.limits,
      seen: this.seen,
      board: EMPTY_BOARD,
      results: { keys: () => [], get: () => null },
      loaded: { where: () => null, add: () => {} },
      batch: undefined,
      emit: () => {},
      openOutput: () => {
        throw new Error("not used here");
      },
      keep: (bytes, name) => this.blobs.keep(bytes, name),
      kept: (name) => this.blobs.get(name),
    };
  }

  #env(): InvokeEnv {
    const { root, cwd, seen, blobs } = this;
    const session: Omit<Session, "log"> = {
      id: "test",
      root,
      parent: null,
      cwd,
      seen,
      blobs,
      board: EMPTY_BOARD,
      stored: new Map(),
      loaded: new Map(),
      context: newContext(),
      grants: new Grants(),
      turn: 1,
      results: this.#results,
    };
    return {
      session: session as Session, // recording is the batch's business, not done here
      tools: TOOLS,
      host: this.host,
      limits: this.limits,
      policy: { allow: [], ask: [], deny: [], yolo: true },
      signal: new AbortController().signal,
      turn: 1,
      step: 1,
      emit: () => {},
    };
  }

  /** The calls of one reply; `between` is called before each. */
  async batch(calls: Call[], between?: (index: number) => void): Promise<Result[]> {
    const env = this.#env();
    const prepared = await Promise.all(
      calls.map(({ tool, args }, i) =>
        tool === "External" ? null : prepare({ id: `c${i}`, name: tool, args }, env)
      ),
    );
    const inputs = prepared.flatMap((call) => call?.tool === edit as Tool ? [call.input] : []);
    const state = inputs.length > 0
      ? await (edit as Tool).beginBatch?.(inputs, this.context())
      : undefined;
    const results: Result[] = [];
    for (const [i, call] of prepared.entries()) {
      between?.(i);
      if (!call) {
        const { path, write } = calls[i]?.args as { path: string; write: string };
        this.write(path, write);
        results.push(OK);
        continue;
      }
      const outcome = await invoke(call, call.tool === edit as Tool ? state : undefined, env);
      if (/failed by a fault of its own/.test(outcome.text)) throw new Error(outcome.text);
      for (const observation of outcome.observations) this.seen.add(observation);
      results.push(outcome);
    }
    this.#results = env.session.results;
    return results;
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
