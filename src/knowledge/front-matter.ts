// Front matter of markdown files (skills, rules, commands): YAML between two `---` lines at the start.
// Lenient, for most of it was written for other programs. Not here: what the fields mean.

export interface FrontMatter {
  fields: Record<string, unknown>;
  body: string;
  /** One line: why there are no fields although there is front matter. */
  fault?: string;
}

/**
 * Splits front matter and body. A BOM and CRLF do not matter; the closing `---` may end the file;
 * text without front matter is all body. YAML that does not parse is tried once more with its values
 * quoted: `description: use it when: x` and `globs: *.sql` are meant as they look.
 */
export async function frontMatter(text: string): Promise<FrontMatter> {
  const clean = text.replace(/^\ufeff/, "").replaceAll("\r\n", "\n");
  const match = /^---[^\S\n]*\n(?:([\s\S]*?)\n)?---[^\S\n]*(?:\n|$)([\s\S]*)$/.exec(clean);
  if (!match) return { fields: {}, body: clean };
  const [, yaml = "", body = ""] = match;
  const { parse } = await import("yaml");
  let fault = "";
  for (const source of [yaml, quoted(yaml)]) {
    try {
      const fields: unknown = parse(source, { logLevel: "error" });
      if (fields === null) return { fields: {}, body };
      if (typeof fields === "object" && !Array.isArray(fields)) {
        return { fields: fields as Record<string, unknown>, body };
      }
      fault ||= "it has no `name: value` lines";
    } catch (error) {
      fault ||= (error as Error).message.split("\n", 1)[0]?.replace(/:$/, "") ?? "";
    }
  }
  return { fields: {}, body, fault: `its front matter is not valid YAML: ${fault}` };
}

/** Each plain value of a `key: value` or `- value` line in double quotes. */
function quoted(yaml: string): string {
  const line = /^(\s*(?:-\s+|[\w.-]+:\s+))(?!["'|>]|$)(.*?)\s*$/;
  const list = /^\[(.*)\]$/;
  return yaml.split("\n").map((text) => {
    const [, before, value] = line.exec(text) ?? [];
    if (before === undefined || value === undefined) return text;
    const items = list.exec(value)?.[1]?.split(",").map((item) => item.trim());
    if (!items) return before + JSON.stringify(value);
    return `${before}[${items.map((item) => /^["']/.test(item) ? item : JSON.stringify(item))}]`;
  }).join("\n");
}
