// A session at run time: its log, its blobs, and the projections of the records that the loop needs
// at every step. Built from records alone, so that resuming is loading.

import type { SessionLog } from "../session/log.ts";
import type { BlobStore } from "../session/blobs.ts";
import { join } from "node:path";
import { type Board, EMPTY_BOARD, noted } from "../context/board.ts";
import type { Sent } from "../context/ledger.ts";
import type { StoredResult } from "../context/results.ts";
import { Calibration } from "../context/tokens.ts";
import type {
  HeaderRecord,
  LoadedRecord,
  NewRecord,
  ReplyRecord,
  ResultRecord,
  SessionRecord,
} from "../session/records.ts";
import { Grants } from "../permission/grants.ts";
import type { FileViewer } from "../tools/file-view.ts";
import { SeenFiles } from "../tools/seen.ts";

/** What the composing of requests remembers between steps; all but `calibration` may be lost. */
export interface ContextState {
  readonly calibration: Calibration;
  /** Uncorrected estimate of the request under way. */
  raw: number;
  /** The request before, and the lines of files that its tail showed. */
  sent: Sent | null;
  shown: string;
  /** What a refused request taught about a window that nobody knows. */
  learnedWindow: number | null;
  /** The user was told that nothing more can be left out. */
  saidFull: boolean;
  viewer?: FileViewer;
}

export interface Session {
  readonly id: string;
  /** Real path of the workspace. */
  readonly root: string;
  readonly cwd: string;
  /** The session that this one was forked from. */
  readonly parent: string | null;
  readonly log: SessionLog;
  readonly blobs: BlobStore;
  /** What the model was shown of files. */
  readonly seen: SeenFiles;
  /** What the model noted. */
  board: Board;
  /** Results by their key. */
  readonly stored: Map<string, ResultRecord>;
  /** Rules and skills in the context, by path, and where each stands. */
  readonly loaded: Map<string, string>;
  readonly context: ContextState;
  /** What the user allowed for the rest of this run. Not stored: a resumed session asks again. */
  readonly grants: Grants;
  /** Number of the turn under way or just ended. */
  turn: number;
  /** Number of the newest result key `tr.N`. */
  results: number;
}

export function newContext(): ContextState {
  return {
    calibration: new Calibration(),
    raw: 0,
    sent: null,
    shown: "",
    learnedWindow: null,
    saidFull: false,
  };
}

/** Builds the session from its log. The log must begin with a header. */
export function openSession(log: SessionLog, blobs: BlobStore): Session {
  const header = log.records.find((record): record is HeaderRecord => record.type === "header");
  if (!header) {
    throw new Error(`${log.path} has no header record: it is not a session of nanocode.`);
  }
  const session: Session = {
    id: header.session,
    root: header.root,
    cwd: header.cwd,
    parent: header.parent?.session ?? null,
    log,
    blobs,
    seen: new SeenFiles(),
    board: EMPTY_BOARD,
    stored: new Map(),
    loaded: new Map(),
    context: newContext(),
    grants: new Grants(),
    turn: 0,
    results: 0,
  };
  for (const record of log.records) project(session, record);
  return session;
}

/** Brings the projections up to date with one record. */
export function project(session: Session, record: SessionRecord): void {
  session.turn = Math.max(session.turn, record.turn);
  if (record.type === "request") session.context.raw = record.raw;
  if (record.type === "reply" && record.usage) {
    session.context.calibration.learn(session.context.raw, record.usage.input);
  }
  if (record.type === "loaded") session.loaded.set(record.path, whereLoaded(record));
  if (record.type === "note") session.board = noted(session.board, record);
  if (record.type === "result" && /^tr\.\d+$/.test(record.tr)) {
    session.results = Math.max(session.results, Number(record.tr.slice(3)));
    session.stored.set(record.tr, record);
  }
  if (record.type === "result" || record.type === "compact" || record.type === "request") {
    for (const observation of record.observations ?? []) session.seen.add(observation);
  }
}

/** Records something and brings the projections up to date with it. */
export function append<R extends NewRecord>(
  session: Session,
  record: R,
): SessionRecord & { type: R["type"] } {
  const stamped = session.log.append(record);
  project(session, stamped);
  return stamped;
}

function whereLoaded({ in: place, turn }: LoadedRecord): string {
  if (place === undefined) return "in Environment";
  return place.startsWith("tr.") ? `as ${place}` : `with the messages of turn ${turn}`;
}

/** A stored result by its key; null when there is none. */
export function storedResult({ stored, blobs }: Session, tr: string): StoredResult | null {
  const record = stored.get(tr);
  if (!record) return null;
  const { header, text, spill } = record;
  return { tr, header, text, ...(spill === undefined ? {} : { file: join(blobs.folder, spill) }) };
}

/**
 * Closes what a crash left open: each call without a result gets `interrupted`, and a turn without
 * an end gets one. Gives the number of calls that were closed.
 */
export function repair(session: Session): number {
  const { log } = session;
  let reply: ReplyRecord | null = null;
  let answered = new Set<string>();
  let ended = true;
  for (const record of log.records) {
    if (record.type === "reply") {
      reply = record;
      answered = new Set();
    }
    if (record.type === "result") answered.add(record.call);
    if (record.type === "user") reply = null;
    if (record.type === "user" || record.type === "reply") ended = false;
    if (record.type === "end") ended = true;
  }
  const last = log.records.at(-1);
  const where = { turn: session.turn, step: last?.step ?? 0 };
  const orphans = reply?.calls.filter((call) => !answered.has(call.id)) ?? [];
  for (const call of orphans) {
    append(session, {
      type: "result",
      ...where,
      call: call.id,
      tr: `tr.${++session.results}`,
      tool: call.name,
      status: "interrupted",
      header: call.name,
      text:
        "Interrupted: nanocode was stopped during this call. It may have run in part: check before you repeat it.",
      ms: 0,
    });
  }
  if (!ended) {
    log.append({
      type: "end",
      ...where,
      reason: "crash",
      detail: "seen when the session was loaded",
    });
  }
  return orphans.length;
}
