// Globs of Search and List: what they match, and a path that holds one.
// Not here: walking a tree (host/walk.ts).

import { basename, resolve, sep } from "node:path";
import picomatch from "picomatch";
import type { WalkEntry } from "../host/walk.ts";
import type { ToolContext } from "./tool.ts";

/** Wildcards in a glob: with many more a matcher may take for ever on a long name. */
const MAX_STARS = 8;

/** Where a tool looks. */
export interface Place {
  /** Real path. */
  base: string;
  globs: string[];
}

/** A path that exists is taken as it is, also with the signs of a glob in it (FE-41). */
export async function place(
  query: { path?: string; glob?: string },
  ctx: Pick<ToolContext, "host" | "session">,
): Promise<Place> {
  const globs = query.glob === undefined ? [] : [query.glob];
  const path = resolve(ctx.session.cwd, query.path ?? ".");
  const base = await ctx.host.realpath(path);
  const parts = path.split(sep);
  const at = parts.findIndex((part) => picomatch.scan(part).isGlob);
  if (query.path === undefined || at === -1 || await ctx.host.stat(base) !== null) {
    return { base, globs };
  }
  const folder = await ctx.host.realpath(parts.slice(0, at).join(sep) || sep);
  return { base: folder, globs: [...globs, `/${parts.slice(at).join("/")}`] };
}

/** The error for the model about a glob with too many wildcards, or null. */
export function wildFault(globs: readonly string[]): string | null {
  const wild = globs.find((glob) =>
    glob.replaceAll(/\\./g, "").replaceAll("**", "*").split("*").length > MAX_STARS + 1
  );
  return wild === undefined ? null : `The glob ${wild} has more than ${MAX_STARS} wildcards.`;
}

/**
 * A glob without `/` names files at any depth. One with `/` counts from the searched folder or the
 * workspace, one that begins with `/` from the searched folder only; both also take what lies below.
 */
export function globFilter(
  glob: string,
  base: string,
  root: string,
): (entry: Pick<WalkEntry, "path" | "relative">) => boolean {
  const negated = glob.startsWith("!");
  const text = glob.replace(/^!/, "").replace(/^\.\//, "").replace(/\/$/, "/**");
  const pattern = text.replace(/^\//, "");
  const byName = !text.includes("/");
  const matches = picomatch(byName ? pattern : [pattern, `${pattern}/**`], { dot: true });
  const top = root.endsWith(sep) ? root : root + sep;
  const fromRoot = base !== root && base.startsWith(top) && !text.startsWith("/");
  const fits = (path: string) => path === pattern || matches(path); // a literal name wins (FE-41)
  const named = (entry: Pick<WalkEntry, "path" | "relative">): boolean => {
    if (byName) return fits(basename(entry.path));
    return fits(entry.relative) ||
      (fromRoot && fits(entry.path.slice(top.length).replaceAll(sep, "/")));
  };
  return (entry) => named(entry) !== negated;
}
