// `nanocode --help`: one screen, made from the table of flags, with examples.

import { FLAGS } from "./args.ts";

export function helpText(): string {
  const flags = FLAGS.map(({ name, short, value, help }) => {
    const left = `${short ? `-${short}, ` : "    "}--${name}${value ? ` ${value}` : ""}`;
    return left.length > 30 ? `  ${left}\n${" ".repeat(34)}${help}` : `  ${left.padEnd(32)}${help}`;
  });
  return [
    "nanocode: a small coding agent",
    "",
    "  nanocode [options] [prompt…]     interactive; a prompt starts the first turn",
    '  nanocode -p "prompt"             one turn; a file or pipe on stdin is read as extra input',
    "  nanocode config                  every setting and where it came from",
    "  nanocode plugin COMMAND          new, add, remove, list, search, update, verify, sync, test",
    "  nanocode trust [PATH]            what of a project may run",
    "  nanocode models                  the models of the configured providers",
    "  nanocode context [SESSION]       what the last request was made of, what the cache kept",
    "",
    ...flags,
    "",
    "Examples",
    "  nanocode --demo",
    '  nanocode -p "why does the build fail?" < build.log',
    `  nanocode -p "fix the failing test" --allow 'Edit(src/**)' --allow 'Bash(npm test)'`,
    "  nanocode -c                      go on where you stopped",
    "",
    "Exit codes: 0 done, 1 provider or internal failure, 2 usage or configuration, 3 step limit,",
    "4 a permission was missing, 5 budget or time, 130 interrupted.",
    "",
  ].join("\n");
}
