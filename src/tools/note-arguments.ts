// The forms in which models write plans and facts (todo tools of other agents, lists as text), folded
// into the one that Note advertises. Generic repairs (field names, JSON in strings) are arguments.ts.

/** Words for the state of a step → the mark that Memory shows. */
const MARKS: Readonly<Record<string, string>> = {
  pending: "[ ]",
  open: "[ ]",
  todo: "[ ]",
  not_started: "[ ]",
  in_progress: "[~]",
  active: "[~]",
  current: "[~]",
  doing: "[~]",
  started: "[~]",
  completed: "[x]",
  complete: "[x]",
  done: "[x]",
  finished: "[x]",
  cancelled: "[-]",
  canceled: "[-]",
  dropped: "[-]",
  skipped: "[-]",
  abandoned: "[-]",
};

/** Fields that hold the words of an item, and those that hold its state. */
const TEXTS = ["text", "step", "content", "title", "task", "description", "name", "fact"];
const STATES = ["status", "state", "done", "completed"];

/** `plan` and `known` as text with lines or as objects, `goal` and `check` as lists → strings. */
export function foldNoteArguments(args: Record<string, unknown>): Record<string, unknown> {
  const out = { ...args };
  for (const name of ["goal", "check"]) {
    const value = args[name];
    const texts = Array.isArray(value) ? value.map(itemOf) : [];
    if (texts.length > 0 && texts.every((text) => typeof text === "string")) {
      out[name] = texts.join("; ");
    }
  }
  for (const name of ["plan", "known"]) {
    const value = args[name];
    if (value === undefined) continue;
    const items = Array.isArray(value) ? value : [value];
    const [only] = items;
    out[name] = items.length === 1 && typeof only === "string" && isList(only, name)
      ? only.split("\n").filter((line) => line.trim() !== "")
      : items.map(itemOf);
  }
  return out;
}

/** A text whose lines are items: every plan of several lines, facts only where each is marked as one. */
function isList(text: string, name: string): boolean {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return name === "plan" || lines.every((line) => /^\s*(?:[-*]\s|\d+[.)]\s|\[)/.test(line));
}

/** An item as text with its mark; what is no item stays as it is and is told to be wrong. */
function itemOf(item: unknown): unknown {
  if (typeof item !== "object" || item === null || Array.isArray(item)) return item;
  const fields = item as Record<string, unknown>;
  const text = TEXTS.map((name) => fields[name]).find((value) => typeof value === "string");
  if (text === undefined) return item;
  const state = STATES.map((name) => fields[name]).find((value) => value !== undefined);
  if (typeof state === "boolean") return `${state ? "[x]" : "[ ]"} ${text}`;
  if (typeof state !== "string") return text;
  const mark = MARKS[state.trim().toLowerCase().replaceAll(/[\s-]+/g, "_")];
  return mark === undefined ? `${text} (${state})` : `${mark} ${text}`;
}
