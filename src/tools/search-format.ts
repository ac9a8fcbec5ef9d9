// What a search looks like to the model: rows with anchors within a token budget, what was left out and
// why; and which lines it has thereby been shown.

import type { LineHash } from "./anchor.ts";
import { clip, count, Shown } from "./lines.ts";
import { attribute, shownPath } from "./paths.ts";
import { escapeInvisible } from "./plain-text.ts";
import type { FileHits, ScanRow, ScanSkipped } from "./search-scan.ts";

/** Longer lines are shown in part, around the match (characters), and without an anchor. */
const MAX_SHOWN = 400;
const AROUND = 150;
/** Files named where hits are not shown. */
const MAX_NAMED = 8;

/** All that was found for one query. */
export interface QueryResult {
  /** Attributes of the opening tag. */
  attributes: [name: string, value: string][];
  files: FileHits[];
  /** Why there is no result, or no complete one, for the model. */
  error?: string;
  note?: string;
}

/** The lines shown of each version of a file, by real path and version. */
export type ShownFiles = Map<string, { hits: FileHits; shown: Shown }>;

/**
 * The section of one query.
 *
 * @param budget Bytes that its rows may take.
 * @param folder Paths are shown relative to it.
 * @param files The lines shown are added.
 */
export function formatQuery(
  result: QueryResult,
  budget: number,
  folder: string,
  hash: LineHash,
  files: ShownFiles,
): string {
  const counts: [string, string][] = result.error === undefined
    ? [["matches", `${matchesOf(result)}`], ["files", `${result.files.length}`]]
    : [["error", "not searched"]];
  const attributes = [...result.attributes, ...counts]
    .map(([name, value]) => ` ${name}="${attribute(value)}"`).join("");
  const lines = [`<Search${attributes}>`];
  if (result.error !== undefined) lines.push(result.error);
  const more: [path: string, unseen: number][] = [];
  let left = budget;
  for (const hits of result.files) {
    const path = displayPath(hits.path, folder);
    let unseen = hits.count;
    for (const row of hits.rows) {
      const text = rowText(row, path, hash);
      left -= Buffer.byteLength(text) + 1;
      if (left < 0) break;
      lines.push(text);
      if (row.hit) unseen--;
      if (row.text.length > MAX_SHOWN) continue;
      const key = `${hits.realPath}\0${hits.version}`;
      const file = files.get(key) ?? { hits, shown: new Shown(hash) };
      files.set(key, file);
      file.shown.add(row.line, row.text);
    }
    if (unseen > 0) more.push([path, unseen]);
  }
  if (more.length > 0) lines.push(moreLine(more));
  if (result.note !== undefined) lines.push(`[${result.note}]`);
  return [...lines, "</Search>"].join("\n");
}

export function matchesOf({ files }: QueryResult): number {
  return files.reduce((sum, hits) => sum + hits.count, 0);
}

function rowText({ line, text, hit, at }: ScanRow, path: string, hash: LineHash): string {
  const row = `${hit ? ">" : " "} ${path}:${line}`;
  if (text.length <= MAX_SHOWN) return `${row}:${hash(text)}|${text}`;
  const start = Math.max(0, at - AROUND);
  const around = clip(text.slice(start), MAX_SHOWN - AROUND / 2);
  const from = start > 0 ? "…" : "";
  const to = start + around.length < text.length ? "…" : "";
  const shown = around.replace(/^[\udc00-\udfff]/, "");
  return `${row}|${from}${shown}${to} [part of a line of ${text.length} characters]`;
}

function moreLine(more: [path: string, unseen: number][]): string {
  const total = more.reduce((sum, [, unseen]) => sum + unseen, 0);
  const named = more.slice(0, MAX_NAMED).map(([path, unseen]) => `${path} (${unseen})`).join(", ");
  const rest = more.length > MAX_NAMED ? ` and ${more.length - MAX_NAMED} more files` : "";
  return `[${total} more in ${count(more.length, "file")}: ${named}${rest}; ` +
    "narrow it by path, glob or a longer pattern]";
}

/** Path as the model would write it; what could break a row or hide is escaped. */
export function displayPath(path: string, folder: string): string {
  return escapeInvisible(shownPath(path, folder)).replaceAll("\n", "\\n").replaceAll("\t", "\\t");
}

/** One line about what was not searched, or null. */
export function skippedLine(skipped: ScanSkipped): string | null {
  const { binary, large, secret, ignoredFiles, ignoredFolders, links, special, unreadable } =
    skipped;
  const parts = [
    [binary, `${binary} binary`],
    [large, `${large} over the size limit`],
    [secret, `${secret} secret`],
    [ignoredFiles, count(ignoredFiles, "ignored file")],
    [ignoredFolders, count(ignoredFolders, "ignored folder")],
    [links, `${count(links, "link")} to a folder or out of the tree`],
    [special, `${special} pipe or device`],
    [unreadable, `${unreadable} unreadable`],
  ].flatMap(([n, text]) => n === 0 ? [] : [text]);
  if (parts.length === 0) return null;
  const how = secret + ignoredFiles + ignoredFolders > 0
    ? " (name one as `path` to search it)"
    : "";
  return `Not searched: ${parts.join(", ")}${how}.`;
}
