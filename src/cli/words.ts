// The words behind a subcommand that has options of its own.

import { parseArgs, type ParseArgsConfig } from "node:util";
import { UserError } from "../runtime/errors.ts";

/** Options and words of a subcommand. @throws {UserError} with `usage` for an option that it does not take. */
export function parseWords<T extends NonNullable<ParseArgsConfig["options"]>>(
  argv: readonly string[],
  options: T,
  usage: string,
) {
  try {
    return parseArgs({ args: [...argv], allowPositionals: true, options });
  } catch (error) {
    throw new UserError((error as Error).message.split(".")[0] ?? "", usage);
  }
}
