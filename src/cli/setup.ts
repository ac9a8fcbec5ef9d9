// Puts a session together from options, configuration and plugins: model, tools, host, policy. What
// runs it, headless or in a terminal, is headless.ts and chat.ts.

import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { type Config, loadConfig } from "../config/config.ts";
import type { ConfigFile } from "../config/schema.ts";
import { detectCommands, environmentText } from "../context/environment.ts";
import SYSTEM from "../context/system.md" with { type: "text" };
import type { LocalHost } from "../host/local.ts";
import { localHost } from "../host/local.ts";
import type { Found } from "../knowledge/find.ts";
import { skillsFor } from "../knowledge/skills.ts";
import { endSession } from "../loop/hooks.ts";
import { openSession, repair, type Session } from "../loop/session.ts";
import type { ModelChoice, TurnDeps } from "../loop/turn.ts";
import type { Policy } from "../permission/policy.ts";
import { parseRule } from "../permission/rules.ts";
import { bundled } from "../plugins/bundled.ts";
import { pluginProviders } from "../plugins/providers.ts";
import { SessionPlugins } from "../plugins/session.ts";
import { TrustStore } from "../plugins/trust.ts";
import { chooseModel } from "../provider/choose.ts";
import { UserError } from "../runtime/errors.ts";
import { shortHash } from "../runtime/hash.ts";
import { createLog, type OpenLog, reopenLog } from "../session/open.ts";
import { projectFolder } from "../session/store.ts";
import type { ToolEntry } from "../tools/tool.ts";
import { visible } from "../ui/text.ts";
import { VERSION } from "../version.ts";
import type { Options } from "./args.ts";
import { configuredPlugins } from "./configured.ts";
import { coreTools, warmUp } from "./core-tools.ts";
import { openKnowledge, type SessionKnowledge } from "./knowledge.ts";
import type { Program } from "./run.ts";
import { whichSession } from "./which-session.ts";
import { projectRoot, type Workspace } from "./workspace.ts";

/** Everything a turn needs but its input, its signal and who answers questions. */
export interface Setup {
  workspace: Workspace;
  config: Config;
  model: ModelChoice;
  host: LocalHost;
  tools: ReadonlyMap<string, ToolEntry>;
  plugins: SessionPlugins;
  policy: Policy;
  knowledge: SessionKnowledge;
  /** How what goes wrong later is shown; on stderr unless the terminal does it. */
  warning: { show(message: string): void };
  /** Lines for the person: ignored settings, a session that had to be forked or repaired. */
  warnings: string[];
  /** The session, opened or made when first asked for. */
  session(): Session;
  /** Deps of a turn. */
  turnDeps(signal: AbortSignal): TurnDeps;
  /** Lets hooks hear that the session is left, which takes a second at most. Never throws. */
  end(): Promise<void>;
  /** Kills what still runs and closes the session. */
  close(): void;
}

/** Grants beyond the user's own rules, e.g. the demo's in its own folder. */
export interface Grant {
  allow: string[];
}

export async function setUp(
  options: Options,
  program: Program,
  workspace: Workspace,
  grant: Grant = { allow: [] },
): Promise<Setup> {
  const { home, root, cwd } = workspace;
  const { config, warnings, plugins: configured } = await loadConfig({
    home,
    root,
    ...(options.config === undefined ? {} : { file: options.config }),
    flags: flagsOf(options),
  });
  const warning = {
    show: (message: string) => void process.stderr.write(`${visible(`warning: ${message}`)}\n`),
  };
  const { plugins: builtIn, skills } = await bundled(program.assets, program.bundled);
  const core = await coreTools(program.bundled?.coreTools ?? null, () => plugins);
  const plugins: SessionPlugins = await SessionPlugins.open({
    bundled: builtIn,
    folders: { home, root: projectRoot(workspace), flags: options.plugins, cwd },
    trust: new TrustStore(home),
    digest: options.trustDigest,
    configured: configuredPlugins(workspace, options.config, configured),
    skills: (ctx) => skillsFor(knowledge.found.skills, ctx),
    reloadKnowledge: () => knowledge.reload(),
    core,
    warn: (message) => warning.show(message),
  });
  const knowledge: SessionKnowledge = await openKnowledge(
    options,
    workspace,
    skills,
    () => plugins.opened.plugins,
  );
  warnings.push(...plugins.warnings, ...knowledge.found.warnings);
  if (options.requireTrust) {
    const { items, refused } = plugins.opened;
    (await import("./trust.ts")).requireTrust(items.filter((item) => refused.has(item)));
  }
  let warm = false;
  const chosen = await chooseModel({
    ...(config.model === undefined ? {} : { model: config.model }),
    providers: config.providers,
    declared: pluginProviders(plugins.opened.plugins),
    apis: plugins.apis,
    env: process.env,
    fetch(input, init) {
      const response = fetch(input, init);
      if (!warm) void warmUp(core);
      warm = true;
      return response;
    },
  });
  const model: ModelChoice = {
    ...chosen,
    reasoning: config.reason,
    window: config.context.window ?? chosen.window,
  };
  if (config.limits.budgetUsd !== undefined && !model.prices) {
    throw new UserError(
      `a budget in USD is set, but the prices of ${model.model} are not known`,
      `Set "providers": {"${model.provider.id}": {"prices": {"input": …, "output": …}}} (USD per million tokens), or use --budget-tokens.`,
    );
  }
  if (options.record) model.provider = await recordTo(options.record, model, workspace);
  const granted = policyOf(config, grant);
  const policy = {
    ...granted,
    allow: [...granted.allow, ...knowledge.grants],
    home: realHome(home),
  };
  const host = localHost({ locks: join(home, "locks"), env: config.bash.env });
  const folder = projectFolder(home, root);
  const goesOn = options.continue || options.resume !== undefined;
  let open: { log: OpenLog; session: Session } | null = null;
  const openOnce = () => {
    open ??= openOrCreate(
      options,
      folder,
      () => ({
        root,
        cwd,
        version: VERSION,
        environment: environment(workspace, config, knowledge.found),
      }),
      knowledge.found,
      warnings,
    );
    return open.session;
  };
  if (goesOn) openOnce(); // what is wrong is said at the start
  return {
    workspace,
    config,
    model,
    host,
    tools: plugins.tools,
    plugins,
    policy,
    knowledge,
    warning,
    warnings,
    session: openOnce,
    turnDeps: (signal) => ({
      model,
      tools: plugins.tools,
      host,
      policy,
      limits: config.limits,
      toolLimits: config.context,
      system: SYSTEM,
      files: config.context.files,
      knowledge: knowledge.found,
      ...(plugins.hooks === null ? {} : { hooks: plugins.hooks }),
      signal,
    }),
    async end() {
      if (open) await endSession(open.session, plugins.hooks);
      await plugins.close();
    },
    close() {
      host.killAll();
      open?.log.close();
    },
  };
}

