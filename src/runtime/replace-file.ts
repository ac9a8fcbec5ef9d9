// Replaces a small file of nanocode's own in one step: whoever reads it sees the old text or the new, never
// a part. Files of the user's go through host/write.ts, which also keeps what others wrote meanwhile.

import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { randomName } from "./hash.ts";

/**
 * Writes `text` to `path`, through a temporary file beside it; the folder is made where it is missing.
 *
 * @param mode Of the file; 0600 where only its owner may read it.
 * @throws what the system says; then the old file is as it was and the temporary one is gone.
 */
export function replaceFile(path: string, text: string, mode: number): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const temp = `${path}.${randomName()}.tmp`;
  try {
    writeFileSync(temp, text, { mode, flag: "wx" });
    renameSync(temp, path);
  } catch (error) {
    rmSync(temp, { force: true });
    throw error;
  }
}
