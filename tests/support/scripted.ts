// A provider whose replies are scripted, a session in a temporary folder, and small tools: what the
// loop's own tests stand on. Everything that has to do with HTTP is tested on the strict server.

import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { localHost } from "../../src/host/local.ts";
import type { AgentEvent } from "../../src/loop/events.ts";
import { openSession, type Session } from "../../src/loop/session.ts";
import { turn, type TurnDeps } from "../../src/loop/turn.ts";
import type { ChatRequest, Delta, Provider } from "../../src/provider/provider.ts";
import { BlobStore } from "../../src/session/blobs.ts";
import { SessionLog } from "../../src/session/log.ts";
import { inputSchema } from "../../src/tools/arguments.ts";
import type { Tool, ToolEntry } from "../../src/tools/tool.ts";

/** A scripted reply: text, calls, or raw deltas. */
export interface Reply {
  text?: string;
  calls?: { id?: string; name: string; args: unknown }[];
  deltas?: Delta[];
}

export interface ScriptedProvider extends Provider {
  requests: ChatRequest[];
}

/** Answers request N with reply N; asking for more than there are is an error delta. */
export function scripted(replies: Reply[]): ScriptedProvider {
  const requests: ChatRequest[] = [];
  return {
    id: "scripted",
    requests,
    async *stream(request) {
      const reply = replies[requests.length];
      requests.push(structuredClone(request));
      await Promise.resolve();
      if (!reply) {
        yield {
          type: "error",
          failure: { message: "script is over", code: null, retryable: false },
        };
        return;
      }
      if (reply.deltas) return yield* reply.deltas;
      if (reply.text) yield { type: "text", text: reply.text };
      for (const [index, call] of (reply.calls ?? []).entries()) {
        const id = call.id ?? `c${requests.length}x${index}`;
        yield {
          type: "call",
          fragment: { index, id, name: call.name, args: JSON.stringify(call.args) },
        };
      }
      yield { type: "usage", usage: { input: 100, output: 10, cached: 50 } };
      yield { type: "finish", reason: reply.calls ? "tool_calls" : "stop", raw: null };
    },
  };
}

export interface Bench {
  folder: string;
  session: Session;
  deps(provider: Provider, over?: Partial<TurnDeps>): TurnDeps;
  run(provider: Provider, over?: Partial<TurnDeps>, text?: string): Promise<AgentEvent[]>;
  /** Opens the session's file again, as a new process would. */
  reload(): Session;
  close(): void;
}

/** A session in a temporary folder with the given tools. */
export function bench(tools: Tool[] = [echoTool()]): Bench {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "nanocode-loop-")));
  const path = join(folder, "home", "s.jsonl");
  const log = SessionLog.create(path);
  log.append({
    type: "header",
    turn: 0,
    step: 0,
    session: "s",
    root: folder,
    cwd: folder,
    version: "0",
    environment: "--- Environment ---",
  });
  const blobs = new BlobStore(join(folder, "home", "s.blobs"));
  const session = openSession(log, blobs);
  const host = localHost({ locks: join(folder, "home", "locks") });
  const entries = new Map(tools.map((tool) => [tool.name, entryOf(tool)]));
  const deps = (provider: Provider, over: Partial<TurnDeps> = {}): TurnDeps => ({
    model: { provider, model: "m", window: null, prices: null },
    tools: entries,
    host,
    policy: { allow: [], ask: [], deny: [], yolo: true },
    limits: { steps: 20 },
    toolLimits: { outputTokens: 500, readTokens: 500, bashTimeout: 10 },
    system: "system",
    files: "inline",
    signal: new AbortController().signal,
    ...over,
  });
  return {
    folder,
    session,
    deps,
    async run(provider, over, text = "go") {
      const events: AgentEvent[] = [];
      for await (const event of turn(session, { text, source: "typed" }, deps(provider, over))) {
        events.push(event);
      }
      return events;
    },
    reload: () => openSession(SessionLog.open(path), blobs),
    close() {
      host.killAll();
      log.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function entryOf(tool: Tool): ToolEntry {
  const { name, description } = tool;
  return {
    spec: { name, description, schema: inputSchema(tool) },
    load: () => Promise.resolve(tool),
  };
}

/** `Echo {text}`: safe, no effects. */
export function echoTool(over: Partial<Tool<{ text: string }>> = {}): Tool {
  return {
    name: "Echo",
    description: "echoes",
    input: z.strictObject({ text: z.string() }),
    example: { text: "hi" },
    effects: () => [],
    isConcurrencySafe: () => true,
    run: ({ text }) => Promise.resolve({ output: text }),
    ...over,
  } as Tool;
}
