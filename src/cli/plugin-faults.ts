// What goes wrong when `nanocode plugin` works through several plugins: each is told, and none stops the others.

import type { ConfiguredPlugin } from "../config/config.ts";
import type { Manifest } from "../plugins/manifest.ts";
import { EXIT, UserError } from "../runtime/errors.ts";
import { visible } from "../ui/text.ts";
import { VERIFY } from "./plugin-verify.ts";

/** Does it for each; what fails is told and does not stop the others. Gives the first exit code that is not 0. */
export async function each(
  plugins: readonly ConfiguredPlugin[],
  act: (plugin: ConfiguredPlugin) => Promise<number>,
): Promise<number> {
  let exit: number = EXIT.done;
  for (const plugin of plugins) {
    let code: number;
    try {
      code = await act(plugin);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      const hint = error.hint ? `\n  ${error.hint}` : "";
      process.stderr.write(`${visible(`nanocode: ${plugin.name}: ${error.message}${hint}`)}\n`);
      code = error.exit;
    }
    exit = exit === EXIT.done ? code : exit;
  }
  return exit;
}

export function checkName(name: string, manifest: Manifest): void {
  if (manifest.name === name) return;
  throw new UserError(
    `config.json calls the plugin ${name}, its manifest ${manifest.name}`,
    `Write "${manifest.name}" in config.json.`,
  );
}

export function drift(what: string): UserError {
  return new UserError(
    what,
    "nanocode plugin sync (without --frozen) makes the lock fit; commit it.",
    VERIFY.drift,
  );
}
