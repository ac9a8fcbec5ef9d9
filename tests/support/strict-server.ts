// A scripted Chat Completions server on loopback that checks every request as the real API does and
// answers 400 where it is wrong (rules: src/testing/strict-rules.ts). For tests of everything that talks to a model,
// and by itself: `bun-dev tests/support/strict-server.ts script.json` prints its URL and serves.

import { readFileSync } from "node:fs";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import process from "node:process";
import {
  completionOf,
  eventsOf,
  lengthWithoutEnd,
  type ScriptedReply,
  type Usage,
} from "./strict-replies.ts";
import { randomFrom } from "../../src/testing/chaos.ts";
import { refusals, type Rules } from "../../src/testing/strict-rules.ts";

/** What the server does with one request. */
export interface Step extends ScriptedReply {
  /** Default: counted roughly when the request asks for it. */
  usage?: Usage;
  /** With a status from 300 on, `body` is an error message in OpenAI's shape unless it is an object or `contentType` is set. */
  status?: number;
  headers?: Record<string, string>;
  /** The whole body, instead of a reply. */
  body?: unknown;
  contentType?: string;
  /** The raw event stream, instead of a reply. */
  sse?: string | Uint8Array;
  /** How the body is cut into writes; a number is the seed of random cuts. */
  split?: "whole" | "bytes" | number;
  /** Wait before the headers; milliseconds. */
  delayMs?: number;
  /** Goes silent: before the headers, after the body, or with keep-alive comments only. */
  hang?: "headers" | "body" | "comments";
  /**
   * Breaks the connection: before the headers, or after what body there is. A client may lose what it
   * had not read by then; `until` settles that.
   */
  reset?: boolean;
  /** Waited for after the body, before it is ended or broken off. */
  until?: Promise<unknown>;
}

/** The parsed body of a request, as far as tests look into it. */
export interface RequestBody {
  model: string;
  messages: {
    role: string;
    content: unknown;
    tool_calls?: {
      id: string;
      function: { name: string; arguments: string };
      extra_content?: unknown;
    }[];
    tool_call_id?: string;
    reasoning_content?: string;
    reasoning_details?: unknown;
  }[];
  tools?: { function: { name: string; description: string; parameters: unknown } }[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  [field: string]: unknown;
}

export interface RecordedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: RequestBody;
  /** When its head had come; milliseconds of performance.now(). For the benchmarks. */
  receivedMs: number;
  /** When its answer began to be written; NaN until then. */
  answeredMs: number;
}

export type Script = Step[] | ((request: RecordedRequest, n: number) => Step | Promise<Step>);

export interface ServerOptions extends Partial<Rules> {
  /** The only key that is accepted; default: any. */
  key?: string;
  /** Let the tools differ between requests. */
  allowToolChange?: boolean;
  /** Ids that GET /models lists. */
  models?: string[];
}

export interface StrictServer {
  /** Base URL, ending in /v1. */
  url: string;
  /** Every POST to /chat/completions, refused ones too. */
  requests: RecordedRequest[];
  /** Why requests were refused. */
  errors: string[];
  close(): Promise<void>;
}

