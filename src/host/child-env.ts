// The environment of a child process: allow-listed, so that keys and tokens of the user's shell do not
// reach commands the model runs (spec/security), and set so that nothing waits for a person.
// Not here: which shell runs (processes.ts).

/** Names passed on as they are. Everything else of nanocode's environment stays out. */
const ALLOWED = new Set([
  ...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TZ", "TMPDIR", "COLORTERM"],
  // Where toolchains live.
  ...["JAVA_HOME", "JDK_HOME", "ANDROID_HOME", "ANDROID_SDK_ROOT", "KOTLIN_HOME", "SDKMAN_DIR"],
  ...["M2_HOME", "MAVEN_HOME", "GRADLE_HOME", "GRADLE_USER_HOME", "DOTNET_ROOT", "FLUTTER_ROOT"],
  ...["GOPATH", "GOROOT", "GOBIN", "GOMODCACHE", "CARGO_HOME", "RUSTUP_HOME"],
  ...["VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT", "PIPX_HOME", "POETRY_HOME"],
  ...["NVM_DIR", "NVM_BIN", "FNM_DIR", "VOLTA_HOME", "PNPM_HOME", "COREPACK_HOME", "DENO_DIR"],
  ...["GEM_HOME", "GEM_PATH", "RBENV_ROOT", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR"],
  ...["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"],
]);

/** Never passed on by a pattern; only where the user wrote the whole name. */
const SECRET = /_KEY$|_TOKEN$|SECRET|PASSW(OR)?D|^BUN_|^NODE_OPTIONS$|^LD_|^DYLD_|^GIT_/i;

const NO_EDITOR =
  `echo 'nanocode: no editor can be opened here; give the text on the command line (git commit -m, ` +
  `GIT_EDITOR=true git rebase --continue)' >&2; false`;

/** Set over the user's values: no pager, no editor, no password prompt (SH-05, SH-06). */
const FIXED: Readonly<Record<string, string>> = {
  PAGER: "cat",
  GIT_PAGER: "cat",
  MANPAGER: "cat",
  GIT_TERMINAL_PROMPT: "0",
  EDITOR: "false",
  VISUAL: "false",
  GIT_EDITOR: NO_EDITOR,
  GIT_SEQUENCE_EDITOR: NO_EDITOR,
};

/**
 * Environment for a child.
 *
 * @param source nanocode's own environment.
 * @param extra The user's `bash.env`: whole names, or a prefix with `*` at its end (`AWS_*`). A whole
 * name passes whatever it is and wins over our settings; a prefix never passes secrets or loader variables.
 */
export function childEnvironment(
  source: Readonly<Record<string, string | undefined>>,
  extra: readonly string[],
): Record<string, string> {
  const named = new Set(extra);
  const prefixes = extra.filter((name) => name.endsWith("*")).map((name) => name.slice(0, -1));
  const env: Record<string, string> = { ...FIXED };
  for (const [name, value] of Object.entries(source)) {
    if (value === undefined) continue;
    const passes = named.has(name) ||
      ((ALLOWED.has(name) || name.startsWith("LC_") ||
        prefixes.some((prefix) => name.startsWith(prefix))) && !SECRET.test(name));
    if (passes) env[name] = value;
  }
  return env;
}
