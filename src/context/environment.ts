// The Environment message: what holds for the whole session. It is written once into the session's
// header, so that the cached prefix never changes (nothing volatile stands here: no date, no git).

import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Commands worth knowing about; looked up once at the start of a session. */
const COMMANDS = "bash git gh rg jq curl make docker python3 node npm bun deno go cargo java".split(
  " ",
);

export interface EnvironmentFacts {
  cwd: string;
  os: string;
  arch: string;
  shell: string;
  bashTimeout: number;
  commands: string[];
  /** Name and description of each skill, sorted. */
  skills: { name: string; description: string }[];
}

/** Which of the known commands stand on PATH; no process is started. */
export function detectCommands(path: string = process.env["PATH"] ?? ""): string[] {
  const folders = path.split(delimiter).filter((folder) => folder.startsWith("/"));
  return COMMANDS.filter((name) => folders.some((folder) => isExecutable(join(folder, name))));
}

function isExecutable(path: string): boolean {
  if (!existsSync(path)) return false; // a thrown error costs ten times as much
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export function environmentText(facts: EnvironmentFacts): string {
  const lines = [
    "--- Environment ---",
    `- cwd: ${facts.cwd}`,
    `- os: ${facts.os}`,
    `- arch: ${facts.arch}`,
    `- shell: ${facts.shell}`,
    `- shell_timeout: ${facts.bashTimeout}s`,
    `- detected_commands: ${facts.commands.join(", ") || "none"}`,
  ];
  if (facts.skills.length > 0) {
    lines.push("", "Skills (load one with the Skill tool when its description fits):");
    for (const { name, description } of facts.skills) lines.push(`- ${name}: ${description}`);
  }
  return lines.join("\n");
}
