// Nothing that is not true may pass for the present state of a file: random sessions are played through
// the loop with the real tools, and what every request says of files is compared with the disk.

import assert from "node:assert/strict";
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { FilesPlacement } from "../../src/context/files.ts";
import { project, type Session } from "../../src/loop/session.ts";
import { turn } from "../../src/loop/turn.ts";
import type { ChatRequest, Provider } from "../../src/provider/provider.ts";
import { bash } from "../../src/tools/bash.ts";
import { edit } from "../../src/tools/edit.ts";
import { read } from "../../src/tools/read.ts";
import { search } from "../../src/tools/search.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { type Bench, bench } from "../support/scripted.ts";
import { rowsOf, saysCurrent, type ShownRow, statedIn } from "../support/shown-rows.ts";

const RUNS = Number(process.env["NANOCODE_RUNS"] ?? 1);
const FILES = ["a.ts", "b.ts", "c.txt"];

/** What happens in a step; numbers are taken modulo what there is. */
type Deed =
  | { do: "read"; file: number; from: number; size: number }
  | { do: "edit"; file: number; line: number; op: number; size: number }
  | { do: "search"; file: number }
  | { do: "command"; file: number; line: number }
  | { do: "outside"; file: number; line: number; remove: number; add: string[] }
  | { do: "delete"; file: number }
  | { do: "rename"; file: number; to: number }
  | { do: "fold" }
  | { do: "resume" }
  | { do: "turn" };

