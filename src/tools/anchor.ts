// Anchors: LINE:HASH, the name under which the model is shown a line and gives it back. The hash is a
// check, not an identity: which line is meant is decided by the recorded text (resolve.ts).

/** Three letters for the text of a line (without its ending). */
export type LineHash = (text: string) => string;

let ready: Promise<LineHash> | undefined;

/** Loads the hash function, once. Every tool that shows lines uses this one (spec/tools, Lines and anchors). */
export function anchors(): Promise<LineHash> {
  return ready ??= load();
}

async function load(): Promise<LineHash> {
  const { default: xxhash } = await import("xxhash-wasm");
  const { h32 } = await xxhash();
  return (text) => letters(h32(text, 0) % 26 ** 3);
}

function letters(n: number): string {
  return String.fromCharCode(97 + Math.floor(n / 676), 97 + Math.floor(n / 26) % 26, 97 + n % 26);
}

/** An anchor as the model wrote it. `hash` is null when only a line number could be read. */
export interface Anchor {
  line: number;
  hash: string | null;
}

/**
 * Reads `LINE:HASH`, also with blanks around it or pasted from a result with its `|text` tail or
 * Search's `path:` in front. Null when it does not even begin with a line number.
 */
export function parseAnchor(text: string): Anchor | null {
  const head = (text.split("|", 1)[0] ?? "").trim();
  const [, line, hash] = /(?:^|:)(\d{1,9}):([a-z]{3})$/.exec(head) ?? [];
  if (line !== undefined) return { line: Number(line), hash: hash ?? null };
  const number = /^\d{1,9}(?!\d)/.exec(head);
  return number && { line: Number(number[0]), hash: null };
}
