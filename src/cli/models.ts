// `nanocode models`: what the chosen provider offers, one id a line.

import { loadConfig } from "../config/config.ts";
import { bundled } from "../plugins/bundled.ts";
import { pluginProviders } from "../plugins/registry.ts";
import { chooseModel } from "../provider/choose.ts";
import { UserError } from "../runtime/errors.ts";
import type { Options } from "./args.ts";
import type { Program } from "./run.ts";
import { findWorkspace } from "./workspace.ts";

export async function modelsCommand(
  options: Options,
  program: Program,
  print: (text: string) => Promise<number>,
): Promise<number> {
  const { home, root } = findWorkspace(options.cwd);
  const { config } = await loadConfig({
    home,
    root,
    ...(options.config ? { file: options.config } : {}),
  });
  const { plugins } = await bundled(program.assets, program.bundled);
  const model = options.model ?? config.model;
  const { provider } = await chooseModel({
    ...(model === undefined ? {} : { model }),
    providers: config.providers,
    declared: pluginProviders(plugins),
    env: process.env,
    listing: true,
  });
  if (!provider.models) throw new UserError(`the provider ${provider.id} has no list of models`);
  const ids = await provider.models(new AbortController().signal);
  return await print(ids.map((id) => `${provider.id}/${id}\n`).join(""));
}
