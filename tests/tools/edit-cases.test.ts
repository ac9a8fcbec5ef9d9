// The scenarios of tests/cases/edit.json, all of them, run as its README says: bytes on the disk and the
// result of each call.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { anchors, type LineHash } from "../../src/tools/anchor.ts";
import { openDocument } from "../../src/tools/document.ts";
import { Shown } from "../../src/tools/lines.ts";
import { sha256 } from "../../src/runtime/hash.ts";
import { Desk, type Result } from "./support.ts";

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

/** What Search would show: the matching lines, remembered like any others. */
function search(desk: Desk, path: string, pattern: string, hash: LineHash): void {
  const bytes = desk.bytes(path);
  const shown = new Shown(hash);
  const lines = display(desk, path);
  for (const [i, text] of lines.entries()) if (text.includes(pattern)) shown.add(i + 1, text);
  desk.context().keep(bytes);
  const seen = shown.observation(desk.at(path), sha256(bytes), "search", lines.length);
  if (seen) desk.seen.add(seen);
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
    const outside = (i: number) => {
      const { tool } = calls[i] ?? {};
      if (tool === "External") desk.write(path, args[i].write);
      if (tool === "Bash") {
        const { status } = spawnSync("bash", ["-c", args[i].command], { cwd: desk.root });
        assert.equal(status, 0);
        assert.equal(desk.text(path), args[i].writes);
      }
      if (tool === "Search") search(desk, path, args[i].pattern, hash);
    };
    if (early) calls.forEach((_, i) => calls[i]?.tool === "External" && outside(i));
    const edits = calls.flatMap((call, i) => (call.tool === "Edit" ? [i] : []));
    // Calls of other tools happen between the Edits, after the batch began.
    let next = 0;
    const made = await desk.batch(
      edits.map((i) => ({ tool: "Edit", args: args[i] })),
      (index) => {
        for (; next < (edits[index] ?? 0); next++) {
          if (!early || calls[next]?.tool !== "External") outside(next);
        }
        next++;
      },
    );
    for (; next < calls.length; next++) outside(next);
    const ok: Result = { output: "", text: "", status: "ok" };
    results.push(...calls.map((_, i) => made[edits.indexOf(i)] ?? ok));
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
