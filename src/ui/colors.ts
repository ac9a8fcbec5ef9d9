// The coloured theme. Apart from theme.ts, so that a run without colours does not load picocolors.

import picocolors from "picocolors";
import { PLAIN, type Theme } from "./theme.ts";

export function makeTheme(colors: boolean): Theme {
  if (!colors) return PLAIN;
  const paint = picocolors.createColors(true);
  return {
    colors,
    strong: paint.bold,
    faint: paint.dim,
    accent: paint.cyan,
    good: paint.green,
    warning: paint.yellow,
    bad: paint.red,
    added: paint.green,
    removed: paint.red,
  };
}
