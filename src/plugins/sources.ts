// SOURCE of a plugin as people write it (`./path`, `git+https://…#v1`, `npm:@scope/name@^1`, `https://….tgz#sha256-…`)
// → what it means. Everything that could make a program do something else than fetch is refused here: other
// protocols, options, names and passwords in addresses. Nothing is fetched here.

import { UserError } from "../runtime/errors.ts";

export type Source =
  /** A folder: relative to the project, or the user's own, absolute. Read where it lies, never copied. */
  | { kind: "path"; path: string }
  /** `rev`: 40 hex digits; else `tag`. */
  | {
    kind: "git";
    url: string;
    transport: "https" | "ssh" | "file";
    ref: { rev: string } | { tag: string };
  }
  | { kind: "npm"; name: string; range: string }
  /** `sha256` in hex. */
  | { kind: "tarball"; url: string; sha256: string };

const FORMS =
  "A source is ./path, git+https://HOST/REPO#TAG-or-commit, npm:NAME@RANGE, or https://HOST/FILE.tgz#sha256-HASH.";
/** Lower-case as npm demands of new names. */
const NPM_NAME = /^(?:@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]{0,213}$/;
/** A version range or a tag of the registry; no protocol, no path. */
const NPM_RANGE = /^[\w.^~<>=|*+ -]{1,100}$/;
const COMMIT = /^[0-9a-f]{40}$/;
const TAG = /^(?!.*(?:\.\.|\/\/|@\{|\.lock$|[./]$))[A-Za-z0-9][A-Za-z0-9._/@+-]{0,199}$/;

/**
 * Reads a source.
 *
 * @param typed The person wrote it: on the command line or in the own config. Only then may it reach for
 * the person's ssh keys or other folders of this machine.
 * @throws {UserError} What is wrong with it and what is right.
 */
export function parseSource(text: string, typed: boolean): Source {
  if (/[\0-\x1f\x7f]/.test(text)) throw bad(text, "is no source");
  if (/^(?:\.{1,2})?\//.test(text)) {
    if (!typed && !/^\.\//.test(text)) throw bad(text, "is a folder outside the project");
    return { kind: "path", path: text };
  }
  if (text.startsWith("npm:")) return npmSource(text);
  if (text.startsWith("git+")) return gitSource(text, typed);
  if (/^https?:\/\//.test(text)) return tarballSource(text);
  throw bad(text, "is no source");
}

function bad(text: string, why: string, hint = FORMS): UserError {
  return new UserError(`the source ${JSON.stringify(text).slice(0, 300)} ${why}`, hint);
}

function npmSource(text: string): Source {
  const spec = text.slice("npm:".length);
  const at = spec.indexOf("@", 1);
  const name = at === -1 ? spec : spec.slice(0, at);
  const range = at === -1 ? "latest" : spec.slice(at + 1);
  if (!NPM_NAME.test(name)) {
    throw bad(text, "has no name of a package", "Write npm:NAME@RANGE or npm:@SCOPE/NAME@RANGE.");
  }
  if (!NPM_RANGE.test(range)) {
    throw bad(text, "has no range of versions", `Write for example npm:${name}@^1.2.0.`);
  }
  return { kind: "npm", name, range };
}

function gitSource(text: string, typed: boolean): Source {
  const hash = text.indexOf("#");
  const address = text.slice("git+".length, hash === -1 ? undefined : hash);
  const ref = hash === -1 ? "" : text.slice(hash + 1);
  const url = addressOf(address);
  const transport = url?.protocol.slice(0, -1);
  if (url === null || (transport !== "https" && transport !== "ssh" && transport !== "file")) {
    throw bad(
      text,
      "is no git+https address",
      "Only git+https is fetched (git+ssh and git+file when you type it).",
    );
  }
  if (transport !== "https" && !typed) {
    throw bad(
      text,
      `would use your ssh keys or read other folders, because a file of the project says so`,
      `If you want that, type it: nanocode plugin add '${text}'.`,
    );
  }
  // ssh needs the name of the account there; git itself takes a leading - for an option.
  const isNamed = url.username !== "" &&
    (transport !== "ssh" || !/^[A-Za-z_][\w.-]*$/.test(url.username));
  if (isNamed || url.password !== "") {
    throw bad(
      text,
      "has a name or password in its address",
      "Leave it out: sources are committed and shown.",
    );
  }
  if (
    url.search !== "" || (transport !== "file" && url.hostname === "") ||
    url.hostname.startsWith("-") ||
    url.pathname.startsWith("/-")
  ) {
    throw bad(text, "is no address of a repository");
  }
  if (COMMIT.test(ref)) return { kind: "git", url: url.href, transport, ref: { rev: ref } };
  if (!TAG.test(ref)) {
    throw bad(
      text,
      ref === "" ? "names no version" : "has no tag or full commit behind #",
      `Write git+${address}#TAG, or # and the 40 hex digits of a commit.`,
    );
  }
  return { kind: "git", url: url.href, transport, ref: { tag: ref } };
}

function tarballSource(text: string): Source {
  const [address = "", hash = ""] = text.split(/#(.*)/s);
  const url = addressOf(address);
  if (url === null || (url.protocol !== "https:" && !isLoopback(url.hostname))) {
    throw bad(text, "is no https address");
  }
  if (url.username !== "" || url.password !== "") {
    throw bad(
      text,
      "has a name or password in its address",
      "Leave it out: sources are committed and shown.",
    );
  }
  const sha256 = sha256Of(hash);
  if (sha256 === null) {
    throw bad(
      text,
      hash === "" ? "has no hash" : "has a hash that is none",
      `Write ${address}#sha256-HASH, with the sha-256 of the file in hex or base64: an address alone can serve something else tomorrow.`,
    );
  }
  return { kind: "tarball", url: url.href, sha256 };
}

function addressOf(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null;
}

/** Is it this machine? Plain http is fine there: nobody sits in between. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

/** `sha256-` and 64 hex digits, or base64 as `integrity` attributes have it. */
function sha256Of(hash: string): string | null {
  const value = hash.startsWith("sha256-") ? hash.slice("sha256-".length) : "";
  if (/^[0-9a-f]{64}$/i.test(value)) return value.toLowerCase();
  if (/^[A-Za-z0-9+/]{43}=$/.test(value)) return Buffer.from(value, "base64").toString("hex");
  return null;
}
