// A program for the tests of processes: runs one command with the real host, prints `started` with the
// command's first output, and stays until it is killed. `term` as first argument: it calls killAll on
// SIGTERM, SIGHUP and SIGINT as the program does.

import { localHost } from "../../src/host/local.ts";

const [mode, cwd = "", command = ""] = process.argv.slice(2);
const host = localHost({ locks: `${cwd}/locks` });

if (mode === "term") {
  for (const signal of ["SIGTERM", "SIGHUP", "SIGINT"] as const) {
    process.on(signal, () => {
      host.killAll();
      process.exit(3);
    });
  }
}

await host.run(
  { command, cwd, timeoutMs: 600_000, onOutput: (text) => process.stdout.write(text) },
  new AbortController().signal,
);
