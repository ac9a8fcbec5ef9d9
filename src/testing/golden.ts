// Golden transcripts: what a test saw, compared with a file that somebody looked at once. What differs
// between two runs of the same thing is replaced before. A file is written only when asked for.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

/** Set to 1, it makes `goldenTranscript` write what it got. */
export const UPDATE_FLAG = "NANOCODE_UPDATE_GOLDEN";
/** Lines of a difference that an error shows. */
const MAX_LINES = 200;

/**
 * Compares a transcript with the file at `path`. In the transcript these are replaced first: folders for
 * temporary files (`{temp}`), ISO times (`{time}`), ids and hashes (`{id}`, `{hash}`), durations
 * (`{duration}`), tokens and cost (`{n} tokens`, `{cost}`).
 *
 * With `NANOCODE_UPDATE_GOLDEN=1` the file is written instead, and stderr says so.
 *
 * @param actual `(await runSession(…)).transcript`, or any text.
 * @param path The file, best beside the test: `new URL("./golden.txt", import.meta.url)`.
 * @throws {Error} with a unified diff when they differ, or when there is no file.
 */
export async function goldenTranscript(actual: string, path: string | URL): Promise<void> {
  const file = path instanceof URL ? fileURLToPath(path) : path;
  const now = normalized(actual);
  const golden = await readGolden(file);
  if (golden === now) return;
  if (process.env[UPDATE_FLAG] === "1") {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, now);
    process.stderr.write(`wrote ${file}\n`);
    return;
  }
  if (golden === null) {
    throw new Error(
      `there is no ${file} to compare with: write it with ${UPDATE_FLAG}=1, then look at it`,
    );
  }
  throw new Error(
    `the transcript is not the one of ${file} (${UPDATE_FLAG}=1 writes the new one):\n` +
      await differenceOf(golden, now),
  );
}

async function readGolden(file: string): Promise<string | null> {
  try {
    return (await readFile(file, "utf8")).replaceAll("\r\n", "\n"); // git may have changed line ends
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

async function differenceOf(golden: string, now: string): Promise<string> {
  const { createTwoFilesPatch, FILE_HEADERS_ONLY } = await import("diff");
  const patch = createTwoFilesPatch("golden", "now", golden, now, undefined, undefined, {
    headerOptions: FILE_HEADERS_ONLY,
    context: 3,
  });
  const lines = patch.trimEnd().split("\n");
  const rest = lines.length - MAX_LINES;
  return [...lines.slice(0, MAX_LINES), ...rest > 0 ? [`… ${rest} more lines`] : []].join("\n");
}

/** A text without what differs from run to run. */
export function normalized(text: string): string {
  const folders = [...new Set([realpathSync(tmpdir()), tmpdir()])]
    .map((folder) => RegExp.escape(folder.replace(/[\\/]+$/, "")));
  return text
    .replaceAll("\r\n", "\n")
    .replaceAll(new RegExp(`(?:${folders.join("|")})[\\\\/][\\w.-]+`, "g"), "{temp}")
    .replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?/g, "{time}")
    .replaceAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, "{id}")
    .replaceAll(/\b[0-9a-f]{64}\b|\b[0-9a-f]{40}\b/g, "{hash}")
    .replaceAll(/\b0[0-9a-z]{17}\b/g, "{id}") // newId() of session/records.ts
    .replaceAll(/\b\d+(?:\.\d+)? ?m?s\b/g, "{duration}")
    .replaceAll(/\b\d[\d,.]*k? tokens\b/g, "{n} tokens")
    .replaceAll(/\$\d+\.\d+/g, "{cost}");
}
