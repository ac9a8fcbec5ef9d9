// `nanocode --demo`: the agent at work without key or network, on a small sample project copied to a
// temporary folder. Tools are real, the model's replies are recorded, and it says so.

import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Program } from "./run.ts";
import type { Grant } from "./setup.ts";

export interface Demo {
  /** Real path of the copy. */
  folder: string;
  model: string;
  /** What the demo may do in its own folder without asking: its edits and its one test command. */
  grant: Grant;
  prompt: string;
  notice: string;
}

/** Copies the sample project. */
export function openDemo(program: Program): Demo {
  const source = join(fileURLToPath(program.assets), "plugins", "demo", "project");
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "nanocode-demo-")));
  copyTree(source, folder);
  return {
    folder,
    model: "demo/recorded",
    grant: { allow: ["Edit(lib/**)", "Bash(sh test.sh)"] },
    prompt: "fix the failing test",
    notice: `Demo: real tools on a sample project in ${folder};\n` +
      `the model's replies are recorded, so they are the same whatever you ask. No key, no network.\n\n`,
  };
}

/** Copies by reading and writing: the binary's embedded files cannot be copied by the system. */
function copyTree(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) copyTree(source, target);
    else writeFileSync(target, readFileSync(source));
  }
}
