// Permission rules as people write them: `Bash(git status)`, `Edit(src/**)`, `Read(../lib/**)`,
// `Net(api.example.com)`, `Tool(Fetch)`. Parsing and matching only; deciding is policy.ts.

import picomatch from "picomatch";
import type { Effect } from "../session/records.ts";

export type RuleKind = "Bash" | "Edit" | "Read" | "Net" | "Tool";

export interface Rule {
  kind: RuleKind;
  /** Text between the parentheses; empty means everything of that kind. */
  pattern: string;
  /** As the user wrote it. */
  source: string;
}

const KINDS: readonly RuleKind[] = ["Bash", "Edit", "Read", "Net", "Tool"];

/** Parses one rule. An Error's message says what is wrong and shows a right form. */
export function parseRule(source: string): Rule {
  const match = /^\s*([A-Za-z]+)\s*(?:\((.*)\))?\s*$/s.exec(source);
  const kind = KINDS.find((name) => name === match?.[1]);
  if (!match || !kind) {
    throw new Error(
      `"${source}" is not a permission rule. Write KIND(PATTERN) with KIND one of ${
        KINDS.join(", ")
      }, ` +
        `for example 'Bash(git status)' or 'Edit(src/**)'.`,
    );
  }
  const pattern = (match[2] ?? "").trim();
  if (kind === "Tool" && pattern === "") {
    throw new Error(`"${source}" names no tool. Write for example 'Tool(Search)'.`);
  }
  return { kind, pattern, source: source.trim() };
}

export interface MatchSubject {
  tool: string;
  effect: Effect;
  /** Real path of the workspace, to which path patterns are relative. */
  root: string;
}

/** Does the rule cover this effect of this tool? */
export function matches(rule: Rule, { tool, effect, root }: MatchSubject): boolean {
  switch (rule.kind) {
    case "Tool":
      return rule.pattern === tool || rule.pattern === "*";
    case "Bash":
      return effect.kind === "exec" &&
        (rule.pattern === "" || matchesCommand(rule.pattern, effect.command));
    case "Edit":
      return effect.kind === "write" && matchesPath(rule.pattern, effect.path, root);
    case "Read":
      return effect.kind === "read" && matchesPath(rule.pattern, effect.path, root);
    case "Net":
      return effect.kind === "net" &&
        (rule.pattern === "" || rule.pattern.toLowerCase() === effect.host.toLowerCase());
  }
}

/**
 * Argument words of a command that is one simple command of plain literal words, else null: only
 * such a command can match a rule. Plain words hold nothing that a shell expands or joins.
 */
export function plainWords(command: string): string[] | null {
  const text = command.trim();
  if (text === "" || !/^[A-Za-z0-9_@%+=:,./\- ]+$/.test(text)) return null;
  const words = text.split(/ +/);
  const first = words[0] ?? "";
  return first.includes("=") ? null : words; // VAR=value in front changes what the command means
}

function matchesCommand(pattern: string, command: string): boolean {
  const wanted = plainWords(pattern);
  const given = plainWords(command);
  if (!wanted || !given) return false;
  return wanted.every((word, i) => given[i] === word);
}

function matchesPath(pattern: string, path: string, root: string): boolean {
  if (pattern === "") return true;
  const glob = pattern.startsWith("/")
    ? pattern
    : `${escapeGlob(root)}/${pattern.replace(/^\.\//, "")}`;
  return picomatch.isMatch(path, glob, { dot: true });
}

/** A path as a glob that matches just it. */
export function escapeGlob(path: string): string {
  return path.replaceAll(/[\\*?[\]{}()!+@|]/g, "\\$&");
}
