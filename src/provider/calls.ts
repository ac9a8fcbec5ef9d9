// Which call does a fragment belong to? Servers disagree about index, id and name; the rules here
// hold for all shapes of tests/cases/sse: index is the key, id the identity, a name is set once, a
// fragment that says nothing continues the last call. What arguments mean is call-arguments.ts.

import type { RecordedCall } from "../session/records.ts";
import { parseArguments } from "./call-arguments.ts";
import { parseJson } from "./http.ts";
import type { CallFragment } from "./provider.ts";

/** What is known of a call, or said by a fragment; "" is nothing. */
interface Said {
  id: string;
  name: string;
  args: string;
}

interface OpenCall extends Said {
  /** The last piece of `args` that is not blank. */
  tail: string;
  extra: unknown;
}

/** The calls of one reply. `push` fragments in order of arrival, then `finish` once. */
export class CallTable {
  readonly #calls: OpenCall[] = [];
  readonly #byIndex = new Map<string, OpenCall>();
  #last: OpenCall | undefined;

  push({ index, id = "", name = "", args, extra }: CallFragment): void {
    const given = args ?? "";
    const text = typeof given === "string" ? given : JSON.stringify(given);
    const said: Said = { id, name: name.trim(), args: text };
    if (!said.id && !said.name && text === "" && extra === undefined) return;
    const key = index === undefined ? undefined : String(index);
    const call = this.#find(key, said) ?? this.#open();
    if (key !== undefined) this.#byIndex.set(key, call);
    this.#last = call;
    call.id ||= said.id;
    call.name ||= said.name;
    call.args += text;
    call.tail = text.trim() || call.tail;
    call.extra = extra ?? call.extra;
  }

  /** The calls in order of arrival, each with an id of its own and arguments parsed once. */
  finish(): RecordedCall[] {
    const ids = new Set<string>();
    return this.#calls.filter((call) => call.name || call.args).map(({ id, name, args, extra }) => {
      // Nine letters or digits: Mistral refuses anything else, and counters collide across turns.
      const own = id && !ids.has(id) ? id : crypto.randomUUID().replaceAll("-", "").slice(0, 9);
      ids.add(own);
      const parsed = parseArguments(args);
      return {
        id: own,
        name: name || "unnamed",
        ...(parsed ? { args: parsed.value } : { args: null, raw: args }),
        ...(extra === undefined ? {} : { extra }),
      };
    });
  }

  #open(): OpenCall {
    const call = { id: "", name: "", args: "", tail: "", extra: undefined };
    this.#calls.push(call);
    return call;
  }

  /** The open call this fragment continues; undefined when it begins a new one. */
  #find(key: string | undefined, said: Said): OpenCall | undefined {
    const atKey = key === undefined ? undefined : this.#byIndex.get(key);
    if (atKey) return continues(atKey, said) ? atKey : undefined;
    const sameId = said.id && this.#calls.findLast((call) => call.id === said.id);
    if (sameId) {
      const isSecond = key !== undefined && said.name !== "" && isComplete(sameId);
      return !isSecond && continues(sameId, said) ? sameId : undefined;
    }
    const last = this.#last;
    if (!last) return undefined;
    if (said.id) return !said.name && !last.id && !isComplete(last) ? last : undefined;
    if (said.name) {
      return key === undefined && (!last.name || continues(last, said)) ? last : undefined;
    }
    // Neither id nor name: a tail, even under an index not seen before (agno-agi/agno#8879).
    return key === undefined || !isComplete(last) ? last : undefined;
  }
}

/** Have whole arguments come, once or twice? They end with one of these: few pieces cost a parse. */
function isComplete({ args, tail }: OpenCall): boolean {
  const texts = /["}\]]$/.test(tail) ? [args, args.slice(0, args.length / 2)] : [];
  return texts.some((text) => parseJson(text) !== undefined);
}

/**
 * Does a fragment that would land on `call` go on with it? Some servers repeat name (and id) in every
 * chunk, so a name alone proves nothing: it must differ, or come with new arguments when the
 * call's are complete. A new id begins a call (Ollama says index 0 for all of them), unless every
 * fragment of an unfinished call has its own.
 */
function continues(call: OpenCall, { id, name, args }: Said): boolean {
  const hasArgs = args.trim() !== "";
  if (id && call.id && id !== call.id) return !name && hasArgs && !isComplete(call);
  if (!name || !call.name) return true;
  const isSameId = id !== "" && id === call.id;
  if (!isSameId && name !== call.name) return false;
  if (!hasArgs || !isComplete(call)) return true;
  // The same arguments again: a repetition where the id vouches for it, else a second equal call.
  return isSameId && args === call.args;
}
