// The records of a session: every thing that happened, one typed line of JSONL each.
// Everything shown, sent or resumed is a function of these (DESIGN §1.1). This file holds the
// shapes and how a record is stamped; reading and writing files is session/log.ts.

import type { FinishReason, Usage } from "../provider/provider.ts";

/** Format version written into each record. A reader keeps what it does not know. */
export const RECORD_VERSION = 1;

/** Fields that every record carries. */
export interface RecordBase {
  /** Format version. */
  v: number;
  /** Sortable and unique (see `newId`). */
  id: string;
  /** ISO time. */
  t: string;
  /** Number of the turn, 1-based; 0 before the first. */
  turn: number;
  /** Number of the step (model request) inside the turn, 1-based; 0 before the first. */
  step: number;
}

/** First line of a session file. */
export interface HeaderRecord extends RecordBase {
  type: "header";
  session: string;
  /** Real path of the workspace root. */
  root: string;
  cwd: string;
  /** nanocode's version. */
  version: string;
  /** Text of the Environment message: constant for the session, so that its prefix is too. */
  environment: string;
  /** Set when this session was forked from another. */
  parent?: { session: string; record: string };
}

/**
 * Where a user message came from. Ours are `nudge` (an empty reply is asked once to go on), `rule` and
 * `skill` (their text, shown behind what they belong to); `plugin` is a note of one.
 */
export type UserSource =
  | "typed"
  | "queued"
  | "stdin"
  | "command"
  | "nudge"
  | "rule"
  | "skill"
  | "plugin";

export interface UserRecord extends RecordBase {
  type: "user";
  text: string;
  source: UserSource;
}

/** One tool call as the model made it. */
export interface RecordedCall {
  id: string;
  name: string;
  /** Parsed arguments; null when they were not valid JSON. */
  args: unknown;
  /** The argument text as received, only when it did not parse. */
  raw?: string;
  /** Provider data that must be sent back with the call (signatures). */
  extra?: unknown;
}

export interface ReplyRecord extends RecordBase {
  type: "reply";
  text: string;
  reasoning: string;
  calls: RecordedCall[];
  /** Provider items that must be sent back untouched. */
  opaque: unknown[];
  finish: FinishReason;
  usage: Usage | null;
  provider: string;
  model: string;
  /** Time from request to the end of the reply. */
  ms: number;
}

/** What a call would do, for permission. Paths are absolute, resolved by the tool with `ctx.host`. */
export type Effect =
  | { kind: "read"; path: string }
  | { kind: "write"; path: string }
  | { kind: "exec"; command: string; cwd: string }
  | { kind: "net"; host: string }
  | { kind: "spend"; what: string }
  /** Stores that something of the project may run from now on. */
  | { kind: "trust"; what: string };

/**
 * What the model was shown of a file: structured, never scraped from text (spec/context).
 * `kind` says by what: a result, or FILE STATE. `path` is the real path; `version` the sha-256 (hex) of the file's bytes; `total` its number of
 * lines; `ranges` are 1-based inclusive, `texts[i]` holds the line texts of `ranges[i]` as
 * `recorded()` of tools/lines.ts gives them: a line of more than 2,000 characters is a digest.
 */
export interface Observation {
  path: string;
  version: string;
  kind: "read" | "edit" | "search" | "state";
  total: number;
  ranges: [start: number, end: number][];
  texts: string[][];
}

/** A file changed by a call; `before`/`after` are blobs (sha-256 of the bytes), null where absent. */
export interface Change {
  /** Real path. */
  path: string;
  kind: "create" | "edit" | "delete" | "rename" | "mode" | "command";
  before: string | null;
  after: string | null;
}

/** `refused`: by permission; `skipped`: never tried; `interrupted`: cut by the user or a crash. */
export type ResultStatus = "ok" | "noop" | "error" | "refused" | "skipped" | "interrupted";

export interface ResultRecord extends RecordBase {
  type: "result";
  /** Id of the call this answers. */
  call: string;
  /** Result key, `tr.N`, never reused in a session. */
  tr: string;
  tool: string;
  status: ResultStatus;
  /** One line for people and for the first line of the tool message, e.g. `Search "raise" path=src`. */
  header: string;
  /** What the model sees, bounded. */
  text: string;
  /** Name (sha-256) of the blob with the full output, when `text` had to be bounded. */
  spill?: string;
  observations?: Observation[];
  /** Images shown to the model, kept as blobs. */
  images?: { mime: string; blob: string }[];
  /** A command that ran: evidence for the check status. */
  ran?: Ran;
  ms: number;
}

/** A command that ran to its end; `exit` is null when a signal ended it. */
export interface Ran {
  command: string;
  exit: number | null;
}

/** What a call did to a file; the bytes lie in the blob store under their version. */
export interface ChangeRecord extends RecordBase, Change {
  type: "change";
  call: string;
}

