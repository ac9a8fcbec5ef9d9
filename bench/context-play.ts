// Plays sessions for benchmark `context`: the real loop and the real tools on a copy of this project's
// source, a scripted agent for a model. Not here: what is counted (context-count.ts).

import { cpSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { coreTools } from "../src/cli/core-tools.ts";
import { environmentText } from "../src/context/environment.ts";
import type { FilesPlacement } from "../src/context/files.ts";
import SYSTEM from "../src/context/system.md" with { type: "text" };
import { localHost } from "../src/host/local.ts";
import { openSession, type Session } from "../src/loop/session.ts";
import { turn, type TurnDeps } from "../src/loop/turn.ts";
import type { ChatRequest, Provider } from "../src/provider/provider.ts";
import { BlobStore } from "../src/session/blobs.ts";
import { SessionLog } from "../src/session/log.ts";
import { Agent } from "./context-agent.ts";
import { messageTokens, toolTokens } from "./context-count.ts";

/** The window of the models that are in mind. */
export const WINDOW = 128_000;

export interface PlayInput {
  /** An absent folder; everything of the session lies in it. */
  folder: string;
  /** Folder whose files the session works on. */
  source: string;
  steps: number;
  placement: FilesPlacement;
  seed: number;
  /**
   * Called with each request before anything else happens.
   *
   * @param tail Number of messages at its end that the next request will not begin with.
   */
  onRequest(request: ChatRequest, tail: number, cwd: string): void;
  /** Called when all is played, while the session is still open. */
  onEnd?(session: Session, deps: TurnDeps): Promise<void>;
}

export interface Played {
  requests: number;
  forcedReads: number;
  outsideChanges: number;
  /** Results that were errors. */
  errors: number;
  compactions: number;
}

/** Plays a session to its end. */
export async function play(input: PlayInput): Promise<Played> {
  const { folder, source, steps, placement, seed, onRequest } = input;
  const cwd = join(folder, "work");
  mkdirSync(folder, { recursive: true });
  cpSync(source, join(cwd, "src"), { recursive: true });
  const paths = readdirSync(join(cwd, "src"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts")).map((path) => `src/${path}`).sort();
  const agent = new Agent(cwd, paths, seed, steps);
  const log = SessionLog.create(join(folder, "home", "s.jsonl"));
  log.append({
    type: "header",
    turn: 0,
    step: 0,
    session: "s",
    root: cwd,
    cwd,
    version: "0",
    environment: environmentText({
      cwd: "/home/user/project",
      os: "linux",
      arch: "x64",
      shell: "bash",
      bashTimeout: 60,
      commands: ["bash", "git", "rg", "node", "npm"],
      rules: [],
      skills: [],
    }),
  });
  const blobs = new BlobStore(join(folder, "home", "blobs"));
  const session = openSession(log, blobs);
  const host = localHost({ locks: join(folder, "home", "locks") });
  const entries = await coreTools(null);
  let requests = 0;
  const provider: Provider = {
    id: "played",
    async *stream(request) {
      const record = log.records.findLast((record) => record.type === "request");
      const isSummary = request.tools.length === 0;
      onRequest(request, isSummary ? 0 : record?.tail.length ?? 0, cwd);
      await Promise.resolve();
      if (isSummary) {
        yield { type: "text", text: JSON.stringify({ summary: agent.ask(0).repeat(8) }) };
        yield { type: "finish", reason: "stop", raw: null };
        return;
      }
      requests++;
      const { text, calls } = agent.answer(request);
      if (text !== "") yield { type: "text", text };
      for (const [index, { name, args }] of calls.entries()) {
        const id = `call_${String(requests).padStart(4, "0")}_${index}`;
        yield { type: "call", fragment: { index, id, name, args: JSON.stringify(args) } };
      }
      // Counts as a provider sends them correct the estimates by which compaction sets in.
      const input = toolTokens(request.tools) +
        request.messages.reduce((sum, message) => sum + messageTokens(message), 0);
      yield { type: "usage", usage: { input, output: 0, cached: 0 } };
      yield { type: "finish", reason: calls.length > 0 ? "tool_calls" : "stop", raw: null };
    },
  };
  const deps: TurnDeps = {
    model: { provider, model: "m", window: WINDOW, prices: null },
    tools: new Map(entries.map((entry) => [entry.spec.name, entry])),
    host,
    policy: { allow: [], ask: [], deny: [], yolo: true },
    limits: { steps: 1000 },
    toolLimits: { outputTokens: 2500, readTokens: 6000, bashTimeout: 60 },
    system: SYSTEM.trim(),
    files: placement,
    signal: new AbortController().signal,
  };
  try {
    for (let n = 1; !agent.isDone; n++) {
      for await (
        const event of turn(session, { text: agent.ask(n), source: "typed" }, deps)
      ) {
        if (event.type === "turn_end" && event.reason !== "done") {
          throw new Error(`the played session ended: ${event.reason} ${event.detail ?? ""}`);
        }
      }
    }
    await input.onEnd?.(session, deps);
  } finally {
    host.killAll();
    log.close();
  }
  const played: Played = {
    requests,
    forcedReads: agent.forcedReads,
    outsideChanges: agent.outsideChanges,
    errors: log.records.filter((record) => record.type === "result" && record.status === "error")
      .length,
    compactions: log.records.filter(({ type }) => type === "compact" || type === "fold").length,
  };
  rmSync(folder, { recursive: true, force: true });
  return played;
}
