// Where the lines of one version of a file are in another. A line has a place only if *every* shortest
// edit script leads it there: with repeated lines a diff picks one of several equally good answers, and
// a guess is how an edit lands on the wrong line. Not here: which line an anchor means (resolve.ts).
//
// Method: the grid of indel distances, from the start and from the end. A step of the grid belongs to a
// shortest script iff distance before + after = total. Only a band around the diagonal is computed,
// widened until it provably holds every shortest script, and only between the ends that are sure.

/** Cells of a grid that may be computed (two bytes each); beyond it nothing is certain. */
const MAX_CELLS = 16_000_000;
const FAR = 0xffff;
/** Lines that are tried as the last one of a sure beginning or end. */
const MAX_TRIES = 32;

/** For each line of `before` (0-based) its index in `after`, or -1 where no place is certain. */
export type LineMap = Int32Array;

/** Maps lines by their text. Exact: every answer other than -1 holds in all shortest edit scripts. */
export function mapLines(before: readonly string[], after: readonly string[]): LineMap {
  const shortest = Math.min(before.length, after.length);
  const head = sureLines(before, after, shortest, (lines, n) => lines[n]);
  const tail = sureLines(before, after, shortest - head, (lines, n) => lines[lines.length - 1 - n]);
  const [end, until] = [before.length - tail, after.length - tail];
  const middle = mapMiddle(before.slice(head, end), after.slice(head, until));
  return Int32Array.from(before, (_, i) => {
    if (i < head) return i;
    return i >= end ? i + until - end : middle[i - head] === -1 ? -1 : middle[i - head]! + head;
  });
}

/**
 * How many of the lines that both begin (or end) with have their place in every script: those up to one
 * whose text occurs nowhere else. A script that gives that line, or one before it, another place or none
 * could be made shorter by leaving all of them where they are.
 */
function sureLines(
  before: readonly string[],
  after: readonly string[],
  most: number,
  at: (lines: readonly string[], n: number) => string | undefined,
): number {
  let n = 0;
  while (n < most && at(before, n) === at(after, n)) n++;
  if (n === before.length && n === after.length) return n;
  const isUnique = (text: string) =>
    [before, after].every((lines) => lines.indexOf(text) === lines.lastIndexOf(text));
  for (let tries = 0; n > 0 && tries < MAX_TRIES; tries++, n--) {
    if (isUnique(at(before, n - 1) ?? "")) return n;
  }
  return 0;
}

function mapMiddle(before: readonly string[], after: readonly string[]): LineMap {
  const ids = new Map<string, number>();
  const a = Int32Array.from(before, (text) => idOf(text, ids));
  const b = Int32Array.from(after, (text) => idOf(text, ids));
  const shift = b.length - a.length;
  // No script is shorter than what the lines' counts differ by: narrower bands need no try.
  const least = Math.ceil((countDifference(a, b) - Math.abs(shift)) / 2);
  for (let slack = Math.max(8, least);; slack *= 4) {
    // Diagonals j - i of the band. A script that leaves it costs at least |shift| + 2 (slack + 1).
    const low = Math.max(-a.length, Math.min(0, shift) - slack);
    const high = Math.min(b.length, Math.max(0, shift) + slack);
    const width = high - low + 1;
    if (width * (a.length + 1) > MAX_CELLS) break;
    const done = distances(a, b, low, width);
    const total = done[a.length * width + shift - low] ?? FAR;
    const whole = low === -a.length && high === b.length;
    if (total < FAR && (whole || total <= Math.abs(shift) + 2 * slack)) {
      // The same grid seen from the other end: diagonal k is there width - 1 - k.
      const left = distances(a.toReversed(), b.toReversed(), shift - high, width).reverse();
      return commonSteps(a, b, low, width, total, done, left);
    }
    if (whole) break;
  }
  return new Int32Array(a.length).fill(-1);
}

/**
 * The place of line `i`, if it also still has a neighbour it had (or the file's edge). A lone line
 * whose surroundings are all new may be a new line that happens to read the same.
 */
export function placeOf(map: LineMap, i: number, afterLength: number): number {
  const at = map[i] ?? -1;
  if (at === -1) return -1;
  const above = i === 0 ? at === 0 : at > 0 && map[i - 1] === at - 1;
  const below = i === map.length - 1 ? at === afterLength - 1 : map[i + 1] === at + 1;
  return above || below ? at : -1;
}

function idOf(text: string, ids: Map<string, number>): number {
  let id = ids.get(text);
  if (id === undefined) ids.set(text, id = ids.size);
  return id;
}

/** How many lines have to go or come so that both hold the same lines in any order. */
function countDifference(a: Int32Array, b: Int32Array): number {
  const counts = new Map<number, number>();
  for (const id of a) counts.set(id, (counts.get(id) ?? 0) + 1);
  for (const id of b) counts.set(id, (counts.get(id) ?? 0) - 1);
  return [...counts.values()].reduce((sum, count) => sum + Math.abs(count), 0);
}

/** Distance from the start to each cell of the band, row by row; FAR outside and when too large. */
function distances(a: Int32Array, b: Int32Array, low: number, width: number): Uint16Array {
  const cells = new Uint16Array((a.length + 1) * width).fill(FAR);
  for (let j = 0; j <= b.length && j - low < width; j++) cells[j - low] = Math.min(j, FAR);
  for (let i = 1; i <= a.length; i++) {
    const row = i * width;
    const above = row - width;
    const zero = -(i + low); // where j is 0
    const last = Math.min(width - 1, b.length - i - low);
    let left = FAR;
    if (zero >= 0) cells[row + zero] = left = Math.min(i, FAR);
    for (let k = Math.max(0, zero + 1); k <= last; k++) {
      // On a match the diagonal is never worse than the two other steps.
      if (a[i - 1] === b[i + k + low - 1]) left = cells[above + k]!;
      else {
        const up = k < width - 1 ? cells[above + k + 1]! : FAR;
        left = Math.min(FAR, (left < up ? left : up) + 1);
      }
      cells[row + k] = left;
    }
  }
  return cells;
}

/** For each line of `a` its place in `b` if all scripts share it. */
function commonSteps(
  a: Int32Array,
  b: Int32Array,
  low: number,
  width: number,
  total: number,
  done: Uint16Array,
  left: Uint16Array,
): LineMap {
  return a.map((id, i) => {
    let ways = 0; // a step along a line counts 1, a step that drops line i counts 2
    let place = -1;
    const row = i * width;
    const below = row + width;
    const last = Math.min(width - 1, b.length - i - low);
    for (let k = Math.max(0, -(i + low)); k <= last; k++) {
      const j = i + k + low;
      if (j < b.length && id === b[j] && done[row + k]! + left[below + k]! === total) {
        ways++;
        place = j;
      }
      if (k > 0 && done[row + k]! + 1 + left[below + k - 1]! === total) ways += 2;
    }
    return ways === 1 ? place : -1;
  });
}
