/** A text in one line of at most `limit` characters; one that is cut ends with `…`, never within a character. */
export function oneLine(text: string, limit: number): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= limit
    ? line
    : `${line.slice(0, limit - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
