// The only door to the disk and the shell, so that a sandbox, a test or an editor can stand in.
// The real one is local.ts. Not here: which files to search (walk.ts), what is allowed (permission/).

export interface FileInfo {
  kind: "file" | "dir" | "other";
  size: number;
  /** Milliseconds since 1970. */
  mtimeMs: number;
  /** Permission bits. */
  mode: number;
}

export interface DirEntry {
  name: string;
  kind: "file" | "dir" | "link" | "other";
}

/** A file or process error in words a user understands; `code` is the system's (ENOENT, EACCES, …). */
export class HostError extends Error {
  override name = "HostError";
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export interface RunRequest {
  command: string;
  cwd: string;
  /** Milliseconds on the monotonic clock, after which the whole process group is killed. */
  timeoutMs: number;
  /** stdout and stderr in order of arrival, decoded, ANSI still in it. */
  onOutput(text: string): void;
}

export interface RunResult {
  /** Exit code; null when a signal ended the shell. */
  code: number | null;
  signal: string | null;
  timedOut: boolean;
  aborted: boolean;
  ms: number;
  /** What the reader should know, e.g. that processes had left the group and were killed. */
  notes: string[];
}

/** Errors of all methods are `HostError`s. */
export interface Host {
  /** Real path of the deepest existing ancestor plus the rest. A link loop is an error. */
  realpath(path: string): Promise<string>;
  /** Follows links; null when there is nothing. */
  stat(path: string): Promise<FileInfo | null>;
  /** Entries sorted by name. */
  readDir(path: string): Promise<DirEntry[]>;
  /** The whole file. */
  read(path: string): Promise<Uint8Array>;
  /** Bytes `start` (inclusive) to `end` (exclusive), clipped to the file. */
  readRange(path: string, start: number, end: number): Promise<Uint8Array>;
  /**
   * Replaces the file in one step (temp file in the same folder, fsync, rename), keeping mode and
   * owner where it exists. `path` must be real (see `realpath`) and hold the bytes `expected` just
   * before (null: it must not exist), else `HostError("ECHANGED")` and nothing is written.
   * Parent folders are made.
   */
  write(path: string, bytes: Uint8Array, expected: Uint8Array | null): Promise<void>;
  /** Runs one shell command in its own process group, stdin closed. */
  run(request: RunRequest, signal: AbortSignal): Promise<RunResult>;
}
