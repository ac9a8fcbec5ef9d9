// `npm start`, `npm test` and the rest, on a fresh machine with nothing but Node and npm: gets the
// pinned Bun into a git-ignored folder, lets it install the frozen lockfile, then does the task.
// Plain Node on purpose; everything behind it is TypeScript run by Bun.

import { createHash } from "node:crypto";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const bunVersion = manifest.devDependencies["bun-types"];
const [task = "start", ...rest] = process.argv.slice(2);
const args = rest[0] === "--" ? rest.slice(1) : rest;

const bun = ensureBun();
ensureDependencies();
switch (task) {
  case "start":
    ensureBuilt();
    process.exit(await run(join(root, "dist", exe("nanocode")), args, userFolder()));
    break;
  case "build":
    process.exit(await run(bun, ["--no-install", "scripts/compile.ts", ...args], root));
    break;
  case "test":
  case "check":
    ensureBuilt();
    process.exit(await run(bun, ["--no-install", "scripts/test.ts", task, ...args], root));
    break;
  case "fmt":
    process.exit(
      await run(join(root, "node_modules", "deno", exe("deno")), ["fmt", ...args], root),
    );
    break;
  case "bench":
    ensureBuilt();
    process.exit(await run(bun, ["--no-install", "bench/run.ts", ...args], root));
    break;
  default:
    fail(`there is no task "${task}"`);
}

/** Path of the pinned Bun; installed from its npm package for this platform when missing. */
function ensureBun() {
  const target = bunPackage();
  const path = join(root, ".tools", "node_modules", "@oven", target, "bin", exe("bun"));
  if (existsSync(path) && spawnSync(path, ["--version"]).stdout?.toString().trim() === bunVersion) {
    return path;
  }
  say(`installing Bun ${bunVersion} …`);
  mkdirSync(join(root, ".tools"), { recursive: true });
  // The platform's own package needs no install script, unlike the package "bun".
  npm([
    "install",
    "--prefix",
    ".tools",
    "--no-save",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
    `@oven/${target}@${bunVersion}`,
  ]);
  if (!existsSync(path)) fail(`Bun ${bunVersion} was installed but is not at ${path}`);
  return path;
}

function bunPackage() {
  const os = { linux: "linux", darwin: "darwin", win32: "windows" }[process.platform];
  const cpu = { x64: "x64", arm64: "aarch64" }[process.arch];
  if (!os || !cpu) fail(`there is no Bun for ${process.platform} on ${process.arch}`);
  const musl = os === "linux" && !process.report?.getReport().header.glibcVersionRuntime;
  return `bun-${os}-${cpu}${musl ? "-musl" : ""}`;
}

/** `bun install` with the frozen lockfile, once per lockfile. */
function ensureDependencies() {
  const lock = createHash("sha256").update(readFileSync(join(root, "bun.lock"))).update(
    readFileSync(join(root, "package.json")),
  ).digest("hex");
  const stamp = join(root, "node_modules", ".nanocode-lock");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lock) return;
  say("installing dependencies …");
  const { status, stderr } = spawnSync(bun, ["install", "--frozen-lockfile"], {
    cwd: root,
    stdio: ["ignore", "ignore", "pipe"],
  });
  if (status !== 0) fail(`bun install failed:\n${stderr}`);
  writeFileSync(stamp, lock);
}

/** Builds dist/nanocode when it is older than any source. */
function ensureBuilt() {
  const binary = join(root, "dist", exe("nanocode"));
  const built = existsSync(binary) ? statSync(binary).mtimeMs : 0;
  const sources = [
    "mod.ts",
    "package.json",
    "bun.lock",
    "tsconfig.json",
    "src",
    "plugins",
    "skills",
    "scripts/compile.ts",
  ];
  if (sources.every((path) => newest(join(root, path)) < built)) return;
  say("building dist/nanocode …");
  const { status, stderr } = spawnSync(bun, ["--no-install", "scripts/compile.ts"], {
    cwd: root,
    stdio: ["ignore", "ignore", "pipe"],
  });
  if (status !== 0) fail(`the build failed:\n${stderr}`);
}

function newest(path) {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return readdirSync(path).reduce(
    (latest, name) => Math.max(latest, newest(join(path, name))),
    stat.mtimeMs,
  );
}

/** The folder npm was called in, so that `npm --prefix CLONE start` works where the user is. */
function userFolder() {
  return process.env.INIT_CWD ?? process.cwd();
}

function npm(words) {
  // npm_execpath is the npm that runs us; on PATH it may be another one, or a .cmd file.
  const cli = process.env.npm_execpath;
  const options = { cwd: root, stdio: ["ignore", "ignore", "pipe"] };
  const { status, stderr, error } = cli
    ? spawnSync(process.execPath, [cli, ...words], options)
    : spawnSync("npm", words, options);
  if (status !== 0) fail(`npm ${words.join(" ")} failed:\n${stderr ?? error}`);
}

/** Runs a program in the foreground and gives its exit code; signals reach it, not us. */
function run(command, words, cwd) {
  return new Promise((resolve) => {
    const child = spawn(command, words, { cwd, stdio: "inherit" });
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
      // Ctrl-C reaches the whole foreground group; others only us.
      process.on(signal, () => signal !== "SIGINT" && child.kill(signal));
    }
    child.on("error", (error) => fail(`cannot start ${command}: ${error.message}`));
    child.on("exit", (code, signal) => resolve(code ?? (signal === "SIGINT" ? 130 : 1)));
  });
}

function exe(name) {
  return process.platform === "win32" ? `${name}.exe` : name;
}

function say(text) {
  process.stderr.write(`nanocode: ${text}\n`);
}

function fail(text) {
  process.stderr.write(`nanocode: ${text}\n`);
  process.exit(1);
}
