// Finds and kills what commands started: their process group, what left it (setsid, nohup), and, through
// a watchdog, all of it when nanocode itself dies by SIGKILL or a crash. Escaped processes are found by a
// variable in their environment, so only where /proc exists (Linux); elsewhere the group alone is killed.
// A process that both left the group and cleared its environment is found only through its parent.

import { spawn } from "node:child_process";
import { closeSync, constants, openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { codeOf } from "../runtime/system-error.ts";

/** Variable in the environment of every child; its value starts with the host's id. */
export const MARKER = "NANOCODE_RUN";

/** How long killing goes on before a process is reported as not killable. */
const KILL_MS = 2_000;

/** A living process. */
export interface Found {
  pid: number;
  parent: number;
  group: number;
  session: number;
  name: string;
}

/**
 * Living processes whose marker starts with `marker`, that belong to the group or session `group`, or
 * that descend from one of those. Empty where there is no /proc.
 */
export function findProcesses(marker: string, group: number | null): Found[] {
  const all = processes();
  const needle = `${MARKER}=${marker}`;
  const found = all.filter((one) =>
    (group !== null && (one.group === group || one.session === group)) ||
    environmentHolds(one.pid, needle)
  );
  const pids = new Set(found.map(({ pid }) => pid));
  for (let before = -1; before !== pids.size;) {
    before = pids.size;
    for (const one of all) if (pids.has(one.parent)) pids.add(one.pid);
  }
  return all.filter(({ pid }) => pids.has(pid));
}

/** All but this one; none where there is no /proc. */
function processes(): Found[] {
  let names: string[];
  try {
    names = readdirSync("/proc");
  } catch {
    return [];
  }
  return names.map(Number).filter((pid) => pid > 0 && pid !== process.pid).flatMap((pid) => {
    let stat: string;
    try {
      stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    } catch {
      return []; // ended meanwhile
    }
    const close = stat.lastIndexOf(")");
    const [state, ...numbers] = stat.slice(close + 2).split(" ");
    if (state === "Z" || state === "X") return [];
    const [parent = 0, group = 0, session = 0] = numbers.map(Number);
    return [{ pid, parent, group, session, name: stat.slice(stat.indexOf("(") + 1, close) }];
  });
}

function environmentHolds(pid: number, needle: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1").includes(needle);
  } catch {
    return false; // another user's, or ended meanwhile
  }
}

/** Signals a process, or with a negative number a whole group; false when there is none. */
export function signal(pid: number, what: "SIGKILL" | 0): boolean {
  try {
    process.kill(pid, what);
    return true;
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}

/** Kills a group and what left it. Notes name what was found outside, and what would not die. */
export async function killTree(group: number, marker: string): Promise<string[]> {
  const escaped = new Map<number, Found>();
  const end = performance.now() + KILL_MS;
  signal(-group, "SIGKILL");
  for (;;) {
    const found = findProcesses(marker, group);
    for (const process of found) {
      if (process.group !== group) escaped.set(process.pid, process);
      signal(process.pid, "SIGKILL");
    }
    if (found.length === 0) {
      if (escaped.size === 0) return [];
      return [
        `killed what had left the command's process group: ${namesOf([...escaped.values()])}`,
      ];
    }
    if (performance.now() > end) return [`could not be killed: ${namesOf(found)}`];
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** For a note: `sleep (pid 12), node (pid 13)`. */
export function namesOf(found: Found[]): string {
  const shown = found.slice(0, 8).map(({ pid, name }) => `${name} (pid ${pid})`).join(", ");
  return found.length > 8 ? `${shown} and ${found.length - 8} more` : shown;
}

/**
 * Ends when the pipe that it reads closes, that is when nanocode is gone however it went; then kills
 * the groups it was told of and whatever carries the marker ($1), and removes the folder ($2).
 */
const WATCHDOG = `
live=
while read -r op pid; do
  case $op in
  +) live="$live $pid" ;;
  -)
    keep=
    for p in $live; do [ "$p" = "$pid" ] || keep="$keep $p"; done
    live=$keep
    ;;
  esac
done
for p in $live; do kill -9 -- "-$p"; done
for f in /proc/[0-9]*/environ; do
  if grep -aqs -- "$1" "$f"; then
    p=\${f#/proc/}
    kill -9 "\${p%/environ}"
  fi
done
rm -rf -- "$2"
`;

/** The shell process that outlives nanocode by a moment. */
export class Watchdog {
  #fd: number | null;

  /**
   * @param pipe Path of a fresh FIFO.
   * @param marker The host's part of the marker.
   * @param folder Removed at the end.
   */
  constructor(pipe: string, marker: string, folder: string) {
    // Opened for both: neither end waits for the other, and ours is closed by the system when we die.
    // Without blocking: were the watchdog killed, a full pipe must not stop us.
    this.#fd = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    const input = openSync(pipe, "r");
    const child = spawn("/bin/sh", ["-c", WATCHDOG, "sh", `${MARKER}=${marker}`, folder], {
      detached: true,
      stdio: [input, "ignore", "ignore"],
      env: { PATH: process.env.PATH ?? "/usr/bin:/bin" },
      cwd: "/",
    });
    closeSync(input);
    child.on("error", () => this.close()); // no /bin/sh: commands run, only this safety net is missing
    child.unref();
  }

  started(group: number): void {
    this.#tell(`+ ${group}\n`);
  }

  ended(group: number): void {
    this.#tell(`- ${group}\n`);
  }

  /** Lets it do its work and end. */
  close(): void {
    if (this.#fd === null) return;
    closeSync(this.#fd);
    this.#fd = null;
  }

  #tell(line: string): void {
    if (this.#fd === null) return;
    try {
      writeSync(this.#fd, line);
    } catch {
      this.close(); // nobody reads it any more
    }
  }
}
