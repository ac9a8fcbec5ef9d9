// Effects → allow, ask or deny. Deny of any tier wins; everything but reading inside the workspace
// asks unless a rule allows it (spec/security §Permission). Not here: the question itself.

import { resolve } from "node:path";
import picomatch from "picomatch";
import type { Effect } from "../session/records.ts";
import { isInside, isProtected, isSecret } from "./paths.ts";
import { matches, type MatchSubject, type Rule } from "./rules.ts";

export interface Policy {
  allow: readonly Rule[];
  ask: readonly Rule[];
  deny: readonly Rule[];
  /** Allows all but denied and protected effects. */
  yolo: boolean;
  /** Real path of nanocode's own folder, wherever it lies: trust and keys are there. */
  home?: string;
}

export interface Decision {
  decision: "allow" | "ask" | "deny";
  /** Why, in a few words for people and model. */
  reason: string;
}

/** Decides one call. Each effect is judged alone; the strictest answer holds. */
export function decide(
  policy: Policy,
  tool: string,
  effects: readonly Effect[],
  root: string,
): Decision {
  let strictest: Decision = { decision: "allow", reason: "no effects" };
  for (const effect of effects) {
    const decision = decideEffect(policy, tool, effect, root);
    if (rank(decision) >= rank(strictest)) strictest = decision;
  }
  return strictest;
}

function decideEffect(policy: Policy, tool: string, effect: Effect, root: string): Decision {
  const subject = { tool, effect, root };
  const find = (rules: readonly Rule[]) => rules.find((rule) => matches(rule, subject));
  const deny = find(policy.deny);
  if (deny) return { decision: "deny", reason: `denied by the rule ${deny.source}` };
  const ask = find(policy.ask);
  if (ask) return { decision: "ask", reason: `the rule ${ask.source} asks` };
  const special = specialEffect(effect, policy, root);
  // A wide rule does not lift what is special; one that names it does.
  const allow = find(
    special ? policy.allow.filter((rule) => names(rule, subject, policy)) : policy.allow,
  );
  if (allow) return { decision: "allow", reason: `allowed by the rule ${allow.source}` };
  if (special) return { decision: "ask", reason: special };
  if (effect.kind === "read" && isInside(root, effect.path)) {
    return { decision: "allow", reason: "reading inside the workspace" };
  }
  if (policy.yolo) return { decision: "allow", reason: "--yolo" };
  return { decision: "ask", reason: describe(effect, root) };
}

/** Why an effect asks even under --yolo, or null. */
function specialEffect(effect: Effect, { home }: Policy, root: string): string | null {
  // Trust outlives the session: a model must not get it without a person.
  if (effect.kind === "trust") return describe(effect, root);
  if (effect.kind === "write") {
    const { path } = effect;
    const isOwn = home !== undefined && isInside(home, path);
    if (isOwn || isProtected(root, path)) return `${path} is protected`;
  }
  if ((effect.kind === "read" || effect.kind === "write") && isSecret(effect.path)) {
    return `${effect.path} may hold secrets`;
  }
  return null;
}

/**
 * Does the literal part of a path rule already lie on special ground (`Edit(.nanocode/plugins/**)`)? For
 * trust: does the rule name the tool?
 */
function names(rule: Rule, { tool, effect, root }: MatchSubject, policy: Policy): boolean {
  if (effect.kind === "trust") return rule.kind === "Tool" && rule.pattern === tool;
  if (rule.kind !== "Edit" && rule.kind !== "Read") return false;
  const base = resolve(root, picomatch.scan(rule.pattern).base);
  return specialEffect({ ...effect, path: base } as Effect, policy, root) !== null;
}

/** What an effect would do, in words. */
export function describe(effect: Effect, root: string): string {
  switch (effect.kind) {
    case "read":
      return isInside(root, effect.path)
        ? `reads ${effect.path}`
        : `reads ${effect.path}, outside the workspace`;
    case "write":
      return isInside(root, effect.path)
        ? `writes ${effect.path}`
        : `writes ${effect.path}, outside the workspace`;
    case "exec":
      return "runs a command";
    case "net":
      return `connects to ${effect.host}`;
    case "spend":
      return `spends on ${effect.what}`;
    case "trust":
      return `trusts ${effect.what} from now on`;
  }
}

function rank({ decision }: Decision): number {
  return decision === "deny" ? 2 : decision === "ask" ? 1 : 0;
}
