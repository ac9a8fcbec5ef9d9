// What benchmark `context` counts of requests: tokens, those that a provider's cache would hold, and
// lines of files that are not true any more.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import type { ChatRequest, Message, ToolSpec } from "../src/provider/provider.ts";
import { linesOf } from "./context-agent.ts";
import { rowsOf, saysCurrent, statedIn } from "../tests/support/shown-rows.ts";

/** What a cached token of the input costs, in tokens that are not. */
const CACHED_PRICE = 0.1;
/** Tokens that a message has beside its text. */
const FRAME = 4;

const counted = new Map<string, number>();

/** Tokens of a text as OpenAI's newer models (o200k_base) count them. */
export function tokensOf(text: string): number {
  let tokens = counted.get(text);
  if (tokens === undefined) {
    tokens = countTokens(text, { disallowedSpecial: new Set() });
    if (counted.size > 20_000) counted.clear();
    counted.set(text, tokens);
  }
  return tokens;
}

export function toolTokens(tools: readonly ToolSpec[]): number {
  return tools.length === 0 ? 0 : tokensOf(JSON.stringify(tools));
}

export function messageTokens(message: Message): number {
  const calls = message.role === "assistant" ? JSON.stringify(message.calls) : "";
  return tokensOf(message.text + calls) + FRAME;
}

/** The requests of a session in one layout, counted as they come. */
export class Tally {
  cached = 0;
  uncached = 0;
  /** Tokens of the largest request. */
  peak = 0;
  /** Lines of files in all requests; those of them that are not on the disk as shown, and nothing says so. */
  rows = 0;
  stale = 0;
  /** Lines of which FILE STATE says that they are current, and they are not. */
  lies = 0;
  #previous: readonly Message[] = [];

  /** Billed-equivalent tokens of the input. */
  get billed(): number {
    return this.uncached + CACHED_PRICE * this.cached;
  }

  /** Adds a request; its cache holds what the request before had in front. */
  add({ tools, messages }: ChatRequest): void {
    let isCached = this.#previous.length > 0;
    let cached = isCached ? toolTokens(tools) : 0;
    let all = toolTokens(tools);
    for (const [i, message] of messages.entries()) {
      const tokens = messageTokens(message);
      isCached &&= isSame(message, this.#previous[i]);
      if (isCached) cached += tokens;
      all += tokens;
    }
    this.#previous = messages;
    this.cached += cached;
    this.uncached += all - cached;
    this.peak = Math.max(this.peak, all);
  }

  /** Adds a request that has nothing in common with the others, as that for a summary. */
  addApart({ messages }: ChatRequest): void {
    for (const message of messages) this.uncached += messageTokens(message);
  }

  /** Compares the lines that a request shows with the files in `cwd` as they are now. */
  compare({ messages }: ChatRequest, cwd: string): void {
    const last = messages.at(-1)?.text ?? "";
    const stated = statedIn(last.startsWith("--- FILE STATE ---") ? last : "");
    const shown = new Map<string, Map<number, { text: string; isHit: boolean }>>();
    for (const message of messages) {
      for (const { path, n, text, isHit } of rowsOf(message)) {
        let file = shown.get(path);
        if (!file) shown.set(path, file = new Map());
        file.set(n, { text, isHit });
      }
    }
    for (const [path, lines] of shown) {
      const now = existsSync(join(cwd, path)) ? linesOf(join(cwd, path)) : [];
      this.rows += lines.size;
      for (const [n, { text, isHit }] of lines) {
        if (now[n - 1] === text) continue;
        const isCurrent = saysCurrent(stated, path, n);
        if (isCurrent || !stated.files.has(path)) this.stale++;
        if (isCurrent && !isHit) this.lies++;
      }
    }
  }
}

function isSame(a: Message, b: Message | undefined): boolean {
  if (a === b) return true;
  if (!b || a.role !== b.role || a.text !== b.text) return false;
  return a.role !== "assistant" || JSON.stringify(a) === JSON.stringify(b);
}
