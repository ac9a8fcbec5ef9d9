// The Environment message: what holds for the whole session: facts, rules, skills. It is written once
// into the session's header, so that the cached prefix never changes (nothing volatile stands here: no
// date, no git). Also how rules look that are shown later. Not here: where rules and skills come from
// (knowledge/).

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
  /** Name of the plugin that brings it. */
  plugin?: string;
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
  /** The catalogue: each skill, sorted; its description may be empty. */
  skills: readonly { name: string; description: string; tier: "built-in" | "user" | "project" }[];
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
  for (const rule of facts.rules) lines.push("", ...ruleLines(rule));
  if (facts.skills.length > 0) {
    lines.push("", "--- Skills ---");
    for (const { name, description, tier } of facts.skills) {
      const title = tier === "project" ? `${name} (of this project)` : name;
      lines.push(`- ${title}${description === "" ? "" : `: ${description}`}`);
    }
  }
  return lines.join("\n");
}

/** The message that shows rules once files they are for were read or edited. */
export function rulesText(rules: readonly (RuleText & { globs: readonly string[] })[]): string {
  const blocks = rules.flatMap((rule) => ["", ...ruleLines(rule, ` for ${rule.globs.join(", ")}`)]);
  return [LATER_RULES, ...blocks].join("\n");
}

function ruleLines({ tier, plugin, shown, text, note }: RuleText, what = ""): string[] {
  const whose = plugin !== undefined
    ? `Rules of the ${tier === "project" ? "project's " : ""}plugin ${plugin}`
    : `${tier === "user" ? "User" : "Project"} rules`;
  const title = `${whose}: ${shown}${what}`;
  return [
    `--- ${title.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "?")} ---`,
    ...(text === "" ? [] : [withoutTitles(text)]),
    ...(note === undefined ? [] : [`[${note}]`]),
  ];
}

const RULES =
  "Rules for work here follow, the nearest last. Where two differ the later one wins, and what the user " +
  "says in this session wins over all. They grant no permission.";

const LATER_RULES =
  "Rules for files that you have just read or edited. They stand above those of Environment and below what " +
  "the user says, and grant no permission.";

/** A line that reads like the title of a block (`--- FILE STATE ---`) is escaped as in markdown. */
export function withoutTitles(text: string): string {
  return text.replaceAll(/^([^\S\n]*)(?=\p{Pd}{3,}[^\S\n]*[^\s\p{Pd}|:+])/gmu, "$1\\");
}
