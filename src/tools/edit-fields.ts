// One edit of a call as the model sends it, and what can be wrong with its fields before any file is
// looked at. Not here: what the operations do (edit-plan.ts).

import { z } from "zod";
import { Lines } from "./document.ts";
import { codePoint } from "./lines.ts";

/** The fields that each op needs; those with "?" it takes as well. */
const FIELDS = {
  create: ["content"],
  overwrite: ["content"],
  replace: ["start", "end?", "content"],
  delete: ["start", "end?"],
  insert_before: ["start", "content"],
  insert_after: ["start", "content"],
  replace_text: ["old", "new"],
  replace_all: ["old", "new"],
} as const;

type Op = keyof typeof FIELDS;

/** The arguments of a call. */
export const editInput = z.strictObject({
  path: z.string(),
  edits: z.array(z.strictObject({
    op: z.enum(Object.keys(FIELDS) as [Op, ...Op[]]),
    start: z.string().optional(),
    end: z.string().optional(),
    content: z.string().optional(),
    old: z.string().optional(),
    new: z.string().optional(),
  })).min(1),
});

export type EditCall = z.infer<typeof editInput>;

/** One point of a call. */
export type Edit = EditCall["edits"][number];

/**
 * An edit in other words: `{old, new}` without an op is replace_text, or replace_all where a flag of that
 * name says so; a line number for an anchor becomes text, so that the answer can show what stands there.
 */
export function foldEdit(edit: unknown): unknown {
  if (typeof edit !== "object" || edit === null || Array.isArray(edit)) return edit;
  const { replace_all: all = false, ...fields } = edit as Record<string, unknown>;
  const names = Object.keys(fields);
  const isLiteral = ["old", "new"].every((word) => names.some((name) => name.startsWith(word)));
  if ("op" in fields || !isLiteral || typeof all !== "boolean") return withTextAnchors(edit);
  return { op: all ? "replace_all" : "replace_text", ...fields };
}

function withTextAnchors(edit: object): object {
  const isAnchor = (name: string) => /^(start|end)(_line)?$|^line$|^anchor$/.test(name);
  return Object.fromEntries(
    Object.entries(edit).map(([name, value]) => [
      name,
      typeof value === "number" && isAnchor(name) ? `${value}` : value,
    ]),
  );
}

/** Does the op write all of the file? */
export function isWhole({ op }: Edit): boolean {
  return op === "create" || op === "overwrite";
}

/** Some models fill in every field: an empty one that the op has no use for is the same as none. */
export function withoutEmptyFields(edit: Edit): Edit {
  const needed: readonly string[] = FIELDS[edit.op];
  const useless = (name: string, value: string) =>
    value === "" ? !needed.includes(name) : name === "end" && value === edit.start;
  return Object.fromEntries(
    Object.entries(edit).filter(([name, value]) => !useless(name, value)),
  ) as Edit;
}

/** What is wrong with the fields of an edit, or null. @param alone It is the only one of its call. */
export function wrongFields(edit: Edit, alone: boolean): string | null {
  const { op, ...fields } = edit;
  const known: readonly string[] = FIELDS[op];
  const missing = known.filter((name) => !name.endsWith("?") && !(name in fields));
  const extra = Object.keys(fields).filter((name) =>
    !known.includes(name) && !known.includes(`${name}?`)
  );
  if (missing.length > 0) return `${op} needs ${missing.join(" and ")}`;
  if (extra.length > 0) return `${op} takes no ${extra.join(" and no ")}`;
  if (isWhole(edit) && !alone) return `${op} must be the only edit of its call`;
  if (edit.old === "") return `${op} needs a non-empty old`;
  if ((edit.content ?? edit.new ?? "").includes("\0")) {
    return "the text holds a NUL character (\\u0000), which would make the file binary; if that is " +
      "meant, write it with a command";
  }
  return null;
}

/** Control characters of a text in words, or null: they are written, but hardly ever meant. */
export function controlCharacters(text: string): string | null {
  const found = new Set(text.match(/[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]/g));
  if (found.size === 0) return null;
  const names = [...found].map(codePoint).join(", ");
  return `the text holds control characters (${names}), written as they are`;
}

/** `content` as lines: one trailing newline is dropped, so "" is none and "\n" one blank line. */
export function contentLines(content: string): string[] {
  return new Lines(content).map(({ text }) => text);
}
