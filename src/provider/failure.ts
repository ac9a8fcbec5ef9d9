// Every way a provider says no → one ProviderFailure: a clear line, whether it may pass by itself, and
// what the user can do. Knows the error bodies that servers really send (OpenAI, vLLM, FastAPI,
// OpenRouter, Gemini, Venice, Mistral, web pages), their statuses and codes, and network errors; it
// does not wait or retry (retry.ts) and reads no streams.

import { EXIT, UserError } from "../runtime/errors.ts";
import { isFields, isLoopback, parseJson, Silence } from "./http.ts";
import type { ProviderFailure } from "./provider.ts";
import { isRetryableStatus, RETRY_BUDGET_MS, retryAfter, spellWait, waitInText } from "./retry.ts";

/** What a failure can name. */
export interface FailureContext {
  baseURL: string;
  model?: string;
  /** Environment variable the key usually comes from. */
  keyEnv?: string;
  /** Never shown: a server that echoes the key is redacted. */
  apiKey?: string;
}

/** A failure where it must be thrown: status and the provider's words, the hint, exit code 1. */
export class ProviderError extends UserError {
  override name = "ProviderError";
  readonly failure: ProviderFailure;
  constructor(failure: ProviderFailure) {
    const status = failure.status ? `HTTP ${failure.status}: ` : "";
    super(status + failure.message, failure.hint, EXIT.failure);
    this.failure = failure;
  }
}

const MAX_MESSAGE = 500;

/** A failure whose message is one short line without the key; not retried unless `more` says so. */
export function failure(
  message: string,
  { apiKey }: FailureContext,
  more: Partial<ProviderFailure> = {},
): ProviderFailure {
  const safe = apiKey && apiKey.length >= 8 ? message.replaceAll(apiKey, "[key]") : message;
  const line = safe.replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, " ").trim();
  const short = line.length > MAX_MESSAGE ? `${line.slice(0, MAX_MESSAGE - 1)}…` : line;
  return { code: null, retryable: false, ...more, message: short.toWellFormed() };
}

/** The failure that a value describes, or null when it is no error; `isError` as for `wordsOf`. */
export function failureOf(
  value: unknown,
  context: FailureContext,
  isError = false,
): ProviderFailure | null {
  const words = wordsOf(value, isError);
  return words && classify(words, context);
}

/** The failure of an answer with an error status (also a redirect). `text` may be cut. */
export function httpFailure(
  status: number,
  headers: Headers,
  text: string,
  context: FailureContext,
): ProviderFailure {
  if (status < 400) {
    const location = headers.get("location") ?? "another address";
    return failure(`The server redirects to ${location}`, context, {
      code: status,
      status,
      hint: "Redirects are not followed, so that your key stays where it belongs: " +
        "set the base URL to the address that answers itself.",
    });
  }
  const said = text.trim() || `The server answered ${status} without saying why`;
  const words = wordsOf(parseJson(said) ?? said, true);
  return classify(words ?? { message: said, code: null, codes: "" }, context, status, headers);
}

/** The failure of an answer with status 200 that is no reply: a web page, plain text. */
export function notAnApi(text: string, context: FailureContext): ProviderFailure {
  const message = pageWords(text) ??
    `The server's answer is not that of a model's API: ${text.slice(0, 200)}`;
  return failure(message, context, { hint: urlHint(context) });
}

/** The failure of a request that got no answer, of a body that broke off, or of silence. */
export function thrownFailure(error: unknown, context: FailureContext): ProviderFailure {
  if (error instanceof ProviderError) return error.failure;
  const { origin } = new URL(context.baseURL);
  if (error instanceof Silence) {
    return failure(`${origin} sent nothing for ${Math.round(error.ms / 100) / 10} s`, context, {
      code: "stalled",
      retryable: true,
      hint: "The provider may be overloaded. Try again, or choose another model.",
    });
  }
  const { code, text } = rootOf(error);
  const said = `${code} ${text}`;
  if (/refused/i.test(said) && isLoopback(context.baseURL)) {
    const hint = "Start the model server, or check its port in the base URL.";
    return failure(`No server answers at ${origin}`, context, { code, hint });
  }
  if (/cert|self.signed|unable_to_verify/i.test(said)) {
    const hint = "Check the base URL; behind a company proxy set NODE_EXTRA_CA_CERTS.";
    return failure(`The certificate of ${origin} is refused: ${text}`, context, { code, hint });
  }
  const [message, hint] = /ENOTFOUND|EAI_AGAIN|dns|resolve/i.test(said)
    ? [`The address ${origin} could not be found`, "Check the network and the base URL."]
    : [`The connection to ${origin} failed: ${text}`, "Check the network."];
  return failure(message, context, { code, retryable: true, hint });
}

/** Code and words of the error at the end of the chain of causes. */
function rootOf(error: unknown): { code: string | null; text: string } {
  let code: string | null = null;
  let text = "";
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 6; depth++) {
    if ("code" in at && typeof at.code === "string") code = at.code;
    if (at.message) text = at.message;
    at = at.cause;
  }
  return { code, text: text || String(error) };
}

/** What a provider wrote about an error. */
interface Words {
  message: string;
  code: string | number | null;
  /** Every code-like word, in lower case, with blanks between. */
  codes: string;
  /** A status that the words name. */
  status?: number;
}

/**
 * The words of a value, or null when it is no error. `isError`: the place it was found in (an error
 * status, an `error:` field) makes it one in any case.
 */
