// What the model has been shown of each file, newest first: a projection of the observations in the
// records. Edit resolves anchors against it. Not here: FILE STATE (context/files.ts).

import type { Observation } from "../session/records.ts";

/** One showing of a file. */
export interface View {
  readonly path: string;
  /** sha-256 of the bytes that were shown. */
  readonly version: string;
  /** Lines the file had. */
  readonly total: number;
  /** Text of a line as shown, undefined when it was not. */
  line(n: number): string | undefined;
  readonly ranges: readonly (readonly [start: number, end: number])[];
}

export class SeenFiles {
  #views = new Map<string, View[]>();

  /** Adds a showing; it becomes the newest of its file. */
  add(observation: Observation): void {
    const views = this.#views.get(observation.path);
    const view = viewOf(observation);
    if (views) views.unshift(view);
    else this.#views.set(observation.path, [view]);
  }

  /** Showings of the file with this real path, newest first. */
  views(path: string): readonly View[] {
    return this.#views.get(path) ?? [];
  }
}

function viewOf({ path, version, total, ranges, texts }: Observation): View {
  return {
    path,
    version,
    total,
    ranges,
    line(n) {
      for (const [i, [start, end]] of ranges.entries()) {
        if (n >= start && n <= end) return texts[i]?.[n - start];
      }
      return undefined;
    },
  };
}
