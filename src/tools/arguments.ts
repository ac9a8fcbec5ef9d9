// Tolerant arguments: what a model sends, folded into the one form a tool advertises. Shapes are
// repaired (a lone string for a list, numbers as strings, JSON inside a string, near-miss field
// names); content is never guessed at. What cannot be mapped is an error that shows the right form.

import { z } from "zod";
import type { Tool } from "./tool.ts";

/** The part of JSON Schema that tools use. */
interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  enum?: unknown[];
}

export type ParsedArguments<I> = { ok: true; input: I } | { ok: false; error: string };

/** Field names models use for others, accepted where the schema has the right one and not this one. */
const ALIASES: Readonly<Record<string, string>> = {
  file: "path",
  filename: "path",
  file_name: "path",
  file_path: "path",
  filepath: "path",
  filePath: "path",
  dir: "path",
  directory: "path",
  cmd: "command",
  query: "pattern",
  regex: "pattern",
  old_string: "old",
  oldString: "old",
  old_str: "old",
  oldText: "old",
  old_text: "old",
  new_string: "new",
  newString: "new",
  new_str: "new",
  newText: "new",
  new_text: "new",
  text: "content",
  operation: "op",
};

const schemas = new WeakMap<z.ZodType, Schema>();

/** Bounds of numbers and lists: the parser's business. In a schema they cost tokens at every request. */
const BOUNDS = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "minItems",
  "maxItems",
];

/** JSON Schema of a tool's input, as it is sent to the model: shapes, without bounds. */
export function inputSchema(tool: { input: z.ZodType }): Schema & Record<string, unknown> {
  let schema = schemas.get(tool.input);
  if (!schema) {
    const { $schema: _, ...rest } = z.toJSONSchema(tool.input, {
      io: "input",
      override: ({ jsonSchema }) => {
        for (const bound of BOUNDS) delete jsonSchema[bound as keyof typeof jsonSchema];
      },
    }) as Schema & { $schema?: string };
    schema = rest;
    schemas.set(tool.input, schema);
  }
  return schema as Schema & Record<string, unknown>;
}

/** Arguments of a call → the tool's input, or an error written for the model. */
export function parseToolArguments<I>(
  tool: Tool<I>,
  args: unknown,
  schema: Schema = inputSchema(tool),
): ParsedArguments<I> {
  const value = fitArguments(tool, args, schema);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return {
      ok: false,
      error: fault(tool, [`the arguments must be an object, not ${kind(value)}`]),
    };
  }
  const parsed = tool.input.safeParse(value);
  if (parsed.success) return { ok: true, input: parsed.data };
  return {
    ok: false,
    error: fault(tool, parsed.error.issues.map((issue) => explain(issue, value, schema))),
  };
}

/** Arguments with the names and shapes of the schema, as far as they can be; not checked. */
export function fitArguments(
  tool: Pick<Tool, "aliases" | "normalize">,
  args: unknown,
  schema: Schema,
): unknown {
  const value = unwrapJson(args ?? {});
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const fitted = fit(value, schema, tool.aliases);
  if (!tool.normalize) return fitted;
  return fit(tool.normalize(fitted as Record<string, unknown>), schema, tool.aliases);
}

/** JSON in a string (also fenced, also encoded twice) → what it holds; anything else as it is. */
function unwrapJson(value: unknown): unknown {
  for (let depth = 0; depth < 3 && typeof value === "string"; depth++) {
    const text = value.trim().replace(/^```(?:json)?\s*\n([\s\S]*?)\n?```$/, "$1");
    try {
      value = JSON.parse(text);
    } catch {
      return value;
    }
  }
  return value;
}

/** Repairs shapes towards the schema; leaves alone whatever it is not sure about. */
function fit(
  value: unknown,
  schema: Schema,
  aliases: Readonly<Record<string, string>> = {},
): unknown {
  switch (schema.type) {
    case "object":
      return fitObject(value, schema, aliases);
    case "array":
      return fitArray(value, schema, aliases);
    case "integer":
    case "number":
      return typeof value === "string" && /^\s*-?\d+(\.\d+)?\s*$/.test(value)
        ? Number(value)
        : value;
    case "boolean":
      if (value === "true") return true;
      return value === "false" ? false : value;
    default:
      return value;
  }
}

