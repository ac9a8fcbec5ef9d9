// Benchmark `context`: what a session's input costs with file content at the results that showed it
// (inline), with all of it in the tail, and with no tail at all (append-only); how much the model sees
// that is not true any more; and how long the composing of a request takes in a long session.

import { join } from "node:path";
import type { FilesPlacement } from "../src/context/files.ts";
import { Calibration, estimateTokens } from "../src/context/tokens.ts";
import type { ChatRequest } from "../src/provider/provider.ts";
import { timeToCompose } from "./context-compose.ts";
import { messageTokens, Tally, tokensOf, toolTokens } from "./context-count.ts";
import { play, type Played, WINDOW } from "./context-play.ts";
import type { Bench, Report, Row } from "./measure.ts";

/** Sessions: how many steps, and the seeds they are played with. */
const SESSIONS: readonly { steps: number; seeds: readonly number[] }[] = [
  { steps: 12, seeds: [1, 2, 3] },
  { steps: 60, seeds: [1, 2, 3] },
  { steps: 200, seeds: [1] },
];
/** The session that the targets are for. */
const TARGET_STEPS = 60;
const RECORDS = 5000;

type Layout = FilesPlacement | "append-only";

interface Session {
  steps: number;
  seed: number;
  layout: Layout;
  played: Played;
  tally: Tally;
}

export async function bench({ folder }: Bench): Promise<Report> {
  const source = join(import.meta.dirname, "..", "src");
  // First, while the memory is not yet full of counted texts.
  const composing = await timeToCompose(join(folder, "long"), source, RECORDS);
  const sessions: Session[] = [];
  let first: ChatRequest | undefined;
  for (const { steps, seeds } of SESSIONS) {
    for (const seed of seeds) {
      for (const placement of ["inline", "tail"] as const) {
        const whole = new Tally();
        const bare = new Tally();
        const played = await play({
          folder: join(folder, "session"),
          source,
          steps,
          placement,
          seed,
          onRequest(request, tail, cwd) {
            first ??= request;
            const messages = request.messages.slice(0, request.messages.length - tail);
            for (
              const [tally, sent] of [[whole, request], [bare, { ...request, messages }]] as const
            ) {
              if (request.tools.length === 0) {
                tally.addApart(request);
                continue;
              }
              tally.add(sent);
              tally.compare(sent, cwd);
            }
          },
        });
        sessions.push({ steps, seed, layout: placement, played, tally: whole });
        // Without file content in the results there is nothing to take the tail away from.
        if (placement === "inline") {
          sessions.push({ steps, seed, layout: "append-only", played, tally: bare });
        }
      }
    }
  }
  if (!first) throw new Error("no request was made");
  return {
    name: "context",
    table: tableOf(sessions),
    rows: [
      ...ratios(sessions),
      {
        what: `composing a request, ${RECORDS} records`,
        unit: "ms",
        compare: "ours",
        target: 10,
        ours: composing,
        floor: [],
      },
      ...firstRequest(first),
      {
        what: "estimate off after two replies, Chinese",
        unit: "%",
        compare: "ours",
        target: 15,
        ours: estimateErrors(first),
        floor: [],
      },
    ],
    notes: [
      `Sessions are played through the real loop and tools on a copy of src/, window ${WINDOW} tokens.`,
      "Tokens as o200k_base counts them; billed = uncached + 0.1 × cached, input only, summaries included.",
      "Cached: whole messages in common with the request before. Stale: lines shown that are not on the",
      "disk as shown, and of which FILE STATE does not say so; said current: FILE STATE says the contrary.",
    ],
  };
}

function ratios(sessions: readonly Session[]): Row[] {
  const billed = (seed: number, layout: Layout) =>
    sessions.find((s) => s.steps === TARGET_STEPS && s.seed === seed && s.layout === layout)?.tally
      .billed ?? NaN;
  const seeds = SESSIONS.find(({ steps }) => steps === TARGET_STEPS)?.seeds ?? [];
  const sum = (layout: Layout) => seeds.reduce((all, seed) => all + billed(seed, layout), 0);
  const row = (other: Layout, what: string, ours: number[], target?: number): Row => ({
    what: `inline / ${other}, billed, ${TARGET_STEPS} steps, ${what}`,
    unit: "×",
    compare: "ours",
    ...(target === undefined ? {} : { target }),
    ours,
    floor: [],
  });
  const rows = (other: Layout, target: number) => [
    row(other, "all seeds", [sum("inline") / sum(other)], target),
    row(other, "worst", [Math.max(...seeds.map((s) => billed(s, "inline") / billed(s, other)))]),
  ];
  const lies = (layout: Layout): Row => ({
    what: `stale lines said to be current, ${layout}`,
    unit: "lines",
    compare: "ours",
    target: 0,
    ours: [
      sessions.filter((s) => s.layout === layout).reduce((sum, { tally }) => sum + tally.lies, 0),
    ],
    floor: [],
  });
  return [...rows("append-only", 1.1), ...rows("tail", 0.4), lies("inline"), lies("tail")];
}

function firstRequest({ tools, messages: [system, environment] }: ChatRequest): Row[] {
  const row = (what: string, tokens: number): Row => ({
    what: `first request: ${what}`,
    unit: "tokens",
    compare: "ours",
    ours: [tokens],
    floor: [],
  });
  return [
    row("tools", toolTokens(tools)),
    row("system prompt", system ? messageTokens(system) : NaN),
    row("environment", environment ? messageTokens(environment) : NaN),
  ];
}

const CHINESE =
  "请先阅读解析器的源代码，找出日期格式错误的原因，然后修改相关函数，并运行测试确认结果。" +
  "如果测试失败，请说明失败的原因，不要修改与任务无关的文件；提交之前再检查一次边界情况和注释。";

/** How far the corrected estimate is from the count in a Chinese conversation, reply by reply; percent. */
function estimateErrors({ tools, messages }: ChatRequest): number[] {
  const calibration = new Calibration();
  let text = JSON.stringify(tools) + messages.slice(0, 2).map((message) => message.text).join("\n");
  const errors: number[] = [];
  for (let reply = 1; reply <= 6; reply++) {
    text += CHINESE.repeat(reply);
    const raw = estimateTokens(text);
    const count = tokensOf(text);
    if (reply > 2) errors.push(Math.abs(raw * calibration.ratio / count - 1) * 100);
    calibration.learn(raw, count);
  }
  return errors;
}

/** A line for each session and layout. */
function tableOf(sessions: readonly Session[]): string[][] {
  const whole = (n: number) => Math.round(n).toLocaleString("en-US");
  const percent = (n: number) => `${(100 * n).toFixed(1)} %`;
  return [
    [
      "steps",
      "seed",
      "layout",
      "requests",
      "compactions",
      "cached",
      "uncached",
      "billed",
      "peak",
      "stale",
      "said current",
    ],
    ...sessions.map(({ steps, seed, layout, played, tally }) => [
      String(steps),
      String(seed),
      layout,
      String(played.requests),
      String(played.compactions),
      whole(tally.cached),
      whole(tally.uncached),
      whole(tally.billed),
      whole(tally.peak),
      percent(tally.stale / tally.rows),
      whole(tally.lies),
    ]),
  ];
}
