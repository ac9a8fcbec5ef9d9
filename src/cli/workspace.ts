// Where the user works: the folder, the workspace root around it, and nanocode's own home.

import { existsSync, lstatSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { UserError } from "../runtime/errors.ts";

export interface Workspace {
  /** `~/.nanocode`, or NANOCODE_HOME. */
  home: string;
  /** Real path of the folder at work. */
  cwd: string;
  /** Real path of the workspace: the nearest folder up from cwd with .git or .nanocode, else cwd. */
  root: string;
}

/** Finds the workspace; no file of it is read. */
export function findWorkspace(
  cwdOption: string | undefined,
  env: NodeJS.ProcessEnv = process.env,
): Workspace {
  const asked = resolve(cwdOption ?? process.cwd());
  let cwd: string;
  try {
    cwd = realpathSync(asked);
    if (!statSync(cwd).isDirectory()) throw new Error("it is a file");
  } catch {
    throw new UserError(
      `there is no folder ${asked}`,
      "Name an existing folder with --cwd, or start nanocode in one.",
    );
  }
  const user = userHome(env);
  return { home: nanocodeHome(env, user), cwd, root: findRoot(cwd, user) };
}

function nanocodeHome(env: NodeJS.ProcessEnv, user: string | null): string {
  if (env["NANOCODE_HOME"]) return resolve(env["NANOCODE_HOME"]);
  // Without a home of its own a user still gets sessions, private to this user id.
  return user
    ? join(user, ".nanocode")
    : ownFolder(join(os().tmpdir(), `nanocode-${process.getuid?.() ?? "user"}`));
}

/**
 * A folder of a known name where everybody may make one: what another user put there would be taken for
 * this user's own plugins, keys and trust (CVE-2026-46406).
 *
 * @throws {UserError} unless it is a folder that only this user can write to; it is made when missing.
 */
function ownFolder(path: string): string {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch { /* what is there is looked at */ }
  const stats = lstatSync(path, { throwIfNoEntry: false });
  const isOwn = stats?.isDirectory() && (stats.mode & 0o022) === 0 &&
    stats.uid === (process.getuid?.() ?? stats.uid);
  if (isOwn) return path;
  throw new UserError(
    `there is no home folder, and ${path} is not a folder that only you can write to`,
    "Set NANOCODE_HOME to a folder of your own.",
  );
}

/** Loaded only when the environment does not say. */
const os = () => process.getBuiltinModule("node:os");

/** The user's home folder when there is one. */
function userHome(env: NodeJS.ProcessEnv): string | null {
  const named = env["HOME"];
  const folder = named && existsSync(named) ? named : safeHomedir();
  return folder && existsSync(folder) ? realpathSync(folder) : null;
}

function safeHomedir(): string | undefined {
  try {
    return os().homedir();
  } catch {
    return undefined;
  }
}

/** The workspace as a project with files of its own; null where its `.nanocode` is the user's. */
export function projectRoot({ home, root }: Workspace): string | null {
  return join(root, ".nanocode") === home ? null : root;
}

/** Never climbs to $HOME or /: a repository there would make everything the workspace. */
function findRoot(cwd: string, user: string | null): string {
  for (let folder = cwd; folder !== dirname(folder) && folder !== user; folder = dirname(folder)) {
    if (existsSync(join(folder, ".git")) || existsSync(join(folder, ".nanocode"))) return folder;
  }
  return cwd;
}