function fitObject(
  value: unknown,
  schema: Schema,
  aliases: Readonly<Record<string, string>>,
): unknown {
  const object = typeof value === "string" ? unwrapJson(value) : value;
  if (typeof object !== "object" || object === null || Array.isArray(object)) return value;
  const properties = schema.properties ?? {};
  const out: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(object)) {
    // null is how many models leave an optional field out
    if (field === null && !(schema.required ?? []).includes(name)) continue;
    const other = aliases[name] ?? ALIASES[name];
    const known = name in properties || other === undefined || !(other in properties) ||
      other in object;
    const key = known ? name : other;
    const property = properties[key];
    out[key] = property ? fit(field, property, aliases) : field;
  }
  return out;
}

function fitArray(
  value: unknown,
  schema: Schema,
  aliases: Readonly<Record<string, string>>,
): unknown {
  const items = schema.items ?? {};
  let list = value;
  if (typeof list === "string") {
    const inner = unwrapJson(list);
    list = Array.isArray(inner) || (typeof inner === "object" && inner !== null) ? inner : list;
  }
  if (!Array.isArray(list)) {
    const fits = items.type === "string"
      ? typeof list === "string"
      : typeof list === "object" && list !== null;
    if (!fits) return list;
    list = [list];
  }
  // [1,80] where [[1,80]] is meant
  if (
    items.type === "array" && (list as unknown[]).length > 0 &&
    !(list as unknown[]).some((item) =>
      typeof item === "object" || (typeof item === "string" && item.trim().startsWith("["))
    )
  ) {
    list = [list];
  }
  return (list as unknown[]).map((item) => fit(item, items, aliases));
}

function explain(issue: z.core.$ZodIssue, value: unknown, schema: Schema): string {
  const path = issue.path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
    .join("")
    .replace(/^\./, "");
  const where = path === "" ? "" : `${path}: `;
  if (issue.code === "unrecognized_keys") {
    const accepted = Object.keys(schemaAt(schema, issue.path)?.properties ?? {}).join(", ");
    return `${where}unknown field ${
      issue.keys.map((key) => `"${key}"`).join(", ")
    }; accepted: ${accepted}`;
  }
  const got = valueAt(value, issue.path);
  const expected = schemaAt(schema, issue.path);
  const allowed = expected?.enum ? `one of ${expected.enum.join(", ")}` : expected?.type;
  if (got === undefined) {
    return `${path || "arguments"} is missing${expected?.enum ? `; it is ${allowed}` : ""}`;
  }
  if (allowed && kind(got) !== withArticle(allowed)) {
    return `${path} must be ${expected?.enum ? allowed : withArticle(allowed)}, not ${shown(got)}`;
  }
  return `${where}${issue.message}`;
}

function schemaAt(schema: Schema, path: PropertyKey[]): Schema | undefined {
  let at: Schema | undefined = schema;
  for (const key of path) at = typeof key === "number" ? at?.items : at?.properties?.[String(key)];
  return at;
}

function valueAt(value: unknown, path: PropertyKey[]): unknown {
  let at: unknown = value;
  for (const key of path) at = (at as Record<PropertyKey, unknown> | undefined)?.[key];
  return at;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${kind(value)} (${text.slice(0, 50)}…)` : text;
}

function kind(value: unknown): string {
  if (value === null) return "null";
  return withArticle(Array.isArray(value) ? "array" : typeof value);
}

function withArticle(word: string): string {
  return /^[aeio]/.test(word) ? `an ${word}` : `a ${word}`;
}

function fault<I>(tool: Tool<I>, faults: string[]): string {
  const list = faults.length === 1 ? faults[0] : faults.map((line) => `\n- ${line}`).join("");
  return `${tool.name}: ${list}\nNothing was done. A correct call: ${JSON.stringify(tool.example)}`;
}
