// Command line → options. One table holds every flag; help.ts prints from it. Flags exist only when
// their feature does. node:util's parseArgs knows no optional values (`--resume [ID]`), hence this.

import { nearest } from "../runtime/nearest.ts";
import { UserError } from "../runtime/errors.ts";

export interface Options {
  print: boolean;
  output: "text" | "json" | "stream-json";
  model?: string;
  reason?: string;
  maxSteps?: number;
  budgetUsd?: number;
  budgetTokens?: number;
  timeout?: number;
  yolo: boolean;
  allow: string[];
  deny: string[];
  /** Folders of plugins to use as well. */
  plugins: string[];
  /** Exit when something of the project is not trusted. */
  requireTrust: boolean;
  /** Trusts what has this digest, for this run. */
  trustDigest?: string;
  /** Leave out rules, skills and commands of the project. */
  noProjectText: boolean;
  continue: boolean;
  /** Session id, or "" to choose one. */
  resume?: string;
  record?: string;
  demo: boolean;
  /** Of `nanocode context`. */
  json: boolean;
  cwd?: string;
  config?: string;
  help: boolean;
  version: boolean;
  /** What is no flag: a subcommand and its words, or the prompt. */
  words: string[];
}

interface Flag {
  name: string;
  short?: string;
  /** What stands behind it; none for a switch. `[ID]`: may be left out. */
  value?: string;
  help: string;
  set(options: Options, value: string): void;
}

const OUTPUTS = ["text", "json", "stream-json"] as const;

export const FLAGS: readonly Flag[] = [
  {
    name: "print",
    short: "p",
    help: "one turn, no terminal: answer on stdout, progress on stderr",
    set: (o) => (o.print = true),
  },
  {
    name: "output",
    value: "text|json|stream-json",
    help: "what -p prints",
    set: (o, value) => (o.output = oneOf(value, OUTPUTS, "--output")),
  },
  {
    name: "model",
    value: "PROVIDER/MODEL",
    help: "the model that answers",
    set: (o, value) => (o.model = value),
  },
  {
    name: "reason",
    value: "LEVEL",
    help: "off, minimal, low, medium, high or xhigh",
    set: (
      o,
      value,
    ) => (o.reason = oneOf(
      value,
      ["off", "minimal", "low", "medium", "high", "xhigh"],
      "--reason",
    )),
  },
  {
    name: "max-steps",
    value: "N",
    help: "steps of a turn (200)",
    set: (o, value) => (o.maxSteps = count(value, "--max-steps")),
  },
  {
    name: "budget-usd",
    value: "X",
    help: "money a turn may cost",
    set: (o, value) => (o.budgetUsd = positive(value, "--budget-usd")),
  },
  {
    name: "budget-tokens",
    value: "N",
    help: "tokens a turn may use",
    set: (o, value) => (o.budgetTokens = count(value, "--budget-tokens")),
  },
  {
    name: "timeout",
    value: "SECONDS",
    help: "wall time of a turn",
    set: (o, value) => (o.timeout = positive(value, "--timeout")),
  },
  {
    name: "yolo",
    help: "allow everything but what is denied or protected",
    set: (o) => (o.yolo = true),
  },
  {
    name: "allow",
    value: "RULE",
    help: "allow without asking, e.g. 'Bash(npm test)' or 'Edit(src/**)'",
    set: (o, value) => o.allow.push(value),
  },
  { name: "deny", value: "RULE", help: "always refuse", set: (o, value) => o.deny.push(value) },
  {
    name: "plugin",
    value: "PATH",
    help: "use the plugin in this folder, too",
    set: (o, value) => o.plugins.push(value),
  },
  {
    name: "require-trust",
    help: "exit 6 when something of the project is not trusted",
    set: (o) => (o.requireTrust = true),
  },
  {
    name: "trust-digest",
    value: "DIGEST",
    help: "trust for this run what nanocode trust --digest names",
    set: (o, value) => (o.trustDigest = value),
  },
  {
    name: "no-project-text",
    help: "leave out rules, skills and commands of the project",
    set: (o) => (o.noProjectText = true),
  },
  {
    name: "continue",
    short: "c",
    help: "go on with this project's last session",
    set: (o) => (o.continue = true),
  },
  {
    name: "resume",
    short: "r",
    value: "[ID]",
    help: "go on with a session (without ID: choose)",
    set: (o, value) => (o.resume = value),
  },
  {
    name: "record",
    value: "FILE",
    help: "write the replies to a recording",
    set: (o, value) => (o.record = value),
  },
  {
    name: "demo",
    help: "a sample project with recorded replies: no key, no network",
    set: (o) => (o.demo = true),
  },
  { name: "json", help: "nanocode context: one JSON document", set: (o) => (o.json = true) },
  { name: "cwd", value: "DIR", help: "work there", set: (o, value) => (o.cwd = value) },
  {
    name: "config",
    value: "FILE",
    help: "use this file in place of ~/.nanocode/config.json",
    set: (o, value) => (o.config = value),
  },
  { name: "help", short: "h", help: "this page", set: (o) => (o.help = true) },
  { name: "version", short: "v", help: "the version", set: (o) => (o.version = true) },
];

