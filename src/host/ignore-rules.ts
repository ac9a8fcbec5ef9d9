// Which paths the ignore files of a tree leave out: .gitignore (nested, with `!`), .ignore,
// .nanocodeignore and .git/info/exclude, later ones over earlier, deeper ones over higher.
// Not here: walking (walk.ts). The user's global git excludes are not read.

import ignore, { type Ignore } from "ignore";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";

/** Do rules match names in other letters, as file systems usually do there? */
const IGNORE_CASE = process.platform !== "linux";
const FILES = [".gitignore", ".ignore", ".nanocodeignore"];
/** Answers remembered for a set of rules, so that memory stays bounded. */
const MAX_KNOWN = 20_000;
/** A rule with more wildcards can take a matcher for ever on a crafted name; no real rule has them. */
const MAX_STARS = 6;

/** The rules that hold in a folder: its own and, behind `parent`, those of the folders above. */
export interface IgnoreRules {
  matcher: Ignore;
  concern: Concern;
  /** Length of the folder's path with its separator: what is cut off a path before matching. */
  prefix: number;
  parent: IgnoreRules | null;
}

/** Rules for the entries of `folder`: those of `parent` where the folder has none of its own. */
export function rulesIn(
  folder: string,
  names: readonly string[],
  parent: IgnoreRules | null,
): IgnoreRules | null {
  return rulesFrom(folder, FILES.filter((name) => names.includes(name)), parent);
}

/**
 * Tells of entries of a folder by name which ones `isIgnored` has to be asked about: most are of no
 * interest to any rule, and the matcher takes longer for them than reading the folders does.
 */
export function concernsIn(rules: IgnoreRules | null, folder: string): (name: string) => boolean {
  const concerns: Concern[] = [];
  for (let at = rules; at !== null; at = at.parent) {
    if (at.concern.folder(folder.slice(at.prefix))) return () => true;
    concerns.push(at.concern);
  }
  return (name) => {
    for (const concern of concerns) if (concern.name(name)) return true;
    return false;
  };
}

/** Is the path left out? `path` lies below the folder of the rules. */
export function isIgnored(rules: IgnoreRules | null, path: string, isFolder: boolean): boolean {
  for (let at = rules; at !== null; at = at.parent) {
    const name = path.slice(at.prefix) + (isFolder ? "/" : "");
    const { ignored, unignored } = at.matcher.test(name);
    if (unignored || (ignored && !inherits(at.matcher, name))) return ignored;
  }
  return false;
}

/**
 * The matcher leaves `name` out only because it leaves out the folder around it. That folder was let in
 * by a deeper ignore file, or we would not be here; so for what it holds only a rule counts that names
 * it, and of those the library can tell us the ones without a slash.
 */
function inherits(matcher: Ignore, name: string): boolean {
  const cut = name.lastIndexOf("/", name.length - 2) + 1;
  if (cut === 0 || !matcher.test(name.slice(0, cut)).ignored) return false;
  const pattern = matcher.test(name.slice(cut)).rule?.pattern.trimEnd().replace(/\/$/, "");
  return pattern === undefined || pattern.includes("/");
}

/**
 * Rules of the folders above `base`, from the repository's root (or `top` without one) downwards.
 * Null where those rules leave out `base` itself or all it holds: who names an ignored folder wants
 * what is in it (SR-03).
 */
export function rulesAbove(base: string, top: string): IgnoreRules | null {
  const first = repositoryRoot(base) ?? (isBelow(base, top) ? top : base);
  let rules = rulesFrom(first, [join(".git", "info", "exclude")], null);
  const between = relative(first, base).split(sep).filter((part) => part !== "");
  let folder = first;
  for (const part of between) {
    rules = rulesFrom(folder, FILES, rules);
    folder = join(folder, part);
    if (isIgnored(rules, folder, true) || isIgnored(rules, join(folder, "\u0001"), false)) {
      return null;
    }
  }
  return rules;
}

function repositoryRoot(folder: string): string | null {
  for (let at = folder;; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (at === dirname(at)) return null;
  }
}

