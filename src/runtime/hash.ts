// Hashes and random names. node:crypto takes 5 ms to load, so it is loaded when the first hash is made,
// never before the first request.

import type { Hash } from "node:crypto";

let nodeCrypto: typeof import("node:crypto") | undefined;

/** A sha-256 to be fed piece by piece. */
export function newSha256(): Hash {
  nodeCrypto ??= process.getBuiltinModule("node:crypto");
  return nodeCrypto.createHash("sha256");
}

/** sha-256 in hex: the version of a file, the name of a blob. */
export function sha256(bytes: Uint8Array | string): string {
  return newSha256().update(bytes).digest("hex");
}

/** Sixteen random hex digits. */
export function randomName(): string {
  return Array.from(
    crypto.getRandomValues(new Uint8Array(8)),
    (byte) => byte.toString(16).padStart(2, "0"),
  ).join("");
}

/**
 * FNV-1a, 32 bits in hex, over the two bytes of each UTF-16 unit (one where the other is zero): tells
 * names and texts apart where nobody gains by a collision.
 */
export function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    hash = Math.imul(hash ^ (unit & 0xff), 0x01000193);
    if (unit > 0xff) hash = Math.imul(hash ^ (unit >> 8), 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}
