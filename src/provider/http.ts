// What every HTTP provider needs below its format: JSON that is unknown until it is looked at, a clean
// base URL, a fetch that sends exactly our headers and never waits for ever on an error body, and a
// wait that ends on abort or silence. No format and no failure texts here.

import { UserError } from "../runtime/errors.ts";

/** An error body is read for at most this long and this far (bugs.md CX-13). */
const ERROR_BODY_MS = 5_000;
const ERROR_BODY_BYTES = 64 * 1024;

export type Fields = Record<string, unknown>;

/** Is this a JSON object (not an array, not null)? */
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The JSON value of `text`, undefined when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The base URL in one form: without trailing slash, without the endpoint that people paste along. A
 * query stays (Azure's `api-version`).
 *
 * @param name What to call it in an error.
 * @throws UserError when it is no http(s) URL.
 */
export function normalizeBaseURL(text: string, name = "the base URL"): string {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : null;
  const isHttp = url?.protocol === "https:" || url?.protocol === "http:";
  if (!url || !isHttp || url.username || url.password) {
    const what = isHttp
      ? "must not hold a user name or password"
      : `is ${JSON.stringify(text)}, which is no http(s) address`;
    throw new UserError(`${name} ${what}`, "Write it like https://api.example.com/v1.");
  }
  url.hash = "";
  url.pathname = url.pathname.replace(/(\/(chat\/completions|responses|messages))?\/*$/i, "");
  return url.search ? url.href : url.href.replace(/\/$/, "");
}

/** Does the URL point at this machine? */
export function isLoopback(url: string): boolean {
  const host = URL.canParse(url) ? new URL(url).hostname : "";
  return host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** The part of `fetch` that is used here. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * A fetch that sends `headers` and no others (a client library must not add headers from the
 * environment, or telemetry), follows no redirect (a key stays with its origin), and throws an answer
 * that is not 2xx as a `Refusal` with the beginning of its body.
 */
export function boundedFetch(
  headers: Headers,
  inner: Fetch = fetch,
): Fetch {
  return async (input, { method, body, signal } = {}) => {
    const request: RequestInit & { timeout: false } = {
      method,
      body,
      signal,
      headers,
      redirect: "manual",
      // Bun's own idle limit of 5 minutes would cut a slow local model; ours is the stall limit.
      timeout: false,
    };
    const response = await inner(input, request);
    if (response.ok) return response;
    throw new Refusal(response, await beginningOf(response.body));
  };
}

/** An answer that is not 2xx. */
export class Refusal extends Error {
  readonly answer: Response;
  readonly text: string;
  constructor(answer: Response, text: string) {
    super("refused"); // the package reads meaning into words of an error's message
    this.answer = answer;
    this.text = text;
  }
}

/** What an error body says within the limits. Never rejects. */
async function beginningOf(body: ReadableStream<Uint8Array> | null): Promise<string> {
  if (!body) return "";
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let left = ERROR_BODY_BYTES;
  const stop = () => void reader.cancel().catch(() => {});
  const timer = setTimeout(stop, ERROR_BODY_MS);
  try {
    while (left > 0) {
      const { done, value } = await reader.read();
      if (done) break;
      text += decoder.decode(value.subarray(0, left), { stream: true });
      left -= value.length;
    }
  } catch {
    // What has come so far is all there is to say.
  } finally {
    clearTimeout(timer);
    stop();
  }
  return text + decoder.decode();
}

/** Nothing came for `ms` milliseconds. */
export class Silence extends Error {
  readonly ms: number;
  constructor(ms: number) {
    super(`nothing came for ${ms} ms`);
    this.ms = ms;
  }
}

/**
 * Waits for one thing after another, until the signal aborts or nothing has come for too long. One
 * listener and mostly one timer serve a whole stream: a stream has thousands of pieces.
 */
export class Patience {
  readonly #signal: AbortSignal;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the thing waited for is late (performance.now), and how long its silence is then. */
  #until = 0;
  #limit = 0;
  #giveUp: ((why: unknown) => void) | null = null;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", this.#onAbort);
  }

  /**
   * The result of `work`, unless the signal aborts first (rejects with its reason) or the silence
   * reaches `limit` milliseconds, of which `silentMs` have passed (rejects with `Silence`).
   */
  async wait<T>(work: Promise<T>, limit: number, silentMs = 0): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    work.then(resolve, reject);
    this.#giveUp = reject;
    const until = performance.now() + limit - silentMs;
    // A timer that rings too early looks again; one that would ring too late is replaced.
    if (until < this.#until) this.#stop();
    this.#until = until;
    this.#limit = limit;
    if (this.#signal.aborted) this.#onAbort();
    else if (silentMs >= limit) reject(new Silence(limit));
    else this.#timer ??= setTimeout(this.#onTimer, limit - silentMs);
    try {
      return await promise;
    } finally {
      this.#giveUp = null;
    }
  }

  /** Nothing is waited for any more. */
  end(): void {
    this.#stop();
    this.#signal.removeEventListener("abort", this.#onAbort);
  }

  readonly #onAbort = () => this.#giveUp?.(this.#signal.reason);

  readonly #onTimer = () => {
    this.#timer = undefined;
    if (this.#giveUp === null) return;
    const left = this.#until - performance.now();
    if (left > 0) this.#timer = setTimeout(this.#onTimer, left);
    else this.#giveUp(new Silence(this.#limit));
  };

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
