// A pattern of Search made ready: smart case, the flags it needs, and how a file may be scanned for it.
// Not here: matching (search-match.ts).

/** What the model asked for, checked. Plain data: it crosses to another process. */
export interface Pattern {
  /** For the engine; for a literal the text with its special characters escaped. */
  source: string;
  flags: "" | "i" | "u" | "iu";
  /** Matched against the whole text, as it holds `\n`. */
  acrossLines: boolean;
  /** ASCII text that stands in every match; a file without it need not be given to the engine. */
  required: string | null;
  /** The required text is all that is asked for. */
  plain: boolean;
  /** Can the engine need more than a moment for a line? Then it must run where it can be killed. */
  mayBacktrack: boolean;
}

export type Compiled = { ok: true; pattern: Pattern } | { ok: false; reason: string };

/** Parts of an expression that stand together: an escape, a class, a counted repetition, a character. */
const PARTS =
  /\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[A-Za-z]|k<[^>]*>|[^])|\[(?:\\[^]|[^\]\\])*\]|\{[^}]*\}|[^]/g;
/** Choices (`|`, `?`) that cannot multiply to more than a moment's work. */
const MAX_CHOICES = 8;

/** Checks a pattern. The reason is the engine's, for the model. */
export function compilePattern(text: string, literal: boolean): Compiled {
  if (text === "") return { ok: false, reason: "it is empty" };
  let source = literal ? escapeRegExp(text) : text;
  // Other engines' way to say it; without a body it would mean nothing here.
  const asked = !literal && source.startsWith("(?i)");
  if (asked) source = source.slice(4);
  source = source.replaceAll("\\r\\n", "\\n").replaceAll("\r\n", "\n");
  // Slow to try at every place of a line, and it changes no line that hits.
  if (!literal) source = source.replace(/^(?:\.\*\??)+(?=[^*+?{])/, "");
  const parts: string[] = source.match(PARTS) ?? [];
  const escapes = parts.filter((part) => part.startsWith("\\"));
  const bare = parts.filter((part) => !part.startsWith("\\")).join("");
  const letters = literal ? text : bare.replace(/\(\?<[\p{L}_$][\w$]*>/gu, "");
  // `u` only where it is needed: elsewhere it would refuse escapes that people write.
  const unicode = /[\ud800-\udbff]/.test(source) || escapes.some((e) => /^\\([pP]|u\{)/.test(e));
  const flags = `${asked || !/\p{Lu}/u.test(letters) ? "i" : ""}${unicode ? "u" : ""}` as const;
  try {
    new RegExp(source, flags);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { ok: false, reason: why.replace(/^Invalid regular expression:\s*/, "") };
  }
  const required = requiredText(source);
  const pattern: Pattern = {
    source,
    flags,
    acrossLines: source.includes("\n") || escapes.includes("\\n"),
    required,
    plain: required !== null && (source === required || source === escapeRegExp(required)),
    mayBacktrack: !literal &&
      (/[*+{]|\(\?/.test(bare) || bare.split(/[|?]/).length - 1 > MAX_CHOICES ||
        escapes.some((e) => /^\\[1-9k]/.test(e))),
  };
  return { ok: true, pattern };
}

/**
 * The longest run of plain characters that every match holds, as far as a look at the top level of the
 * expression tells; null when there is none.
 */
export function requiredText(source: string): string | null {
  let best = "";
  let run = "";
  let depth = 0;
  const end = () => {
    if (run.length > best.length) best = run;
    run = "";
  };
  for (const part of source.match(PARTS) ?? []) {
    if (part === "(") depth++;
    if (depth === 0 && part === "|") return null;
    if (/^[*?{]/.test(part)) run = run.slice(0, -1); // the last character need not occur
    const plain = /^\\[!-~]$/.test(part) ? !/\w/.test(part) : /^[^\\^$.*+?()[\]{}|]$/.test(part);
    const character = part.at(-1) ?? "";
    if (depth === 0 && plain && character >= " " && character <= "~") run += character;
    else end();
    if (part === ")") depth--;
  }
  end();
  return best === "" ? null : best;
}

/**
 * The expression with its matches held within one line when it is given many (with the flag `m`), so that
 * it tries no more than it would on each line alone and finds the same, where "\n" is the only separator
 * of lines in the text; with others it may find more. Null where that cannot be had.
 */
export function withinLine({ source, flags }: Pattern): string | null {
  // What must not follow or precede sees more of a text than of a line.
  if (flags.includes("u") || /\(\?<?!/.test(source)) return null;
  const parts: string[] = source.match(PARTS) ?? [];
  // Such escapes may mean a line end; so may two of these parts together.
  if (parts.some((part) => /^\\[ck\dux]/.test(part))) return null;
  return parts.map((part) => {
    if (part === "\\s") return "[^\\S\\n]";
    if (part === "\\W") return "[^\\w\\n]";
    if (part === "\\D") return "[^\\d\\n]";
    if (part.startsWith("[^")) return `[^\\n${part.slice(2).replace(/^-/, "\\-")}`;
    const safe = /^\[(?:[^\\\0-\x1f]|\\[dw\W_])*\]$/.test(part);
    return part.startsWith("[") && !safe ? `(?:(?!\\n)${part})` : part;
  }).join("");
}

/** The text as a regular expression that matches it and nothing else. */
export function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&").replace(/\n/g, "\\n").replace(/\r/g, "\\r");
}