function wordsOf(given: unknown, isError: boolean): Words | null {
  const value: unknown = Array.isArray(given) ? given[0] : given; // Gemini wraps it in a list
  if (!isFields(value)) {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return isError ? { message: pageWords(text) ?? text, code: null, codes: "" } : null;
  }
  const error = value.error || (Array.isArray(value.errors) && value.errors[0]);
  const isBare = value.choices === undefined && value.usage === undefined &&
    [value.message, value.detail, value.msg, value.error_message].some((it) => it !== undefined);
  const isMarked = error || value.object === "error" || value.type === "error";
  if (!isError && !isBare && !isMarked) return null;

  const source = isFields(error) ? error : value;
  const codes = [source, value, source.metadata].filter(isFields)
    .flatMap((at) => [at.code, at.type, at.error_type, at.status, at.status_code])
    .filter((code) => typeof code === "number" || typeof code === "string")
    .filter((code) => code !== "" && code !== "error");
  return {
    message: textIn(value) || JSON.stringify(value),
    code: codes[0] ?? null,
    codes: codes.join(" ").toLowerCase(),
    status: codes.map(Number).find((number) => number >= 400 && number < 600),
  };
}

const TEXT_FIELDS = ["error", "errors", "message", "error_message", "msg", "detail"];

/** The text in a value that may be a string, JSON in a string, a list (FastAPI) or an object. */
function textIn(value: unknown): string {
  if (typeof value === "string") {
    return (/^\s*[[{]/.test(value) && textIn(parseJson(value))) || value;
  }
  if (Array.isArray(value)) return value.map(textIn).filter(Boolean).join("; ");
  if (!isFields(value)) return "";
  const text = TEXT_FIELDS.map((field) => textIn(value[field])).find(Boolean) ?? "";
  // A router says "Provider returned error" and puts what happened into metadata (OpenRouter).
  const raw = isFields(value.metadata) ? textIn(value.metadata.raw) : "";
  const place = Array.isArray(value.loc) ? ` (${value.loc.join(".")})` : "";
  return [text && text + place, raw].filter(Boolean).join(": ");
}

/** What to say of a web page; null when the text is none. */
function pageWords(text: string): string | null {
  if (!/^\s*<(!doctype|html|head|body|\?xml|!--)/i.test(text)) return null;
  const title = /<title[^>]*>([^<]{1,200})/i.exec(text)?.[1]?.trim();
  return `A web page came back, not an API's answer${title ? `: ${title}` : ""}`;
}

// Codes decide first, words only where no code does (bugs.md CX-12); both are matched by these.
const QUOTA = new RegExp(
  "(^|[^a-z])quota|billing|insufficient.(balance|funds|credit)|out of credit|payment.required|" +
    "usage.limit.reached|arrearage|monthly",
  "i",
);
const TOO_LONG = new RegExp(
  "context.(length|window|size|limit|too long)|maximum context|string_above_max_length|" +
    "(prompt|input|request|conversation|messages?)[ _](is |are )?too.(long|large)|" +
    "exceeds? the (available|maximum|model'?s?)[^.]{0,40}(context|tokens|length)|" +
    "reduce the length|range of input length",
  "i",
);
const TRANSIENT = new RegExp(
  "server_error|internal|api_error|overloaded|rate_limit|too_many_requests|resource_exhausted|" +
    "unavailable|bad_gateway|timeout|deadline_exceeded|tool_use_failed",
);

function classify(
  words: Words,
  context: FailureContext,
  httpStatus?: number,
  headers?: Headers,
): ProviderFailure {
  const { message, codes } = words;
  const { model, keyEnv = "the key of this provider" } = context;
  const status = httpStatus ?? words.status ?? 0;
  const named = waitInText(message);
  const wait = (headers && retryAfter(headers)) ?? named;
  const isLimit = status === 429 || status === 0 || TRANSIENT.test(codes);
  const isQuota = status === 402 || QUOTA.test(codes) ||
    // Google says "quota" for a limit per minute too, but then names a short wait.
    (isLimit && QUOTA.test(message) && !(named !== undefined && named < RETRY_BUDGET_MS));
  const tooLong = status === 413 || TOO_LONG.test(codes) ||
    // OpenAI answers 429 to one request that is larger than the limit per minute: waiting is no use.
    (status === 429 ? /request too large/i.test(message) : status < 500 && TOO_LONG.test(message));
  // Groq's tool_use_failed: the sampled call was malformed; another often is not (tensorzero#1893).
  const isTransient = status === 0
    ? TRANSIENT.test(codes)
    : isRetryableStatus(status) || codes.includes("tool_use_failed");
  const isModel = model !== undefined && (codes.includes("model_not_found") ||
    (status === 404 && /\bmodel\b/i.test(`${message} ${codes}`)));
  const asked = spellWait(wait ?? 0);
  const isTooLate = wait !== undefined && wait > RETRY_BUDGET_MS;
  const hints: [boolean, string][] = [
    [isTooLate, `The provider asks to wait ${asked}. Choose another model, or come back later.`],
    [tooLong, "Use /compact, or choose a model with a larger window."],
    [isQuota, "Check credit and plan with the provider, or choose another model."],
    [status === 401, `The key was refused. Check ${keyEnv}.`],
    [status === 403, "This key may not use this model, or not from here."],
    [isModel, `The model ${JSON.stringify(model)} is not offered here: try /model or --model.`],
    [status === 404 || status === 405, urlHint(context)],
    [status === 429, "The limit of this key is reached; it is tried again after a wait."],
    [status >= 500, "The provider has trouble; try again later."],
  ];
  return failure(message, context, {
    code: words.code ?? httpStatus ?? null,
    status: status || undefined,
    retryable: isTransient && !isQuota && !tooLong,
    tooLong: tooLong || undefined,
    retryAfterMs: wait,
    hint: hints.find(([holds]) => holds)?.[1],
  });
}

function urlHint({ baseURL }: FailureContext): string {
  return `Check the base URL (${baseURL}): that of an API often ends in /v1.`;
}
