// What a person sees before a fetched plugin may be used, and the question. Nothing waits for an answer where
// nobody can give one.

import type { PluginCache } from "../plugins/cache.ts";
import { readPlugin } from "../plugins/discover.ts";
import { grantDiff } from "../plugins/grants.ts";
import type { Installed } from "../plugins/install.ts";
import type { LockEntry } from "../plugins/lock.ts";
import { trustItemOf } from "../plugins/open.ts";
import { changesOf, type TrustItem } from "../plugins/trust.ts";
import { visible } from "../ui/text.ts";

/** Powers that no manifest declares; the look at the source finds them (open.ts). */
const UNDECLARED = /^\+ (?:not declared|brings packages)/;
/** Lines that the diff of grants says already. */
const GRANTED = /^[-+] (?!not declared|brings packages|runs \.)/;

/**
 * Prints what a plugin is and may do, or what is different from the one in the lock.
 *
 * @returns `wantsMore`: it may do something that nobody agreed to yet.
 */
export async function showPlugin(
  { manifest, entry, folder, notes }: Installed,
  before: LockEntry | null,
  cache: PluginCache,
): Promise<{ wantsMore: boolean }> {
  const item = trustItemOf({ manifest, folder });
  const from = before === null || before.version === entry.version
    ? ""
    : `${before.version ?? "?"} → `;
  const at = entry.rev === null ? "" : `, commit ${entry.rev.slice(0, 12)}`;
  let lines = [...item.shows, `${Object.keys(item.files ?? {}).length} files`];
  let wantsMore = true;
  if (before !== null) {
    const { added, removed } = grantDiff(before.grants, entry.grants);
    const old = await itemOf(before, cache);
    const changes = old === null
      ? item.shows.map((line) => `+ ${line}`)
      : changesOf(old, item).filter((line) => !GRANTED.test(line));
    wantsMore = added.length > 0 || changes.some((line) => UNDECLARED.test(line));
    lines = [...added.map((one) => `+ ${one}`), ...removed.map((one) => `- ${one}`), ...changes];
  }
  say([
    `${manifest.name} ${from}${entry.version ?? ""} from ${entry.source}${at}`,
    // A line must not be able to look like two.
    ...lines.map((line) => `  ${line.replaceAll("\n", "\\n")}`),
    ...notes.map((note) => `  note: ${note}`),
  ].join("\n"));
  return { wantsMore };
}

/** What an entry of a lock pins, as trust knows it; null when it is not in the cache. */
export async function itemOf(
  { tree }: LockEntry,
  cache: PluginCache,
): Promise<TrustItem | null> {
  if (cache.check(tree) !== "ok") return null;
  const folder = cache.pathOf(tree);
  const found = await readPlugin({ tier: "flag", folder, within: null });
  return found.fault === null ? trustItemOf({ manifest: found.manifest, folder }) : null;
}

/** @param yes Agreed to on the command line. */
export async function agree(question: string, yes: boolean): Promise<boolean> {
  if (yes) return true;
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    process.stderr.write(
      `nanocode: ${
        visible(question)
      } Nobody can be asked here; --yes agrees to what is shown above\n`,
    );
    return false;
  }
  const { confirm, isCancel } = await import("@clack/prompts");
  const answer = await confirm({ message: visible(question), initialValue: false });
  return !isCancel(answer) && answer;
}

export function say(text: string): void {
  process.stdout.write(`${visible(text)}\n`);
}
