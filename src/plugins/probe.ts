// Does a module come back from being loaded? An endless loop at its top level cannot be stopped from within
// the process, and a crash of native code takes it along, so what was not loaded before as it is now is first
// loaded by a process of its own. What else can go wrong is load.ts's.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "../runtime/replace-file.ts";
import { selfCommand } from "../runtime/self.ts";
import { shortHash } from "../runtime/hash.ts";
import { snapshotOf } from "./tree-hash.ts";

/** The word that calls it in the compiled binary. */
const PROBE_COMMAND = "__probe-plugin";

/** What is to be loaded: see `Plugin` and `ImportOptions`. */
export interface Probed {
  name: string;
  folder: string;
  entry: string;
  tree?: string | undefined;
  root?: string | null | undefined;
}

/**
 * Loads a module in another process, unless these very files came back before.
 *
 * @param home `~/.nanocode`, where it is kept what came back; absent: nothing is kept.
 * @param ms The time it has.
 * @returns Null, or what became of the process.
 */
export async function probe(
  probed: Probed,
  home: string | undefined,
  ms: number,
): Promise<"late" | "crashed" | null> {
  const { name, folder } = probed;
  const note = home && join(home, "cache", "loads", `${name}-${shortHash(folder)}`);
  const snapshot = snapshotOf(folder);
  if (note && textOf(note) === snapshot) return null;
  const outcome = await outcomeOf(JSON.stringify(probed), ms);
  if (note && outcome === null) {
    try {
      replaceFile(note, snapshot, 0o600);
    } catch { /* it only saves time */ }
  }
  return outcome;
}

async function outcomeOf(json: string, ms: number): Promise<"late" | "crashed" | null> {
  const { spawn } = await import("node:child_process");
  const command = selfCommand(new URL("./probe-process.ts", import.meta.url), PROBE_COMMAND);
  // The limit ends it also when this process is gone by then.
  const limit = `ulimit -t ${Math.ceil(ms / 1000) + 5}; exec "$@"`;
  const [program = "", ...args] = process.platform === "win32"
    ? [...command, json]
    : ["/bin/sh", "-c", limit, "sh", ...command, json];
  return await new Promise((resolve) => {
    let isLate = false;
    const child = spawn(program, args, { stdio: "ignore", detached: true });
    const end = () => {
      try {
        if (child.pid) process.kill(-child.pid, "SIGKILL");
      } catch {
        child.kill("SIGKILL");
      }
    };
    const timer = setTimeout(() => {
      isLate = true;
      end();
    }, ms);
    process.on("exit", end);
    const settle = (signal: NodeJS.Signals | null) => {
      clearTimeout(timer);
      process.off("exit", end);
      resolve(isLate ? "late" : signal ? "crashed" : null);
    };
    child.on("error", () => settle(null)); // then it is loaded untried
    child.on("exit", (_, signal) => settle(signal));
  });
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