/** Starts a server whose N-th request is answered by the script's N-th step. */
export async function startServer(
  script: Script,
  options: ServerOptions = {},
): Promise<StrictServer> {
  const requests: RecordedRequest[] = [];
  const errors: string[] = [];
  const rules: Rules = {
    allowFields: options.requireReasoning
      ? ["reasoning_content", ...options.allowFields ?? []]
      : options.allowFields ?? [],
    requireReasoning: options.requireReasoning ?? false,
  };
  let answered = 0;
  /** Tools by the system prompt they came with: another prompt is another conversation. */
  const tools = new Map<string, string>();
  let before = "";

  function refuse(response: ServerResponse, status: number, message: string): void {
    errors.push(message);
    sendError(response, status, message);
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const receivedMs = performance.now();
    const text = await bodyOf(request);
    const url = new URL(request.url ?? "/", "http://x");
    const key = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
    if (key === undefined || (options.key !== undefined && key !== options.key)) {
      return refuse(response, 401, "Incorrect API key provided");
    }
    if (request.method === "GET" && url.pathname === "/v1/models") {
      const data = (options.models ?? ["test-model"]).map((id) => ({ id, object: "model" }));
      return sendJson(response, 200, { object: "list", data });
    }
    if (request.method !== "POST" || url.pathname !== "/v1/chat/completions") {
      return refuse(response, 404, `Unknown request URL: ${request.method} ${url.pathname}`);
    }
    if (!/^application\/json\b/.test(request.headers["content-type"] ?? "")) {
      return refuse(response, 400, "content-type must be application/json");
    }
    let body: RequestBody;
    try {
      body = JSON.parse(text);
    } catch {
      return refuse(response, 400, "We could not parse the JSON body of your request.");
    }
    const recorded: RecordedRequest = {
      method: request.method,
      path: url.pathname,
      headers: request.headers,
      body,
      receivedMs,
      answeredMs: NaN,
    };
    requests.push(recorded);
    const wrong = refusals(body, rules);
    const sentTools = JSON.stringify(body.tools ?? null);
    const system = JSON.stringify(body.messages?.[0] ?? null);
    if (!tools.has(system)) tools.set(system, sentTools);
    if (sentTools !== tools.get(system) && !options.allowToolChange) {
      wrong.push("the tools differ from those of an earlier request");
    }
    if (wrong.length > 0) {
      errors.push(...wrong);
      return sendError(response, 400, wrong.join("; "));
    }
    const n = answered++;
    const step = typeof script === "function" ? await script(recorded, n) : script[n];
    if (!step) return refuse(response, 400, `the script has no step for request ${n + 1}`);
    const prompt = sentTools + JSON.stringify(body.messages);
    const usage = roughUsage(prompt, before);
    before = prompt;
    recorded.answeredMs = performance.now();
    await answer(response, step, body, usage);
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      errors.push(`the server failed: ${error}`);
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    errors,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of request) parts.push(part);
  return new TextDecoder().decode(Buffer.concat(parts));
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

function errorBody(message: string): unknown {
  return { error: { message, type: "invalid_request_error", param: null, code: null } };
}

function sendError(response: ServerResponse, status: number, message: string): void {
  sendJson(response, status, errorBody(message));
}

async function answer(
  response: ServerResponse,
  step: Step,
  request: RequestBody,
  usage: Usage,
): Promise<void> {
  if (step.delayMs) await new Promise((resolve) => setTimeout(resolve, step.delayMs));
  if (step.hang === "headers") return;
  const isReply = step.body === undefined && step.sse === undefined && (step.status ?? 200) < 300;
  const given = step.usage ??
    (request.stream_options?.include_usage || !request.stream ? usage : undefined);
  let body: string | Uint8Array;
  let contentType = "application/json";
  if (isReply && request.stream) {
    body = eventsOf(step, given);
    contentType = "text/event-stream";
  } else if (isReply) {
    body = JSON.stringify(completionOf(step, given));
  } else if (step.sse !== undefined) {
    body = step.sse;
    contentType = "text/event-stream";
  } else if (typeof step.body === "string" && (step.contentType || (step.status ?? 200) < 300)) {
    body = step.body;
  } else {
    body = JSON.stringify(typeof step.body === "object" ? step.body : errorBody(String(step.body)));
  }
  const isSilentStart = step.hang === "comments" || (step.reset && isReply && !step.text);
  if (step.reset && isSilentStart) return reset(response);
  response.writeHead(step.status ?? 200, {
    "content-type": step.contentType ?? contentType,
    ...step.headers,
  });
  if (step.hang === "comments") return comments(response);
  // A connection that breaks off leaves out how the reply would have ended.
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const end = (step.hang === "body" || step.reset) && isReply
    ? lengthWithoutEnd(body)
    : bytes.length;
  await write(response, bytes.subarray(0, end), step.split ?? "whole");
  if (step.hang === "body") return;
  await step.until;
  if (step.reset) {
    response.destroy(); // the chunked body has no end: broken off for whoever reads it
    return;
  }
  response.end();
}

function reset(response: ServerResponse): void {
  const { socket } = response;
  if (socket && "resetAndDestroy" in socket) socket.resetAndDestroy();
  else response.destroy();
}

function comments(response: ServerResponse): void {
  const timer = setInterval(() => response.write(": PROCESSING\n\n"), 20);
  response.on("close", () => clearInterval(timer));
}

async function write(
  response: ServerResponse,
  bytes: Uint8Array,
  split: "whole" | "bytes" | number,
): Promise<void> {
  const random = typeof split === "number" ? randomFrom(split) : undefined;
  for (let at = 0; at < bytes.length;) {
    const size = split === "whole" ? bytes.length : random ? 1 + Math.floor(random() * 40) : 1;
    const piece = bytes.subarray(at, at + size);
    at += size;
    if (at >= bytes.length) await new Promise((resolve) => response.write(piece, resolve));
    else response.write(piece);
    // Let the reader run between writes, or they are joined on the way.
    if (split !== "whole" && (random || at % 16 === 0)) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

/** Four characters a token; cached is what the prompt has in common with the one before. */
function roughUsage(prompt: string, before: string): Usage {
  let common = 0;
  while (common < prompt.length && prompt[common] === before[common]) common++;
  const tokens = Math.ceil(prompt.length / 4);
  return {
    prompt_tokens: tokens,
    completion_tokens: 10,
    total_tokens: tokens + 10,
    prompt_tokens_details: { cached_tokens: Math.floor(common / 4) },
  };
}

if (import.meta.main) {
  const file = process.argv[2];
  if (!file) {
    console.error("usage: strict-server.ts SCRIPT.json  (a JSON array of steps)");
    process.exit(2);
  }
  const server = await startServer(JSON.parse(readFileSync(file, "utf8")));
  console.log(server.url);
  process.on("SIGINT", () => process.exit(0));
  process.on("SIGTERM", () => process.exit(0));
}
