// What the loop tells hooks, and asks them: one way to call them with the ids that every event carries, and
// what their notes become. Which hooks there are and how they run is plugins/hooks.ts.

import type { HookEvent } from "../plugins/manifest.ts";
import type { HookOutcome, Hooks } from "../plugins/hooks.ts";
import type { HookInput } from "../plugins/sdk.ts";
import { oneLine } from "../runtime/one-line.ts";
import type { Session } from "./session.ts";
import type { Run } from "./turn.ts";

/** Characters of a hook's note that the model gets. */
const MAX_NOTE = 8000;

export interface Hearers {
  hooks?: Hooks;
}

type Place = Pick<Run, "turn" | "step" | "signal">;

/**
 * Runs the hooks of an event, if any listen.
 *
 * @param what What the event is about.
 * @param signal Ends the wait; by default as the turn's.
 */
export async function tell(
  event: HookEvent,
  session: Session,
  { hooks }: Hearers,
  { turn, step, signal }: Place,
  what: Partial<HookInput> = {},
): Promise<HookOutcome> {
  if (!hooks?.has(event)) return {};
  const { id, root, parent } = session;
  const ids = { session: id, project: root, ...(parent === null ? {} : { parent }), turn, step };
  return await hooks.run(event, { ...ids, ...what }, signal);
}

/** Adds notes of hooks to the context, at its end, and says whose they are. */
export function sayNotes({ notes = [] }: HookOutcome, run: Pick<Run, "append">): void {
  for (const { plugin, text } of notes) {
    const kept = text.length > MAX_NOTE
      ? `${text.slice(0, MAX_NOTE)}\n[cut: ${text.length - MAX_NOTE} more characters]`
      : text;
    run.append({ type: "user", source: "hook", text: `Note of the plugin ${plugin}:\n${kept}` });
  }
}

/** A denial as the end of a turn. */
export function refused({ plugin, reason }: NonNullable<HookOutcome["denied"]>) {
  return {
    reason: "permission" as const,
    detail: `Refused by the plugin ${plugin}: ${oneLine(reason, 1000)}`,
  };
}
