// What a person reads about a compaction by hand: its preview, how it ended, and that it was taken back.

import type { Compacted, CompactPreview, Undone } from "../loop/compact-now.ts";
import { tokens } from "./lines.ts";

/** Lines of `/compact --preview`. */
export function previewLines(preview: CompactPreview | null): string[] {
  if (!preview) return [NOTHING];
  const { words, kept, before, goes, after } = preview;
  return [
    `/compact would put a summary in the place of ${span(preview)}: ` +
    `about ${tokens(goes)} of ${tokens(before)} tokens.`,
    `Kept word for word: ${[yours(words), ...(kept > 0 ? [later(kept)] : [])].join(" and ")}.`,
    "Memory, FILE STATE, rules and the system prompt are not touched.",
    after < before
      ? `After it about ${
        tokens(after)
      } tokens, if the summary is as long as one made without the model.`
      : "The summary would be about as long as what it stands for: nothing would be gained.",
    "Nothing was changed, and no model was asked.",
  ];
}

/** How `/compact` ended; empty when an event has said it. */
export function compactedLine(how: Compacted): string {
  switch (how) {
    case "compacted":
    case "denied":
      return "";
    case "nothing":
      return NOTHING;
    case "no gain":
      return "Not compacted: a summary would be as long as what it stands for.";
    case "interrupted":
      return "Interrupted: nothing was compacted.";
  }
}

/** Lines of `/compact --undo`. */
export function undoneLines(undone: Undone | null): string[] {
  if (!undone) return ["Nothing to take back: no compaction stands in this session."];
  const { before, after, isFull } = undone;
  return [
    `Taken back: ${span(undone)} word for word again, ` +
    `about ${tokens(before)} → ${tokens(after)} tokens.`,
    ...(isFull ? ["That fills the window: the next turn will compact it again by itself."] : []),
  ];
}

const NOTHING = "Nothing can be left out: there is no finished turn that is not summarised yet.";

function span(
  { turns: [first, last], records }: Pick<CompactPreview, "turns" | "records">,
): string {
  const turns = first === last ? `turn ${first}` : `turns ${first} to ${last}`;
  return `${turns} (${records} ${records === 1 ? "record" : "records"})`;
}

const yours = (words: number) => words === 1 ? "your message" : `your ${words} messages`;
const later = (kept: number) => kept === 1 ? "the newest turn" : `the ${kept} newest turns`;
