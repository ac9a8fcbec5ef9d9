// `nanocode trust`: shows and stores what of a project may run; and the question that a person at a
// terminal gets when a project holds something that was not answered for. Enter alone means No.

import { resolve } from "node:path";
import { openPlugins } from "../plugins/open.ts";
import { changesOf, digestOf, type TrustItem, TrustStore } from "../plugins/trust.ts";
import { EXIT, UserError } from "../runtime/errors.ts";
import { visible } from "../ui/text.ts";
import { configuredPlugins } from "./configured.ts";
import { findWorkspace, projectRoot, type Workspace } from "./workspace.ts";
import { parseWords } from "./words.ts";

const USAGE = "nanocode trust [PATH] [--all | --item ID… | --list | --revoke | --digest | --dev]";

export const TRUST_OPTIONS = {
  all: { type: "boolean" },
  item: { type: "string", multiple: true },
  list: { type: "boolean" },
  revoke: { type: "boolean" },
  digest: { type: "boolean" },
  dev: { type: "boolean" },
} as const;

/** The project's items and how each stands. */
async function itemsOf(workspace: Workspace, store: TrustStore): Promise<TrustItem[]> {
  const { home, cwd } = workspace;
  const root = projectRoot(workspace);
  const configured = await configuredPlugins(workspace)();
  return (await openPlugins([], { home, root, flags: [], cwd }, store, { configured })).items;
}

export async function trustCommand(
  argv: readonly string[],
  print: (text: string) => Promise<number>,
): Promise<number> {
  const { values, positionals } = parseWords(argv, TRUST_OPTIONS, USAGE);
  if (positionals.length > 1) throw new UserError("trust takes one folder", USAGE);
  const workspace = findWorkspace(
    positionals[0] === undefined ? undefined : resolve(positionals[0]),
  );
  const { home, root } = workspace;
  const store = new TrustStore(home);
  if (values.list) {
    const lines = store.list().flatMap(({ root, dev, items }) => [
      `${root}${dev ? " (changes are accepted)" : ""}`,
      ...items.map(([key, answer]) => `  ${answer === "yes" ? "trusted " : "refused "} ${key}`),
    ]);
    return await print(
      lines.length === 0 ? "nothing is trusted yet\n" : `${visible(lines.join("\n"))}\n`,
    );
  }
  if (values.revoke) {
    const count = store.revoke(root);
    return await print(
      `${count} ${count === 1 ? "answer" : "answers"} for ${visible(root)} forgotten\n`,
    );
  }
  const items = await itemsOf(workspace, store);
  if (values.digest) return await print(`${digestOf(items)}\n`);
  if (values.dev) {
    store.answer(root, items, "yes");
    store.acceptChanges(root);
    return await print(
      `${items.length} trusted in ${
        visible(root)
      }, and further changes of them are accepted without a question\n`,
    );
  }
  if (values.all || values.item) {
    const wanted = values.all ? items : (values.item ?? []).map((id) => {
      const item = items.find((one) => one.id === id || `${one.kind}:${one.id}` === id);
      if (item) return item;
      const ids = items.map((one) => `${one.kind}:${one.id}`).join(", ") || "none";
      throw new UserError(`there is no ${id} here that could be trusted`, `The items are: ${ids}.`);
    });
    store.answer(root, wanted, "yes");
    return await print(
      wanted.map(({ kind, id }) => `trusted ${visible(`${kind} ${id}`)}\n`).join("") ||
        "nothing here needs trust\n",
    );
  }
  if (items.length === 0) return await print(`nothing in ${visible(root)} needs trust\n`);
  const text = items.map((item) => describe(item, store, root)).join("\n");
  return await print(`${text}\nTrust them with: nanocode trust --all, or --item ID\n`);
}

/** An item at full length with what is different from what was trusted, every line escaped. */
export function describe(item: TrustItem, store: TrustStore, root: string): string {
  const standing = store.standing(root, item);
  const before = store.before(root, item);
  const lines = [
    `${item.kind} ${item.id}: ${
      {
        yes: "trusted",
        no: "refused",
        changed: "changed since it was trusted",
        unknown: "not answered for",
      }[standing]
    }`,
  ];
  if (standing === "changed" && before) {
    lines.push(...changesOf(before, item).map((line) => `  ${line}`));
  }
  lines.push(...item.shows.map((line) => `  ${line}`));
  // A line must not be able to look like two: the second could name another item.
  return lines.map((line) => visible(line).replaceAll("\n", "\\n")).join("\n");
}

/**
 * Asks a person about what is new or changed in the project; nothing of it has run or been read as
 * settings by then. Leaving the question is No.
 */
export async function askTrust(workspace: Workspace, digest?: string): Promise<void> {
  const { home, cwd } = workspace;
  const root = projectRoot(workspace);
  if (root === null) return;
  const store = new TrustStore(home);
  const configured = await configuredPlugins(workspace)();
  const { pending } = await openPlugins([], { home, root, flags: [], cwd }, store, {
    configured,
    digest,
  });
  if (pending.length === 0) return;
  const text = pending.map((item) => describe(item, store, root));
  process.stdout.write(
    `${visible(root)} holds what could run on this machine:\n\n${text.join("\n")}\n\n`,
  );
  const { isCancel, multiselect, select } = await import("@clack/prompts");
  const answer = await select({
    message: "Trust it?",
    initialValue: "no",
    options: [
      { value: "no", label: "No", hint: "asked again next time" },
      { value: "all", label: "Yes, all that is listed" },
      { value: "some", label: "Choose" },
      { value: "never", label: "Never" },
    ],
  });
  if (isCancel(answer) || answer === "no") return;
  if (answer === "never") return store.answer(root, pending, "no");
  if (answer === "all") return store.answer(root, pending, "yes");
  const chosen = await multiselect({
    message: "Which?",
    required: false,
    options: pending.map((item, i) => ({ value: i, label: visible(`${item.kind} ${item.id}`) })),
  });
  if (isCancel(chosen)) return;
  store.answer(root, pending.filter((_, i) => chosen.includes(i)), "yes");
}

/** Headless: exit code 6 with --require-trust, and what --trust-digest names is trusted for this run. */
export function requireTrust(pending: readonly TrustItem[]): void {
  const [first] = pending;
  if (!first) return;
  const others = pending.length > 1 ? ` and ${pending.length - 1} more` : "";
  throw new UserError(
    `the project's ${first.kind} ${first.id}${others} is not trusted, and --require-trust was given`,
    "Look at it with nanocode trust, and trust it there or with --trust-digest.",
    EXIT.trust,
  );
}
