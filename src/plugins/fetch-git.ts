// Fetches one commit of a repository with the system's git: one protocol, no hooks, no submodules, no links, no
// filters, no configuration of the user's or the system's, no question. What lands in the folder are the
// files of the commit and nothing else; nothing of it is run.

import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { findProgram } from "../host/programs.ts";
import { UserError } from "../runtime/errors.ts";
import type { Source } from "./sources.ts";
import { TREE_LIMITS } from "./tree-hash.ts";

/** Fetching one commit takes at most this long (milliseconds). */
const FETCH_MS = 300_000;
const MAX_SAID = 64 * 1024;
/** A listing of 20,000 long names fits. */
const MAX_LISTED = 16 * 1024 * 1024;

export type GitSource = Extract<Source, { kind: "git" }>;

/**
 * Fetches into an empty folder; gives the commit.
 *
 * @param rev The commit of the lock, which a tag is not followed any more for.
 * @throws {UserError} with what git said.
 */
export async function fetchGit(
  { url, transport, ref }: GitSource,
  folder: string,
  rev: string | null,
): Promise<string> {
  const git = findProgram("git");
  if (git === null) {
    throw new UserError(
      "git is not installed, and the plugin comes from a repository",
      "Install git.",
    );
  }
  const run = (args: string[], limit = MAX_SAID) =>
    runGit(git, transport, folder, args, limit, url);
  const wanted = rev ?? ("rev" in ref ? ref.rev : `refs/tags/${ref.tag}`);
  await run(["init", "--quiet", "--template=", "."]);
  await run([
    "fetch",
    "--quiet",
    "--depth=1",
    "--no-tags",
    "--no-recurse-submodules",
    "--",
    url,
    wanted,
  ]);
  const commit = (await run(["rev-parse", "--verify", "FETCH_HEAD^{commit}"])).trim();
  const expected = rev ?? ("rev" in ref ? ref.rev : commit);
  if (!/^[0-9a-f]{40}$/.test(commit) || commit !== expected) {
    throw new UserError(`${url} gave the commit ${commit} where ${expected} was asked for`);
  }
  checkListing(await run(["ls-tree", "-r", "-l", "-z", "--full-tree", commit], MAX_LISTED), url);
  await run(["checkout", "--quiet", "--detach", commit, "--"]);
  rmSync(join(folder, ".git"), { recursive: true, force: true });
  return commit;
}

/** Before anything is written: no links, no submodules, no more than a plugin may hold. */
function checkListing(listing: string, url: string): void {
  let bytes = 0;
  const entries = listing.split("\0").filter((line) => line !== "");
  for (const entry of entries) {
    const [head = "", path = ""] = entry.split(/\t(.*)/s);
    const [mode, , , size] = head.split(/ +/);
    const what = mode === "120000" ? "a link" : mode === "160000" ? "a submodule" : null;
    if (what !== null) throw refused(url, `holds ${what}: ${JSON.stringify(path)}`);
    bytes += Number(size) || 0;
  }
  const limits = TREE_LIMITS;
  if (entries.length > limits.files || bytes > limits.bytes) {
    throw refused(
      url,
      `holds more than ${limits.files} files or ${limits.bytes / 1024 / 1024} MB`,
    );
  }
}

function refused(url: string, why: string): UserError {
  return new UserError(`${url} ${why}; a plugin may not`, "Nothing of it was kept.");
}

const SETTINGS = [
  "core.hooksPath=/dev/null",
  "core.symlinks=false",
  "core.fsmonitor=false",
  "core.autocrlf=false",
  "core.eol=lf",
  "core.protectHFS=true",
  "core.protectNTFS=true",
  "core.attributesFile=/dev/null",
  "credential.helper=",
  "fetch.recurseSubmodules=false",
  "protocol.version=2",
  "protocol.allow=never",
  "advice.detachedHead=false",
  "init.defaultBranch=main",
];

/** What git needs to reach a server; keys and tokens of the environment stay out. */
const PASSED =
  /^(?:PATH|HOME|USER|LOGNAME|TMPDIR|SSH_AUTH_SOCK|SSL_CERT_(?:FILE|DIR)|(?:https?|all|no)_proxy)$/i;

function runGit(
  git: string,
  transport: GitSource["transport"],
  cwd: string,
  args: string[],
  limit: number,
  url: string,
): Promise<string> {
  const env: Record<string, string> = {
    ...Object.fromEntries(
      Object.entries(process.env).filter((entry): entry is [string, string] =>
        PASSED.test(entry[0]) && entry[1] !== undefined
      ),
    ),
    LC_ALL: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_ALLOW_PROTOCOL: transport,
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "",
    GIT_SSH_COMMAND: "ssh -oBatchMode=yes -oClearAllForwardings=yes",
    GIT_LFS_SKIP_SMUDGE: "1",
    GIT_CEILING_DIRECTORIES: join(cwd, ".."),
  };
  const settings = [...SETTINGS, `protocol.${transport}.allow=always`].flatMap((
    one,
  ) => ["-c", one]);
  return new Promise((resolve, reject) => {
    // A group of its own: git starts helpers, which must end with it.
    const child = spawn(git, [...settings, ...args], {
      cwd,
      env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const kill = () => {
      try {
        process.kill(-(child.pid as number), "SIGKILL");
      } catch { /* it has ended */ }
    };
    let stdout = "";
    let stderr = "";
    let late = "";
    const stop = (why: string) => {
      late ||= why;
      kill();
    };
    const timer = setTimeout(() => stop(`took longer than ${FETCH_MS / 60_000} minutes`), FETCH_MS);
    const interrupt = () => stop("was interrupted");
    process.once("SIGINT", interrupt);
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      if (stdout.length < limit) stdout += text;
      else stop("said more than a plugin's repository should");
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      if (stderr.length < MAX_SAID) stderr += text;
    });
    const end = (fault: string | null) => {
      clearTimeout(timer);
      process.off("SIGINT", interrupt);
      if (fault === null) resolve(stdout);
      else reject(new UserError(`${url} cannot be fetched: ${fault}`, hintFor(fault)));
    };
    child.on("error", (error) => end(error.message));
    child.on("close", (code) => {
      if (late !== "") end(`git ${late}`);
      else if (code === 0) end(null);
      else end(stderr.trim().split("\n").slice(-3).join(" ") || `git ended with ${code}`);
    });
  });
}

function hintFor(fault: string): string {
  if (/couldn't find remote ref|not our ref|no such remote ref/i.test(fault)) {
    return "Is the tag or commit behind # right? Branches are not taken: they name something else tomorrow.";
  }
  if (/could not read Username|authentication|denied/i.test(fault)) {
    return "No password is asked for and no helper is used; for a private repository type git+ssh://….";
  }
  return "Check the address and the network.";
}
