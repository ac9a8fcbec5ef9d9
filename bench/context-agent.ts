// The agent that benchmark `context` plays: a deterministic stand-in for a model at work. It searches,
// reads, edits, runs commands and notes in about the proportions of real sessions; each call is made of
// what the request shows, above all anchors. Not here: how a session is set up (context-play.ts) and
// what is measured of it (context-count.ts).

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { ChatRequest } from "../src/provider/provider.ts";
import { rowsOf } from "../tests/support/shown-rows.ts";

/** What the model answers: words, calls, or both. */
export interface Answer {
  text: string;
  calls: { name: string; args: unknown }[];
}

/**
 * Numbers in [0, 1) that look random and are the same for the same seed (mulberry32). Neighbouring seeds
 * give unlike numbers, which the xorshift of random.ts does not: here each deed has a seed of its own.
 */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** How often it does what: 45 % looking, 25 % edits, 25 % commands, some notes. */
const MIX = [
  ["read", 0.2],
  ["reread", 0.07],
  ["search", 0.18],
  ["edit", 0.25],
  ["command", 0.25],
  ["note", 0.05],
] as const;
type Deed = typeof MIX[number][0];

/** Deeds after which the user says something new. */
const TURN = 20;
/** Deeds after which the work moves on to other files. */
const FOCUS = 12;
/** Lines that are read at once, where a file has them. */
const [LEAST_LINES, MOST_LINES] = [100, 400];
/** Share of deeds before which somebody else changes a file that was read. */
const OUTSIDE = 0.07;

const WORDS =
  ("the parser keeps this value until a later step needs it so first look at where it is " +
    "made and who calls it then change only that part and run the narrow check again before anything else")
    .split(" ");

export class Agent {
  /** Edits that could not be made at once because their lines were not in sight. */
  forcedReads = 0;
  /** Changes made by somebody else. */
  outsideChanges = 0;
  readonly #cwd: string;
  readonly #paths: readonly string[];
  readonly #seed: number;
  readonly #steps: number;
  /** Files read, with the lines that were asked for. */
  readonly #read = new Map<string, [from: number, to: number]>();
  #deeds = 0;
  /** An edit that waits for its lines to be read. */
  #waiting: number | null = null;

  /**
   * @param paths Of the workspace's files, sorted.
   * @param steps Deeds of the session; Reads that come before an edit are not among them.
   */
  constructor(cwd: string, paths: readonly string[], seed: number, steps: number) {
    this.#cwd = cwd;
    this.#paths = paths.filter((path) => linesOf(join(cwd, path)).length >= LEAST_LINES);
    this.#seed = seed;
    this.#steps = steps;
  }

  /** Has it done all it was to do? */
  get isDone(): boolean {
    return this.#deeds >= this.#steps && this.#waiting === null;
  }

