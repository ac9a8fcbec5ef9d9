// The real host: this machine's disk and shell. What it promises is written in host.ts.

import { readFolder, readSlice, readWhole, realPath, statPath } from "./files.ts";
import type { Host } from "./host.ts";
import type { Processes } from "./processes.ts";
import { writeFile } from "./write.ts";

export interface LocalHostOptions {
  /** Folder for lock files, in the user's private state; made when first needed. */
  locks: string;
  /** The user's `bash.env`: further variables that commands get (see `childEnvironment`). */
  env?: readonly string[];
}

export interface LocalHost extends Host {
  /**
   * Kills every process that commands of this host started and that still lives, background ones
   * included. Synchronous, for exit and signal handlers; safe to call twice.
   */
  killAll(): void;
}

export function localHost(options: LocalHostOptions): LocalHost {
  let processes: Processes | undefined;
  // Loaded with the first command: most of the start-up cost of the host is in it.
  const started = async () => {
    const { Processes } = await import("./processes.ts");
    return processes ??= new Processes(options.env ?? []);
  };
  return {
    realpath: realPath,
    stat: statPath,
    readDir: readFolder,
    read: readWhole,
    readRange: readSlice,
    write: (path, bytes, expected) => writeFile(options.locks, path, bytes, expected),
    run: async (request, signal) => await (await started()).run(request, signal),
    killAll: () => processes?.killAll(),
  };
}
