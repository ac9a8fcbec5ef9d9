import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { mapLines, placeOf } from "../../src/tools/line-map.ts";
import { PATIENT, RUNS } from "./support.ts";

/** The definition, spelt out: in all longest common subsequences, line i is at one and the same place. */
function certainPlaces(a: readonly string[], b: readonly string[]): number[] {
  const table = () =>
    Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  const before = table();
  const after = table();
  const at = (grid: number[][], i: number, j: number) => grid[i]?.[j] ?? 0;
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      (before[i] as number[])[j] = a[i - 1] === b[j - 1]
        ? at(before, i - 1, j - 1) + 1
        : Math.max(at(before, i - 1, j), at(before, i, j - 1));
    }
  }
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      (after[i] as number[])[j] = a[i] === b[j]
        ? at(after, i + 1, j + 1) + 1
        : Math.max(at(after, i + 1, j), at(after, i, j + 1));
    }
  }
  const longest = at(before, a.length, b.length);
  return a.map((line, i) => {
    const places: number[] = [];
    for (let j = 0; j <= b.length; j++) {
      if (
        j < b.length && line === b[j] && at(before, i, j) + 1 + at(after, i + 1, j + 1) === longest
      ) {
        places.push(j);
      }
      if (at(before, i, j) + at(after, i + 1, j) === longest) places.push(-1);
    }
    return places.length > 0 && places.every((place) => place === places[0]) ? places[0] ?? -1 : -1;
  });
}

function map(a: string, b: string): number[] {
  return [...mapLines([...a], [...b])];
}

describe("line map", () => {
  const CASES: [before: string, after: string, places: number[]][] = [
    ["", "", []],
    ["abc", "abc", [0, 1, 2]],
    ["abc", "xabc", [1, 2, 3]],
    ["abc", "ac", [0, -1, 1]],
    ["abc", "aXc", [0, -1, 2]],
    ["a}b}", "}b}", [-1, 0, 1, 2]],
    ["xx", "x", [-1, -1]],
    ["pxxs", "pxs", [0, -1, -1, 2]],
    ["xmx", "x", [-1, -1, -1]],
    ["ab", "ba", [-1, -1]],
    ["}", "}}", [-1]],
  ];
  for (const [before, after, places] of CASES) {
    it(`${before || "nothing"} → ${after || "nothing"}`, () =>
      assert.deepEqual(map(before, after), places));
  }

  const line = fc.constantFrom(..."aaabbcd}");
  const change = fc.record({
    at: fc.nat(60),
    remove: fc.nat(3),
    add: fc.array(fc.constantFrom(..."aab}xy"), { maxLength: 4 }),
  });

  const agrees = (before: string[], changes: { at: number; remove: number; add: string[] }[]) => {
    const after = [...before];
    for (const { at, remove, add } of changes) {
      after.splice(at % (after.length + 1), remove, ...add);
    }
    assert.deepEqual([...mapLines(before, after)], certainPlaces(before, after));
  };

  it("is certain exactly where all shortest edit scripts agree", PATIENT, () => {
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 60 }),
        fc.array(change, { maxLength: 5 }),
        agrees,
      ),
      { numRuns: 500 * RUNS },
    );
  });

  it("is exact also where lines that occur once stand at the ends", PATIENT, () => {
    const mixed = fc.constantFrom(..."abcdefghijklmnopqrstuvw}}}}    ");
    const edit = fc.record({
      at: fc.nat(60),
      remove: fc.nat(3),
      add: fc.array(fc.constantFrom(..."ABCae} "), { maxLength: 3 }),
    });
    fc.assert(
      fc.property(
        fc.array(mixed, { maxLength: 40 }),
        fc.array(edit, { maxLength: 3 }),
        agrees,
      ),
      { numRuns: 500 * RUNS },
    );
  });

  it("is exact also where head and tail are long and alike", PATIENT, () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom<string>("x", "y"), { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 20, max: 90 }),
        fc.nat(200),
        fc.array(fc.constantFrom("x", "y", "z"), { maxLength: 2 }),
        fc.nat(2),
        (period, times, at, add, remove) => {
          const before = Array.from({ length: times }, () => period).flat();
          const after = [...before];
          after.splice(at % (after.length + 1), remove, ...add);
          assert.deepEqual([...mapLines(before, after)], certainPlaces(before, after));
        },
      ),
      { numRuns: 60 * RUNS },
    );
  });

  it("is certain of nothing when it would have to compute too much", PATIENT, () => {
    const before = Array.from({ length: 6000 }, (_, i) => `old ${i % 100}`);
    const after = Array.from({ length: 6000 }, (_, i) => `old ${(i * 7) % 100}`);
    assert.ok(mapLines(before, after).every((place) => place === -1));
  });

  it("maps a large file around a few changes", PATIENT, () => {
    const before = Array.from({ length: 20000 }, (_, i) => (i % 3 === 0 ? "}" : `line ${i}`));
    const after = before.toSpliced(15000, 2).toSpliced(5000, 0, "new", "new too");
    const places = mapLines(before, after);
    assert.equal(places[4999], 4999);
    assert.equal(places[5000], 5002);
    assert.equal(places[14999], 15001);
    assert.equal(places[19999], 19999);
  });

  it("trusts a place only next to a neighbour the line had, or at the file's edge", () => {
    const place = (a: string, b: string, i: number) =>
      placeOf(mapLines([...a], [...b]), i, b.length);
    assert.equal(place("abcde", "XXabcde", 2), 4);
    assert.equal(place("abcde", "ZbZ", 1), -1); // all around it is new
    assert.equal(place("ab", "xa", 0), -1); // the first line was replaced by b's place
    assert.equal(place("abc", "aXY", 0), 0); // still the first line
    assert.equal(place("abc", "XYc", 2), 2); // still the last line
  });
});
