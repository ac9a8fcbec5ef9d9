import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { ChatRequest, Provider } from "../../src/provider/provider.ts";
import { bash } from "../../src/tools/bash.ts";
import { edit } from "../../src/tools/edit.ts";
import { read } from "../../src/tools/read.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { type Bench, bench } from "../support/scripted.ts";

type Call = { name: string; args: unknown };

/** Plays a session: each step sees the request that is its turn, and gives its calls or an answer. */
async function play(b: Bench, steps: ((state: string, request: ChatRequest) => Call[] | string)[]) {
  const states: string[] = [];
  const provider: Provider = {
    id: "p",
    async *stream(request) {
      await Promise.resolve();
      const last = request.messages.at(-1)?.text ?? "";
      const state = last.startsWith("--- FILE STATE ---") ? last : "";
      states.push(state);
      const next = steps[states.length - 1]?.(state, request) ?? "done";
      if (typeof next === "string") {
        yield { type: "text", text: next };
        yield { type: "finish", reason: "stop", raw: null };
        return;
      }
      for (const [index, { name, args }] of next.entries()) {
        const id = `c${states.length}x${index}`;
        yield { type: "call", fragment: { index, id, name, args: JSON.stringify(args) } };
      }
      yield { type: "finish", reason: "tool_calls", raw: null };
    },
  };
  const limits = { outputTokens: 2500, readTokens: 6000, bashTimeout: 10 };
  await b.run(provider, { toolLimits: limits });
  return states;
}

const files = () => bench([read, edit, bash] as Tool[]);
const lines = (n: number) => Array.from({ length: n }, (_, i) => `line ${i + 1}`).join("\n") + "\n";
const readA = { name: "Read", args: { files: [{ path: "a.ts" }] } };
const anchor = (state: string, n: number) =>
  new RegExp(`^${n}:[a-z]{3}`, "m").exec(state)?.[0] ?? "";

describe("FILE STATE", () => {
  it("is not there before a file was seen, then says what is current", async () => {
    const b = files();
    writeFileSync(join(b.folder, "a.ts"), lines(20));
    const states = await play(b, [() => [readA], () => "ok"]);
    assert.equal(states[0], "");
    assert.match(states[1] ?? "", /Files: all as they were shown\./);
    assert.ok(!states[1]?.includes("Content"), "what stands in the results is not shown again");
    b.close();
  });

  it("shows what somebody else changed with anchors that Edit takes, and names a file that is gone", async () => {
    const b = files();
    const path = join(b.folder, "a.ts");
    writeFileSync(path, lines(20));
    writeFileSync(join(b.folder, "b.ts"), lines(3));
    const states = await play(b, [
      () => [{ name: "Read", args: { files: [{ path: "a.ts" }, { path: "b.ts" }] } }],
      () => {
        writeFileSync(
          path,
          lines(20).replace("line 2\n", "new 1\nnew 2\nline 2\n").replace(
            "line 10\n",
            "line ten\n",
          ),
        );
        rmSync(join(b.folder, "b.ts"));
        return [{ name: "Bash", args: { command: "sleep 0.2" } }];
      },
      (state) => [{
        name: "Edit",
        args: {
          path: "a.ts",
          edits: [{ op: "replace", start: anchor(state, 12), content: "LINE TEN" }],
        },
      }],
      () => "ok",
    ]);
    const state = states[2] ?? "";
    assert.match(
      state,
      /- a\.ts 2:3 changed by \S+.*, 4:11 moved \+2, 12:12 changed by .*, 13:22 moved \+2/,
    );
    assert.match(
      state,
      /@@ a\.ts 2:3\n2:[a-z]{3}\|new 1\n3:[a-z]{3}\|new 2\n@@ a\.ts 12:12\n12:[a-z]{3}\|line ten/,
    );
    assert.match(state, /- b\.ts gone/);
    assert.match(readFileSync(path, "utf8"), /line 9\nLINE TEN\nline 11/);
    assert.match(states[3] ?? "", /- tr\.3 Edit a\.ts/);
    b.close();
  });

  it("says whether code was checked since it was edited, by whom or what", async () => {
    const b = files();
    writeFileSync(join(b.folder, "a.ts"), lines(5));
    writeFileSync(join(b.folder, "notes.md"), lines(5));
    const edited = (path: string, request: ChatRequest) => {
      const shown =
        request.messages.filter(({ text }) => text.includes(`path="${path}"`)).at(-1)?.text ?? "";
      return [{
        name: "Edit",
        args: { path, edits: [{ op: "replace", start: anchor(shown, 2), content: "changed" }] },
      }];
    };
    const states = await play(b, [
      () => [{ name: "Read", args: { files: [{ path: "notes.md" }] } }],
      (_, request) => edited("notes.md", request),
      () => [readA],
      (_, request) => edited("a.ts", request),
      () => [{ name: "Bash", args: { command: "false" } }],
      () => "ok",
    ]);
    assert.ok(!states[2]?.includes("Check status"), "prose needs no check");
    assert.match(states[4] ?? "", /Check status:\n- Code changed since the last check/);
    assert.match(states[5] ?? "", /- ran since: tr\.5 false: exit 1/);
    b.close();
  });

  it("holds the last errors of the turn", async () => {
    const b = files();
    const states = await play(b, [
      () => [{ name: "Read", args: { files: [{ path: "missing.ts" }] } }],
      () => "ok",
    ]);
    assert.match(states[1] ?? "", /Recent tool errors:\n- tr\.1 Read missing\.ts: .*no such file/);
    const after = await play(b, [() => "ok"]);
    assert.ok(!after[0]?.includes("Recent tool errors"));
    b.close();
  });
});
