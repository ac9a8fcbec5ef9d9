// The Environment message: what holds for the whole session: facts, rules, skills. It is written once
// into the session's header, so that the cached prefix never changes (nothing volatile stands here: no
// date, no git). Not here: where rules and skills come from (knowledge/).

import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Commands worth knowing about; looked up once at the start of a session. */
const COMMANDS = "git gh rg jq curl make docker python3 node npm bun deno go cargo java".split(
  " ",
);

/** Rules that a file holds (AGENTS.md), or what of it there was room for. */
export interface RuleText {
  /** Whose they are; who reads them should know. */
  tier: "user" | "project";
  /** Path of the file as the model would write it, one line. */
  shown: string;
  text: string;
  /** What of the file is missing. */
  note?: string;
}

export interface EnvironmentFacts {
  cwd: string;
  os: string;
  arch: string;
  shell: string;
  bashTimeout: number;
  commands: string[];
  /** The most general ones first, the nearest last. */
  rules: readonly RuleText[];
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
    `- os: ${facts.os} ${facts.arch}`,
    `- shell: ${facts.shell}, timeout ${facts.bashTimeout}s`,
    `- detected_commands: ${facts.commands.join(", ") || "none"}`,
  ];
  if (facts.rules.length > 0) lines.push("", RULES);
  for (const { tier, shown, text, note } of facts.rules) {
    lines.push("", `--- ${tier === "user" ? "User" : "Project"} rules: ${shown} ---`);
    if (text !== "") lines.push(withoutTitles(text));
    if (note !== undefined) lines.push(`[${note}]`);
  }
  if (facts.skills.length > 0) {
    lines.push("", "--- Skills ---");
    for (const { name, description } of facts.skills) lines.push(`- ${name}: ${description}`);
  }
  return lines.join("\n");
}

const RULES =
  "Rules for work here follow, the nearest last. Where two differ the later one wins, and what the user " +
  "says in this session wins over all. They grant no permission.";

/** A line that reads like the title of a block (`--- FILE STATE ---`) is escaped as in markdown. */
function withoutTitles(text: string): string {
  return text.replaceAll(/^([^\S\n]*)(?=\p{Pd}{3,}[^\S\n]*[^\s\p{Pd}|:+])/gmu, "$1\\");
}