function isBelow(path: string, top: string): boolean {
  return path.startsWith(top.endsWith(sep) ? top : top + sep);
}

function rulesFrom(
  folder: string,
  files: readonly string[],
  parent: IgnoreRules | null,
): IgnoreRules | null {
  const lines = files.flatMap((name) => linesOf(join(folder, name)));
  if (lines.length === 0) return parent;
  return {
    matcher: matcherOf(lines),
    concern: concernOf(lines),
    prefix: folder.endsWith(sep) ? folder.length : folder.length + 1,
    parent,
  };
}

function matcherOf(lines: readonly string[]): Ignore {
  const matcher = ignore({ ignorecase: IGNORE_CASE, allowRelativePaths: true });
  for (const line of lines) {
    try {
      matcher.add(line);
    } catch {
      // A rule that is no pattern leaves nothing out.
    }
  }
  return matcher;
}

/** What rules could be about, told without looking at whole paths. */
interface Concern {
  /** Could any rule be about an entry of this name? */
  name(name: string): boolean;
  /** Could any be about all entries of this folder? By its path, "" for the rules' own folder. */
  folder(path: string): boolean;
}

/**
 * In a folder that was entered a rule can only match what is called like the rule's last part or, where
 * that is `*`, what lies in a folder called like the part before.
 */
function concernOf(lines: readonly string[]): Concern {
  const names: string[] = [];
  const folders: string[] = [];
  for (const parts of lines.map(partsOf)) {
    const last = parts.findLastIndex((part) => !/^\*+$/.test(part));
    if (last === -1) return { name: () => true, folder: () => true };
    (last === parts.length - 1 ? names : folders).push(parts[last] ?? "");
  }
  const folder = anyOf(folders);
  return {
    name: anyOf(names),
    folder: (path) => folders.length > 0 && path.split("/").some((part) => folder(part)),
  };
}

/** Could one of the patterns match a name? The usual ones, `name` and `*.ext`, cost next to nothing. */
function anyOf(patterns: readonly string[]): (name: string) => boolean {
  const fold = (name: string) => IGNORE_CASE ? name.toLowerCase() : name;
  const isPlain = (pattern: string) => /^[\w.@-]+$/.test(pattern);
  const isEnding = (pattern: string) => /^\*\.[\w-]+$/.test(pattern);
  const plain = new Set(patterns.filter(isPlain).map(fold));
  const endings = new Set(patterns.filter(isEnding).map((pattern) => fold(pattern.slice(1))));
  const others = patterns.filter((pattern) => !isPlain(pattern) && !isEnding(pattern));
  const other = others.length === 0 ? null : remembered(others.map((pattern) => `**/${pattern}`));
  return (given) => {
    const name = fold(given);
    if (plain.has(name)) return true;
    if (endings.size > 0 && endings.has(name.slice(name.lastIndexOf(".")))) return true;
    return other !== null && other(name);
  };
}

/** Do any of the rules match a name? Answers are kept, as names recur. */
function remembered(rules: readonly string[]): (name: string) => boolean {
  let matcher = matcherOf(rules);
  let known = new Map<string, boolean>();
  return (name) => {
    let answer = name === "" ? false : known.get(name);
    if (answer !== undefined) return answer;
    if (known.size >= MAX_KNOWN) [known, matcher] = [new Map(), matcherOf(rules)];
    known.set(name, answer = matcher.ignores(name));
    return answer;
  };
}

/** The parts of a rule between slashes; none where it may be about anything. */
function partsOf(rule: string): string[] {
  const body = rule.replace(/^!/, "").trimEnd().replace(/^\/+|\/+$/g, "");
  // Escapes and classes may hold a slash that is none.
  if (body.includes("\\") || /\[.*\/|\/.*\[/.test(body)) return [];
  const parts = body.split("/");
  return parts.includes("") ? [] : parts;
}

function linesOf(path: string): string[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return [];
  }
  return text.replace(/^\ufeff/, "").split(/\r?\n/).filter((line) => {
    if (line === "" || line.startsWith("#")) return false;
    return line.replaceAll("**", "*").split("*").length - 1 <= MAX_STARS;
  });
}
