// `nanocode models`: what the chosen provider offers, one id a line.

import { loadConfig } from "../config/config.ts";
import { bundled } from "../plugins/bundled.ts";
import { openPlugins } from "../plugins/open.ts";
import { pluginApis, pluginProviders } from "../plugins/providers.ts";
import { LoadedPlugin } from "../plugins/registry.ts";
import { TrustStore } from "../plugins/trust.ts";
import { chooseModel } from "../provider/choose.ts";
import { UserError } from "../runtime/errors.ts";
import type { Options } from "./args.ts";
import { configuredPlugins } from "./configured.ts";
import type { Program } from "./run.ts";
import { findWorkspace, projectRoot } from "./workspace.ts";

export async function modelsCommand(
  options: Options,
  program: Program,
  print: (text: string) => Promise<number>,
): Promise<number> {
  const workspace = findWorkspace(options.cwd);
  const { home, root, cwd } = workspace;
  const { config } = await loadConfig({
    home,
    root,
    ...(options.config ? { file: options.config } : {}),
  });
  const { plugins } = await openPlugins(
    (await bundled(program.assets, program.bundled)).plugins,
    { home, root: projectRoot(workspace), flags: options.plugins, cwd },
    new TrustStore(home),
    { configured: await configuredPlugins(workspace, options.config)() },
  );
  const model = options.model ?? config.model;
  const { provider } = await chooseModel({
    ...(model === undefined ? {} : { model }),
    providers: config.providers,
    declared: pluginProviders(plugins),
    apis: pluginApis(plugins.map((plugin) => new LoadedPlugin(plugin, { home, root }))),
    env: process.env,
    listing: true,
  });
  if (!provider.models) throw new UserError(`the provider ${provider.id} has no list of models`);
  const ids = await provider.models(new AbortController().signal);
  return await print(ids.map((id) => `${provider.id}/${id}\n`).join(""));
}
