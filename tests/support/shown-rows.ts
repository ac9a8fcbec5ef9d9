// What a request shows of files, read back from its text: rows `LINE:HASH|text` with their file, and what
// FILE STATE says of it. Only for measuring and testing: nanocode itself never reads its own text.

import type { Message } from "../../src/provider/provider.ts";

export interface ShownRow {
  path: string;
  n: number;
  /** `LINE:HASH`. */
  anchor: string;
  text: string;
  /** Of a Search: FILE STATE does not follow those. */
  isHit: boolean;
}

const known = new WeakMap<Message, ShownRow[]>();

/** Rows of files in a message. */
export function rowsOf(message: Message): readonly ShownRow[] {
  let rows = known.get(message);
  if (!rows) known.set(message, rows = [...findRows(message)]);
  return rows;
}

function* findRows(message: Message): Generator<ShownRow> {
  const { role, text } = message;
  const isFiles = role === "user" && /^--- (FILE STATE|Files) ---/.test(text);
  const isTool = role === "tool" && ["Read", "Edit", "Search"].includes(message.name);
  if (!isFiles && !isTool) return;
  let path = "";
  for (const line of text.split("\n")) {
    const title = isFiles
      ? /^@@ (.*) \d+:\d+$/.exec(line)
      : /^<(?:Read|Edit) path="([^"]*)"/.exec(line) ??
        /^The lines of (.*) now \(of \d+\):$/.exec(line);
    if (title) path = title[1] ?? "";
    const row = /^(\d+):([a-z]{3})\|(.*)$/.exec(line);
    if (row) {
      const [, n = "", hash = "", shown = ""] = row;
      yield { path, n: Number(n), anchor: `${n}:${hash}`, text: shown, isHit: false };
      continue;
    }
    const hit = isTool && /^[> ] (.*?):(\d+):([a-z]{3})\|(.*)$/.exec(line);
    if (hit) {
      const [, file = "", n = "", hash = "", shown = ""] = hit;
      yield { path: file, n: Number(n), anchor: `${n}:${hash}`, text: shown, isHit: true };
    }
  }
}

/** Lines, 1-based inclusive, that were shown with numbers lower by `least` to `most`. */
export interface StatedRange {
  from: number;
  to: number;
  least: number;
  most: number;
}

export interface StatedFile {
  state: "ranges" | "gone" | "not compared" | "empty" | "nothing";
  /** `current` (least and most are 0) and `moved` ones. */
  known: StatedRange[];
  changed: [from: number, to: number][];
  /** Numbers in front of which shown lines are missing. */
  removed: number[];
  /** Numbers that hold lines which were never shown, and the last number of all. */
  unseen: [from: number, to: number][];
  end: number;
  /** Not all ranges are named. */
  isCut: boolean;
}

/** What the block Files of a FILE STATE says. */
export interface Stated {
  files: Map<string, StatedFile>;
  /** What holds for lines that are not named. */
  others: "as shown" | "nothing said";
}

const NOTHING: Stated = { files: new Map(), others: "nothing said" };

/** Reads the block Files of a FILE STATE. Throws where a line of it has no known form. */
export function statedIn(text: string): Stated {
  const block = text.split("\n\n").find((part) => /^Files\b/.test(part));
  if (block === undefined) return NOTHING;
  const [title = "", ...lines] = block.split("\n");
  const saysOthers = /as (?:they were|it was) shown/.test(title);
  const files = new Map<string, StatedFile>();
  let isCut = false;
  for (const line of lines) {
    if (/^- … \d+ more/.test(line)) {
      isCut = true;
      continue;
    }
    const [, path, what] =
      /^- (.*?) (gone|empty|not compared|nothing|\d+:\d+ .*|lines before .*|ends at .*)/.exec(
        line,
      ) ?? [];
    if (path === undefined || what === undefined) throw new Error(`not understood: ${line}`);
    files.set(path, fileOf(what));
  }
  return { files, others: saysOthers && !isCut ? "as shown" : "nothing said" };
}

function fileOf(what: string): StatedFile {
  const file: StatedFile = {
    state: "ranges",
    known: [],
    changed: [],
    removed: [],
    unseen: [],
    end: Infinity,
    isCut: false,
  };
  if (what === "gone" || what === "empty" || what === "not compared" || what === "nothing") {
    return { ...file, state: what };
  }
  for (const part of what.split(", ")) {
    const [, from, to, state, least = "0", most = least] =
      /^(\d+):(\d+) (current|moved|changed|not seen yet)(?: ([+-]\d+)(?: to ([+-]\d+))?)?/.exec(
        part,
      ) ?? [];
    const removed = /^lines before (\d+) removed/.exec(part)?.[1];
    const end = /^ends at (\d+)$/.exec(part)?.[1];
    if (end !== undefined) file.end = Number(end);
    else if (removed !== undefined) file.removed.push(Number(removed));
    else if (/^… \d+ more ranges$/.test(part)) file.isCut = true;
    else if (from === undefined || to === undefined) throw new Error(`not understood: ${part}`);
    else if (state === "changed") file.changed.push([Number(from), Number(to)]);
    else if (state === "not seen yet") file.unseen.push([Number(from), Number(to)]);
    else {
      file.known.push({
        from: Number(from),
        to: Number(to),
        least: Number(least),
        most: Number(most),
      });
    }
  }
  return file;
}

/** Does FILE STATE say that this number still holds the line it was last shown with? */
export function saysCurrent({ files, others }: Stated, path: string, n: number): boolean {
  const file = files.get(path);
  if (!file) return others === "as shown";
  const holds = ([from, to]: readonly [number, number]) => n >= from && n <= to;
  const moved = file.known.filter(({ least }) => least !== 0);
  if (others === "nothing said") {
    return file.known.some(({ from, to, least }) => least === 0 && holds([from, to]));
  }
  return file.state === "ranges" && !file.isCut && n <= file.end &&
    ![...moved.map(({ from, to }) => [from, to] as const), ...file.changed, ...file.unseen].some(
      holds,
    );
}
