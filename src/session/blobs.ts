// The content-addressed store beside a session's log: bytes before an edit, outputs too large for
// a record, images. A name is the sha-256 of the bytes, so storing twice costs nothing.

import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync } from "node:fs";
import { unlinkSync, writeSync } from "node:fs";
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

  /** Keeps the bytes and gives their name. Throws the system's error when the disk refuses. */
  keep(bytes: Uint8Array): string {
    const name = sha256(bytes);
    if (existsSync(join(this.folder, name))) return name;
    const writer = this.open();
    writer.write(bytes);
    return writer.end();
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
    if (!this.#made) {
      mkdirSync(this.folder, { recursive: true, mode: 0o700 });
      this.#made = true;
    }
    const temp = join(this.folder, `.${randomName()}.tmp`);
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
}

/** Writes all bytes: a short write (full disk, limit) goes on until the system says why. */
export function writeAll(fd: number, bytes: Uint8Array): void {
  let done = 0;
  while (done < bytes.length) done += writeSync(fd, bytes, done, bytes.length - done);
}
