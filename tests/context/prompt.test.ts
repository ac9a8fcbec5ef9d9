// What every session pays for: tools, system prompt and Environment of a first request, counted in the
// tokens of o200k_base as they are sent; and that what they say is true.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { parseArgs } from "../../src/cli/args.ts";
import { coreTools } from "../../src/cli/core-tools.ts";
import { setUp } from "../../src/cli/setup.ts";
import { requestFor } from "../../src/loop/request.ts";
import { chatBody } from "../../src/provider/chat-body.ts";
import { profileFor } from "../../src/provider/profiles.ts";

const SEVEN = ["Bash", "Edit", "List", "Note", "Read", "Recall", "Search"];
const SYSTEM = readFileSync(new URL("../../src/context/system.md", import.meta.url), "utf8");
const tokens = (text: string) => encode(text).length;

interface First {
  tools: string;
  system: string;
  environment: string;
}

/** The parts of a first request in a folder, as they go over the wire. */
async function firstRequest(name: string): Promise<First> {
  const home = join(folder, "home");
  const cwd = join(folder, name);
  mkdirSync(cwd);
  const program = { assets: new URL("../../", import.meta.url), bundled: null };
  const options = parseArgs(["-p", "hello", "--model", "local/m", "--config", config]);
  const setup = await setUp(options, program, { home, root: cwd, cwd });
  try {
    const deps = setup.turnDeps(new AbortController().signal);
    const { request } = await requestFor(setup.session(), deps, [{
      text: "hello",
      source: "typed",
    }]);
    const body = JSON.parse(chatBody(request, profileFor("http://127.0.0.1:9/v1", "m")));
    const [system, environment] = body.messages;
    assert.deepEqual([system.role, environment.role], ["system", "user"]);
    return {
      tools: JSON.stringify(body.tools),
      system: system.content,
      environment: environment.content,
    };
  } finally {
    setup.close();
  }
}

let folder: string;
let config: string;
let one: First;
let other: First;
before(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "nanocode-prompt-")));
  config = join(folder, "config.json");
  const local = { baseURL: "http://127.0.0.1:9/v1", key: "x" };
  writeFileSync(config, JSON.stringify({ providers: { local } }));
  one = await firstRequest("one");
  other = await firstRequest("another-folder");
});
after(() => rmSync(folder, { recursive: true, force: true }));

describe("the first request", () => {
  it("has at most 1,800 tokens of tools, system prompt and Environment", () => {
    const parts = [one.tools, one.system, one.environment].map(tokens);
    const sum = parts.reduce((a, b) => a + b);
    assert.ok(sum <= 1800, `${parts.join(" + ")} = ${sum}`);
    assert.ok(sum > 900, "something is missing");
  });

  it("has the same tools and system prompt in every folder", () => {
    assert.equal(other.tools, one.tools);
    assert.equal(other.system, one.system);
    assert.notEqual(other.environment, one.environment);
  });

  it("offers the core tools, sorted", () => {
    const names: string[] = JSON.parse(one.tools).map((tool: { function: { name: string } }) =>
      tool.function.name
    );
    assert.deepEqual(names, names.toSorted());
    for (const name of ["Bash", "Edit", "Read", "Search"]) assert.ok(names.includes(name), name);
  });
});

describe("the system prompt", () => {
  it("has less than 500 tokens and is sent as it is", () => {
    assert.ok(tokens(SYSTEM) < 500, `${tokens(SYSTEM)}`);
    assert.equal(one.system.trim(), SYSTEM.trim());
  });

  it("has the sections TOOLS, FLOW, CONTEXT, EDITS, FINAL", () => {
    assert.deepEqual(SYSTEM.match(/^[A-Z]+$/gm), ["TOOLS", "FLOW", "CONTEXT", "EDITS", "FINAL"]);
  });

  it("names only tools and blocks that there are", () => {
    const names: string[] = JSON.parse(one.tools).map((tool: { function: { name: string } }) =>
      tool.function.name
    );
    const known = new Set([...names, ...SEVEN, "Memory", "Environment"]);
    const named = SYSTEM.match(/(?<=[a-z,;(] )[A-Z][a-z]+/g) ?? [];
    assert.ok(named.length >= 6, named.join());
    for (const name of named) assert.ok(known.has(name), name);
  });
});

describe("the descriptions of the core tools", () => {
  it("hold examples that are correct calls", async () => {
    let examples = 0;
    for (const { spec, load } of await coreTools(null)) {
      const tool = await load();
      for (const [line] of spec.description.matchAll(/^(?:\w+\()?\{.*\}\)?$/gm)) {
        const args = JSON.parse(line.replace(/^\w+\((.*)\)$/, "$1"));
        const parsed = tool.input.safeParse(args);
        assert.ok(parsed.success, `${spec.name}: ${line}`);
        examples++;
      }
    }
    assert.ok(examples >= 3, `${examples}`);
  });
});
