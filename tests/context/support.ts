// Records as sessions have them, for tests of what is computed from records.

import assert from "node:assert/strict";
import type { Message } from "../../src/provider/provider.ts";
import type { SessionRecord } from "../../src/session/records.ts";

let n = 0;

/** A record with the common fields; ids are unique and sort in the order of making. */
export function record(fields: Record<string, unknown>): SessionRecord {
  return {
    v: 1,
    id: `r${String(n++).padStart(6, "0")}`,
    t: "2026-01-02T03:04:05.000Z",
    turn: 1,
    step: 1,
    ...fields,
  } as unknown as SessionRecord;
}

export const header = (environment = "--- Environment ---\n- cwd: /repo") =>
  record({
    type: "header",
    environment,
    session: "s",
    root: "/repo",
    cwd: "/repo",
    turn: 0,
    step: 0,
  });

export const user = (text: string, turn = 1, source = "typed") =>
  record({ type: "user", text, source, turn });

export const reply = (text: string, ids: string[] = [], turn = 1, over: object = {}) =>
  record({
    type: "reply",
    turn,
    text,
    reasoning: "",
    opaque: [],
    finish: ids.length > 0 ? "tool_calls" : "stop",
    usage: null,
    provider: "p",
    model: "m",
    ms: 1,
    calls: ids.map((id) => ({ id, name: "T", args: { id } })),
    ...over,
  });

export const result = (call: string, tr: number, turn = 1, over: object = {}) =>
  record({
    type: "result",
    turn,
    call,
    tr: `tr.${tr}`,
    tool: "T",
    status: "ok",
    header: `T ${call}`,
    text: `result ${call}`,
    ms: 1,
    ...over,
  });

export const end = (turn = 1, reason = "done") => record({ type: "end", turn, reason });

/** A finished turn of `steps` steps whose results have `size` characters. */
export function finishedTurn(
  turn: number,
  steps: number,
  size = 100,
  first = turn * 1000,
): SessionRecord[] {
  const out = [user(`request ${turn}`, turn)];
  for (let step = 0; step < steps; step++) {
    const id = `c${turn}x${step}`;
    out.push(
      reply("", [id], turn),
      result(id, first + step, turn, { text: `${id} `.repeat(size / 5) }),
    );
  }
  return [...out, reply(`answer ${turn}`, [], turn), end(turn)];
}

/** Each call is followed by its result, in the order of the calls, and no result stands alone. */
export function assertPaired(messages: Message[]): void {
  let waiting: string[] = [];
  for (const message of messages) {
    if (message.role === "tool") {
      assert.equal(waiting.shift(), message.callId);
      continue;
    }
    assert.deepEqual(waiting, []);
    if (message.role === "assistant") waiting = message.calls.map((call) => call.id);
  }
  assert.deepEqual(waiting, []);
}
