// What the conversation needs of whatever shows it: the drawn terminal (terminal.ts), plain lines
// (plain.ts), or a test.

import type { Size } from "./layout.ts";

/** Where the conversation is shown. */
export interface Front {
  /** Appends finished lines, painted. */
  print(text: string): void;
  /** The live rows or the mode may have changed. */
  changed(): void;
  /** Puts text back into the prompt, in front of what is typed there. */
  restore(text: string): void;
  size(): Size;
  /** What is typed stays on the screen by itself. */
  readonly echoes?: boolean;
}
