// The scenarios of tests/cases/edit.json, all of them, run as its README says, every call through
// prepare() and invoke(): bytes on the disk and the result of each call.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { anchors, type LineHash } from "../../src/tools/anchor.ts";
import { openDocument } from "../../src/tools/document.ts";
import { type Call, Desk, OK, type Result } from "./support.ts";

interface Expected {
  content: string | null;
  results: string[];
  must_say?: string;
}

interface Case {
  id: string;
  title: string;
  file: { path: string; content: string | null };
  calls: { tool: string; batch: number; args: Record<string, string> }[];
  expect: Expected & {
    error?: { call: number; about: string; mentions?: string[] };
    alt?: Expected[];
  };
}

const CASES = JSON.parse(
  readFileSync(fileURLToPath(new URL("../cases/edit.json", import.meta.url)), "utf8"),
) as Case[];

/** Line texts of a file as it was shown. */
type Display = string[];

/** `{{3}}`, `{{3#2}}`, `{{3#bad}}`, `{{3@1}}` → anchors. */
function fill(text: string, displays: Display[], hash: LineHash): string {
  return text.replace(/\{\{(\d+)(?:#(\w+))?(?:@(\d+))?\}\}/g, (_, line, other, display) => {
    const lines = displays[Number(display ?? 0)] ?? [];
    if (other === "bad") {
      const used = new Set(lines.map(hash));
      return `${line}:${["bad", "qqq", "zzz"].find((h) => !used.has(h))}`;
    }
    return `${line}:${hash(lines[Number(other ?? line) - 1] ?? "")}`;
  });
}

function display(desk: Desk, path: string): Display {
  if (!existsSync(desk.at(path))) return [];
  const opened = openDocument(desk.bytes(path));
  assert.equal(opened.kind, "text");
  return opened.kind === "text" ? opened.document.lines.map(({ text }) => text) : [];
}

/** The call as the tools take it. */
function callOf(tool: string, args: Record<string, string>): Call {
  return tool === "Search"
    ? { tool, args: { queries: [args] } }
    : { tool: tool as Call["tool"], args: tool === "Bash" ? { command: args["command"] } : args };
}

interface Variant {
  name: string;
  /** Other programs write before the reply instead of between its calls. */
  early: boolean;
  /** The model reads the file again after each batch, or has only the results of Edit. */
  reread: boolean;
}

async function play(test: Case, { early, reread }: Variant): Promise<void> {
  const hash = await anchors();
  const { path, content } = test.file;
  using desk = new Desk(content === null ? {} : { [path]: content });
  const displays = [display(desk, path)];
  if (test.calls[0]?.tool !== "Search" && content !== null) await desk.read(path);
  const results: Result[] = [];
  for (const batch of new Set(test.calls.map((call) => call.batch))) {
    const calls = test.calls.filter((call) => call.batch === batch);
    const args = calls.map((call) =>
      JSON.parse(
        JSON.stringify(call.args, (_, v) => typeof v === "string" ? fill(v, displays, hash) : v),
      )
    );
    const isEarly = (i: number) => early && calls[i]?.tool === "External";
    for (const i of calls.keys()) if (isEarly(i)) desk.write(path, args[i].write);
    const made = await desk.batch(
      calls.flatMap(({ tool }, i) => isEarly(i) ? [] : [callOf(tool, args[i])]),
    );
    results.push(...calls.map((_, i) => isEarly(i) ? OK : made.shift() as Result));
    displays.push(display(desk, path));
    if (reread && existsSync(desk.at(path))) await desk.read(path);
  }

  const got = existsSync(desk.at(path)) ? desk.text(path) : null;
  const statuses = results.map(({ status }) => status);
  const texts = results.map(({ text }) => text).join("\n---\n");
  const { expect } = test;
  const met = [expect, ...(expect.alt ?? [])].find((wanted) =>
    wanted.content === got && wanted.results.join() === statuses.join() &&
    (wanted.must_say === undefined || texts.includes(wanted.must_say))
  );
  assert.ok(
    met,
    `${JSON.stringify({ got, statuses })}\nexpected ${JSON.stringify(expect)}\n${texts}`,
  );
  for (const { text, status } of results.filter((result) => result.status === "error")) {
    assert.match(text, /nothing was written/i, status);
    assert.match(text, /send the call again|use op create|overwrite|instead/i);
  }
  const { error } = expect;
  if (error && met === expect) {
    const { text } = results[error.call - 1] as Result;
    for (const mention of error.mentions ?? []) {
      const wanted = fill(mention, displays, hash);
      assert.ok(text.includes(wanted), `${JSON.stringify(wanted)} is missing in:\n${text}`);
    }
    if (error.about === "changed on disk") assert.match(text, /changed on disk/);
  }
}

const VARIANTS: Variant[] = [
  { name: "", early: false, reread: true },
  { name: "only Edit results shown", early: false, reread: false },
  { name: "written before the reply", early: true, reread: true },
];

describe("edit cases", () => {
  for (const test of CASES) {
    for (const variant of VARIANTS) {
      if (variant.early && !test.calls.some(({ tool }) => tool === "External")) continue;
      if (!variant.reread && !test.calls.some(({ batch }) => batch > 1)) continue;
      // EC-66 uses the anchor of a line that the result of its first edit does not show.
      if (!variant.reread && test.id === "EC-66") continue;
      const suffix = variant.name === "" ? "" : ` (${variant.name})`;
      it(`${test.id} ${test.title}${suffix}`, () => play(test, variant));
    }
  }
});
