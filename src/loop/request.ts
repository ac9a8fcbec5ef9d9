// What a step sends, and what it cost: records → request, reply → usage. Between the loop and the
// pure composition of messages (context/compose.ts).

import { readlinkSync } from "node:fs";
import { compose } from "../context/compose.ts";
import { estimateTokens } from "../context/tokens.ts";
import type { ChatRequest, Message, Usage } from "../provider/provider.ts";
import type { SessionRecord } from "../session/records.ts";
import type { EventBody } from "./events.ts";
import { costOf, type Spent } from "./limits.ts";
import type { CompletedReply } from "./reply.ts";
import type { Session } from "./session.ts";
import type { ModelChoice, TurnDeps } from "./turn.ts";

/** The next request: everything recorded, then `queued` texts, which are recorded once it succeeded. */
export function requestFor(
  session: Session,
  deps: TurnDeps,
  queued: readonly string[],
): ChatRequest {
  const { model } = deps;
  const last = session.log.records.at(-1);
  const pending = queued.map((text) =>
    ({ ...last, type: "user", text, source: "queued" }) as SessionRecord
  );
  return {
    model: model.model,
    messages: compose({
      records: pending.length === 0 ? session.log.records : [...session.log.records, ...pending],
      system: deps.system,
      today: localDate(),
      image(blob) {
        const bytes = session.blobs.get(blob);
        return bytes ? Buffer.from(bytes).toString("base64") : null;
      },
    }),
    // Sorted and the same for the whole session: the tools are the head of the cached prefix.
    tools: [...deps.tools.values()].map((entry) => entry.spec).sort((
      a,
      b,
    ) => (a.name < b.name ? -1 : 1)),
    ...(model.reasoning === undefined ? {} : { reasoning: model.reasoning }),
    session: session.id,
  };
}

/** Adds a reply to what the turn has spent, and gives the event that says so. */
export function account(
  reply: CompletedReply,
  request: ChatRequest,
  model: ModelChoice,
  spent: Spent,
): EventBody {
  // Budgets hold with providers that report no usage too, by estimate.
  const usage = reply.usage ?? estimateUsage(request.messages, reply);
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

function estimateUsage(messages: Message[], reply: CompletedReply): Usage {
  const input = messages.reduce((sum, message) => sum + estimateTokens(JSON.stringify(message)), 0);
  return { input, output: estimateTokens(reply.text + JSON.stringify(reply.calls)), cached: 0 };
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
