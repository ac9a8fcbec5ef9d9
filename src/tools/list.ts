// List: a folder as a tree, or the paths that match a glob. Here is what a call means and what is said
// around the rows; which entries are shown is list-tree.ts and list-matches.ts, their look list-rows.ts.

import { basename, dirname, join, relative, sep } from "node:path";
import { z } from "zod";
import { inTurns } from "../runtime/turns.ts";
import { globFilter, place, wildFault } from "./glob.ts";
import { count } from "./lines.ts";
import { type Match, matches } from "./list-matches.ts";
import { json, quoted, rowBytes, Rows } from "./list-rows.ts";
import { closedFolders, type Scope, tree, treeRows } from "./list-tree.ts";
import description from "./list.md" with { type: "text" };
import { attribute, locate, type Located, nearNames, shownPath } from "./paths.ts";
import { escapeInvisible } from "./plain-text.ts";
import { defineTool, type ToolContext, ToolError, type ToolOutput } from "./tool.ts";

/** Time for counting what closed folders hold, and for matching a glob (milliseconds). */
const COUNT_MS = 3000;
const MATCH_MS = 20_000;
/** Bytes kept for the tags and for what is said after them. */
const RESERVE = 800;
/** The part of a result that deeper levels may fill where no depth was asked for. */
const OVERVIEW = 0.6;

const input = z.strictObject({
  path: z.string().optional(),
  glob: z.string().optional(),
  depth: z.number().optional(),
});

type Input = z.infer<typeof input>;

/** What is listed. */
interface Target extends Located {
  globs: string[];
}

/** The real path of each call, as permission was asked for it. */
const asked = new WeakMap<Input, string>();

export const list = defineTool<Input>({
  name: "List",
  description: description.trim(),
  input,
  example: { path: "src", depth: 2 },
  aliases: {
    pattern: "glob",
    query: "glob",
    include: "glob",
    folder: "path",
    root: "path",
    max_depth: "depth",
    maxDepth: "depth",
    level: "depth",
    levels: "depth",
  },
  normalize,
  title: ({ path = ".", glob }) => glob === undefined ? path : `${glob} in ${path}`,
  isConcurrencySafe: () => true,
  async effects(input, ctx) {
    const { path } = await find(input, ctx);
    asked.set(input, path);
    return [{ kind: "read", path }];
  },
  run,
});

/** An empty path or glob for none, a list of globs for one, `recursive` for a depth. */
function normalize({ recursive, ...args }: Record<string, unknown>): Record<string, unknown> {
  if (args.path === "") delete args.path;
  if (Array.isArray(args.glob)) args.glob = oneOf(args.glob);
  if (args.glob === "") delete args.glob;
  if (Number(args.depth) < 0) delete args.depth;
  if (recursive === undefined || typeof recursive === "object") return { ...args };
  return args.depth === undefined && /^(false|0)$/.test(`${recursive}`)
    ? { ...args, depth: 1 }
    : args;
}

/** `{a,b}` for several globs; with and without a slash they mean different things, and stay a fault. */
function oneOf(globs: unknown[]): unknown {
  if (globs.length === 1) return globs[0];
  const slashes = globs.filter((glob) => typeof glob === "string" && glob.includes("/")).length;
  return slashes === 0 || slashes === globs.length ? `{${globs.join(",")}}` : globs;
}

async function find({ path = ".", glob }: Input, ctx: ToolContext): Promise<Target> {
  const file = await locate(path, ctx);
  if (file.info !== null) return { ...file, globs: glob === undefined ? [] : [glob] };
  const { base, globs } = await place({ path, glob }, ctx);
  const info = await ctx.host.stat(base);
  return { path: base, shown: shownPath(base, ctx.session.cwd), info, globs };
}

async function run(input: Input, ctx: ToolContext): Promise<ToolOutput> {
  const target = await find(input, ctx);
  const { path: base, info, globs } = target;
  if ((asked.get(input) ?? base) !== base) {
    throw new ToolError(
      `${input.path} has just become a link to ${base}; to list that, ask again.`,
    );
  }
  if (info === null) {
    const near = await nearNames(input.path ?? ".", ctx);
    throw new ToolError(`There is no file or folder ${input.path}; ${near}.`);
  }
  const wild = wildFault(globs);
  if (wild !== null) throw new ToolError(wild);
  if (info.kind !== "dir") return file(target, ctx);
  return await (globs.length > 0 ? flat : levels)(input, target, ctx);
}

/** The row of a file that was named. */
function file({ path, shown, note, globs: _ }: Target, { session }: ToolContext): ToolOutput {
  const row = new Rows(path, session.root).row(shown, { path, kind: "file" }, null);
  return answer(shown, [["files", "1"]], [row], note === undefined ? [] : [`Note: ${note}.`]);
}

