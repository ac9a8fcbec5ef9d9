// Changes one value of a config.json and leaves the rest as the person wrote it: comments, unknown keys, order,
// indentation, line ends, BOM. A file that cannot be read or is not valid is never written to.

import { readFileSync } from "node:fs";
import { writeFile } from "../host/write.ts";
import { UserError } from "../runtime/errors.ts";
import { readConfigFile } from "./config.ts";

/**
 * Sets a value, or removes it with `undefined`. The file is made when it is absent.
 *
 * @param path A real path, or one that does not exist yet.
 * @param key Names from the top down.
 * @param locks Folder of nanocode's lock files.
 * @throws {UserError} for a file that is not valid before or would not be after; nothing was written then.
 */
export async function setInConfig(
  path: string,
  key: readonly string[],
  value: unknown,
  locks: string,
): Promise<void> {
  const isThere = await readConfigFile(path, false) !== null;
  if (!isThere && value === undefined) return;
  const before = isThere ? readFileSync(path) : null;
  const text = before?.toString() ?? "{\n}\n";
  const bom = text.startsWith("\ufeff") ? "\ufeff" : "";
  const body = text.slice(bom.length);
  const { applyEdits, modify } = await import("jsonc-parser");
  const indent = /^([ \t]+)\S/m.exec(body)?.[1] ?? "  ";
  const edits = modify(body.trim() === "" ? "{}" : body, [...key], value, {
    formattingOptions: {
      insertSpaces: !indent.includes("\t"),
      tabSize: indent.includes("\t") ? 4 : indent.length,
      eol: body.includes("\r\n") ? "\r\n" : "\n",
    },
  });
  const after = bom + applyEdits(body.trim() === "" ? "{}" : body, edits);
  if (after === text) return;
  try {
    await writeFile(locks, path, new TextEncoder().encode(after), before);
  } catch (error) {
    throw new UserError((error as Error).message);
  }
}
