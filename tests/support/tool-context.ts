// A tool's context with the real host, for tests of a single tool: a workspace and a session's store in
// a temporary folder. Tests of what the loop does with a call use scripted.ts.

import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EMPTY_BOARD } from "../../src/context/board.ts";
import { openSink } from "../../src/context/results.ts";
import { type LocalHost, localHost } from "../../src/host/local.ts";
import { BlobStore } from "../../src/session/blobs.ts";
import { SeenFiles } from "../../src/tools/seen.ts";
import type { ToolContext } from "../../src/tools/tool.ts";

export interface ToolBench {
  /** Real path of the workspace. */
  root: string;
  host: LocalHost;
  blobs: BlobStore;
  /** Live output so far. */
  emitted: string[];
  context(over?: Partial<ToolContext>): ToolContext;
  close(): void;
}

export function toolBench(): ToolBench {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "nanocode-tool-")));
  const root = join(folder, "work");
  mkdirSync(root);
  const host = localHost({ locks: join(folder, "locks") });
  const blobs = new BlobStore(join(folder, "blobs"));
  const emitted: string[] = [];
  return {
    root,
    host,
    blobs,
    emitted,
    context: (over = {}) => ({
      session: { id: "s", root, cwd: root },
      call: { id: "c", tr: "tr.1", turn: 1, step: 1 },
      host,
      signal: new AbortController().signal,
      limits: { outputTokens: 2500, readTokens: 6000, bashTimeout: 60 },
      seen: new SeenFiles(),
      board: EMPTY_BOARD,
      results: { keys: () => [], get: () => null },
      loaded: { where: () => null, add: () => {} },
      batch: undefined,
      emit: (text) => void emitted.push(text),
      openOutput: () => openSink(blobs),
      keep: (bytes, name) => blobs.keep(bytes, name),
      kept: (name) => blobs.get(name),
      ...over,
    }),
    close() {
      host.killAll();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
