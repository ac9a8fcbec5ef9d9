// Why a search that found nothing may have been another one than was meant: what other engines write, here
// means something else and is no error. Only words for the model; no pattern is changed.

import type { Pattern } from "./search-pattern.ts";

/** Looks of a pattern, and what to write instead. */
const FOREIGN: readonly [looks: RegExp, advice: string][] = [
  [/\\\|/, "\\| is a plain bar; alternatives are a|b"],
  [/\[\[[:.=]\w+[:.=]\]/, "there are no classes like [[:space:]]; write \\s, \\w, \\d or [a-z]"],
  [/\\[<>]/, "\\< and \\> are plain characters; a word's edge is \\b"],
  [/\\[AZz]/, "\\A and \\Z are plain letters; a line's ends are ^ and $"],
  [/\\Q/, "\\Q is a plain letter; plain text is searched with literal: true"],
  [/^\/.+\/[a-z]*$/, "slashes around the pattern are searched for, too"],
  [/(?<!\\)\$(?=[\w{])/, "$ is the end of a line; the sign itself is \\$"],
];

/** What to try when a query found nothing, or null. */
export function hintsFor(text: string, { flags }: Pattern, literal: boolean): string | null {
  const hints = literal ? [] : FOREIGN.flatMap(([looks, hint]) => looks.test(text) ? [hint] : []);
  if (!flags.includes("i")) {
    const how = literal ? "write it in small letters" : "(?i) in front";
    hints.push(`a capital letter made it case-sensitive; ${how} to ignore case`);
  }
  return hints.length === 0 ? null : `nothing matched; note that ${hints.join(", and ")}`;
}
