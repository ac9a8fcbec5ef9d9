import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AgentEvent } from "../../src/loop/events.ts";
import type { Answer, AskRequest } from "../../src/loop/permit.ts";
import { parseRule } from "../../src/permission/rules.ts";
import { ToolError } from "../../src/tools/tool.ts";
import { bench, echoTool, scripted } from "../support/scripted.ts";

const asking = { allow: [], ask: [], deny: [], yolo: false };
const runner = (over: Parameters<typeof echoTool>[0] = {}) =>
  echoTool({
    name: "Run",
    isConcurrencySafe: () => false,
    effects: ({ text }) => [{ kind: "exec", command: text, cwd: "/w" }],
    ...over,
  });
const calls = (...texts: string[]) => ({
  calls: texts.map((text) => ({ name: "Run", args: { text } })),
});
const ends = (events: AgentEvent[]) =>
  events.flatMap((event) => event.type === "call_end" ? [event] : []);

/** Answers questions in order and remembers them. */
function answering(...answers: Answer[]) {
  const asked: AskRequest[] = [];
  const ask = (request: AskRequest) => {
    asked.push(request);
    return Promise.resolve(answers[asked.length - 1] ?? { decision: "deny" as const });
  };
  return { ask, asked };
}

describe("permission of a call", () => {
  it("a refusal's reason reaches the model, and the rest of the batch is skipped", async () => {
    const b = bench([runner()]);
    const { ask, asked } = answering({ decision: "allow" }, {
      decision: "deny",
      reason: "use npm instead",
    });
    const provider = scripted([calls("a", "b", "c"), { text: "ok" }]);
    const events = await b.run(provider, { policy: asking, ask });
    assert.deepEqual(ends(events).map((event) => event.status), ["ok", "refused", "skipped"]);
    assert.equal(asked.length, 2);
    const told = provider.requests[1]?.messages.flatMap((message) =>
      message.role === "tool" ? [message.text] : []
    );
    assert.match(told?.[1] ?? "", /Refused by the user: use npm instead\. Nothing was done\./);
    assert.match(told?.[2] ?? "", /Skipped: an earlier call in this batch was refused/);
    const types = b.session.log.records.map((record) => record.type);
    assert.equal(types.filter((type) => type === "ask").length, 2);
    assert.deepEqual(
      b.session.log.records.flatMap((record) => record.type === "answer" ? [record.decision] : []),
      ["allow", "deny"],
    );
    b.close();
  });

  it("without anybody to ask nothing waits: refused, told, and other calls go on", async () => {
    const b = bench([runner(), echoTool()]);
    const events = await b.run(
      scripted([
        { calls: [{ name: "Run", args: { text: "x" } }, { name: "Echo", args: { text: "y" } }] },
        { text: "ok" },
      ]),
      { policy: asking },
    );
    assert.deepEqual(ends(events).map((event) => event.status), ["refused", "ok"]);
    assert.match(
      ends(events)[0]?.text ?? "",
      /nobody can answer here.*--allow 'Bash\(COMMAND WORDS\)'/s,
    );
    b.close();
  });

  it("`always` covers exactly what was shown, for the rest of the session", async () => {
    const b = bench([runner()]);
    const { ask, asked } = answering({ decision: "allow", remember: true });
    await b.run(scripted([calls("make"), calls("make"), calls("make clean"), { text: "ok" }]), {
      policy: asking,
      ask,
    });
    assert.deepEqual(
      asked.map((request) => request.effects[0]?.kind === "exec" && request.effects[0].command),
      ["make", "make clean"],
    );
    assert.equal(asked[0]?.scope, "exactly this command");
    b.close();
  });

  it("nobody is asked about a call that cannot run: wrong arguments, or a preview that fails", async () => {
    const b = bench([runner({ preview: () => Promise.reject(new ToolError("stale anchor")) })]);
    const { ask, asked } = answering();
    const events = await b.run(
      scripted([{
        calls: [{ name: "Run", args: { txt: 1 } }, { name: "Run", args: { text: "x" } }],
      }, { text: "ok" }]),
      { policy: asking, ask },
    );
    assert.deepEqual(ends(events).map((event) => event.status), ["error", "error"]);
    assert.equal(ends(events)[1]?.text, "stale anchor");
    assert.equal(asked.length, 0);
    b.close();
  });

  it("an error that may quote a file is not for the model before somebody allowed that", async () => {
    const writer = (path: string) =>
      runner({
        effects: () => [{ kind: "write", path }],
        preview: () => Promise.reject(new ToolError(`the lines of ${path} now`)),
        run: () => Promise.reject(new ToolError("lines, as allowed")),
      });
    const b = bench([writer("/elsewhere/f")]);
    const script = () => scripted([calls("x"), { text: "ok" }]);
    const alone = await b.run(script(), { policy: asking });
    assert.match(ends(alone)[0]?.text ?? "", /^Refused: permission is needed/);
    assert.doesNotMatch(ends(alone)[0]?.text ?? "", /the lines/);
    const { ask, asked } = answering({ decision: "deny" }, { decision: "allow" });
    const refused = await b.run(script(), { policy: asking, ask });
    assert.equal(asked[0]?.preview, "the lines of /elsewhere/f now");
    assert.match(ends(refused)[0]?.text ?? "", /^Refused by the user/);
    const allowed = await b.run(script(), { policy: asking, ask });
    assert.equal(ends(allowed)[0]?.text, "lines, as allowed");
    b.close();
  });

  it("what may not be read may not be written either: a result would quote it", async () => {
    const b = bench([runner({ effects: () => [{ kind: "write", path: "/w/private/f" }] })]);
    const policy = { ...asking, yolo: true, deny: [parseRule("Read(/w/private/**)")] };
    const events = await b.run(scripted([calls("x"), { text: "ok" }]), { policy });
    assert.match(ends(events)[0]?.text ?? "", /denied by the rule Read\(\/w\/private/);
    b.close();
  });

  it("a deny rule refuses without asking, and says which rule", async () => {
    const b = bench([runner()]);
    const { ask, asked } = answering();
    const policy = { ...asking, yolo: true, deny: [parseRule("Bash(rm)")] };
    const events = await b.run(scripted([calls("rm -rf x"), { text: "ok" }]), { policy, ask });
    assert.match(ends(events)[0]?.text ?? "", /denied by the rule Bash\(rm\)/);
    assert.equal(asked.length, 0);
    b.close();
  });

  it("a tool that plans ahead sees all its calls of the batch once, and each gets the plan", async () => {
    const seen: unknown[] = [];
    let begun = 0;
    const b = bench([echoTool({
      beginBatch: (inputs) => {
        begun++;
        return Promise.resolve({ count: inputs.length });
      },
      run: ({ text }, ctx) => {
        seen.push(ctx.batch);
        return Promise.resolve({ output: text });
      },
    })]);
    await b.run(scripted([
      {
        calls: [{ name: "Echo", args: { text: "1" } }, { name: "Echo", args: { txet: 2 } }, {
          name: "Echo",
          args: { text: "3" },
        }],
      },
      { text: "ok" },
    ]));
    assert.equal(begun, 1);
    assert.deepEqual(seen, [{ count: 2 }, { count: 2 }]);
    b.close();
  });
});
