// The shape of config.json: every key, its type and limits. Layers and origins are config.ts.

import { z } from "zod";

const strings = z.array(z.string());

const provider = z.strictObject({
  /** The API that it speaks; default `chat`. */
  api: z.string().optional(),
  baseURL: z.string(),
  /** A key, the name of an environment variable, or a command whose output is the key. */
  key: z.union([
    z.string(),
    z.strictObject({ env: z.string() }),
    z.strictObject({ command: z.array(z.string()).min(1) }),
  ]).optional(),
  headers: z.record(z.string(), z.string()).optional(),
  /** Tokens that fit. */
  window: z.int().min(1000).optional(),
  /** USD per million tokens. */
  prices: z.strictObject({
    input: z.number().min(0),
    cached: z.number().min(0).optional(),
    output: z.number().min(0),
  }).optional(),
});

/** What a plugin's own settings may be is in its manifest: src/plugins/settings.ts checks them. */
const plugin = z.union([
  z.string().min(1),
  z.strictObject({
    /** src/plugins/sources.ts; absent for settings of a plugin of a folder, or of a built-in one. */
    source: z.string().min(1).optional(),
    enabled: z.boolean().optional(),
    config: z.record(z.string(), z.unknown()).optional(),
    only: z.strictObject({
      tools: strings.optional(),
      skills: strings.optional(),
      rules: strings.optional(),
    }).optional(),
  }),
], { error: 'must be a SOURCE, or {"source", "enabled", "config", "only"}' });

export const configSchema = z.strictObject({
  $schema: z.string().optional(),
  model: z.string().min(1).optional(),
  reason: z.enum(["off", "minimal", "low", "medium", "high", "xhigh"]).optional(),
  providers: z.record(z.string().regex(/^[A-Za-z0-9._-]+$/), provider).optional(),
  limits: z.strictObject({
    steps: z.int().min(1).optional(),
    budgetUsd: z.number().positive().optional(),
    budgetTokens: z.int().min(1).optional(),
    /** Seconds of a turn. */
    timeout: z.number().positive().optional(),
  }).optional(),
  context: z.strictObject({
    window: z.int().min(1000).optional(),
    outputTokens: z.int().min(200).optional(),
    readTokens: z.int().min(200).optional(),
    /** Where current file content stands: at the results that showed it, or all in FILE STATE. */
    files: z.enum(["inline", "tail"]).optional(),
    /** Seconds. */
    bashTimeout: z.number().min(1).max(600).optional(),
  }).optional(),
  permissions: z.strictObject({
    allow: strings.optional(),
    ask: strings.optional(),
    deny: strings.optional(),
    yolo: z.boolean().optional(),
  }).optional(),
  plugins: z.record(z.string().regex(/^[a-z0-9][a-z0-9.-]{0,63}$/), plugin).optional(),
  /** Address of the npm registry that plugins are fetched from. */
  registry: z.url({ protocol: /^https?$/ }).optional(),
  /** marketplace.json files that `nanocode plugin search` looks into: paths or https addresses. */
  catalogues: strings.optional(),
  bash: z.strictObject({
    /** Names of further environment variables that commands see. */
    env: strings.optional(),
  }).optional(),
});

export type ConfigFile = z.infer<typeof configSchema>;
export type ProviderConfig = z.infer<typeof provider>;
