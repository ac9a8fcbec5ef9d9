// Anchors against files that changed since they were shown: the right line or a refusal, never another.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { anchors } from "../../src/tools/anchor.ts";
import { Lines } from "../../src/tools/document.ts";
import { Shown } from "../../src/tools/lines.ts";
import { type Place, Refusal, Resolver } from "../../src/tools/resolve.ts";
import { SeenFiles } from "../../src/tools/seen.ts";
import { PATIENT, RUNS } from "./support.ts";

const hash = await anchors();

function linesOf(texts: readonly string[]): Lines {
  return new Lines(texts.map((text) => `${text}\n`).join(""));
}

/** A resolver whose refusals are results. */
class Trial {
  readonly resolver: Resolver;

  constructor(resolver: Resolver) {
    this.resolver = resolver;
  }

  range(start: string, end?: string): Place | Refusal {
    return tried(() => this.resolver.range(start, end));
  }

  whole(): Refusal | null {
    return tried(() => this.resolver.whole()) ?? null;
  }
}

function tried<T>(work: () => T): T | Refusal {
  try {
    return work();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

/** A file with its history: what was shown of which version, and what it reads now. */
class History {
  readonly seen = new SeenFiles();
  readonly versions = new Map<string, Uint8Array>();

  show(
    lines: readonly string[],
    ranges: [number, number][] = [[1, lines.length]],
    keep = true,
  ): this {
    const shown = new Shown(hash);
    for (const [from, to] of ranges) {
      for (let n = from; n <= to; n++) shown.add(n, lines[n - 1] ?? "");
    }
    const version = JSON.stringify(lines);
    if (keep) this.versions.set(version, Buffer.from(lines.map((line) => `${line}\n`).join("")));
    const observation = shown.observation("/f", version, "read", lines.length);
    if (observation) this.seen.add(observation);
    return this;
  }

  now(lines: readonly string[]): Trial {
    const resolver = new Resolver({
      lines: linesOf(lines),
      version: JSON.stringify(lines),
      views: this.seen.views("/f"),
      kept: (name) => this.versions.get(name) ?? null,
      hash,
    });
    return new Trial(resolver);
  }
}

function anchor(n: number, text: string): string {
  return `${n}:${hash(text)}`;
}

function place(result: Place | Refusal): Place {
  assert.ok(!("message" in result), JSON.stringify(result));
  return result as Place;
}

function refusal(result: Place | Refusal): Refusal {
  assert.ok("message" in result, JSON.stringify(result));
  return result as Refusal;
}

describe("resolve", () => {
  const OLD = ["a", "b", "}", "c", "d", "}", "e"];

  it("finds a line that moved, and says so (FE-43)", () => {
    const resolver = new History().show(OLD).now(["new", "new too", ...OLD]);
    assert.deepEqual(place(resolver.range(anchor(4, "c"))), {
      from: 6,
      to: 6,
      moved: "4 is now 6",
    });
    assert.deepEqual(place(resolver.range(anchor(2, "b"), anchor(5, "d"))), {
      from: 4,
      to: 7,
      moved: "2-5 is now 4-7",
    });
  });

  it("says nothing about a line that stayed", () => {
    const resolver = new History().show(OLD).now([...OLD, "more"]);
    assert.deepEqual(place(resolver.range(anchor(6, "}"))), { from: 6, to: 6 });
  });

  it("refuses a line that was changed, removed or is one of several candidates", () => {
    const resolver = new History().show(OLD).now(["a", "B", "}", "c", "e"]);
    assert.match(refusal(resolver.range(anchor(2, "b"))).message, /changed on disk or was removed/);
    assert.match(refusal(resolver.range(anchor(5, "d"))).message, /changed on disk or was removed/);
    const lost = refusal(new History().show(["x", "x", "y"]).now(["x", "y"]).range(anchor(1, "x")));
    assert.match(lost.message, /not certain/);
    assert.ok(lost.message.includes(anchor(1, "x")));
  });

  it("does not take a new line for an old one because it reads the same", () => {
    const resolver = new History().show(["a", "b"]).now(["x", "a"]);
    assert.match(refusal(resolver.range(anchor(1, "a"))).message, /not certain/);
  });

  it("lets the text decide where two texts share a hash (FE-26)", () => {
    const [one, other] = collision();
    assert.equal(hash(one), hash(other));
    const changed = new History().show(["a", one, "b"]).now(["a", other, "b"]);
    assert.match(refusal(changed.range(anchor(2, one))).message, /changed on disk/);
    const wrong = new SeenFiles();
    wrong.add({
      path: "/f",
      version: "v",
      kind: "read",
      total: 1,
      ranges: [[1, 1]],
      texts: [[one]],
    });
    const input = { lines: linesOf([other]), version: "v", views: wrong.views("/f"), hash };
    const trial = new Trial(new Resolver({ ...input, kept: () => null }));
    assert.match(
      refusal(trial.range(anchor(1, one))).message,
      /changed on disk/,
    );
    const moved = new History().show(["a", one, "b"]).now(["a", other, "x", "a", one, "b"]);
    assert.equal(place(moved.range(anchor(2, one))).from, 5);
  });

  it("compares every line of a range, not only its ends", () => {
    const history = new History().show(OLD);
    const inner = refusal(
      history.now(["a", "b", "}", "user work", "d", "}", "e"]).range(
        anchor(2, "b"),
        anchor(6, "}"),
      ),
    );
    assert.match(inner.message, /inside lines 2-6: line 4 changed on disk/);
    assert.ok(inner.show.some(([from, to]) => from <= 4 && 4 <= to));
    const grown = refusal(
      history.now(["a", "b", "}", "c", "new", "d", "}", "e"]).range(anchor(2, "b"), anchor(6, "}")),
    );
    assert.match(grown.message, /inserted on disk before line 5/);
  });

  it("takes the newest view that showed the anchor", () => {
    const resolver = new History().show(["x", "x", "y"]).show(["x", "y"]).now(["x", "y"]);
    assert.deepEqual(place(resolver.range(anchor(1, "x"))), { from: 1, to: 1 });
    assert.match(refusal(resolver.range(anchor(2, "x"))).message, /not certain/);
    assert.deepEqual(place(resolver.range(anchor(3, "y"))), {
      from: 2,
      to: 2,
      moved: "3 is now 2",
    });
  });

  it("refuses a range with lines never shown, and shows them when they are few", () => {
    const lines = Array.from({ length: 100 }, (_, i) => `line ${i + 1}`);
    const few = refusal(
      new History().show(lines, [[1, 5], [20, 25]]).now(lines).range(
        anchor(4, "line 4"),
        anchor(21, "line 21"),
      ),
    );
    assert.match(few.message, /lines 6-19 inside the range had not been shown/);
    assert.deepEqual(few.show, [[6, 19]]);
    const many = refusal(
      new History().show(lines, [[1, 5], [90, 95]]).now(lines).range(
        anchor(4, "line 4"),
        anchor(91, "line 91"),
      ),
    );
    assert.match(many.message, /lines 6-89 .* Read them first/);
    assert.deepEqual(many.show, []);
  });

  it("accepts a range whose lines were shown in several views, also of older versions", () => {
    const lines = Array.from({ length: 30 }, (_, i) => `line ${i + 1}`);
    const now = ["first", ...lines];
    const resolver = new History().show(lines, [[5, 15]]).show(now, [[1, 6], [17, 20]]).now(now);
    assert.deepEqual(place(resolver.range(anchor(3, "line 2"), anchor(18, "line 17"))).from, 3);
    const mixed = resolver.range(anchor(5, "line 5"), anchor(18, "line 17"));
    assert.deepEqual(place(mixed), { from: 6, to: 18, moved: "5 is now 6" });
  });

  it("needs all of the old text to find a line in a file that changed", () => {
    const lines = ["a", "needle", "b"];
    const shown = new History().show(lines, [[2, 2]], false);
    assert.deepEqual(place(shown.now(lines).range(anchor(2, "needle"))), { from: 2, to: 2 });
    assert.match(
      refusal(shown.now(["new", ...lines]).range(anchor(2, "needle"))).message,
      /not certain/,
    );
    const whole = new History().show(lines, [[1, 3]], false);
    assert.equal(place(whole.now(["new", ...lines]).range(anchor(2, "needle"))).from, 3);
  });

  it("allows overwrite only for a file that was shown whole as it is", () => {
    const history = new History().show(OLD);
    assert.equal(history.now(OLD).whole(), null);
    assert.match(history.now([...OLD, "user"]).whole()?.message ?? "", /changed on disk/);
    assert.match(new History().show(OLD, [[1, 5]]).now(OLD).whole()?.message ?? "", /not line 6/);
    assert.match(new History().now(OLD).whole()?.message ?? "", /never shown/);
    const edited = new History().show(OLD).show(["A", ...OLD.slice(1)], [[1, 3]]);
    assert.equal(edited.now(["A", ...OLD.slice(1)]).whole(), null);
  });

  // Lines keep an identity through the change, so the right answer is known. New lines are unlike any
  // old one: then a shortest edit script is the true history, and certainty must mean the truth.
  const old = fc.array(fc.constantFrom<string>("}", "", "a", "b", "x"), {
    minLength: 1,
    maxLength: 25,
  });
  const changes = fc.array(
    fc.record({ at: fc.nat(50), remove: fc.nat(2), add: fc.nat(2) }),
    { minLength: 1, maxLength: 5 },
  );

  it("never finds another line than the one shown, whatever was changed around it", PATIENT, () => {
    let found = 0;
    fc.assert(
      fc.property(old, changes, (lines, list) => {
        let fresh = 0;
        const now = lines.map((text, id) => ({ text, id }));
        for (const { at, remove, add } of list) {
          const added = Array.from({ length: add }, () => ({ text: `new ${fresh++}`, id: -1 }));
          now.splice(at % (now.length + 1), remove, ...added);
        }
        const resolver = new History().show(lines).now(now.map(({ text }) => text));
        for (const [i, text] of lines.entries()) {
          const single = resolver.range(anchor(i + 1, text));
          if (!("message" in single)) {
            found++;
            assert.equal(now[single.from - 1]?.id, i);
          }
          const last = Math.min(lines.length, i + 4);
          const range = resolver.range(anchor(i + 1, text), anchor(last, lines[last - 1] ?? ""));
          if ("message" in range) continue;
          assert.deepEqual(
            now.slice(range.from - 1, range.to).map(({ id }) => id),
            lines.slice(i, last).map((_, k) => i + k),
          );
        }
      }),
      { numRuns: 500 * RUNS },
    );
    assert.ok(found > 0, "the property was never put to the test");
  });

  it("never finds a line with another text, whatever the file became", PATIENT, () => {
    const any = fc.array(fc.constantFrom("}", "", "a", "b", "x"), { maxLength: 25 });
    fc.assert(
      fc.property(old, any, any, (first, second, now) => {
        const resolver = new History().show(first).show(second).now(now);
        for (const lines of [first, second]) {
          for (const [i, text] of lines.entries()) {
            const result = resolver.range(anchor(i + 1, text));
            if (!("message" in result)) assert.equal(now[result.from - 1], text);
          }
        }
      }),
      { numRuns: 500 * RUNS },
    );
  });
});

/** Two texts with the same three letters. */
function collision(): [string, string] {
  const texts = new Map<string, string>();
  for (let i = 0;; i++) {
    const text = `const value${i} = ${i};`;
    const other = texts.get(hash(text));
    if (other !== undefined) return [other, text];
    texts.set(hash(text), text);
  }
}
