// The argument text of a tool call → a value, or an error that says where the JSON breaks. Repairs
// only what cannot change content: raw control characters inside strings, double encoding, a code
// fence, the same object sent twice. Whether the value fits the tool is for the tools to say.

import { parseJson } from "./http.ts";

/**
 * Reads the arguments of a call; null when the text is no JSON (argument-faults.ts says why). Nothing
 * and `null` mean `{}` (tools without parameters: microsoft/vscode-copilot-release#8040); JSON in a JSON
 * string is unwrapped (vllm-project/vllm#54964).
 */
export function parseArguments(text: string): { value: unknown } | null {
  const body = withoutFence(text);
  if (body.trim() === "") return { value: {} };
  let value = parseRepaired(body);
  if (value === undefined) value = sentTwice(body);
  return value === undefined ? null : { value: unwrap(value) };
}

export function withoutFence(text: string): string {
  return /^\s*```[a-z]*\s*\n([\s\S]*?)```\s*$/i.exec(text)?.[1] ?? text;
}

/** Some servers repeat the whole arguments in a last chunk: two equal objects side by side are one. */
function sentTwice(text: string): unknown {
  const middle = text.length / 2;
  const borders = [...text.matchAll(/\}\s*\{/g)].map((match) => match.index + 1)
    .sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle));
  const border = borders[0];
  if (border === undefined) return undefined;
  const [first, second] = [parseJson(text.slice(0, border)), parseJson(text.slice(border))];
  const same = first !== undefined && JSON.stringify(first) === JSON.stringify(second);
  return same ? first : undefined;
}

function parseRepaired(text: string): unknown {
  return parseJson(text) ??
    parseJson(mapControls(text, (character) => JSON.stringify(character).slice(1, -1)));
}

function unwrap(value: unknown): unknown {
  for (let level = 0; level < 3 && typeof value === "string"; level++) {
    const inner: unknown = value.trim() === "" ? {} : parseRepaired(value);
    if (inner === undefined) return value;
    value = inner;
  }
  return value ?? {};
}

/**
 * Replaces raw control characters inside string literals; elsewhere they are whitespace or errors. A
 * backslash before one is a plain backslash (a line continuation, written unescaped).
 */
export function mapControls(text: string, replace: (character: string) => string): string {
  let inString = false;
  return text.replace(/\\[^]|["\x00-\x1f]/g, (token) => {
    if (token === '"') inString = !inString;
    const isControl = token.charCodeAt(token.length - 1) < 32;
    return inString && isControl ? Array.from(token, replace).join("") : token;
  });
}