const file = fc.nat(FILES.length - 1);
const line = fc.nat(30);
const text = fc.constantFrom(
  "}",
  "",
  "  return x;",
  "alpha",
  "beta",
  "gamma",
  "1:abc|x",
  "</Read>",
);
const deed: fc.Arbitrary<Deed> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("read" as const),
      file,
      from: line,
      size: fc.integer({ min: 0, max: 40 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("edit" as const),
      file,
      line,
      op: fc.nat(3),
      size: fc.nat(4),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("outside" as const),
      file,
      line,
      remove: fc.nat(4),
      add: fc.array(text, { maxLength: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("search" as const), file }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("command" as const), file, line }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete" as const), file }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("rename" as const), file, to: file }) },
  { weight: 1, arbitrary: fc.constantFrom<Deed>({ do: "fold" }, { do: "resume" }, { do: "turn" }) },
);

const linesOf = (path: string) => readFileSync(path, "utf8").split("\n").slice(0, -1);
const write = (path: string, lines: readonly string[]) =>
  writeFileSync(path, lines.map((line) => `${line}\n`).join(""));

/** A deed between requests, or the call that does it. */
function perform(deed: Deed, folder: string, request: ChatRequest, n: number) {
  const name = FILES["file" in deed ? deed.file : 0] as string;
  const path = join(folder, name);
  const lines = existsSync(path) ? linesOf(path) : [];
  switch (deed.do) {
    case "read": {
      const from = 1 + deed.from % Math.max(1, lines.length);
      const ranges = deed.size === 0
        ? {}
        : { ranges: [[from, Math.min(lines.length, from + deed.size)]] };
      return { name: "Read", args: { files: [{ path: name, ...ranges }] } };
    }
    case "edit": {
      // The anchor as shown last, however old: Edit finds the line or says what is there now.
      const shown = request.messages.flatMap(rowsOf).filter((row) => row.path === name);
      const start = shown[shown.length - 1 - deed.line % Math.max(1, shown.length)]?.anchor ??
        "1:abc";
      const content = Array.from({ length: deed.size }, (_, i) => `edited ${n} ${i}`).join("\n");
      const op = ["replace", "insert_after", "insert_before", "delete"][deed.op] as string;
      return {
        name: "Edit",
        args: { path: name, edits: [{ op, start, ...(op === "delete" ? {} : { content }) }] },
      };
    }
    case "search":
      return { name: "Search", args: { queries: [{ pattern: "alpha", path: name, context: 1 }] } };
    case "command":
      return { name: "Bash", args: { command: `sed -i '${1 + deed.line}d' ${name}` } };
    case "outside":
      write(path, lines.toSpliced(deed.line % (lines.length + 1), deed.remove, ...deed.add));
      break;
    case "delete":
      rmSync(path, { force: true });
      break;
    case "rename":
      if (existsSync(path)) renameSync(path, join(folder, FILES[deed.to] as string));
      break;
    default: // done between turns
  }
  return { name: "Bash", args: { command: `echo ${n}` } };
}

/** Compares all that a request says of files with the disk. */
function check({ messages }: ChatRequest, folder: string): void {
  const last = messages.at(-1)?.text ?? "";
  const state = last.startsWith("--- FILE STATE ---") ? last : "";
  const stated = statedIn(state);
  const onDisk = new Map(FILES.map((name) => {
    const path = join(folder, name);
    return [name, existsSync(path) ? linesOf(path) : null];
  }));
  const rows = messages.flatMap(rowsOf);
  const newest = new Map<string, ShownRow>();
  for (const row of rows) if (!row.isHit) newest.set(`${row.path} ${row.n}`, row);
  const told = () => `\n${state}\n${JSON.stringify(Object.fromEntries(onDisk), null, 1)}`;
  for (const { path, n, text } of newest.values()) {
    if (!saysCurrent(stated, path, n)) continue;
    assert.equal(onDisk.get(path)?.[n - 1], text, `${path} ${n} is said to be current${told()}`);
  }
  for (const [path, { state, known }] of stated.files) {
    const lines = onDisk.get(path) ?? null;
    assert.equal(state === "gone", lines === null, `${path} ${state}${told()}`);
    assert.equal(state === "empty", lines?.length === 0, `${path} ${state}${told()}`);
    // Inline, what moved did so from where a result in sight shows it.
    for (const { from, to, least, most } of stated.others === "as shown" ? known : []) {
      for (let n = from; n <= to; n++) {
        const wasShown = rows.some((row) =>
          row.path === path && row.text === lines?.[n - 1] && n - row.n >= least &&
          n - row.n <= most
        );
        assert.ok(wasShown, `${path} ${n} was not shown with ${n - most} to ${n - least}${told()}`);
      }
    }
  }
  for (const { path, n, text } of rowsOf(messages.at(-1) as ChatRequest["messages"][number])) {
    assert.equal(onDisk.get(path)?.[n - 1], text, `Content of ${path} ${n}${told()}`);
  }
}

/** Plays the deeds; every request is checked before it is answered. Gives the number of requests. */
async function play(
  b: Bench,
  deeds: readonly Deed[],
  placement: FilesPlacement,
  window: number | null,
): Promise<number> {
  let session: Session = b.session;
  let left = [...deeds];
  let requests = 0;
  const provider: Provider = {
    id: "p",
    async *stream(request) {
      await Promise.resolve();
      if (request.tools.length === 0) { // asked for a summary
        yield { type: "text", text: JSON.stringify({ summary: "What went before." }) };
        yield { type: "finish", reason: "stop", raw: null };
        return;
      }
      requests++;
      check(request, b.folder);
      const [next, ...rest] = left;
      if (!next || next.do === "turn" || next.do === "resume" || next.do === "fold") {
        yield { type: "text", text: "done" };
        yield { type: "finish", reason: "stop", raw: null };
        return;
      }
      left = rest;
      const { name, args } = perform(next, b.folder, request, requests);
      const fragment = { index: 0, id: `c${requests}`, name, args: JSON.stringify(args) };
      yield { type: "call", fragment };
      yield { type: "finish", reason: "tool_calls", raw: null };
    },
  };
  const deps = b.deps(provider, {
    files: placement,
    limits: { steps: 200 },
    toolLimits: { outputTokens: 2500, readTokens: 6000, bashTimeout: 10 },
  });
  deps.model.window = window;
  do {
    for await (const event of turn(session, { text: "go on", source: "typed" }, deps)) {
      if (event.type !== "turn_end" || event.reason === "done") continue;
      throw new Error(`the session ended: ${event.reason} ${event.detail}`);
    }
    const [next, ...rest] = left;
    left = rest;
    if (next?.do === "resume") {
      if (session !== b.session) session.log.close();
      session = b.reload();
    }
    if (next?.do === "fold") {
      const tr = [...session.stored.keys()].slice(0, 3);
      project(session, session.log.append({ type: "fold", turn: session.turn, step: 0, tr }));
    }
  } while (left.length > 0);
  if (session !== b.session) session.log.close();
  return requests;
}

describe("what a request says of files", () => {
  for (const placement of ["inline", "tail"] as const) {
    it(
      `is true at every step of a random session, ${placement} (property)`,
      { timeout: 600_000 },
      async () => {
        await fc.assert(
          fc.asyncProperty(
            fc.array(fc.array(text, { maxLength: 25 }), { minLength: 3, maxLength: 3 }),
            fc.array(deed, { minLength: 4, maxLength: 25 }),
            fc.constantFrom(null, 12_000, 3_000),
            async (files, deeds, window) => {
              const b = bench([read, edit, bash, search] as Tool[]);
              try {
                for (const [i, lines] of files.entries()) {
                  write(
                    join(b.folder, FILES[i] as string),
                    lines.map((line, n) => n % 3 ? line : `${line} ${n}`),
                  );
                }
                const requests = await play(b, deeds, placement, window);
                assert.ok(requests > deeds.filter(({ do: what }) => what === "read").length);
              } finally {
                b.close();
              }
            },
          ),
          { numRuns: 15 * RUNS },
        );
      },
    );
  }
});
