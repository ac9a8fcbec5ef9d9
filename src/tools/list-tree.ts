// The tree that List shows: the upper levels, as many as there is room for, small folders before large
// ones, so that a huge one hides nothing; the others stay closed and are counted. Memory is bounded by
// what is shown. Not here: matches of a glob (list-matches.ts), the look of a row (list-rows.ts).

import { basename, sep } from "node:path";
import { nothingSkipped, type Skipped, walk, type WalkEntry } from "../host/walk.ts";
import { inTurns } from "../runtime/turns.ts";
import { type Below, rowBytes, type Rows } from "./list-rows.ts";

/** Where List looks. */
export interface Scope {
  /** Real paths of the folder and the workspace. */
  base: string;
  root: string;
  signal: AbortSignal;
  /** Time for counting or matching, in milliseconds; what was not seen by then is said to be more. */
  ms: number;
}

/** An entry that is shown; `children` of a folder that is opened up. */
export interface Node extends Below {
  entry: WalkEntry;
  children?: Node[];
}

export interface Tree {
  /** The folder itself, with the number of all entries below it. */
  top: Node;
  /** Its entries that are not shown. */
  more: number;
  /** The first of them. */
  next?: WalkEntry | undefined;
  skipped: Skipped;
}

export interface TreeOptions {
  /** Levels to open. */
  depth: number;
  /** Bytes that rows may take: those of the folder itself, and all together. */
  room: number;
  overview: number;
}

/** The first of many items in an order, without holding all of them. */
export class First<T> {
  count = 0;
  readonly #limit: number;
  readonly #compare: (a: T, b: T) => number;
  #items: T[] = [];
  #last: T | undefined;

  constructor(limit: number, compare: (a: T, b: T) => number) {
    this.#limit = limit;
    this.#compare = compare;
  }

  add(item: T): void {
    this.count++;
    if (this.#last !== undefined && this.#compare(item, this.#last) > 0) return;
    this.#items.push(item);
    if (this.#items.length >= 2 * this.#limit) this.#last = this.items()[this.#limit - 1];
  }

  items(): T[] {
    return this.#items = this.#items.sort(this.#compare).slice(0, this.#limit);
  }
}

const collator = new Intl.Collator("en", { numeric: true });

/** Natural order of names: `f2` before `f10`, in the same way on every machine. */
export function byName(a: string, b: string): number {
  return collator.compare(a, b) || (a < b ? -1 : Number(a > b));
}

const nameOf = ({ path }: WalkEntry) => basename(path);

function foldersFirst(a: WalkEntry, b: WalkEntry): number {
  return Number(b.kind === "dir") - Number(a.kind === "dir") || byName(nameOf(a), nameOf(b));
}

/** Finds what to show of a folder, and counts the rest. */
export async function tree(scope: Scope, { depth, room, overview }: TreeOptions): Promise<Tree> {
  const top = nodeOf({ path: scope.base, relative: "", kind: "dir", depth: 0 });
  const { children, bytes, ...inside } = await look(top, scope, room, 0);
  let left = overview - bytes;
  if (depth >= 1) top.children = children;
  let level = folders(top);
  for (let shown = 1; shown < depth && level.length > 0; shown++) {
    const looked: { folder: Node; children: Node[]; bytes: number }[] = [];
    for (const folder of level) {
      const found = await look(folder, scope, left, shown);
      if (found.more === 0) looked.push({ folder, ...found });
    }
    looked.sort((a, b) => a.bytes - b.bytes);
    level = [];
    for (const { folder, children, bytes } of looked) {
      if (bytes > left) break;
      left -= bytes;
      folder.children = children;
      level.push(...folders(folder));
    }
  }
  const hasFolders = (children[0]?.entry ?? inside.next)?.kind === "dir";
  if (hasFolders) return { top, ...inside, skipped: await countBelow(top, scope) };
  return { top: { ...top, files: children.length + inside.more, counted: true }, ...inside };
}

function nodeOf(entry: WalkEntry): Node {
  return { entry, files: 0, folders: 0, counted: false };
}

/** The folders among what is shown of a folder. */
export function folders({ children = [] }: Node): Node[] {
  return children.filter(({ entry }) => entry.kind === "dir");
}

/**
 * What a folder holds, as far as there is room. What there is no room for is `more`: of the top exactly,
 * else at least something.
 */
async function look(
  { entry: { path, rules, depth } }: Node,
  { root, signal }: Scope,
  room: number,
  indent: number,
): Promise<
  { children: Node[]; bytes: number; more: number; next?: WalkEntry | undefined; skipped: Skipped }
> {
  const skipped = nothingSkipped();
  const limit = 2 + Math.max(0, Math.floor(room / rowBytes("", "file")));
  const first = new First(limit, foldersFirst);
  await inTurns(
    walk({ base: path, root, maxDepth: 1, all: true, rules }, skipped),
    signal,
    (it) => {
      first.add(it);
      return depth > 0 && first.count >= limit;
    },
  );
  const items = first.items();
  const children: Node[] = [];
  let bytes = 0;
  for (const entry of items) {
    const row = 2 * indent + rowBytes(nameOf(entry), entry.kind);
    if (bytes + row > room) break;
    bytes += row;
    children.push(nodeOf(entry));
  }
  const next = items[children.length];
  return { children, bytes, more: first.count - children.length, next, skipped };
}

/** Counts all entries, and those of each folder that is closed. */
async function countBelow(top: Node, { base, root, signal, ms }: Scope): Promise<Skipped> {
  const closed = new Map<string, Node>();
  for (const open = [top]; open.length > 0;) {
    for (const folder of folders(open.pop() as Node)) {
      if (folder.children?.length) open.push(folder);
      else closed.set(folder.entry.path, folder);
    }
  }
  const end = performance.now() + ms;
  const skipped = nothingSkipped();
  let within: Node | undefined;
  const leave = () => {
    if (within) within.counted = true;
    within = undefined;
  };
  const stopped = await inTurns(walk({ base, root, all: true }, skipped), signal, (entry) => {
    if (within && !entry.path.startsWith(within.entry.path + sep)) leave();
    const kind = entry.kind === "dir" ? "folders" : "files";
    top[kind]++;
    if (within) within[kind]++;
    else within = closed.get(entry.path);
    return performance.now() > end;
  });
  top.counted = !stopped;
  if (!stopped) { for (const folder of closed.values()) folder.counted = true; }
  return skipped;
}

/** The rows of what a folder that is opened up holds. */
export function* treeRows(folder: Node, rows: Rows, indent = 0): Generator<string> {
  for (const node of folder.children ?? []) {
    const opened = (node.children?.length ?? 0) > 0;
    yield "  ".repeat(indent) + rows.row(nameOf(node.entry), node.entry, opened ? null : node);
    if (opened) yield* treeRows(node, rows, indent + 1);
  }
}

/** Folders that hold something and are closed, though the depth asked for would have opened them. */
export function closedFolders(folder: Node, depth: number): Node[] {
  if (depth <= 1) return [];
  return folders(folder).flatMap((node) => {
    if (node.children?.length) return closedFolders(node, depth - 1);
    return node.files + node.folders > 0 ? [node] : [];
  });
}
