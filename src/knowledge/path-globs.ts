// The globs of a rule: which files it is for. A repository brings globs and names of files, so the match
// takes no more than (length of glob × length of path) steps: as regular expressions eight wildcards and a
// crafted name can take for ever, and nothing could interrupt that. Not here: where rules come from
// (rules.ts), when they are shown (loop/knowledge.ts).

const MAX_GLOBS = 50;
const MAX_LENGTH = 200;
/** What the braces of all globs of a rule may stand for. */
const MAX_EXPANDED = 200;

/** The globs of a `globs:` field: a list, or one string with commas; null where there are none. @throws what is wrong */
export function readGlobs(field: unknown): string[] | null {
  if (field === undefined || field === null) return null;
  const given = Array.isArray(field) ? field : typeof field === "string" ? split(field) : [field];
  const globs: string[] = [];
  for (const glob of given) {
    if (typeof glob !== "string") {
      throw new Error('its globs must be a string or a list of strings, e.g. globs: ["src/**"]');
    }
    if (glob.length > MAX_LENGTH) throw new Error(`a glob has more than ${MAX_LENGTH} characters`);
    if (glob.trim() !== "") globs.push(glob.trim());
  }
  if (globs.length > MAX_GLOBS || globs.flatMap(expanded).length > MAX_EXPANDED) {
    throw new Error(`it has more than ${MAX_GLOBS} globs, or too many braces in them`);
  }
  return globs.length === 0 ? null : globs;
}

/**
 * Does a path, relative to the workspace root and with `/`, fit? `*` and `?` stand for anything within a
 * name, `**` for folders, `[a-z]` for one character, `{a,b}` for either. A glob without `/` names files
 * at any depth; one that begins with `!` takes files out again.
 */
export function globMatcher(globs: readonly string[]): (path: string) => boolean {
  const matchers = globs.flatMap((glob) => {
    const isOut = glob.startsWith("!");
    return expanded(glob.replace(/^!/, "")).map((text) => ({ isOut, parts: partsOf(text) }));
  });
  const isOnlyOut = matchers.every(({ isOut }) => isOut);
  return (path) => {
    const names = path.split("/").map((name) => [...name]);
    return matchers.reduce(
      (isIn, { isOut, parts }) => fits(parts, names) ? !isOut : isIn,
      isOnlyOut,
    );
  };
}

/** Parts a text at the commas outside of brackets; `\,` is no comma. */
function split(text: string): string[] {
  const out = [""];
  let depth = 0;
  for (const [sign] of text.matchAll(/\\[\s\S]|[\s\S]/g)) {
    if ("{[(".includes(sign)) depth++;
    if ("}])".includes(sign)) depth--;
    if (sign === "," && depth <= 0) out.push("");
    else out[out.length - 1] += sign;
  }
  return out;
}

/** A glob for each choice of its braces: `{a,b}/c` → `a/c`, `b/c`. Stops where there are too many. */
function expanded(glob: string): string[] {
  const done: string[] = [];
  const left = [glob];
  while (left.length > 0 && done.length <= MAX_EXPANDED) {
    const text = left.shift() as string;
    const braces = firstBraces(text);
    if (!braces) done.push(text);
    else {
      const { from, to, choices } = braces;
      left.unshift(...choices.map((choice) => text.slice(0, from) + choice + text.slice(to)));
    }
    if (left.length > MAX_EXPANDED) return [...done, ...left];
  }
  return done;
}

function firstBraces(text: string) {
  let from = -1;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === "{" && depth++ === 0) from = i;
    else if (text[i] === "}" && depth > 0 && --depth === 0) {
      const choices = split(text.slice(from + 1, i));
      if (choices.length > 1) return { from, to: i + 1, choices };
    }
  }
  return null;
}

/** What one character of a name must be; `*` is any number of any. */
type Sign = "*" | ((character: string) => boolean);
/** A name of a path; `**` is any number of folders. */
type Part = "**" | Sign[];

function partsOf(glob: string): Part[] {
  const isAnywhere = !glob.includes("/");
  const parts = glob.replace(/^(?:\.?\/)+/, "").replace(/\/$/, "/**").split("/").map((part): Part =>
    part === "**" ? "**" : signsOf(part)
  );
  return isAnywhere ? ["**", ...parts] : parts;
}

function signsOf(part: string): Sign[] {
  const tokens = part.matchAll(/\\([\s\S])|\[([!^]?)((?:\\[\s\S]|[^\]\\])[^\]]*)\]|[\s\S]/gu);
  return [...tokens].map(([all, escaped, not, set]): Sign => {
    if (set !== undefined) return inSet(set, not !== "");
    if (all === "*") return "*";
    if (all === "?") return () => true;
    return (character) => character === (escaped ?? all);
  });
}

/** `a-z_`: ranges and single characters. */
function inSet(set: string, isNot: boolean): (character: string) => boolean {
  const ranges = [...set.matchAll(/\\?([\s\S])(?:-\\?([\s\S]))?/gu)].map((
    [, from = "", to = from],
  ) => [from, to] as const);
  return (character) => ranges.some(([from, to]) => from <= character && character <= to) !== isNot;
}

/** Matches a list with wildcards: behind the last wildcard seen it begins anew one further on. */
function wild<P, T>(
  pattern: readonly P[],
  items: readonly T[],
  isWild: (part: P) => boolean,
  isOne: (part: P, item: T) => boolean,
): boolean {
  let p = 0;
  let i = 0;
  let star = -1;
  let mark = 0;
  while (i < items.length) {
    const part = pattern[p];
    if (part !== undefined && isWild(part)) {
      star = p++;
      mark = i;
    } else if (part !== undefined && isOne(part, items[i] as T)) {
      p++;
      i++;
    } else if (star !== -1) {
      p = star + 1;
      i = ++mark;
    } else return false;
  }
  return pattern.slice(p).every(isWild);
}

function fits(parts: readonly Part[], names: readonly string[][]): boolean {
  return wild(
    parts,
    names,
    (part) => part === "**",
    (part, name) =>
      part !== "**" &&
      wild(
        part,
        name,
        (sign) => sign === "*",
        (sign, character) => sign !== "*" && sign(character),
      ),
  );
}
