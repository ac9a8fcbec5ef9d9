// Front matter of markdown files (skills, rules, commands): YAML between two `---` lines at the start.

export interface FrontMatter {
  fields: Record<string, unknown>;
  body: string;
}

/**
 * Splits front matter and body. A BOM and CRLF do not matter; the closing `---` may end the file;
 * text without front matter is all body. YAML that does not parse gives no fields.
 */
export async function frontMatter(text: string): Promise<FrontMatter> {
  const clean = text.replace(/^\ufeff/, "").replaceAll("\r\n", "\n");
  const match = /^---\n([\s\S]*?)\n?---(?:\n|$)([\s\S]*)$/.exec(clean);
  if (!match) return { fields: {}, body: clean };
  const { parse } = await import("yaml");
  let fields: unknown;
  try {
    fields = parse(match[1] ?? "");
  } catch {
    fields = null;
  }
  const known = typeof fields === "object" && fields !== null && !Array.isArray(fields);
  return { fields: known ? fields as Record<string, unknown> : {}, body: match[2] ?? "" };
}
