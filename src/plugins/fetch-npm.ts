// Fetches files over http(s): a package of an npm registry by its own protocol (a JSON document and a tarball),
// or a tarball by its address. No npm client, no scripts, no dependencies; bytes count only with their hash.
// The registry is the person's: no address of one stands in this program.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { UserError } from "../runtime/errors.ts";
import { isLoopback, type Source } from "./sources.ts";

/** Of a package's document and of a tarball (bytes). */
const MAX_DOCUMENT = 64 * 1024 * 1024;
const MAX_TARBALL = 128 * 1024 * 1024;
const FETCH_MS = 300_000;

export type NpmSource = Extract<Source, { kind: "npm" }>;

export interface Downloaded {
  bytes: Uint8Array;
  url: string;
  version: string;
  /** `sha512-…` as the registry named it and as the bytes have it. */
  integrity: string;
}

export interface RegistrySettings {
  /** `registry` of the person's config.json. */
  configured: string | undefined;
  env: Readonly<Record<string, string | undefined>>;
  /** The person's own folder, with their .npmrc. */
  home: string | undefined;
}

/** Address of the registry for a package, without a `/` at its end. @throws {UserError} when none is set. */
export function registryFor(name: string, { configured, env, home }: RegistrySettings): string {
  const npmrc = npmrcOf(home);
  const scope = name.startsWith("@") ? name.slice(0, name.indexOf("/")) : null;
  const found = (scope === null ? undefined : npmrc.get(`${scope}:registry`)) ?? configured ??
    env["npm_config_registry"] ?? env["NPM_CONFIG_REGISTRY"] ?? npmrc.get("registry");
  if (!found) {
    throw new UserError(
      "no npm registry is set, and nanocode knows none by itself",
      'Set "registry" in ~/.nanocode/config.json, or take over npm\'s own: npm config set registry "$(npm config get registry)"',
    );
  }
  const url = URL.canParse(found) ? new URL(found) : null;
  if (
    url === null ||
    (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback(url.hostname)))
  ) {
    throw new UserError(`the npm registry ${found} is no https address`);
  }
  return url.href.replace(/\/+$/, "");
}

