// From a path as a model or person typed it to a file: literally first (no globbing, no unescaping),
// then a look-alike that differs only in Unicode form, blanks or quotes. What does not exist is answered
// with what is near. Not here: whether it may be touched (permission/).

import { homedir } from "node:os";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { FileInfo } from "../host/host.ts";
import { nearest } from "../runtime/nearest.ts";
import { type ToolContext, ToolError } from "./tool.ts";

type PathContext = Pick<ToolContext, "host" | "session">;

export interface Located {
  /** Real path: the one name under which a file is locked, recorded and allowed. */
  path: string;
  /** As shown: relative to the working folder where it lies inside. */
  shown: string;
  /** Null when nothing is there. */
  info: FileInfo | null;
  /** Said in the result when another name than the one asked for was taken. */
  note?: string;
}

/**
 * Finds the file of a path.
 *
 * @param exact Take no look-alike: for a file that is to be made.
 * @throws {ToolError} for a path that no file can have, and for two look-alikes.
 */
export async function locate(
  typed: string,
  ctx: PathContext,
  { exact = false } = {},
): Promise<Located> {
  if (typed === "") throw new ToolError("path is empty; give the path of a file");
  if (typed.includes("\0")) {
    throw new ToolError("path holds a NUL character; no file can have that name");
  }
  const literal = resolve(ctx.session.cwd, typed);
  const found = await at(literal, ctx);
  if (found.info !== null) return found;
  if (typed.startsWith("~/")) {
    const inHome = await at(join(homedir(), typed.slice(2)), ctx);
    if (inHome.info !== null || exact) return inHome;
  }
  const like = exact ? null : await lookAlike(literal, ctx);
  if (like === null) return found;
  const other = await at(like, ctx);
  return { ...other, note: `there is no ${visible(typed)}; this is ${visible(other.shown)}` };
}

async function at(literal: string, { host, session }: PathContext): Promise<Located> {
  const path = await host.realpath(literal);
  return { path, shown: shownPath(literal, session.cwd), info: await host.stat(path) };
}

/** Relative to `cwd` where it lies inside, else absolute. */
export function shownPath(path: string, cwd: string): string {
  const inside = relative(cwd, path);
  if (inside === "") return ".";
  return inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside) ? path : inside;
}

/**
 * Where a path with backslashes probably leads: the same with slashes, if that exists or its folder
 * does. On this system a backslash is part of a name, but hardly anybody means that (WP-01).
 */
export async function withSlashes(typed: string, ctx: PathContext): Promise<string | null> {
  if (sep === "\\" || !typed.includes("\\")) return null;
  const slashed = typed.replaceAll("\\", "/");
  const path = resolve(ctx.session.cwd, slashed);
  const there = await ctx.host.stat(path) ?? await ctx.host.stat(dirname(path));
  return there === null ? null : slashed;
}

/** For an error about a path that does not exist: what is near, or how far it exists. */
export async function nearNames(typed: string, ctx: PathContext): Promise<string> {
  const slashed = await withSlashes(typed, ctx);
  if (slashed !== null) return `the path has backslashes; use ${slashed}`;
  const { folder, missing: [wanted = "", ...more] } = await deepestFolder(typed, ctx);
  const shown = shownPath(folder, ctx.session.cwd);
  const where = shown === "." ? "the working folder" : shown;
  const names = new Set((await ctx.host.readDir(folder)).map(({ name }) => name));
  const near: string[] = [];
  for (let name = nearest(wanted, names); name !== null; name = nearest(wanted, names)) {
    if (near.push(visible(join(shown, name))) === 5) break;
    names.delete(name);
  }
  if (near.length > 0) return `near names: ${near.join(", ")}`;
  return more.length > 0
    ? `there is no ${wanted} in ${where}`
    : `${where} has ${names.size} other entries; Read it to see them`;
}

/** The deepest folder on the way to a path that exists, and the names after it. */
async function deepestFolder(
  path: string,
  { host, session }: PathContext,
): Promise<{ folder: string; missing: string[] }> {
  const missing: string[] = [];
  let folder = resolve(session.cwd, path);
  while ((await host.stat(folder))?.kind !== "dir" && dirname(folder) !== folder) {
    missing.unshift(folder.slice(dirname(folder).length).replace(/^[\\/]/, ""));
    folder = dirname(folder);
  }
  return { folder, missing };
}

/** The one existing path that looks the same as `path`, or null. @throws {ToolError} when there are two. */
async function lookAlike(path: string, ctx: PathContext): Promise<string | null> {
  const { folder, missing } = await deepestFolder(path, ctx);
  let here = folder;
  for (const name of missing) {
    if ((await ctx.host.stat(here))?.kind !== "dir") return null;
    const names = (await ctx.host.readDir(here)).map((entry) => entry.name);
    const alike = names.includes(name)
      ? [name]
      : names.filter((other) => folded(other) === folded(name));
    if (alike.length > 1) {
      throw new ToolError(
        `there is no ${visible(name)}, but there are ${alike.map(visible).join(" and ")}, which ` +
          "look the same; name one of them exactly (escapes here are Unicode code points)",
      );
    }
    if (alike[0] === undefined) return null;
    here = join(here, alike[0]);
  }
  return here;
}

/** What two names have in common that a person, or a model, cannot tell apart. */
function folded(name: string): string {
  return name.normalize("NFC")
    .replace(/[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g, " ")
    .replace(/[\u2018\u2019\u02bc\u2032]/g, "'")
    .replace(/[\u201c\u201d]/g, '"')
    .replace(/[\u2010-\u2015\u2212]/g, "-");
}

/** A name whose parts can be told apart: combining marks, odd blanks and the like as `\u{…}`. */
function visible(name: string): string {
  return name.replace(
    /[\p{M}\p{C}\u00a0\u1680\u2000-\u200a\u2010-\u2015\u2018-\u201d\u202f\u205f\u3000]/gu,
    (c) => `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** A path as the value of an attribute of a result. */
export function attribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;")
    .replace(/[\0-\x1f\x7f]/g, (c) => `&#${c.charCodeAt(0)};`);
}
