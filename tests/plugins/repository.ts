// A real git repository for tests, made with the system's git and nothing of the machine's settings.

import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface Repository {
  folder: string;
  write(path: string, text: string, mode?: number): void;
  git(...args: string[]): string;
  /** Commits all; gives the commit. */
  commit(tag?: string): string;
}

export function repository(folder: string): Repository {
  mkdirSync(folder, { recursive: true });
  const env = {
    PATH: process.env["PATH"] ?? "/usr/bin:/bin",
    HOME: folder,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_AUTHOR_NAME: "t",
    GIT_AUTHOR_EMAIL: "t@t.example",
    GIT_COMMITTER_NAME: "t",
    GIT_COMMITTER_EMAIL: "t@t.example",
  };
  const git = (...args: string[]) =>
    execFileSync("git", args, {
      cwd: folder,
      env,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    })
      .trim();
  git("init", "--quiet", "--initial-branch=main");
  return {
    folder,
    git,
    write(path, text, mode = 0o644) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
      chmodSync(join(folder, path), mode);
    },
    commit(tag) {
      git("add", "--all");
      git("commit", "--quiet", "--allow-empty", "-m", "x");
      if (tag !== undefined) git("tag", "--force", tag);
      return git("rev-parse", "HEAD");
    },
  };
}
