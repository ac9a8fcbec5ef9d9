// What checking a manifest came to, kept by its very text: the check needs zod, which takes longer to load
// than a whole start. In the user's private folder; whatever is wrong with the file, it is made anew.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "../runtime/replace-file.ts";
import { VERSION } from "../version.ts";
import type { Checked } from "./manifest-schema.ts";

/** Beyond this those of other projects are made anew. */
const MAX_ENTRIES = 1000;

interface Entry {
  text: string;
  checked: Checked;
}

/** Part of what the result depends on besides the text: the rules of this release. */
const RULES = `${VERSION} 2`;

export class ManifestCache {
  readonly #path: string;
  readonly #before: Record<string, Entry>;
  readonly #now: Record<string, Entry> = {};
  #isNew = false;

  /** @param home `~/.nanocode`. */
  constructor(home: string) {
    this.#path = join(home, "cache", "manifests.json");
    this.#before = read(this.#path);
  }

  /** The check of the manifest of a folder. */
  async check(folder: string, text: string): Promise<Checked> {
    const known = Object.hasOwn(this.#before, folder) ? this.#before[folder] : undefined;
    if (known?.text === text) {
      this.#now[folder] = known;
      return known.checked;
    }
    const { checkManifest } = await import("./manifest-schema.ts");
    const checked = checkManifest(text);
    this.#now[folder] = { text, checked };
    this.#isNew = true;
    return checked;
  }

  /** Keeps what was checked; a disk that refuses only costs time at the next start. */
  save(): void {
    if (!this.#isNew) return;
    const isFull = Object.keys(this.#before).length > MAX_ENTRIES;
    const entries = { ...(isFull ? {} : this.#before), ...this.#now };
    try {
      replaceFile(this.#path, JSON.stringify({ rules: RULES, entries }), 0o600);
    } catch { /* the next start checks again */ }
  }
}

function read(path: string): Record<string, Entry> {
  try {
    const { rules, entries } = JSON.parse(readFileSync(path, "utf8"));
    return rules === RULES && typeof entries === "object" && entries !== null ? entries : {};
  } catch {
    return {};
  }
}
