// What the user allowed for the rest of the session by answering "always". Only what was displayed is
// granted: a command exactly as shown, a path exactly as shown, or edits inside the workspace.

import type { Effect } from "../session/records.ts";
import { isInside, isProtected, isSecret } from "./paths.ts";

export class Grants {
  #keys = new Set<string>();

  /** Are all effects covered by what was granted? */
  cover(effects: readonly Effect[], root: string): boolean {
    return effects.length > 0 && !needsPerson(effects) &&
      effects.every((effect) => this.#keys.has(keyOf(effect, root)));
  }

  add(effects: readonly Effect[], root: string): void {
    for (const effect of effects) this.#keys.add(keyOf(effect, root));
  }
}

/** Trust is asked for each time: nobody can agree now to what will be shown later. */
export function needsPerson(effects: readonly Effect[]): boolean {
  return effects.some(({ kind }) => kind === "trust");
}

/** What "always" would grant for these effects, in words for the approval box; "" for nothing. */
export function grantText(effects: readonly Effect[], root: string): string {
  if (needsPerson(effects)) return "";
  return [...new Set(effects.map((effect) => scopeOf(effect, root)))].join(", ");
}

function isPlainEdit(effect: Effect, root: string): boolean {
  return effect.kind === "write" && isInside(root, effect.path) &&
    !isProtected(root, effect.path) &&
    !isSecret(effect.path);
}

function keyOf(effect: Effect, root: string): string {
  if (isPlainEdit(effect, root)) return "write workspace";
  switch (effect.kind) {
    case "read":
    case "write":
      return `${effect.kind} ${effect.path}`;
    case "exec":
      return `exec ${effect.cwd}\0${effect.command}`;
    case "net":
      return `net ${effect.host}`;
    case "spend":
    case "trust":
      return `${effect.kind} ${effect.what}`;
  }
}

function scopeOf(effect: Effect, root: string): string {
  if (isPlainEdit(effect, root)) return "edits inside the workspace";
  switch (effect.kind) {
    case "read":
      return `reading ${effect.path}`;
    case "write":
      return `writing ${effect.path}`;
    case "exec":
      return "exactly this command";
    case "net":
      return `connections to ${effect.host}`;
    case "spend":
    case "trust":
      return effect.what;
  }
}
