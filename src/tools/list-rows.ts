// The rows of List: a name that can forge nothing, then what is known of the entry. Files are read only
// for their line count. Not here: which entries are shown (list-tree.ts, list-matches.ts).

import { isUtf8 } from "node:buffer";
import { lstatSync, readdirSync, readlinkSync, realpathSync, type Stats, statSync } from "node:fs";
import type { WalkEntry } from "../host/walk.ts";
import { isInside, isSecret } from "../permission/paths.ts";
import { clip, count } from "./lines.ts";
import { escapeInvisible } from "./plain-text.ts";
import { readContent } from "./search-file.ts";
import { newlines } from "./search-match.ts";

/** Lines of larger files are not counted, nor any more after so many bytes in one call. */
const MAX_COUNTED = 1024 * 1024;
const MAX_READ = 32 * MAX_COUNTED;
/** Characters of a link's target that are shown. */
const MAX_TARGET = 80;
/** What a row takes beside its name, in bytes; hardly one takes more. */
const FACTS = { file: 22, dir: 26, other: 22, link: 22 + MAX_TARGET };

/** What lies below a folder that is not opened up; `counted`: all of it was seen. */
export interface Below {
  files: number;
  folders: number;
  counted: boolean;
}

/** Estimated bytes of a row. */
export function rowBytes(name: string, kind: WalkEntry["kind"]): number {
  return Buffer.byteLength(quoted(name)) + FACTS[kind];
}

/** A name as it is where it is plain, else as a JSON string: what a row says cannot be part of it. */
export function quoted(name: string): string {
  const plain = !/^[ "<]|\\| $| {2}| -> |[^\S ]/.test(name) && escapeInvisible(name) === name;
  return plain ? name : json(name);
}

/** JSON in which nothing is invisible; it can be sent back as it is. */
export function json(value: unknown): string {
  return Array.from(JSON.stringify(value), (c) => {
    if (c === " " || (/\S/.test(c) && escapeInvisible(c) === c)) return c;
    return c.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join("");
  }).join("");
}

/** Makes rows; one for each call, since it reads only so much. */
export class Rows {
  readonly #base: string;
  readonly #root: string;
  #slab: Buffer | undefined;
  #left = MAX_READ;

  /** Both are real paths; a link that leads out of both is said to. */
  constructor(base: string, root: string) {
    this.#base = base;
    this.#root = root;
  }

  /** @param below Null for a folder that is opened up: what it holds is there to see. */
  row(name: string, { path, kind }: Pick<WalkEntry, "path" | "kind">, below: Below | null): string {
    const label = quoted(name) + (kind === "dir" ? "/" : "");
    if (kind === "link") return `${label} -> ${this.#target(path)}`;
    const facts = kind === "dir" ? folderFacts(path, below) : this.#facts(path);
    return facts === "" ? label : `${label}  ${facts}`;
  }

  #facts(path: string): string {
    let info: Stats;
    try {
      info = lstatSync(path);
    } catch {
      return "cannot be looked at";
    }
    if (info.isFIFO()) return "pipe";
    if (info.isSocket()) return "socket";
    if (!info.isFile()) return "device";
    if (isSecret(path)) return `secret, ${bytes(info.size)}`;
    if (info.size === 0) return "empty";
    const lines = info.size > MAX_COUNTED || info.size > this.#left ? null : this.#lines(path);
    return lines === null ? bytes(info.size) : `${lines}, ${bytes(info.size)}`;
  }

  /** The number of lines as Read counts them. */
  #lines(path: string): string | null {
    this.#slab ??= Buffer.allocUnsafe(MAX_COUNTED + 1);
    const content = readContent(this.#slab, path);
    if (typeof content === "string") return content === "large" ? null : content;
    this.#left -= content.bytes.length;
    if (content.utf16 || !isUtf8(content.bytes)) {
      const { length } = content.lines();
      return content.binary ? "binary" : count(length, "line");
    }
    const text = content.text();
    const open = text === "" || text.endsWith("\n") ? 0 : 1;
    return count(newlines(text, 0, text.length) + open, "line");
  }

  /** Where a link leads; it is not followed. */
  #target(path: string): string {
    let to = "?";
    try {
      to = quoted(clip(readlinkSync(path), MAX_TARGET));
      const real = realpathSync(path);
      if (statSync(real).isDirectory() && !to.endsWith("/")) to += "/";
      const outside = !isInside(this.#root, real) && !isInside(this.#base, real);
      return outside ? `${to}  leads outside` : to;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      return `${to}  ${code === "ELOOP" ? "a loop of links" : "broken link"}`;
    }
  }
}

function folderFacts(path: string, below: Below | null): string {
  if (below === null) return "";
  const { files, folders, counted } = below;
  const parts = [[files, "file"], [folders, "folder"]] as const;
  const known = parts.filter(([n]) => n > 0)
    .map(([n, word]) => count(n, word).replace(" ", counted ? " " : "+ "));
  if (known.length > 0) return known.join(", ");
  if (!counted) return "not counted";
  try {
    return readdirSync(path).length === 0 ? "empty" : "ignored entries only";
  } catch {
    return "cannot be read";
  }
}

/** `812 B`, `1.2 KB`, `34 MB`. */
function bytes(n: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  for (; n >= 1000 && unit < units.length - 1; n /= 1024) unit++;
  return `${unit > 0 && n < 9.95 ? n.toFixed(1) : Math.round(n)} ${units[unit]}`;
}
