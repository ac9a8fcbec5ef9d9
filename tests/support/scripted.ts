// The scripted provider of nanocode/testing, a session in a temporary folder, and small tools: what the
// loop's own tests stand on. Everything that has to do with HTTP is tested on the strict server.

import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import type { AgentEvent } from "../../src/loop/events.ts";
import { openSession, type Session } from "../../src/loop/session.ts";
import { turn, type TurnDeps } from "../../src/loop/turn.ts";
import type { Provider } from "../../src/provider/provider.ts";
import { SessionLog } from "../../src/session/log.ts";
import { scriptedProvider, type ScriptedStep } from "../../src/testing/scripted.ts";
import { testSession } from "../../src/testing/session.ts";
import { inputSchema } from "../../src/tools/arguments.ts";
import type { Tool, ToolEntry } from "../../src/tools/tool.ts";

export { scriptedProvider as scripted, type ScriptedStep as Reply };

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
  const { session, host, path, close } = testSession(folder, join(folder, "home"), "s");
  const { blobs } = session;
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
      close();
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
