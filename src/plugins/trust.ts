// Trust: what of a repository may run. Stored outside it, bound to the real path of its root and to the
// content of each item, so that a changed item is asked again and a cloned one was never trusted. Project
// text (rules, skill bodies) needs none; power does. Not here: the question itself (cli/trust.ts).

import { existsSync, readFileSync } from "node:fs";
import { join, parse } from "node:path";
import { sha256 } from "../runtime/hash.ts";
import { UserError } from "../runtime/errors.ts";
import { replaceFile } from "../runtime/replace-file.ts";

/** Something of a project that could run. */
export interface TrustItem {
  kind: "plugin" | "hook" | "command" | "mcp";
  /** Unique among the items of its kind in the project. */
  id: string;
  /** Of all its content; another content is another item. */
  sha256: string;
  /** Everything that it would do, one line each, for the question: commands, hosts, variables, tools. */
  shows: string[];
  /** Its files with their hashes, so that a change can be named. */
  files?: Record<string, string>;
}

export type Standing = "yes" | "no" | "changed" | "unknown";

interface Answer {
  sha256: string;
  answer: "yes" | "no";
  t: string;
  shows: string[];
  files?: Record<string, string>;
}

interface Stored {
  version: 1;
  roots: Record<string, { items: Record<string, Answer>; dev?: boolean }>;
}

export class TrustStore {
  readonly path: string;

  /** @param home `~/.nanocode`. */
  constructor(home: string) {
    this.path = join(home, "trust.json");
  }

  /** What was answered for an item of the project at `root` (a real path). */
  standing(root: string, item: TrustItem): Standing {
    const project = this.#read().roots[root];
    const known = project?.items[keyOf(item)];
    if (!known) return "unknown";
    if (known.sha256 === item.sha256) return known.answer;
    // A refused item that changed is still refused; it was never wanted.
    if (known.answer === "no") return "no";
    return project?.dev ? "yes" : "changed";
  }

  /** What an item was when it was answered for; null when it never was. */
  before(root: string, item: TrustItem): Pick<Answer, "shows" | "files"> | null {
    return this.#read().roots[root]?.items[keyOf(item)] ?? null;
  }

  /** Stores answers. @throws {UserError} for a root whose trust would cover everything. */
  answer(root: string, items: readonly TrustItem[], answer: "yes" | "no"): void {
    this.#checkRoot(root);
    const stored = this.#read();
    const project = stored.roots[root] ??= { items: {} };
    for (const item of items) {
      const { sha256, shows, files } = item;
      const t = new Date().toISOString();
      project.items[keyOf(item)] = { sha256, answer, t, shows, ...(files ? { files } : {}) };
    }
    this.#write(stored);
  }

  /** Accepts the user's own further changes of trusted items there (`trust --dev`). */
  acceptChanges(root: string): void {
    this.#checkRoot(root);
    const stored = this.#read();
    (stored.roots[root] ??= { items: {} }).dev = true;
    this.#write(stored);
  }

  /** Forgets all answers for a project; gives how many there were. */
  revoke(root: string): number {
    const stored = this.#read();
    const count = Object.keys(stored.roots[root]?.items ?? {}).length;
    delete stored.roots[root];
    this.#write(stored);
    return count;
  }

  /** Every project with its answers: `kind:id` → answer. */
  list(): { root: string; dev: boolean; items: [key: string, answer: "yes" | "no"][] }[] {
    return Object.entries(this.#read().roots).map(([root, { items, dev = false }]) => ({
      root,
      dev,
      items: Object.entries(items).map(([key, { answer }]) => [key, answer]),
    }));
  }

  #checkRoot(root: string): void {
    if (root === parse(root).root || root === safeHome()) {
      throw new UserError(
        `${root} cannot be trusted as a project: everything below it would be part of it`,
        "Start nanocode in the project's own folder (one with .git or .nanocode).",
      );
    }
  }

  /** A file that cannot be read trusts nothing; it is not overwritten. */
  #read(): Stored {
    if (!existsSync(this.path)) return { version: 1, roots: {} };
    try {
      const value = JSON.parse(readFileSync(this.path, "utf8")) as Stored;
      if (value.version === 1 && typeof value.roots === "object" && value.roots !== null) {
        return value;
      }
    } catch { /* said below */ }
    throw new UserError(
      `${this.path} cannot be read as the store of trust`,
      "Repair it, or move it away and answer the questions again.",
    );
  }

  #write(stored: Stored): void {
    replaceFile(this.path, `${JSON.stringify(stored, null, 1)}\n`, 0o600);
  }
}

const keyOf = ({ kind, id }: TrustItem) => `${kind}:${id}`;

function safeHome(): string | null {
  try {
    return process.getBuiltinModule("node:os").homedir();
  } catch {
    return null;
  }
}

/** One digest for all items, for CI: `--trust-digest sha256-…` trusts exactly these. */
export function digestOf(items: readonly TrustItem[]): string {
  const lines = items.map((item) => `${keyOf(item)} ${item.sha256}`).sort();
  return `sha256-${sha256(lines.join("\n"))}`;
}

/** What is different from what was trusted, one line each: what it shows, then its files. */
export function changesOf(before: Pick<TrustItem, "shows" | "files">, now: TrustItem): string[] {
  const lines = [
    ...before.shows.filter((line) => !now.shows.includes(line)).map((line) => `- ${line}`),
    ...now.shows.filter((line) => !before.shows.includes(line)).map((line) => `+ ${line}`),
  ];
  const [old, files] = [before.files ?? {}, now.files ?? {}];
  for (const path of [...new Set([...Object.keys(old), ...Object.keys(files)])].sort()) {
    if (old[path] === files[path]) continue;
    const how = old[path] === undefined ? "new" : files[path] === undefined ? "removed" : "changed";
    lines.push(`${how} file ${path}`);
  }
  return lines;
}
