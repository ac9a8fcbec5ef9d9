// What a step sends, and what it cost: records → request, reply → usage. Between the loop and the
// pure composition of messages (context/compose.ts).

import { readlinkSync } from "node:fs";
import { compose } from "../context/compose.ts";
import { type FileNow, shownFiles } from "../context/files.ts";
import { historyOf } from "../context/history.ts";
import { accountFor, type RequestFacts, type Sent } from "../context/ledger.ts";
import { estimateTokens } from "../context/tokens.ts";
import type { ChatRequest, Usage } from "../provider/provider.ts";
import type { NewRecord, Observation, SessionRecord } from "../session/records.ts";
import type { EventBody } from "./events.ts";
import { costOf, type Spent } from "./limits.ts";
import type { CompletedReply } from "./reply.ts";
import type { Session } from "./session.ts";
import type { ModelChoice, TurnDeps, Unplaced, UserInput } from "./turn.ts";

/** A request ready to be sent, with the ledger's account of it. */
export interface Prepared {
  request: ChatRequest;
  facts: RequestFacts;
  sent: Sent;
  /** Lines of files that its tail shows. */
  shown: Observation[];
  /** The files that the model has seen, as they are now. */
  files: readonly FileNow[];
  /** Tokens that fit, where known. */
  window: number | null;
}

/**
 * The next request: everything recorded, then `queued` messages, which are recorded once it succeeded.
 *
 * @param records What is recorded; others only to see what they would lead to.
 */
export async function requestFor(
  session: Session,
  deps: TurnDeps,
  queued: readonly UserInput[],
  records: readonly SessionRecord[] = session.log.records,
): Promise<Prepared> {
  const { model } = deps;
  const last = records.at(-1);
  const pending = queued.map(({ text, source }) =>
    ({ ...last, type: "user", text, source }) as SessionRecord
  );
  const files = await lookAtFiles(session, deps, records);
  const window = windowOf(session, deps);
  const composed = compose({
    records: pending.length === 0 ? records : [...records, ...pending],
    system: deps.system,
    today: localDate(),
    files,
    placement: deps.files,
    window,
    board: session.board,
    image(blob) {
      const bytes = session.blobs.get(blob);
      return bytes ? Buffer.from(bytes).toString("base64") : null;
    },
  });
  // Sorted and the same for the whole session: the tools are the head of the cached prefix.
  const tools = [...deps.tools.values()].map((entry) => entry.spec)
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const { context } = session;
  const ratio = context.calibration.ratio;
  const { facts, sent } = accountFor(composed, tools, model.model, records, context.sent, ratio);
  const request = {
    model: model.model,
    messages: composed.messages,
    tools,
    ...(model.reasoning === undefined ? {} : { reasoning: model.reasoning }),
    session: session.id,
  };
  return { request, facts, sent, shown: composed.shown, files, window };
}

/** Tokens that fit: as configured or known, but no more than a refusal taught. */
export function windowOf({ context }: Session, { model }: Pick<TurnDeps, "model">): number | null {
  const known = [model.window, context.learnedWindow].filter((window) => window !== null);
  return known.length === 0 ? null : Math.min(...known);
}

/** The view of the disk: what has become of the files that the model has seen. */
async function lookAtFiles(
  session: Session,
  deps: TurnDeps,
  records: readonly SessionRecord[],
): Promise<readonly FileNow[]> {
  const shown = shownFiles(records, historyOf(records), deps.files);
  if (shown.length === 0) return [];
  const { FileViewer } = await import("../tools/file-view.ts");
  session.context.viewer ??= new FileViewer(deps.host, session.blobs, session.cwd);
  return await session.context.viewer.look(shown);
}

/** Records that the request goes out now. */
export function recordSent(
  session: Session,
  { facts, sent, shown, window }: Prepared,
  append: (record: Unplaced<NewRecord> & { type: "request" }) => void,
): void {
  const { context } = session;
  context.sent = sent;
  // What the tail shows counts as shown; the same lines are recorded once.
  const key = JSON.stringify(shown.map(({ path, version, ranges }) => [path, version, ranges]));
  const isNew = shown.length > 0 && key !== context.shown;
  context.shown = key;
  append({
    type: "request",
    ...facts,
    ...(window === null ? {} : { window }),
    ...(isNew ? { observations: shown } : {}),
  });
}

/** Adds a reply to what the turn has spent, and gives the event that says so. */
export function account(
  reply: CompletedReply,
  { estimate }: Pick<RequestFacts, "estimate">,
  model: ModelChoice,
  spent: Spent,
): Extract<EventBody, { type: "usage" }> {
  // Budgets hold with providers that report no usage too, by estimate.
  const output = estimateTokens(reply.text + JSON.stringify(reply.calls));
  const usage: Usage = reply.usage ?? { input: estimate, output, cached: 0 };
  const costUsd = costOf(usage, model.prices);
  const contextTokens = usage.input + usage.output;
  spent.steps++;
  spent.tokens += contextTokens;
  spent.usd += costUsd ?? 0;
  return {
    type: "usage",
    usage,
    estimated: reply.usage === null,
    costUsd,
    contextTokens,
    window: model.window,
  };
}

let utc: boolean | undefined;

/** Is this machine's time zone UTC? Read from TZ or /etc/localtime; when in doubt, no. */
function isUtc(): boolean {
  utc ??= /(^|\/)(UTC|UCT|Universal|Zulu)$/.test(process.env["TZ"] ?? zoneLink());
  return utc;
}

function zoneLink(): string {
  if (process.platform === "win32") return "";
  try {
    return readlinkSync("/etc/localtime");
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? "UTC" : "";
  }
}

/** Today in the user's time zone, `YYYY-MM-DD`. */
function localDate(now: Date = new Date()): string {
  // Local fields of a Date load the engine's time zone data (10 ms); most servers run on UTC.
  if (isUtc()) return now.toISOString().slice(0, 10);
  const two = (n: number) => String(n).padStart(2, "0");
  return `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
}