/** `key=value` lines of the person's .npmrc; a project's is never read. */
function npmrcOf(home: string | undefined): Map<string, string> {
  if (home === undefined) return new Map();
  let text: string;
  try {
    text = readFileSync(join(home, ".npmrc"), "utf8");
  } catch {
    return new Map();
  }
  return new Map(
    [...text.matchAll(/^[ \t]*([^#;=\s][^=\s]*)[ \t]*=[ \t]*"?([^"\r\n]*?)"?[ \t]*$/gm)]
      .map(([, key = "", value = ""]) => [key, value]),
  );
}

interface Packument {
  "dist-tags"?: Record<string, string>;
  versions?: Record<string, { dist?: { tarball?: string; integrity?: string } }>;
}

/**
 * Downloads the version that a source asks for, or the one of the lock.
 *
 * @throws {UserError} also when the bytes are not those that the registry or the lock names.
 */
export async function fetchNpm(
  { name, range }: NpmSource,
  settings: RegistrySettings,
  locked: { version: string; integrity: string } | null,
): Promise<Downloaded> {
  const registry = registryFor(name, settings);
  const address = `${registry}/${name.replace("/", "%2f")}`;
  const document = await download(
    address,
    MAX_DOCUMENT,
    "application/vnd.npm.install-v1+json, application/json;q=0.9",
  );
  let packument: Packument;
  try {
    packument = JSON.parse(new TextDecoder().decode(document)) as Packument;
  } catch {
    throw new UserError(`${address} gave no JSON`, "Is the registry's address right?");
  }
  const versions = packument?.versions ?? {};
  const version = locked?.version ?? await versionFor(name, range, packument ?? {});
  const dist = Object.hasOwn(versions, version) ? versions[version]?.dist : undefined;
  const integrity = dist?.integrity?.split(/\s+/).find((one) => one.startsWith("sha512-"));
  if (!dist?.tarball || integrity === undefined) {
    throw new UserError(
      `${name}@${version} ${dist ? "has no sha512 in the registry" : "is not in the registry"}`,
      dist ? "It cannot be pinned; ask its author for a new release." : "Was it withdrawn?",
    );
  }
  if (locked !== null && integrity !== locked.integrity) {
    throw new UserError(
      `the registry has other content for ${name}@${version} than the lock (${integrity}, not ${locked.integrity})`,
      "A release never changes by itself: do not use it before you know why.",
      MISMATCH,
    );
  }
  const tarball = URL.canParse(dist.tarball) ? new URL(dist.tarball) : null;
  if (
    tarball === null ||
    (tarball.protocol !== "https:" && tarball.origin !== new URL(registry).origin)
  ) {
    throw new UserError(`${name}@${version} names a tarball that is at no https address`);
  }
  const bytes = await download(tarball.href, MAX_TARBALL, "application/octet-stream");
  const actual = `sha512-${hashOf("sha512", bytes, "base64")}`;
  if (actual !== integrity) {
    throw new UserError(
      `the tarball of ${name}@${version} is not the one that the registry names (${actual}, not ${integrity})`,
      "Nothing of it was kept.",
      MISMATCH,
    );
  }
  return { bytes, url: tarball.href, version, integrity };
}

/** Exit code for bytes that are not what was named (`nanocode plugin verify` has it, too). */
export const MISMATCH = 3;

async function versionFor(name: string, range: string, packument: Packument): Promise<string> {
  const { choose } = await import("./engines.ts");
  const tags = packument["dist-tags"] ?? {};
  if (Object.hasOwn(tags, range)) return tags[range] as string;
  const all = Object.keys(packument.versions ?? {});
  const version = choose(all, range, tags["latest"]);
  if (typeof version === "string") return version;
  const there = all.slice(-8).join(", ") || "none";
  throw new UserError(
    version === undefined
      ? `${range} is no range of versions and no tag of ${name}`
      : `no version of ${name} is in ${range}`,
    `The newest versions there are: ${there}.`,
  );
}

/** Downloads a tarball whose hash is known. @throws {UserError} */
export async function fetchTarball(
  { url, sha256 }: Extract<Source, { kind: "tarball" }>,
): Promise<Uint8Array> {
  const bytes = await download(url, MAX_TARBALL, "application/octet-stream");
  const actual = hashOf("sha256", bytes, "hex");
  if (actual !== sha256) {
    throw new UserError(
      `${url} has the sha-256 ${actual}, but ${sha256} was asked for`,
      "Nothing of it was kept. If the new file is what you want, look at it first, then name its hash.",
      MISMATCH,
    );
  }
  return bytes;
}

function hashOf(algorithm: string, bytes: Uint8Array, encoding: "hex" | "base64"): string {
  return process.getBuiltinModule("node:crypto").createHash(algorithm).update(bytes).digest(
    encoding,
  );
}

/** GET, bounded in time and size. Nothing about the person is sent. @throws {UserError} */
export async function download(url: string, limit: number, accept: string): Promise<Uint8Array> {
  try {
    const response = await fetch(url, {
      headers: { accept },
      signal: AbortSignal.timeout(FETCH_MS),
      credentials: "omit",
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw new UserError(
        `${url} answered ${response.status}`,
        response.status === 404
          ? "There is nothing of that name."
          : "Try again later, or check the address.",
      );
    }
    // A redirect may lead to where others can change what is said.
    const end = new URL(response.url);
    if (end.protocol !== "https:" && !isLoopback(end.hostname)) {
      await response.body?.cancel();
      throw new UserError(`${url} leads to ${end.href}, which is no https address`);
    }
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of response.body ?? []) {
      size += chunk.length;
      if (size > limit) throw new UserError(`${url} is larger than ${limit / 1024 / 1024} MB`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(
      `${url} cannot be reached: ${reasonOf(error)}`,
      "Check the address and the network.",
    );
  }
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message} (${cause.message})` : message;
}
