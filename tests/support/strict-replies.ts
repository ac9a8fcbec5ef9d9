// A scripted reply in OpenAI's form: as an event stream and as one completion. Used by strict-server.ts.

export interface ScriptCall {
  id?: string;
  name: string;
  /** An object is sent as JSON text, a string as it stands. */
  args: unknown;
}

/** A reply as a test writes it. */
export interface ScriptedReply {
  text?: string;
  reasoning?: string;
  calls?: ScriptCall[];
  /** Default: `tool_calls` with calls, else `stop`. */
  finish?: string;
}

export type Usage = Record<string, unknown>;

function argumentsOf(call: ScriptCall): string {
  return typeof call.args === "string" ? call.args : JSON.stringify(call.args);
}

let made = 0;

function callsOf(step: ScriptedReply): { id: string; name: string; args: string }[] {
  return (step.calls ?? []).map((call) => ({
    id: call.id ?? `call_${(++made).toString(36).padStart(6, "0")}`,
    name: call.name,
    args: argumentsOf(call),
  }));
}

function finishOf(step: ScriptedReply): string {
  return step.finish ?? (step.calls?.length ? "tool_calls" : "stop");
}

/** The reply as OpenAI streams it: pieces of text, calls with their arguments in two fragments. */
export function eventsOf(step: ScriptedReply, usage: Usage | undefined): string {
  const chunk = {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "test-model",
  };
  const events: unknown[] = [];
  const delta = (delta: unknown, finish: string | null = null) =>
    events.push({ ...chunk, choices: [{ index: 0, delta, finish_reason: finish }] });
  delta({ role: "assistant", content: step.calls?.length ? null : "" });
  for (const piece of pieces(step.reasoning)) delta({ reasoning_content: piece });
  for (const piece of pieces(step.text)) delta({ content: piece });
  callsOf(step).forEach(({ id, name, args }, index) => {
    delta({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] });
    const middle = Math.ceil(args.length / 2);
    for (const part of [args.slice(0, middle), args.slice(middle)]) {
      if (part) delta({ tool_calls: [{ index, function: { arguments: part } }] });
    }
  });
  delta({}, finishOf(step));
  if (usage) events.push({ ...chunk, choices: [], usage });
  return [...events.map((event) => JSON.stringify(event)), "[DONE]"]
    .map((data) => `data: ${data}\n\n`).join("");
}

function pieces(text = ""): string[] {
  return text.match(/[\s\S]{1,12}/gu) ?? [];
}

/** Length of a stream without its terminal events, for a connection that breaks off. */
export function lengthWithoutEnd(body: string | Uint8Array): number {
  if (typeof body !== "string") return body.length;
  const events = body.split("\n\n");
  const kept = events.filter((event) => !/"finish_reason":"|"usage":|\[DONE\]/.test(event));
  return new TextEncoder().encode(kept.join("\n\n")).length;
}

/** The reply as one completion, for a request without `stream`. */
export function completionOf(step: ScriptedReply, usage: Usage | undefined): unknown {
  const calls = callsOf(step).map(({ id, name, args }) => ({
    id,
    type: "function",
    function: { name, arguments: args },
  }));
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "test-model",
    choices: [{
      index: 0,
      message: {
        role: "assistant",
        content: step.text ?? null,
        ...(step.reasoning ? { reasoning_content: step.reasoning } : {}),
        ...(calls.length > 0 ? { tool_calls: calls } : {}),
      },
      finish_reason: finishOf(step),
    }],
    usage,
  };
}
