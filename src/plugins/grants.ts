// What a plugin may do and adds, as short strings (`exec:git`, `net:api.acme.dev`, `tool:Fetch`): they stand in
// the lock, so that a diff of it shows a plugin that wants more. What a person agrees to at length is
// trustItemOf in open.ts.

import { extensionOf, type Manifest } from "./manifest.ts";

/** The grants of a manifest, sorted, each once. */
export function grantsOf(manifest: Manifest): string[] {
  const { contributes = {}, capabilities = {}, replaces = [] } = extensionOf({ manifest });
  const { tools = [], apis = [], providers = [], hooks = [], commands = [] } = contributes;
  const { fs = {}, net = [], exec = [], env = [] } = capabilities;
  const grants = [
    ...(fs.read ?? []).map((place) => `fs.read:${place}`),
    ...(fs.write ?? []).map((place) => `fs.write:${place}`),
    ...net.map((host) => `net:${host}`),
    ...exec.map((program) => `exec:${program}`),
    ...env.map((name) => `env:${name}`),
    ...tools.flatMap((
      { name, effects = [] },
    ) => [`tool:${name}`, ...effects.map((kind) => `tool:${name}:${kind}`)]),
    ...commands.flatMap((
      { name, effects = [] },
    ) => [`command:${name}`, ...effects.map((kind) => `command:${name}:${kind}`)]),
    ...hooks.map(({ event, matcher }) =>
      `hook:${event}${matcher === undefined ? "" : `:${matcher}`}`
    ),
    ...hooks.flatMap(({ command }) => command === undefined ? [] : [`exec:${command.join(" ")}`]),
    ...apis.map((name) => `api:${name}`),
    ...providers.flatMap(({ id, baseURL, keyEnv }) => [
      `provider:${id}`,
      ...(baseURL === undefined ? [] : [`net:${new URL(baseURL).host}`]),
      ...(keyEnv === undefined ? [] : [`env:${keyEnv}`]),
    ]),
    ...replaces.map((name) => `replaces:${name}`),
  ];
  return [...new Set(grants)].sort();
}

export interface GrantDiff {
  added: string[];
  removed: string[];
}

export function grantDiff(before: readonly string[], now: readonly string[]): GrantDiff {
  return {
    added: now.filter((grant) => !before.includes(grant)),
    removed: before.filter((grant) => !now.includes(grant)),
  };
}
