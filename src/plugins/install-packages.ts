// The npm packages of a fetched plugin that brings a bun.lock but not the packages: installed exactly as
// locked, from the person's registry, by the package manager that is in the binary. No script runs, and no
// setting of the plugin is read: package.json and lock are checked and put into a folder of their own.

import { spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { UserError } from "../runtime/errors.ts";

const INSTALL_MS = 300_000;
const MAX_SAID = 16 * 1024;
/** What of package.json the lock is about. */
const FIELDS = [
  "name",
  "version",
  "dependencies",
  "devDependencies",
  "optionalDependencies",
  "peerDependencies",
  "overrides",
  "resolutions",
];
/** The host has these. */
const SERVED = ["nanocode", "zod"];

/**
 * Installs what package.json asks for and the folder does not bring.
 *
 * @param registryFor Address of the registry; asked only when something is to be installed.
 * @param scratch An existing folder for what is in between, on the same disk.
 * @returns Lines for the person about what is missing all the same.
 * @throws {UserError} when the lock is not about packages of that registry, or does not fit.
 */
export async function installPackages(
  folder: string,
  registryFor: () => string,
  scratch: string,
): Promise<string[]> {
  const described = jsonOf(join(folder, "package.json"));
  const asked = Object.keys({ ...fieldsOf(described["dependencies"]) });
  const missing = asked.filter((name) =>
    !SERVED.includes(name) && !existsSync(join(folder, "node_modules", name))
  );
  if (missing.length === 0) return [];
  const lock = join(folder, "bun.lock");
  if (!existsSync(lock) || typeof Bun === "undefined") {
    const why = existsSync(lock)
      ? "only the binary can install them"
      : "it has no bun.lock for them";
    return [`its package.json asks for ${missing.join(", ")}, which it does not bring: ${why}`];
  }
  const registry = registryFor();
  const text = readFileSync(lock, "utf8");
  await checkLock(text, registry);
  const place = mkdtempSync(join(scratch, ".tmp-packages-"));
  try {
    const own = Object.fromEntries(
      FIELDS.flatMap((key) => described[key] === undefined ? [] : [[key, described[key]]]),
    );
    writeFileSync(join(place, "package.json"), JSON.stringify(own));
    writeFileSync(join(place, "bun.lock"), text);
    await run(place, registry);
    const made = join(place, "node_modules");
    if (!existsSync(made)) return [];
    removeLinks(made);
    rmSync(join(folder, "node_modules"), { recursive: true, force: true });
    renameSync(made, join(folder, "node_modules"));
    return [`installed ${missing.join(", ")} as its bun.lock pins them`];
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

/** Only packages of the registry, each with its hash. @throws {UserError} */
async function checkLock(text: string, registry: string): Promise<void> {
  const { parse } = await import("jsonc-parser");
  const lock = parse(text, [], { allowTrailingComma: true }) as unknown;
  const { packages, workspaces, patchedDependencies } = fieldsOf(lock);
  const fault = (what: string) =>
    new UserError(
      `its bun.lock ${what}`,
      "A plugin may bundle such code, or bring its node_modules.",
    );
  if (Object.keys(fieldsOf(workspaces)).some((name) => name !== "")) throw fault("has workspaces");
  if (patchedDependencies !== undefined) throw fault("patches packages");
  for (const [name, entry] of Object.entries(fieldsOf(packages))) {
    const [id = "", url = "", , integrity = ""] = Array.isArray(entry) ? entry.map(String) : [];
    if (!/^(?:@[\w.-]+\/)?[\w.-]+@\d[\w.+-]*$/.test(id)) {
      throw fault(`takes ${name} from ${id || "nowhere"}, which is no release of a registry`);
    }
    if (url !== "" && !url.startsWith(`${registry}/`)) {
      throw fault(`takes ${name} from ${url}, and your registry is ${registry}`);
    }
    if (!integrity.startsWith("sha512-")) throw fault(`names no sha512 for ${name}`);
  }
}

/** Runs the package manager of this binary. @throws {UserError} with what it said. */
function run(cwd: string, registry: string): Promise<void> {
  const env: Record<string, string> = {
    BUN_BE_BUN: "1",
    HOME: cwd,
    PATH: process.env["PATH"] ?? "",
    BUN_INSTALL_CACHE_DIR: join(cwd, ".cache"),
    npm_config_registry: registry,
  };
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined && /^(?:(?:https?|all|no)_proxy|SSL_CERT_(?:FILE|DIR))$/i.test(name)) {
      env[name] = value;
    }
  }
  const args = [
    "install",
    "--frozen-lockfile",
    "--ignore-scripts",
    "--production",
    "--linker=hoisted",
    "--no-progress",
    "--no-summary",
  ];
  mkdirSync(join(cwd, ".cache"));
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd,
      env,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: INSTALL_MS,
      killSignal: "SIGKILL",
    });
    let said = "";
    const hear = (part: Buffer) => {
      if (said.length < MAX_SAID) said += part;
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on(
      "error",
      (error) => reject(new UserError(`cannot install packages: ${error.message}`)),
    );
    child.on("close", (code, signal) => {
      if (code === 0) return resolve();
      const why = said.split("\n").filter((line) => /error/i.test(line)).slice(0, 5).join("; ");
      reject(
        new UserError(
          signal
            ? `its packages were not installed within ${INSTALL_MS / 1000} s`
            : `its packages cannot be installed as its bun.lock pins them: ${
              why || `exit ${code}`
            }`,
          "Nothing of it was kept.",
        ),
      );
    });
  });
}

/** Links to programs, which a plugin's tree may not hold; nothing of it needs them. */
function removeLinks(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.name === ".bin" || entry.name === ".cache" || entry.isSymbolicLink()) {
      rmSync(path, { recursive: true, force: true });
    } else if (entry.isDirectory()) removeLinks(path);
  }
}

function jsonOf(path: string): Record<string, unknown> {
  try {
    return fieldsOf(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return {};
  }
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? value as Record<string, unknown> : {};
}
