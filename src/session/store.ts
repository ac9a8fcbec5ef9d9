// Where sessions lie and which one is meant: ~/.nanocode/sessions/<project>/<id>.jsonl.

import { readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { shortHash } from "../runtime/hash.ts";
import { newId } from "./records.ts";

export interface SessionFile {
  id: string;
  path: string;
  modifiedMs: number;
  bytes: number;
}

/** Folder of a project's sessions: a readable name plus a hash of the root's real path. */
export function projectFolder(home: string, root: string): string {
  const name = basename(root).replaceAll(/[^A-Za-z0-9._-]+/g, "-").slice(0, 40) || "root";
  return join(home, "sessions", `${name}-${shortHash(root)}`);
}

export function newSessionPath(folder: string): { id: string; path: string } {
  const id = newId();
  return { id, path: join(folder, `${id}.jsonl`) };
}

/** Folder of a session's blobs, beside its log. */
export function blobFolder(logPath: string): string {
  return logPath.replace(/\.jsonl$/, "") + ".blobs";
}

/** A project's session files, newest first by last change. Folders and strangers are left out. */
export function listSessions(folder: string): SessionFile[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  const files: SessionFile[] = [];
  for (const name of names) {
    if (!name.endsWith(".jsonl")) continue;
    const path = join(folder, name);
    try {
      const stat = statSync(path);
      if (!stat.isFile()) continue;
      files.push({ id: name.slice(0, -6), path, modifiedMs: stat.mtimeMs, bytes: stat.size });
    } catch { /* vanished meanwhile */ }
  }
  return files.sort((a, b) => b.modifiedMs - a.modifiedMs || (a.id < b.id ? 1 : -1));
}

/** The session whose id is, or uniquely begins with, `id`; else the candidates. */
export function findSession(folder: string, id: string): SessionFile | SessionFile[] {
  const all = listSessions(folder);
  const exact = all.find((file) => file.id === id);
  if (exact) return exact;
  const matching = all.filter((file) => file.id.startsWith(id));
  return matching.length === 1 && matching[0] ? matching[0] : matching;
}
