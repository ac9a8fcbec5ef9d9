// Which paths are special: inside the workspace or not, secret, protected. Paths are real paths.

import { relative, sep } from "node:path";

/** Is `path` the root or below it? Separator-aware: /a/bc is not inside /a/b. */
export function isInside(root: string, path: string): boolean {
  const base = root.endsWith(sep) ? root : root + sep;
  return path === root || path.startsWith(base);
}

const SECRET_NAMES =
  /^(\.env(\..+)?|.+\.pem|id_[a-z0-9]+|\.netrc|\.pgpass|\.git-credentials|credentials(\.json)?|.+\.(p12|pfx|keystore))$/i;
const NOT_SECRET = /^(\.env\.(example|sample|template)|id_[a-z0-9]+\.pub)$/i;
const IN_SECRET_FOLDER = new RegExp(`(?:^|\\${sep})\\.(?:ssh|gnupg|aws|kube|docker)\\${sep}`);

/** Files that hold secrets: asked for even inside the workspace, skipped by Search. */
export function isSecret(path: string): boolean {
  const name = path.slice(path.lastIndexOf(sep) + 1);
  if (SECRET_NAMES.test(name)) return !NOT_SECRET.test(name);
  return IN_SECRET_FOLDER.test(path);
}

const PROTECTED_FOLDERS = new Set([
  ".git",
  ".nanocode",
  ".claude",
  ".codex",
  ".cursor",
  ".gemini",
  ".agents",
  ".vscode",
  ".husky",
]);
const PROTECTED_NAMES = new Set([
  "agents.md",
  "claude.md",
  ".mcp.json",
  ".envrc",
  ".npmrc",
  "bunfig.toml",
  ".gitconfig",
  ".gitmodules",
  ".bashrc",
  ".bash_profile",
  ".bash_login",
  ".profile",
  ".zshrc",
  ".zprofile",
  ".zshenv",
  ".zlogin",
]);

/** Paths whose change would change what runs or what the agent may do: always asked for. */
export function isProtected(root: string, path: string): boolean {
  const parts = (isInside(root, path) ? relative(root, path) : path).split(sep).map(folded);
  if (parts.some((part) => PROTECTED_FOLDERS.has(part))) return true;
  if (PROTECTED_NAMES.has(parts.at(-1) ?? "")) return true;
  return parts.some((part, i) => part === ".github" && parts[i + 1] === "workflows");
}

/** A name as disks may take it that know no case, and no dots or spaces at the end of a name. */
function folded(name: string): string {
  return name.toLowerCase().replace(/[. ]+$/, "");
}