/** Ids begin with 0 (records.ts): so `-r fix the test` is a prompt, `-r 0mk3` a session. */
const SESSION_ID = /^0[0-9a-z]{2,}$/;

/** Parses arguments; a UserError names the flag, what is wrong and the nearest right one. */
export function parseArgs(argv: readonly string[]): Options {
  const options: Options = {
    print: false,
    output: "text",
    yolo: false,
    allow: [],
    deny: [],
    plugins: [],
    requireTrust: false,
    noProjectText: false,
    continue: false,
    demo: false,
    json: false,
    help: false,
    version: false,
    words: [],
  };
  for (let i = 0; i < argv.length; i++) {
    const word = argv[i] as string;
    if (word === "--") {
      options.words.push(...argv.slice(i + 1));
      break;
    }
    if (!word.startsWith("-") || word === "-") {
      options.words.push(word);
      continue;
    }
    const equals = word.startsWith("--") ? word.indexOf("=") : -1;
    const name = equals === -1 ? word : word.slice(0, equals);
    const flag = FLAGS.find((known) =>
      name === `--${known.name}` || (known.short && name === `-${known.short}`)
    );
    if (!flag) throw unknownFlag(name);
    if (flag.value === undefined) {
      if (equals !== -1) throw new UserError(`${name} takes no value`, `Write just ${name}.`);
      flag.set(options, "");
      continue;
    }
    const next = argv[i + 1];
    const optional = flag.value.startsWith("[");
    if (equals !== -1) flag.set(options, word.slice(equals + 1));
    else if (optional && !SESSION_ID.test(next ?? "")) flag.set(options, "");
    else if (next !== undefined && (next === "-" || !next.startsWith("-"))) {
      flag.set(options, next);
      i++;
    } else throw new UserError(`${name} needs a value`, `Write ${name} ${flag.value}.`);
  }
  return options;
}

function unknownFlag(name: string): UserError {
  const near = nearest(name, FLAGS.map((flag) => `--${flag.name}`));
  return new UserError(
    `there is no option ${name}`,
    near
      ? `Did you mean ${near}? \`nanocode --help\` lists all.`
      : "`nanocode --help` lists all options.",
  );
}

function oneOf<T extends string>(value: string, allowed: readonly T[], flag: string): T {
  const found = allowed.find((candidate) => candidate === value);
  if (!found) {
    throw new UserError(`${flag} is "${value}", but must be one of ${allowed.join(", ")}`);
  }
  return found;
}

function count(value: string, flag: string): number {
  const number = Number(value);
  if (!Number.isInteger(number) || number < 1) {
    throw new UserError(`${flag} is "${value}", but must be a whole number from 1`);
  }
  return number;
}

function positive(value: string, flag: string): number {
  const number = Number(value);
  if (!Number.isFinite(number) || number <= 0) {
    throw new UserError(`${flag} is "${value}", but must be a number above 0`);
  }
  return number;
}
