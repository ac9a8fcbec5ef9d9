// The context as a person sees it: the parts of a request as bars, then one line for each request that
// was sent, with what the provider's cache kept of it. The same for `/context` and `nanocode context`.
// Pure: a report in, painted lines out, with all text from records made visible.

import { limitsOf } from "../context/compact.ts";
import type { LedgerLine, RequestFacts } from "../context/ledger.ts";
import { type ContextReport, isPredicted } from "../context/report.ts";
import { oneLine, percent, tokens } from "./lines.ts";
import { cut } from "./text.ts";
import type { Theme } from "./theme.ts";

/** Requests that are listed; the newest. */
const LISTED = 20;
/** Columns of a bar at most. */
const WIDEST = 60;
/** Columns beside a bar. */
const BESIDE = 31;
const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
/** Sent anew with every request, so never cached. */
const TAIL: readonly string[] = ["memory", "files"];

export interface ContextDrawing {
  report: ContextReport;
  /** What the next request would be; without it the last one is drawn. */
  next?: RequestFacts;
  /** What to do to see the requests that are left out. */
  all: string;
}

/** The lines, none longer than `columns` where those are at least 40. */
export function contextLines(
  { report, next, all }: ContextDrawing,
  theme: Theme,
  columns: number,
): string[] {
  const { session, requests, window, totals } = report;
  const last = requests.at(-1);
  const drawn = next ?? last;
  const head = [
    `Session ${session}`,
    totals.requests === 1 ? "1 request" : `${totals.requests} requests`,
    ...(drawn ? [drawn.model] : []),
  ];
  const plain = (text: string) => cut(oneLine(text), columns);
  if (!drawn) {
    return [plain(head.join(" · ")), plain("No request has been sent in this session yet.")];
  }
  return [
    theme.strong(plain(head.join(" · "))),
    ...compactionLines(report).map(plain).map(theme.faint),
    "",
    theme.strong(plain(sizeLine(next ? "Next request" : "Last request", drawn, window))),
    ...(window === null ? [] : [windowBar(drawn.estimate, window, theme, columns)]),
    ...blockLines(drawn, window, theme, columns),
    ...(last
      ? ["", ...requestLines(requests, all, theme, columns), "", plain(totalLine(report))]
      : []),
  ];
}

function compactionLines({ compactions }: ContextReport): string[] {
  const last = compactions.at(-1);
  if (!last) return [];
  const times = compactions.length === 1 ? "once" : `${compactions.length} times`;
  const note = last.undone
    ? " (taken back)"
    : last.by === "model"
    ? ""
    : " (summary made without the model)";
  return [`compacted ${times}, last ${tokens(last.before)} → ${tokens(last.after)} tokens${note}`];
}

function sizeLine(what: string, { estimate }: RequestFacts, window: number | null): string {
  if (window === null) return `${what}: about ${tokens(estimate)} tokens (window not known)`;
  return `${what}: about ${tokens(estimate)} of ${tokens(window)} tokens ` +
    `(${percent(estimate, window)}), compacted from ${tokens(limitsOf(window).full)} on`;
}

/** How much of the window is taken. */
function windowBar(estimate: number, window: number, theme: Theme, columns: number): string {
  const size = barSize(columns);
  const taken = bar(estimate / window, size);
  const free = "░".repeat(size - taken.length);
  return `  ${" ".repeat(11)} ${theme.accent(taken)}${theme.faint(free)}`;
}

/** One line a part; bars are shares of the request. */
function blockLines(
  { blocks, estimate }: RequestFacts,
  window: number | null,
  theme: Theme,
  columns: number,
): string[] {
  const size = barSize(columns);
  const title = `  ${"part".padEnd(11)} ${cut("bar: share of the request", size).padEnd(size)} ` +
    ` tokens ${window === null ? "  share" : " window"}`;
  const rows = blocks.map(({ name, tokens: count }) => {
    const drawn = bar(estimate > 0 ? count / estimate : 0, size);
    const paint = TAIL.includes(name) ? theme.warning : theme.accent;
    const label = cut(oneLine(name), 11).padEnd(11);
    const numbers = `${tokens(count).padStart(7)} ${
      percent(count, window ?? estimate).padStart(7)
    }`;
    return `  ${label} ${paint(drawn)}${" ".repeat(size - drawn.length)} ${numbers}`;
  });
  return [theme.faint(title), ...rows];
}

const barSize = (columns: number) => Math.max(0, Math.min(WIDEST, columns - BESIDE));

/** What is there shows, however little it is. */
function bar(share: number, size: number): string {
  if (size === 0 || share <= 0) return "";
  const eighths = Math.max(1, Math.round(Math.min(1, share) * size * 8));
  return "█".repeat(eighths >> 3) + EIGHTHS[eighths & 7];
}

function requestLines(
  requests: readonly LedgerLine[],
  all: string,
  theme: Theme,
  columns: number,
): string[] {
  const left = requests.length - LISTED;
  const row = (step: string, estimate: string, input: string, cached: string, broke = "") => {
    const numbers = [step.padStart(6), estimate.padStart(8), input.padStart(8)];
    return cut(`${numbers.join(" ")} ${cached.padStart(11)}  ${broke}`.trimEnd(), columns);
  };
  return [
    theme.faint(row("step", "estimate", "reported", "cached (expected)")),
    ...(left > 0 ? [theme.faint(cut(`  … ${left} earlier left out; ${all}`, columns))] : []),
    ...requests.slice(-LISTED).map((line) => {
      const { turn, step, estimate, input, cached, predicted, broke } = line;
      const expected = isPredicted(line) ? percent(predicted, estimate) : "–";
      const share = input === null ? "–" : percent(cached ?? 0, input);
      const text = row(
        `${turn}.${step}`,
        tokens(estimate),
        input === null ? "–" : tokens(input),
        `${share} (${expected})`,
        broke && `broke: ${oneLine(broke.block)} (${oneLine(broke.why)})`,
      );
      return broke ? theme.warning(text) : text;
    }),
  ];
}

function totalLine({ totals }: ContextReport): string {
  const { counted, input, cached, output, predicted, predictedOf, estimate, broken } = totals;
  const parts = counted === 0 ? [`${tokens(estimate)} tokens in (estimated)`] : [
    `${tokens(input)} tokens in, ${tokens(output)} out`,
    `${percent(cached, input)} cached`,
    ...(predictedOf > 0 ? [`${percent(predicted, predictedOf)} expected`] : []),
  ];
  if (broken > 0) parts.push(`prefix broken ${broken === 1 ? "once" : `${broken} times`}`);
  return `total: ${parts.join(" · ")}`;
}
