// Which paths the ignore files of a tree leave out: .gitignore (nested, with `!`), .ignore,
// .nanocodeignore and .git/info/exclude, later ones over earlier, deeper ones over higher.
// Not here: walking (walk.ts). The user's global git excludes are not read.

import ignore, { type Ignore } from "ignore";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";

const FILES = [".gitignore", ".ignore", ".nanocodeignore"];
/** A rule with more wildcards can take a matcher for ever on a crafted name; no real rule has them. */
const MAX_STARS = 6;

/** The rules that hold in a folder: its own and, behind `parent`, those of the folders above. */
export interface IgnoreRules {
  matcher: Ignore;
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
  const matcher = ignore({ ignorecase: process.platform !== "linux", allowRelativePaths: true });
  for (const line of lines) {
    try {
      matcher.add(line);
    } catch {
      // A rule that is no pattern leaves nothing out.
    }
  }
  return { matcher, prefix: folder.endsWith(sep) ? folder.length : folder.length + 1, parent };
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
