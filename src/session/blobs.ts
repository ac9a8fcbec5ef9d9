// The content-addressed store beside a session's log: bytes before an edit, outputs too large for
// a record, images. A name is the sha-256 of the bytes, so storing twice costs nothing.

import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync } from "node:fs";
import { rmSync, unlinkSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { newSha256, randomName, sha256 } from "../runtime/hash.ts";

/** A blob being written piece by piece; its name is known at the end. */
export interface BlobWriter {
  write(bytes: Uint8Array): void;
  /** Closes the blob and gives its name. */
  end(): string;
  /** Removes what was written. */
  discard(): void;
}

export class BlobStore {
  readonly folder: string;
  #made = false;

  constructor(folder: string) {
    this.folder = folder;
  }

  /**
   * Keeps the bytes and gives their name. Throws the system's error when the disk refuses.
   *
   * @param name Their sha-256, where it is known already: hashing is most of the work.
   */
  keep(bytes: Uint8Array, name: string = sha256(bytes)): string {
    if (existsSync(join(this.folder, name))) return name;
    const temp = this.#temp();
    try {
      writeFileSync(temp, bytes, { flag: "wx", mode: 0o600 });
      renameSync(temp, join(this.folder, name));
    } catch (error) {
      rmSync(temp, { force: true });
      throw error;
    }
    return name;
  }

  /** The bytes under a name, or null when there are none. */
  get(name: string): Uint8Array | null {
    if (!/^[0-9a-f]{64}$/.test(name)) return null;
    try {
      return readFileSync(join(this.folder, name));
    } catch {
      return null;
    }
  }

  /** Opens a blob of unknown size; memory stays constant. */
  open(): BlobWriter {
    const temp = this.#temp();
    const fd = openSync(temp, "wx", 0o600);
    const hash = newSha256();
    const discard = () => {
      try {
        closeSync(fd);
      } catch { /* already closed */ }
      try {
        unlinkSync(temp);
      } catch { /* already gone */ }
    };
    return {
      write(bytes) {
        hash.update(bytes);
        writeAll(fd, bytes);
      },
      end: () => {
        closeSync(fd);
        const name = hash.digest("hex");
        renameSync(temp, join(this.folder, name));
        return name;
      },
      discard,
    };
  }

  /** A name in the folder, which is made first. */
  #temp(): string {
    if (!this.#made) {
      mkdirSync(this.folder, { recursive: true, mode: 0o700 });
      this.#made = true;
    }
    return join(this.folder, `.${randomName()}.tmp`);
  }
}

/** Writes all bytes: a short write (full disk, limit) goes on until the system says why. */
export function writeAll(fd: number, bytes: Uint8Array): void {
  let done = 0;
  while (done < bytes.length) done += writeSync(fd, bytes, done, bytes.length - done);
}
