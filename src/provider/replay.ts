// Recordings: a cassette holds replies with the fingerprints of the requests they answered. Requests
// are stored as hashes only, after what differs between machines became placeholders; keys never
// enter. The provider `replay` plays one back without network or key.

import { sha256 } from "../runtime/hash.ts";
import { readFileSync } from "node:fs";
import { UserError } from "../runtime/errors.ts";
import type { ChatRequest, Connect, Delta, Provider } from "./provider.ts";

interface RequestPrint {
  tools: string;
  messages: { role: string; hash: string }[];
}

export interface Cassette {
  version: 1;
  exchanges: { request: RequestPrint; deltas: Delta[] }[];
}

/** What differs between machines and runs, replaced before hashing. */
export interface Placeholders {
  cwd: string;
  home: string;
}

function printOf({ tools, messages }: ChatRequest, { cwd, home }: Placeholders): RequestPrint {
  const hash = (text: string) => sha256(text).slice(0, 16);
  const normalized = (text: string) =>
    text
      .replaceAll(cwd, "{cwd}")
      .replaceAll(home, "{home}")
      .replaceAll(/\d{4}-\d{2}-\d{2}(T[\d:.]+Z)?/g, "{date}")
      .replaceAll(/- (os|arch|shell|detected_commands): [^\\]*/g, "- $1: {machine}")
      .replaceAll(/\b\d+(\.\d+)? ?m?s\b/g, "{time}")
      .replaceAll(/seconds=\\"[^"]*\\"/g, "{time}");
  return {
    tools: hash(JSON.stringify(tools)),
    messages: messages.map((message) => ({
      role: message.role,
      hash: hash(normalized(JSON.stringify(message))),
    })),
  };
}

/** Where two fingerprints differ first, in words; null when they are equal. */
function difference(recorded: RequestPrint, actual: RequestPrint): string | null {
  if (recorded.tools !== actual.tools) return "the tools differ";
  const longer = Math.max(recorded.messages.length, actual.messages.length);
  for (let i = 0; i < longer; i++) {
    const a = recorded.messages[i];
    const b = actual.messages[i];
    if (!a || !b) return `message ${i + 1} is ${a ? "missing" : "not in the recording"}`;
    if (a.role !== b.role || a.hash !== b.hash) return `message ${i + 1} (${b.role}) differs`;
  }
  return null;
}

/**
 * Reads a cassette.
 *
 * @throws UserError when the file cannot be read or is no recording.
 */
export function readCassette(path: string): Cassette {
  let what = "is not a recording of nanocode (version 1 with a list of exchanges)";
  try {
    const cassette: Partial<Cassette> | null = JSON.parse(readFileSync(path, "utf8"));
    const { version, exchanges } = cassette ?? {};
    if (version === 1 && Array.isArray(exchanges)) return { version, exchanges };
  } catch (error) {
    what = `cannot be read: ${(error as Error).message}`;
  }
  throw new UserError(`the recording ${path} ${what}`);
}

/** Passes requests on to a provider and hands all finished exchanges to `save`. */
export function recording(
  provider: Provider,
  placeholders: Placeholders,
  save: (cassette: Cassette) => void,
): Provider {
  const cassette: Cassette = { version: 1, exchanges: [] };
  return {
    ...provider,
    async *stream(request, signal) {
      const deltas: Delta[] = [];
      for await (const delta of provider.stream(request, signal)) {
        const last = deltas.at(-1);
        const isProse = delta.type === "text" || delta.type === "reasoning";
        // Neighbouring pieces of text are joined, so that a recording can be read.
        if (isProse && last?.type === delta.type) {
          deltas[deltas.length - 1] = { ...delta, text: last.text + delta.text };
        } else deltas.push(delta);
        yield delta;
      }
      cassette.exchanges.push({ request: printOf(request, placeholders), deltas });
      save(cassette);
    },
  };
}

/** The API `replay`: plays the recording that a manifest names. */
export const connectReplay: Connect = ({ id, cassette }) =>
  replayProvider({ id, cassette: readCassette(cassette ?? "") });

export interface ReplayOptions {
  id: string;
  cassette: Cassette;
  /** Strict playback: a request that differs from the recorded one is an error that says where. */
  strict?: Placeholders;
}

/** Answers request N with reply N of the cassette. */
export function replayProvider({ id, cassette: { exchanges }, strict }: ReplayOptions): Provider {
  let played = 0;
  return {
    id,
    async *stream(request, signal) {
      const exchange = exchanges[played];
      const differs = exchange && strict && difference(exchange.request, printOf(request, strict));
      if (!exchange || differs) {
        const message = exchange
          ? `request ${played + 1} is not the recorded one: ${differs}`
          : `the recording holds ${exchanges.length} replies and all were played`;
        const hint =
          "A recording answers only what was recorded. Start again, or use a real model.";
        return yield { type: "error", failure: { message, code: null, retryable: false, hint } };
      }
      played++;
      for (const delta of exchange.deltas) {
        if (signal.aborted) return;
        yield delta;
      }
    },
  };
}
