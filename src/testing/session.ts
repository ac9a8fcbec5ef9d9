// A session on the disk for one test, on the real host, and what a session needs besides: permission rules
// and limits. Shared by runTool, runSession and the project's own tests of the loop.

import { join } from "node:path";
import { type LocalHost, localHost } from "../host/local.ts";
import { openSession, type Session } from "../loop/session.ts";
import type { Policy } from "../permission/policy.ts";
import { parseRule } from "../permission/rules.ts";
import { BlobStore } from "../session/blobs.ts";
import { SessionLog } from "../session/log.ts";
import { newId } from "../session/records.ts";
import type { ToolLimits } from "../tools/tool.ts";
import { VERSION } from "../version.ts";

/** As in a session without settings. */
export const TOOL_LIMITS: ToolLimits = { outputTokens: 2500, readTokens: 6000, bashTimeout: 60 };

export interface TestSession {
  session: Session;
  host: LocalHost;
  /** Of the session's file. */
  path: string;
  /** Kills what still runs and closes the file. */
  close(): void;
}

/** @param root Real path of the workspace. @param home Folder of the private state. */
export function testSession(root: string, home: string, id: string = newId()): TestSession {
  const path = join(home, "sessions", `${id}.jsonl`);
  const log = SessionLog.create(path);
  log.append({
    type: "header",
    turn: 0,
    step: 0,
    session: id,
    root,
    cwd: root,
    version: VERSION,
    environment: "--- Environment ---",
  });
  const session = openSession(log, new BlobStore(join(home, "sessions", `${id}.blobs`)));
  const host = localHost({ locks: join(home, "locks") });
  return {
    session,
    host,
    path,
    close() {
      host.killAll();
      log.close();
    },
  };
}

/**
 * What is allowed without anybody to ask: everything (as with --yolo), or what the rules say.
 *
 * @throws {Error} for a text that is no rule.
 */
export function policyOf(allow: readonly string[] | undefined): Policy {
  return { allow: (allow ?? []).map(parseRule), ask: [], deny: [], yolo: allow === undefined };
}
