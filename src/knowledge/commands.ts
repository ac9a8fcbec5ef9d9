// Commands: markdown files whose text is sent as a prompt when a person types `/name`. They run nothing and
// grant nothing. Not here: the commands that are built in (cli/, ui/terminal/commands.ts).

import { basename, relative } from "node:path";
import { frontMatter } from "./front-matter.ts";
import { type Places, placesOf } from "./places.ts";
import {
  cut,
  markdownIn,
  oneLine,
  readTextFile,
  type TextFile,
  type Tier,
  withoutHidden,
} from "./text-file.ts";

/** Bytes of a command's text. */
const MAX_TEXT = 48_000;
const MAX_HELP = 120;
/** What can be typed behind `/`. */
const NAME = /^[A-Za-z][\w:-]{0,63}$/;

export interface PromptCommand {
  /** Without the slash. */
  name: string;
  /** One line. */
  description: string;
  /** What may stand behind the name; empty where nothing is said. */
  hint: string;
  tier: Tier;
  /** The file, for a person. */
  shown: string;
  /** The prompt, with placeholders. */
  body: string;
}

export interface FoundCommands {
  /** Sorted by name. */
  commands: PromptCommand[];
  /** Lines for the person. */
  warnings: string[];
}

/** The commands that files define; of those of one name the project's wins. */
export async function findCommands(places: Places): Promise<FoundCommands> {
  const found = new Map<string, PromptCommand>();
  const warnings: string[] = [];
  for (const { folder, tier, within, plugin } of placesOf(places, "commands")) {
    for (const path of markdownIn(folder)) {
      const shown = oneLine(tier === "project" ? relative(places.cwd, path) : path);
      const name = basename(path).replace(/\.md$/i, "");
      const file = readTextFile({ path, tier, shown, within, plugin }, MAX_TEXT);
      const fault = "fault" in file
        ? file.fault
        : NAME.test(name)
        ? null
        : `${shown} must be named with letters, digits, _ and -, to be typed as /name`;
      if (fault !== null) warnings.push(`command left out: ${fault}`);
      else if (!found.has(name)) {
        found.set(name, await readCommand(name, file as TextFile, { tier, shown }, warnings));
      }
    }
  }
  const commands = [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return { commands, warnings };
}

async function readCommand(
  name: string,
  file: TextFile,
  of: Pick<PromptCommand, "tier" | "shown">,
  warnings: string[],
): Promise<PromptCommand> {
  const { fields, body, fault } = await frontMatter(file.text);
  if (fault !== undefined) warnings.push(`${of.shown}: ${fault}`);
  const { text, note } = cut({ ...file, text: body.trim() }, MAX_TEXT);
  if (note !== undefined) warnings.push(`${of.shown} is ${note.split(";")[0]}`);
  warnings.push(...file.warnings);
  const first = text.split("\n").find((line) => line.trim() !== "") ?? "";
  return {
    ...of,
    name,
    description: inOneLine(fields["description"]) || inOneLine(first.replace(/^#+\s*/, "")),
    hint: inOneLine(fields["argument-hint"]),
    body: text,
  };
}

/** YAML reads a hint like `[path]` as a list. */
function inOneLine(field: unknown): string {
  const text = Array.isArray(field) ? `[${field.join(", ")}]` : field;
  if (typeof text !== "string" && typeof text !== "number") return "";
  const line = withoutHidden(String(text)).replaceAll(/\s+/g, " ").trim();
  return line.length <= MAX_HELP ? line : `${line.slice(0, MAX_HELP - 2)} …`;
}

const PLACEHOLDER = /\\?\$(ARGUMENTS\b|[1-9](?!\d))/g;

/**
 * The prompt of a command. `$ARGUMENTS` is everything behind the name as typed, `$1` to `$9` are its words
 * (quotes hold one together; what is missing is empty); `\$1` stays `$1`. Arguments that the text has no
 * place for stand behind it.
 */
export function fillCommand({ body }: Pick<PromptCommand, "body">, args: string): string {
  const words = wordsOf(args);
  let isPlaced = false;
  const text = body.replaceAll(PLACEHOLDER, (all, name: string) => {
    if (all.startsWith("\\")) return all.slice(1);
    isPlaced = true;
    return name === "ARGUMENTS" ? args : words[Number(name) - 1] ?? "";
  });
  return isPlaced || args === "" ? text : `${text}\n\n${args}`;
}

function wordsOf(args: string): string[] {
  return [...args.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, plain]) =>
    double ?? single ?? plain ?? ""
  );
}
