// The forms in which models ask for lines, folded into the one that Read advertises, and ranges checked
// against the file. Generic repairs (field names, JSON in strings) are arguments.ts.

import { count, mergeSpans, type Span } from "./lines.ts";

/** `{path, ranges}`, `{files: "a.ts"}`, `{path, offset, limit}` and the like → `{files: [{path, ranges}]}`. */
export function foldReadArguments(args: Record<string, unknown>): Record<string, unknown> {
  const { files, ...rest } = args;
  if (files === undefined) return Object.keys(rest).length > 0 ? { files: foldItem(rest) } : args;
  const items = Array.isArray(files) ? files : [files];
  return {
    ...rest,
    files: items.flatMap((item: unknown) => {
      if (typeof item === "string") return { path: item };
      return typeof item === "object" && item !== null ? foldItem(item) : item;
    }),
  };
}

/** One item, or several where it has a list of paths. */
export function foldItem(item: object): Record<string, unknown>[] {
  const fields = item as Record<string, unknown>;
  const { start, end, start_line = start, end_line = end, ...others } = fields;
  const { offset = start_line, limit, range, lines = range, ranges = lines, ...out } = others;
  if (ranges !== undefined) out.ranges = foldRanges(ranges);
  else if ((offset ?? limit ?? end_line) !== undefined) {
    const from = Math.max(Number(offset ?? 1), 1);
    out.ranges = [[from, limit === undefined ? Number(end_line ?? -1) : from + Number(limit) - 1]];
  }
  return Array.isArray(out.path) ? out.path.map((path: unknown) => ({ ...out, path })) : [out];
}

/** `"1-20"`, `"1:3, 7"`, `{start, end}`, also in lists → `[[1, 20]]`; the rest as it is. */
function foldRanges(ranges: unknown): unknown {
  if (typeof ranges === "string") {
    const parts = ranges.split(",").map((part) =>
      /^\s*(\d+)\s*(?:(?:-|:|\.\.)\s*(-?\d+)\s*)?$/.exec(part)
    );
    const spans = parts.map((part) => part && [Number(part[1]), Number(part[2] ?? part[1])]);
    return spans.includes(null) ? ranges : spans;
  }
  if (Array.isArray(ranges)) {
    const isRange = ranges.every((end) => typeof end === "number" || /^-?\d+$/.test(String(end)));
    return isRange ? ranges : ranges.flatMap((range: unknown) => {
      const folded = foldRanges(range);
      return Array.isArray(folded) && folded.every(Array.isArray) ? folded : [folded];
    });
  }
  if (typeof ranges !== "object" || ranges === null) return ranges;
  const { start, end, ...others } = ranges as Record<string, unknown>;
  return start === undefined || Object.keys(others).length > 0 ? ranges : [[start, end ?? -1]];
}

/** Ranges of lines within the file (or `what`), sorted and joined; what is wrong with the others. */
export function spansOf(
  ranges: readonly (readonly number[])[] | undefined,
  total: number,
  what = "file",
): { spans: [number, number][]; faults: string[] } {
  if (!ranges || ranges.length === 0) return { spans: mergeSpans([[1, total]], total), faults: [] };
  const faults: string[] = [];
  const good: Span[] = [];
  for (const range of ranges) {
    const [first = NaN, last = -1] = range;
    // 0 is how counting from zero begins; the first line is meant.
    const from = first === 0 && last !== 0 ? 1 : first;
    const to = last === -1 ? total : last;
    const whole = range.every(Number.isInteger) && range.length <= 2;
    if (whole && from >= 1 && from <= total && to >= from) good.push([from, to]);
    else {
      const right = total === 0 ? "" : `; a range is [start, end], for example [1, ${total}]`;
      faults.push(
        `range ${JSON.stringify(range)}: the ${what} has ${count(total, "line")}${right}`,
      );
    }
  }
  return { spans: mergeSpans(good, total), faults };
}

/** The characters of lines that are to be shown, at most `most`, or what is wrong with them. */
export function columnsOf(
  columns: readonly number[] | undefined,
  most: number,
): { columns?: Span; fault?: string } {
  if (!columns || columns.length === 0) return {};
  const [from = 1, last = -1] = columns;
  const to = last === -1 ? Infinity : last;
  if (columns.length <= 2 && Number.isInteger(from) && from >= 1 && to >= from) {
    return { columns: [from, Math.min(to, from + Math.max(most, 1) - 1)] };
  }
  const fault = `columns ${JSON.stringify(columns)}: give [first, last] with 1 <= first <= last, ` +
    "for example [2001, 4000]";
  return { fault };
}
