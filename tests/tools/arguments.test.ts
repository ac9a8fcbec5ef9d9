import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { z } from "zod";
import { inputSchema, parseToolArguments } from "../../src/tools/arguments.ts";
import type { Tool } from "../../src/tools/tool.ts";

const tool = {
  name: "Edit",
  description: "",
  input: z.strictObject({
    path: z.string(),
    edits: z.array(z.strictObject({
      op: z.enum(["create", "replace"]),
      start: z.string().optional(),
      content: z.string().optional(),
    })),
    ranges: z.array(z.array(z.int())).optional(),
    limit: z.int().optional(),
    deep: z.boolean().optional(),
    words: z.array(z.string()).optional(),
  }),
  example: { path: "a.ts", edits: [{ op: "replace", start: "1:abc", content: "x" }] },
} as unknown as Tool<{ path: string; edits: unknown[] }>;

const edits = [{ op: "create", content: "x\n" }];
const accepted = (args: unknown) => {
  const parsed = parseToolArguments(tool, args);
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.input as Record<string, unknown>;
};
const refused = (args: unknown) => {
  const parsed = parseToolArguments(tool, args);
  assert.ok(!parsed.ok);
  return parsed.error;
};
const caseFile = (name: string) =>
  JSON.parse(readFileSync(new URL(`../cases/files/${name}`, import.meta.url), "utf8"));

describe("tolerant arguments", () => {
  it("folds near-miss shapes into the advertised form", () => {
    const right = { path: "a.txt", edits };
    const forms: unknown[] = [
      right,
      JSON.stringify(right),
      JSON.stringify(JSON.stringify(right)),
      "```json\n" + JSON.stringify(right) + "\n```",
      { file_path: "a.txt", edits },
      { filename: "a.txt", edits },
      { path: "a.txt", edits: JSON.stringify(edits) },
      { path: "a.txt", edits: edits[0] },
      { path: "a.txt", edits: [JSON.stringify(edits[0])] },
      { path: "a.txt", edits, limit: null },
      { path: "a.txt", edits: [{ operation: "create", text: "x\n" }] },
    ];
    for (const form of forms) assert.deepEqual(accepted(form), right, JSON.stringify(form));
  });

  it("the case files ST-08 and ST-09 are accepted", () => {
    for (
      const name of [
        "ST-08/files/args.json",
        "ST-08/files/args2.json",
        "ST-09/files/args.json",
        "ST-09/files/args2.json",
      ]
    ) {
      assert.deepEqual(accepted(caseFile(name))["edits"], edits, name);
    }
  });

  it("numbers, booleans and lists as strings, a flat range, a lone word", () => {
    const input = accepted({
      path: "a",
      edits,
      limit: "12",
      deep: "true",
      ranges: "[1, 80]",
      words: "one",
    });
    assert.deepEqual([input["limit"], input["deep"], input["ranges"], input["words"]], [12, true, [[
      1,
      80,
    ]], ["one"]]);
    assert.deepEqual(accepted({ path: "a", edits, ranges: ["1", "80"] })["ranges"], [[1, 80]]);
    assert.deepEqual(accepted({ path: "a", edits, ranges: [[1, 2], "[3,4]"] })["ranges"], [[1, 2], [
      3,
      4,
    ]]);
  });

  it("never touches content: JSON, numbers and escapes in a text stay text", () => {
    for (
      const content of [
        '{"a":1}',
        "12",
        "true",
        "[1]",
        "null",
        "\\n\\t",
        '"quoted"',
        "```json\n{}\n```",
      ]
    ) {
      const input = accepted({ path: "a", edits: [{ op: "create", content }] });
      assert.deepEqual(input["edits"], [{ op: "create", content }]);
    }
    assert.equal(accepted({ path: "12", edits })["path"], "12");
  });

  it("what cannot be mapped names the field, what is wrong, what is accepted, and a correct call", () => {
    assert.match(
      refused({ path: "a", edits, colour: 1 }),
      /unknown field "colour"; accepted: path, edits/,
    );
    assert.match(
      refused({ path: "a", edits: [{ op: "create", wrong: 1 }] }),
      /edits\[0\]: unknown field "wrong"; accepted: op, start, content/,
    );
    assert.match(refused({ edits }), /path is missing/);
    assert.match(refused({ path: 3, edits }), /path must be a string, not 3/);
    assert.match(
      refused({ path: "a", edits: [{ op: "move" }] }),
      /edits\[0\]\.op must be one of create, replace, not "move"/,
    );
    assert.match(refused("no json"), /must be an object, not a string/);
    assert.match(
      refused({ path: "a", edits: "nonsense" }),
      /edits must be an array, not "nonsense"/,
    );
    assert.match(refused({}), /A correct call: \{"path":"a.ts"/);
    assert.match(refused({}), /Nothing was done/);
  });

  it("both names of a field are not merged in silence", () => {
    assert.match(refused({ path: "a", file: "b", edits }), /unknown field "file"/);
  });

  it("the schema sent to a model is plain", () => {
    const text = JSON.stringify(inputSchema(tool));
    assert.ok(!/anyOf|oneOf|prefixItems|\$ref|\$schema/.test(text));
    assert.ok(text.includes('"additionalProperties":false'));
  });
});
