// `nanocode context [SESSION]`: what the last request of a session was made of, and what the provider's
// cache kept of each. Reads only: the session may be another nanocode's, at work right now.

import { type ContextReport, REPORT_VERSION, reportOf } from "../context/report.ts";
import { EXIT, UserError } from "../runtime/errors.ts";
import { readLog, SessionError } from "../session/log.ts";
import { projectFolder, type SessionFile } from "../session/store.ts";
import { contextLines } from "../ui/context-bars.ts";
import { isTerminal } from "../ui/out.ts";
import { visible, visibleJson } from "../ui/text.ts";
import { PLAIN, wantsColors } from "../ui/theme.ts";
import type { Options } from "./args.ts";
import { whichSession } from "./which-session.ts";
import { findWorkspace } from "./workspace.ts";

/** Columns where there is no terminal. */
const USUAL_COLUMNS = 80;

/** What `--json` prints; `version` is that of its fields (docs/context.md). */
export type ContextJson = { version: number } & ContextReport;

export async function contextCommand(
  options: Options,
  print: (text: string) => Promise<number>,
): Promise<number> {
  const { home, root } = findWorkspace(options.cwd);
  const report = read(whichSession(projectFolder(home, root), options.words[1]));
  if (options.json) {
    const json: ContextJson = { version: REPORT_VERSION, ...report };
    return await print(`${visibleJson(JSON.stringify(json))}\n`);
  }
  const isTTY = isTerminal(1);
  const theme = wantsColors({ isTTY }, process.env)
    ? (await import("../ui/colors.ts")).makeTheme(true)
    : PLAIN;
  const columns = isTTY && process.stdout.columns || USUAL_COLUMNS;
  const lines = contextLines({ report, all: "--json has all" }, theme, columns);
  return await print(`${lines.join("\n")}\n`);
}

function read({ id, path }: SessionFile): ContextReport {
  try {
    const { bytes, loaded } = readLog(path);
    // A half-written last line is another nanocode's next record.
    const isCut = loaded.sound < bytes.length;
    for (const problem of isCut ? loaded.problems.slice(0, -1) : loaded.problems) {
      process.stderr.write(`warning: session ${id}: ${visible(problem)}\n`);
    }
    return reportOf(id, loaded.records);
  } catch (error) {
    if (error instanceof SessionError) {
      throw new UserError(error.message, undefined, EXIT.failure);
    }
    throw error;
  }
}