function flagsOf(options: Options): ConfigFile {
  const { model, reason, maxSteps, budgetUsd, budgetTokens, timeout, yolo, allow, deny } = options;
  return {
    ...(model === undefined ? {} : { model }),
    ...(reason === undefined ? {} : { reason: reason as NonNullable<ConfigFile["reason"]> }),
    limits: { steps: maxSteps, budgetUsd, budgetTokens, timeout },
    permissions: { allow, deny, ...(yolo ? { yolo } : {}) },
  };
}

/** As paths of effects are; it need not be there yet. */
function realHome(home: string): string {
  return existsSync(home) ? realpathSync(home) : home;
}

function policyOf(config: Config, grant: Grant): Policy {
  const rules = (sources: string[]) =>
    sources.map((source) => {
      try {
        return parseRule(source);
      } catch (error) {
        throw new UserError((error as Error).message);
      }
    });
  const { allow, ask, deny, yolo } = config.permissions;
  return { allow: rules([...allow, ...grant.allow]), ask: rules(ask), deny: rules(deny), yolo };
}

function environment(
  { cwd }: Workspace,
  config: Config,
  { files, skills }: Found,
): string {
  return environmentText({
    cwd,
    os: process.platform === "darwin"
      ? "macOS"
      : process.platform === "win32"
      ? "Windows"
      : "Linux",
    arch: process.arch,
    shell: "bash",
    bashTimeout: config.context.bashTimeout,
    commands: detectCommands(),
    rules: files,
    skills,
  });
}

function openOrCreate(
  options: Options,
  folder: string,
  header: () => Parameters<typeof createLog>[1],
  { files }: Found,
  warnings: string[],
): { log: OpenLog; session: Session } {
  const file = options.resume !== undefined || options.continue
    ? whichSession(folder, options.resume)
    : null;
  if (!file) {
    const log = createLog(folder, header());
    for (const { path, text } of files) {
      // Not sha-256: node:crypto takes longer to load than all of this.
      const version = shortHash(text);
      log.log.append({ type: "loaded", turn: 0, step: 0, kind: "rule", path, version });
    }
    return { log, session: openSession(log.log, log.blobs) };
  }
  const log = reopenLog(file.path, folder);
  for (const problem of log.log.problems) warnings.push(`session ${file.id}: ${problem}`);
  if (log.forkedFrom) {
    warnings.push(
      `session ${log.forkedFrom} is open in another nanocode: going on with a copy of it`,
    );
  }
  const session = openSession(log.log, log.blobs);
  const closed = repair(session);
  if (closed > 0) {
    warnings.push(
      `the session was cut during ${closed} call${closed > 1 ? "s" : ""}: marked as interrupted`,
    );
  }
  return { log, session };
}

async function recordTo(
  path: string,
  model: ModelChoice,
  { cwd }: Workspace,
): Promise<ModelChoice["provider"]> {
  const [{ writeFileSync }, { homedir }, { recording }] = await Promise.all([
    import("node:fs"),
    import("node:os"),
    import("../provider/replay.ts"),
  ]);
  const home = homedir();
  return recording(model.provider, { cwd, home }, (cassette) => {
    writeFileSync(path, `${JSON.stringify(cassette, null, 1)}\n`, { mode: 0o600 });
  });
}
