// A workspace on the disk for one test: a folder with files and `.nanocode`, and a home of its own, so that
// nothing of the person's is read or written. Not here: what runs in it.

import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { isInside } from "../permission/paths.ts";

export interface TemporaryWorkspace extends AsyncDisposable {
  /** Real path of the workspace, the working folder of what runs in it. */
  readonly path: string;
  /** Stands for `~/.nanocode`: a plugin's `ctx.store` lies in it. */
  readonly home: string;
  /** Writes a file, making its folders. `path` is relative to the workspace and may not lead out of it. */
  write(path: string, content: string | Uint8Array): Promise<void>;
  /** A file as text. Rejects when there is none. */
  read(path: string): Promise<string>;
  /** Removes the folder with everything in it, the home too. A second time does nothing. */
  remove(): Promise<void>;
}

/**
 * Makes a workspace below the system's folder for temporary files. Remove it with `remove()`, or let
 * `await using workspace = await temporaryWorkspace()` do it.
 *
 * @param options.files Content by path relative to the workspace: `{"src/a.ts": "…"}`.
 */
export async function temporaryWorkspace(
  { files = {} }: { files?: Readonly<Record<string, string | Uint8Array>> } = {},
): Promise<TemporaryWorkspace> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "nanocode-test-")));
  const path = join(folder, "work");
  const home = join(folder, "home");
  await mkdir(join(path, ".nanocode"), { recursive: true });
  await mkdir(home, { mode: 0o700 });
  const inside = (typed: string) => {
    const full = resolve(path, typed);
    if (full === path || !isInside(path, full)) {
      throw new Error(`${typed} is no file in the workspace: give a path relative to it`);
    }
    return full;
  };
  const remove = () => rm(folder, { recursive: true, force: true, maxRetries: 3 });
  const workspace: TemporaryWorkspace = {
    path,
    home,
    async write(typed, content) {
      const full = inside(typed);
      await mkdir(dirname(full), { recursive: true });
      await writeFile(full, content);
    },
    read: async (typed) => await readFile(inside(typed), "utf8"),
    remove,
    [Symbol.asyncDispose]: remove,
  };
  try {
    for (const [name, content] of Object.entries(files)) await workspace.write(name, content);
  } catch (error) {
    await remove();
    throw error;
  }
  return workspace;
}
