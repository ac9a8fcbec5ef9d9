// Colours by meaning, and when there are any. Every renderer paints through a Theme; nothing else in
// src/ui writes SGR codes. A painted text is never measured: paint after cutting and wrapping.

type Paint = (text: string) => string;

export interface Theme {
  /** Is anything painted at all? */
  readonly colors: boolean;
  strong: Paint;
  faint: Paint;
  accent: Paint;
  good: Paint;
  warning: Paint;
  bad: Paint;
  added: Paint;
  removed: Paint;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Colours only on a terminal that can, and never with NO_COLOR set to something (no-color.org).
 * FORCE_COLOR does not put escape codes into a pipe.
 */
export function wantsColors(stream: { isTTY?: boolean }, env: Environment): boolean {
  return stream.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
}

const same: Paint = (text) => text;

/** No colours. */
export const PLAIN: Theme = {
  colors: false,
  strong: same,
  faint: same,
  accent: same,
  good: same,
  warning: same,
  bad: same,
  added: same,
  removed: same,
};

/** A unified diff, coloured by line. Plain text where there are no colours. */
export function paintDiff(diff: string, theme: Theme): string {
  return diff.split("\n").map((line) => {
    if (/^(?:\+\+\+|---) /.test(line)) return theme.strong(line);
    if (line.startsWith("+")) return theme.added(line);
    if (line.startsWith("-")) return theme.removed(line);
    return line.startsWith("@@") ? theme.accent(line) : line;
  }).join("\n");
}