async function levels(
  { depth }: Input,
  { path: base, shown, note }: Target,
  { session: { root, cwd }, signal, limits }: ToolContext,
): Promise<ToolOutput> {
  const room = limits.outputTokens * 4 - RESERVE;
  const options = {
    depth: depth ?? Infinity,
    room,
    overview: depth === undefined ? room * OVERVIEW : room,
  };
  const scope: Scope = { base, root, signal, ms: COUNT_MS };
  const { top, more, next, skipped } = await tree(scope, options);
  const rows: string[] = [];
  await inTurns(treeRows(top, new Rows(base, root)), signal, (row) => void rows.push(row));

  const notes = note === undefined ? [] : [`Note: ${note}.`];
  const names = (top.children ?? []).map(({ entry }) => entry.relative);
  if (next && names.length > 0) {
    const call = nextPart(base, names, next.relative, cwd);
    notes.push(`${more} more in ${quoted(shown)} itself; ${call} shows the next ones.`);
  }
  const closed = closedFolders(top, options.depth);
  const inside = closed.reduce((sum, { files, folders }) => sum + files + folders, 0);
  const [largest] = closed.sort((a, b) => b.files + b.folders - a.files - a.folders);
  if (largest) {
    const call = `List ${json({ path: shownPath(largest.entry.path, cwd) })}`;
    notes.push(`${inside} more in ${count(closed.length, "folder")}; ${call} opens the largest.`);
  }
  if (!top.counted) {
    notes.push(`Counting ended after ${COUNT_MS / 1000} s: + means at least.`);
  }
  const plus = top.counted ? "" : "+";
  const { ignoredFiles, ignoredFolders } = skipped;
  return answer(
    shown,
    [
      ["folders", `${top.folders}${plus}`],
      ["files", `${top.files}${plus}`],
      ["ignored", `${ignoredFiles + ignoredFolders}${plus}`],
    ],
    rows,
    notes,
  );
}

async function flat(
  input: Input,
  { path: base, shown, globs, note }: Target,
  { session: { root, cwd }, signal, limits }: ToolContext,
): Promise<ToolOutput> {
  const room = limits.outputTokens * 4 - RESERVE;
  const scope: Scope = { base, root, signal, ms: MATCH_MS };
  const limit = Math.floor(room / rowBytes("", "file"));
  const found = await matches(scope, globs, input.depth ?? Infinity, limit);
  const { first, files, folders, within, skipped, complete } = found;
  const named = first.map((match) => ({ ...match, name: shownPath(match.entry.path, cwd) }));
  let left = room;
  const end = named.findIndex(({ name, entry }) => (left -= rowBytes(name, entry.kind)) < 0);
  const shownOnes = end === -1 ? named : named.slice(0, end);
  const maker = new Rows(base, root);
  const rows: string[] = [];
  await inTurns(shownOnes, signal, ({ name, entry, counted, ...below }) => {
    rows.push(maker.row(name, entry, counted ? { counted, ...below } : null));
  });

  const notes = note === undefined ? [] : [`Note: ${note}.`];
  const next = first[shownOnes.length];
  if (next) {
    for (const { entry } of shownOnes) {
      const folder = dirname(entry.path);
      const unseen = (within.get(folder) ?? 0) - 1;
      if (unseen > 0) within.set(folder, unseen);
      else within.delete(folder);
    }
    const more = files + folders - shownOnes.length;
    const call = nextMatches(shownOnes, next, globs, scope, cwd);
    notes.push(`${more} more in ${count(within.size, "folder")}; ${call} shows the next ones.`);
  }
  const ignored = skipped.ignoredFiles + skipped.ignoredFolders;
  if (first.length === 0) {
    const names = ignored > 0 ? " that is not ignored; path can name an ignored folder" : "";
    notes.push(`Nothing matches${names}.`);
  }
  if (!complete) {
    notes.push(`Ended after ${MATCH_MS / 1000} s, before all was seen; name a path.`);
  }
  return answer(
    shown,
    [
      ["glob", globs.join(" ")],
      ["folders", `${folders}`],
      ["files", `${files}`],
      ["ignored", `${ignored}`],
    ],
    rows,
    notes,
  );
}

/**
 * A call for entries of a folder from `next` on: those that begin like it. So few of the shown ones do
 * that there is room for it.
 *
 * @param glob Names must match it too, where the two can be joined.
 */
function nextPart(folder: string, shown: readonly string[], next: string, cwd: string, glob = "*") {
  let begin = "";
  for (const character of next) {
    begin += character;
    if (2 * shown.filter((name) => name.startsWith(begin)).length <= shown.length) break;
  }
  const literal = begin.replaceAll(/[^\p{L}\p{N} _.,=~-]/gu, "\\$&");
  const globs = [literal + basename(glob), `${literal}*`].map((text) => `/${text}`);
  const entry = { path: join(folder, next), relative: next };
  const fitting = globs.find((glob) => globFilter(glob, folder, folder)(entry)) ?? `/${literal}`;
  return `List ${json({ path: shownPath(folder, cwd), glob: fitting, depth: 1 })}`;
}

/** A call for the matches from `next` on. */
function nextMatches(
  shown: readonly Match[],
  { entry: next }: Match,
  globs: readonly string[],
  { root }: Scope,
  cwd: string,
): string {
  const folder = dirname(next.path);
  const [glob = "", second] = globs;
  const entry = { path: next.path, relative: basename(next.path) };
  const inside = shown.filter(({ entry }) => entry.path.startsWith(folder + sep));
  const narrows = 2 * inside.length <= shown.length && second === undefined &&
    globFilter(glob, folder, root)(entry);
  if (narrows) return `List ${json({ path: shownPath(folder, cwd), glob })}`;
  const names = inside.map(({ entry }) => relative(folder, entry.path));
  return nextPart(folder, names, entry.relative, cwd, second === undefined ? glob : "*");
}

function answer(
  path: string,
  facts: [name: string, value: string][],
  rows: readonly string[],
  notes: readonly string[],
): ToolOutput {
  const attributes = [["path", path] as const, ...facts]
    .map(([name, value]) => ` ${name}="${attribute(escapeInvisible(value))}"`).join("");
  const summary = facts.filter(([name]) => /^f/.test(name))
    .map(([name, n]) => `${n} ${n === "1" ? name.slice(0, -1) : name}`);
  return {
    output: [`<List${attributes}>`, ...rows, "</List>", ...notes].join("\n"),
    summary: summary.join(", "),
  };
}