export interface AskRecord extends RecordBase {
  type: "ask";
  call: string;
  effects: Effect[];
  preview: string;
}

export interface AnswerRecord extends RecordBase {
  type: "answer";
  call: string;
  decision: "allow" | "deny";
  reason?: string;
  remembered?: string;
}

/** What the model put on its board (Memory): goal, plan and check replace, known adds or strikes out. */
export interface NoteFields {
  goal?: string;
  plan?: string[];
  known?: string[];
  check?: string;
}

export interface NoteRecord extends RecordBase, NoteFields {
  type: "note";
  call: string;
}

/** Old history replaced by a summary: done once, taken back by `uncompact`. */
export interface CompactRecord extends RecordBase {
  type: "compact";
  /** Id of the last record that is summarised; a record behind it stays as it is. */
  through: string;
  /** Who summarised. */
  by: "model" | "mechanical";
  /** Messages that take the place of what was summarised: summary, the user's words, file content. */
  texts: string[];
  /** Keys of results that are still worth recalling. */
  results: string[];
  /** Lines of files that `texts` shows again. */
  observations?: Observation[];
  /** Estimated tokens of the request before and after. */
  tokens: { before: number; after: number };
}

/** Takes the compaction with this record id back. */
export interface UncompactRecord extends RecordBase {
  type: "uncompact";
  compact: string;
}

/** From here on these results of the current turn are sent as their header line only. */
export interface FoldRecord extends RecordBase {
  type: "fold";
  tr: string[];
}

/** A part of a request as the ledger sees it. */
export interface RequestBlock {
  name:
    | "tools"
    | "system"
    | "environment"
    | "summary"
    | "user"
    | "replies"
    | "results"
    | "memory"
    | "files";
  /** Estimated tokens. */
  tokens: number;
  /** Of its text; equal hashes mean equal text. */
  hash: string;
}

/** A request that was sent: the ledger's line about it (context/ledger.ts). */
export interface RequestRecord extends RecordBase {
  type: "request";
  model: string;
  blocks: RequestBlock[];
  /** UTF-8 bytes / 4 of everything sent; what the provider counts divided by this calibrates estimates. */
  raw: number;
  /** Estimated tokens, of which `predicted` should come from the provider's cache. */
  estimate: number;
  predicted: number;
  /** Tokens that fit, where known. */
  window?: number;
  /** The first block that differs from the request before, which should have been its beginning. */
  broke?: { block: RequestBlock["name"]; why: string };
  /** The tail as sent: it is computed from the disk and cannot be made again. */
  tail: string[];
  /** Lines of files that the tail shows, where they are not those of the request before. */
  observations?: Observation[];
}

/** A rule, skill or plugin that entered the context; `version` is a hash of its text. */
export interface Loaded {
  kind: "rule" | "skill" | "plugin";
  path: string;
  version: string;
}

export interface LoadedRecord extends RecordBase, Loaded {
  type: "loaded";
  /** Key of the result, or id of the message, that shows it; absent: the Environment message. */
  in?: string;
}

export interface SettingRecord extends RecordBase {
  type: "setting";
  name: string;
  value: unknown;
}

/** Why a turn ended. `refused`: by a hook of a plugin. */
export type EndReason =
  | "done"
  | "steps"
  | "budget"
  | "timeout"
  | "interrupt"
  | "provider"
  | "repeat"
  | "permission"
  | "crash";

export interface EndRecord extends RecordBase {
  type: "end";
  reason: EndReason;
  detail?: string;
}

/** A record of a newer release: kept, carried along, ignored. */
export interface UnknownRecord extends RecordBase {
  type: `unknown:${string}`;
  [field: string]: unknown;
}

export type SessionRecord =
  | HeaderRecord
  | UserRecord
  | ReplyRecord
  | ResultRecord
  | ChangeRecord
  | AskRecord
  | AnswerRecord
  | NoteRecord
  | CompactRecord
  | UncompactRecord
  | FoldRecord
  | RequestRecord
  | LoadedRecord
  | SettingRecord
  | EndRecord;

/** A record before `SessionLog.append` stamps version, id and time on it. */
export type NewRecord = SessionRecord extends infer R
  ? R extends SessionRecord ? Omit<R, "v" | "id" | "t"> : never
  : never;

let lastMs = 0;
let counter = 0;

/**
 * A sortable, unique id: 9 characters of time in base 36, 3 of a counter for ids made in the same
 * millisecond, 6 random ones. Sorting ids as strings sorts them by time of creation.
 */
export function newId(now: number = Date.now()): string {
  if (now > lastMs) {
    lastMs = now;
    counter = 0;
  } else {
    counter++; // also when the clock stepped back: ids stay in order of creation
  }
  const random = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
  return lastMs.toString(36).padStart(9, "0") + counter.toString(36).padStart(3, "0") +
    (random % 36 ** 6).toString(36).padStart(6, "0");
}