  /** What the user asks for in a turn. */
  ask(turn: number): string {
    const rand = random(this.#seed * 7919 + turn);
    return `Task ${turn}: ${sentence(rand, 45)} See ${pick(rand, this.#paths)}.`;
  }

  /** The answer to a request; the last of a turn has no call. */
  answer(request: ChatRequest): Answer {
    if (this.#waiting === null) this.#outside(random(this.#seed * 50_021 + this.#deeds));
    const deed = this.#waiting ?? ++this.#deeds;
    // Each deed has its own numbers: what one layout makes it read once more changes no later deed.
    const rand = random(this.#seed * 100_003 + deed);
    if (deed % TURN === 0 || deed === this.#steps) {
      return { text: `Done: ${sentence(rand, 70)}`, calls: [] };
    }
    const focus = this.#focus(Math.floor(deed / FOCUS));
    const calls = this.#calls(deed === 1 ? "search" : draw(rand), rand, focus, request, deed);
    return { text: rand() < 0.6 ? sentence(rand, 8 + Math.floor(rand() * 25)) : "", calls };
  }

  #calls(
    what: Deed,
    rand: () => number,
    focus: readonly string[],
    request: ChatRequest,
    deed: number,
  ): Answer["calls"] {
    const seen = focus.filter((path) => this.#read.has(path) && existsSync(join(this.#cwd, path)));
    if (seen.length === 0 && (what === "edit" || what === "reread")) what = "read";
    switch (what) {
      case "read":
        return this.#reads(rand, focus);
      case "reread":
        return [this.#readOf(rand, pick(rand, seen))];
      case "search":
        return [this.#search(rand, pick(rand, focus))];
      case "edit":
        return this.#edit(rand, pick(rand, seen), request, deed);
      case "command":
        return [{ name: "Bash", args: { command: this.#command(rand, focus) } }];
      case "note":
        return [this.#note(rand, deed)];
    }
  }

  /** The files that the work is about for a while: neighbours of one file. */
  #focus(n: number): string[] {
    const rand = random(this.#seed * 31 + n);
    const first = pick(rand, this.#paths);
    const near = this.#paths.filter((path) => dirname(path) === dirname(first) && path !== first);
    const others = Array.from(
      { length: 3 },
      () => pick(rand, near.length > 0 ? near : this.#paths),
    );
    return [first, ...others];
  }

  #reads(rand: () => number, focus: readonly string[]): Answer["calls"] {
    const isThere = (path: string) => existsSync(join(this.#cwd, path));
    const others = Array.from({ length: 5 }, () => pick(rand, this.#paths));
    const fresh = [...new Set([...focus, ...others])]
      .filter((path) => !this.#read.has(path) && isThere(path));
    const paths = fresh.slice(0, rand() < 0.25 ? 2 : 1);
    if (paths.length === 0) return [this.#readOf(rand, pick(rand, this.#paths.filter(isThere)))];
    return paths.map((path) => this.#readOf(rand, path));
  }

  #readOf(rand: () => number, path: string) {
    const total = linesOf(join(this.#cwd, path)).length;
    const size = LEAST_LINES + Math.floor(rand() * (MOST_LINES - LEAST_LINES));
    const from = total <= size ? 1 : 1 + Math.floor(rand() * (total - size));
    const to = Math.min(total, from + size - 1);
    this.#read.set(path, [from, to]);
    const whole = from === 1 && to === total;
    return { name: "Read", args: { files: [{ path, ...whole ? {} : { ranges: [[from, to]] } }] } };
  }

  #search(rand: () => number, path: string) {
    const names = existsSync(join(this.#cwd, path))
      ? linesOf(join(this.#cwd, path)).flatMap((line) => line.match(/\b[A-Za-z]{6,}\b/g) ?? [])
      : [];
    const queries = Array.from({ length: rand() < 0.3 ? 2 : 1 }, () => ({
      pattern: `\\b${names.length > 0 ? pick(rand, names) : "return"}\\b`,
      path: rand() < 0.5 ? "src" : dirname(path),
      ...(rand() < 0.3 ? { context: 2 } : {}),
    }));
    return { name: "Search", args: { queries } };
  }

  /** Changes one or two places; where they are not in sight, a Read of them comes first. */
  #edit(
    rand: () => number,
    path: string,
    request: ChatRequest,
    deed: number,
  ): Answer["calls"] {
    const lines = linesOf(join(this.#cwd, path));
    const [from, to] = this.#read.get(path) ?? [1, lines.length];
    const anchors = anchorsOf(request, path);
    const edits: unknown[] = [];
    let least = Math.max(1, from);
    for (let left = rand() < 0.2 ? 2 : 1; left > 0; left--) {
      const place = placeFor(rand, lines, least, Math.min(to, lines.length));
      if (place === null) break;
      const [first, last] = place;
      const start = anchorFor(anchors, lines[first - 1] ?? "", first);
      const end = anchorFor(anchors, lines[last - 1] ?? "", last);
      if (start === null || end === null) {
        if (this.#waiting === deed) break; // the first place is in sight now, the second may wait
        this.#waiting = deed;
        this.forcedReads++;
        const ranges = [[Math.max(1, first - 30), Math.min(lines.length, last + 30)]];
        return [{ name: "Read", args: { files: [{ path, ranges }] } }];
      }
      edits.push(editOf(rand, start, end, first === last, lines[first - 1] ?? "", deed));
      least = last + 5;
    }
    this.#waiting = null;
    if (edits.length === 0) return [this.#readOf(rand, path)];
    return [{ name: "Edit", args: { path, edits } }];
  }

  /** A check, a test run, something that floods, or a command that writes a file. */
  #command(rand: () => number, focus: readonly string[]): string {
    const folder = dirname(focus[0] ?? "src");
    const kind = rand();
    const all = "$(find src -name '*.ts' | LC_ALL=C sort)";
    if (kind < 0.25) return `wc -l ${folder}/*.ts`;
    if (kind < 0.45) return `grep -n "import" ${focus.join(" ")}`;
    if (kind < 0.65) {
      return `awk '/^export /{n++; print "ok " n " - " substr($0, 8, 60)}' ${folder}/*.ts`;
    }
    if (kind < 0.8) {
      return `awk '/^function /{n++; print "not ok " n " - " FILENAME ":" FNR} END{exit 1}' ${all}`;
    }
    if (kind < 0.93) return `grep -n "" ${all}`;
    const path = pick(rand, focus);
    return existsSync(join(this.#cwd, path))
      ? `sed -i '1i // Checked by command ${
        Math.floor(rand() * 1e6)
      }.' ${path} && echo fixed 1 file`
      : "echo nothing to fix";
  }

  #note(rand: () => number, deed: number) {
    return {
      name: "Note",
      args: {
        goal: sentence(random(this.#seed), 14),
        plan: [1, 2, 3, 4].map((n) => `[${n * 15 < deed ? "x" : " "}] ${sentence(rand, 7)}`),
        known: [`${pick(rand, this.#paths)}: ${sentence(rand, 10)}`],
      },
    };
  }

  /** Now and then somebody else changes a file that was read. */
  #outside(rand: () => number): void {
    if (rand() >= OUTSIDE || this.#read.size === 0) return;
    const path = join(this.#cwd, pick(rand, [...this.#read.keys()]));
    if (!existsSync(path)) return;
    const lines = linesOf(path);
    const at = Math.floor(rand() * lines.length);
    const added = Array.from(
      { length: 1 + Math.floor(rand() * 6) },
      (_, i) => `// ${basename(path)}: ${sentence(rand, 6)} ${i}`,
    );
    lines.splice(at, Math.floor(rand() * 4), ...added);
    writeFileSync(path, lines.join("\n") + "\n");
    this.outsideChanges++;
  }
}

function draw(rand: () => number): Deed {
  let left = rand();
  for (const [deed, share] of MIX) {
    left -= share;
    if (left < 0) return deed;
  }
  return "read";
}

function pick<T>(rand: () => number, from: readonly T[]): T {
  const item = from[Math.floor(rand() * from.length)];
  if (item === undefined) throw new Error("there is nothing to pick from");
  return item;
}

function sentence(rand: () => number, words: number): string {
  const text = Array.from({ length: words }, () => pick(rand, WORDS)).join(" ");
  return `${text[0]?.toUpperCase()}${text.slice(1)}.`;
}

/** Lines of a file of the workspace, which all end with a newline. */
export function linesOf(path: string): string[] {
  return readFileSync(path, "utf8").split("\n").slice(0, -1);
}

/** First and last line of a place that can be named by anchors: both stand only once in the file. */
function placeFor(
  rand: () => number,
  lines: readonly string[],
  from: number,
  to: number,
): [number, number] | null {
  const times = new Map<string, number>();
  for (const line of lines) times.set(line, (times.get(line) ?? 0) + 1);
  const good = (n: number) => times.get(lines[n - 1] ?? "") === 1;
  const start = from + Math.floor(rand() * Math.max(1, to - from));
  const size = 1 + Math.floor(rand() * 5);
  for (let first = start; first <= to; first++) {
    if (!good(first)) continue;
    for (let last = Math.min(to, first + size); last >= first; last--) {
      if (good(last)) return [first, last];
    }
  }
  return null;
}

/** Anchors of a file that a request shows, by the text of their lines. */
function anchorsOf({ messages }: ChatRequest, path: string): Map<string, [number, string][]> {
  const out = new Map<string, [number, string][]>();
  for (const message of messages) {
    for (const row of rowsOf(message)) {
      if (row.path !== path) continue;
      const known = out.get(row.text) ?? [];
      known.push([row.n, row.anchor]);
      out.set(row.text, known);
    }
  }
  return out;
}

/** The anchor shown last for a line, null when it is not in sight. */
function anchorFor(
  anchors: ReadonlyMap<string, readonly [number, string][]>,
  text: string,
  n: number,
): string | null {
  const shown = anchors.get(text) ?? [];
  return (shown.findLast(([number]) => number === n) ?? shown.at(-1))?.[1] ?? null;
}

function editOf(
  rand: () => number,
  start: string,
  end: string,
  isOne: boolean,
  text: string,
  deed: number,
): unknown {
  const indent = /^\s*/.exec(text)?.[0] ?? "";
  const fresh = Array.from(
    { length: 1 + Math.floor(rand() * 7) },
    (_, i) =>
      `${indent}const step${deed}x${i} = ${
        sentence(rand, 3).toLowerCase().replace(/\W+/g, "_")
      }(${i});`,
  ).join("\n");
  const kind = rand();
  const upTo = isOne ? {} : { end };
  if (kind < 0.3) return { op: "insert_after", start, content: fresh };
  if (kind < 0.4) return { op: "delete", start, ...upTo };
  return { op: "replace", start, ...upTo, content: fresh };
}
