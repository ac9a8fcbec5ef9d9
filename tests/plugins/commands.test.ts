import assert from "node:assert/strict";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { headlessInput, type OtherCommands } from "../../src/cli/prompt-commands.ts";
import { runContributed } from "../../src/cli/plugin-commands.ts";
import type { Setup } from "../../src/cli/setup.ts";
import type { AskRequest } from "../../src/loop/permit.ts";
import { pluginCommands } from "../../src/plugins/commands.ts";
import type { Surroundings } from "../../src/plugins/context.ts";
import { trustItemOf } from "../../src/plugins/open.ts";
import { grantsOf } from "../../src/plugins/grants.ts";
import type { CommandDeclaration, Manifest, Plugin, Tier } from "../../src/plugins/manifest.ts";
import { LoadedPlugin } from "../../src/plugins/registry.ts";
import type { PluginCommand } from "../../src/plugins/sdk.ts";
import { masker } from "../../src/plugins/settings.ts";
import { parseCommand } from "../../src/ui/terminal/commands.ts";
import { toolBench } from "../support/tool-context.ts";
import { type Places, places } from "./support.ts";

let at: Places;
let bench: ReturnType<typeof toolBench>;
beforeEach(() => {
  at = places();
  bench = toolBench();
});
afterEach(() => {
  at.close();
  bench.close();
});

const review = (run: PluginCommand["run"], more: Partial<PluginCommand> = {}): PluginCommand => ({
  name: "review",
  run,
  ...more,
});

/** A plugin in memory; one of the binary is not checked against its manifest. */
function pluginOf(
  commands: readonly PluginCommand[],
  { name = "acme", tier = "built-in", declared = {} }: {
    name?: string;
    tier?: Tier;
    declared?: Partial<CommandDeclaration>;
  } = {},
): LoadedPlugin {
  const contributes = {
    commands: [{ name: "review", description: "Reviews.", ...declared }],
  };
  const manifest: Manifest = {
    name,
    extensions: { "dev.nanocode": { apiVersion: 1, contributes } },
  };
  return new LoadedPlugin({
    manifest,
    tier,
    folder: "/",
    load: () => Promise.resolve({ default: { commands } }),
  });
}

const entriesOf = (loaded: readonly LoadedPlugin[], taken: string[] = [], secrets: string[] = []) =>
  pluginCommands(loaded, new Set(taken), (plugin: Plugin) => ({
    plugin,
    settings: { token: "t0ps3cret" },
    mask: masker(secrets),
    skills: () => [],
    data: join(at.home, "data"),
  }));
const entryOf = (command: PluginCommand, more: Parameters<typeof pluginOf>[1] = {}) => {
  const [entry] = entriesOf([pluginOf([command], more)], [], ["t0ps3cret"]);
  assert.ok(entry);
  return entry;
};
const around = (signal = new AbortController().signal): Surroundings => ({
  ...bench.context(),
  signal,
});

describe("names of commands", () => {
  const two = [
    pluginOf([], { name: "a.b", tier: "user" }),
    pluginOf([], { name: "3d", tier: "user" }),
  ];

  it("are bare while unique, else plugin:name, and can be typed", () => {
    assert.deepEqual(entriesOf([pluginOf([])]).map(({ name }) => name), ["review"]);
    assert.deepEqual(entriesOf(two).map(({ name }) => name), ["a.b:review", "3d:review"]);
    for (const { name } of entriesOf(two)) {
      assert.deepEqual(parseCommand(`/${name} x y`), { name, args: "x y" });
    }
    for (const text of ["/3d", "/usr/bin", "/1.5 times", "/a.b"]) {
      assert.equal(parseCommand(text), null, text);
    }
  });

  it("what is built in, and what a file defines, keeps its name; so does a built-in plugin's", () => {
    assert.deepEqual(entriesOf([pluginOf([])], ["review"]).map(({ name }) => name), [
      "acme:review",
    ]);
    const both = [pluginOf([], { name: "inner" }), pluginOf([], { name: "mine", tier: "user" })];
    assert.deepEqual(entriesOf(both).map(({ name }) => name), ["review", "mine:review"]);
  });
});

describe("a command of a plugin", () => {
  it("gives a prompt or shows a text, with its words as typed, and shows no secret", async () => {
    const prompt = entryOf(review((args, ctx) => ({ prompt: `${args} ${ctx.config["token"]}` })));
    assert.deepEqual(await prompt.run(" a  'b' ", [], around()), { prompt: " a  'b'  ***" });
    const output = entryOf(review(async (_, ctx) => {
      await ctx.store.set({ n: 1 });
      return { output: `${JSON.stringify(await ctx.store.get())} ${ctx.session.cwd}` };
    }));
    const { cwd } = around().session;
    assert.deepEqual(await output.run("", [], around()), { output: `{"n":1} ${cwd}` });
    const failing = entryOf(review((_, ctx) => {
      throw new Error(`bad ${ctx.config["token"]}`);
    }));
    await assert.rejects(failing.run("", [], around()), /^Error: bad \*\*\*$/);
  });

  for (const answer of [undefined, {}, "text", { prompt: 7 }]) {
    it(`that answers ${JSON.stringify(answer)} is a fault of the plugin`, async () => {
      const entry = entryOf(review(() => answer as never));
      await assert.rejects(entry.run("", [], around()), /acme answered \/review with neither/);
    });
  }

  it("ends with the interrupt, whether or not it heeds it", async () => {
    const abort = new AbortController();
    const entry = entryOf(review(() => {
      abort.abort();
      return new Promise(() => {});
    }));
    await assert.rejects(entry.run("", [], around(abort.signal)), /interrupted/);
  });

  it("must be what its manifest declares: names both ways, and effects", async () => {
    const { manifest } = pluginOf([]).plugin;
    Object.assign(manifest.extensions?.["dev.nanocode"] ?? {}, { entry: "./index.js" });
    const load = () => Promise.reject(new Error("not this way"));
    const importing = (name: string, commands: string) => {
      const folder = join(at.home, "plugins", name);
      at.write(`home/plugins/${name}/index.js`, `export default { commands: [${commands}] };\n`);
      return new LoadedPlugin({ manifest, tier: "user", folder, load }).definition();
    };
    const one = '{ name: "review", run() {} }';
    assert.equal((await importing("right", one)).commands?.length, 1);
    await assert.rejects(
      importing("none", ""),
      /declares the command review but does not define it/,
    );
    await assert.rejects(
      importing("more", `${one}, { name: "other", run() {} }`),
      /defines the command other, which its manifest does not declare/,
    );
    const effects = () => [{ kind: "exec" as const, command: "git", cwd: "/" }];
    const entry = entryOf(review(() => ({ output: "" }), { effects }));
    await assert.rejects(entry.effects(""), /would exec in \/review, which its manifest does not/);
  });

  it("shows its effects before it is trusted, and has them in its grants", () => {
    const { manifest } = pluginOf([], { declared: { effects: ["exec"] } }).plugin;
    at.write("home/plugins/acme/plugin.json", "{}");
    const { shows } = trustItemOf({ manifest, folder: join(at.home, "plugins", "acme") });
    assert.deepEqual(shows, ["command /review (exec)"]);
    assert.deepEqual(grantsOf(manifest), ["command:review", "command:review:exec"]);
  });
});

describe("permission of a command", () => {
  const exec = { declared: { effects: ["exec" as const] } };
  const git = review(() => ({ output: "ran" }), {
    effects: (args) => [{ kind: "exec", command: `git ${args}`, cwd: "/" }],
  });
  const asked: AskRequest[] = [];
  const go = (answer: "allow" | "deny" | null, deny: string[] = []) => {
    const { host, session } = bench.context();
    const grants = { cover: () => false, add: () => {} };
    const deps = {
      host,
      policy: {
        allow: [],
        ask: [],
        deny: deny.map((pattern) => ({ kind: "Bash", pattern, source: `Bash(${pattern})` })),
        yolo: false,
      },
      session: () => ({ ...session, turn: 3, loaded: new Map(), grants }),
    } as unknown as Pick<Setup, "session" | "host" | "policy">;
    const ask = answer && ((request: AskRequest) => {
      asked.push(request);
      return Promise.resolve({ decision: answer });
    });
    return runContributed(entryOf(git, exec), "diff", deps, {
      signal: new AbortController().signal,
      ...(ask ? { ask } : {}),
      progress: () => {},
    });
  };

  it("is asked for what it would do, and refused where nobody can answer", async () => {
    assert.deepEqual(await go("allow"), { output: "ran" });
    assert.deepEqual(asked.map(({ tool, title }) => [tool, title]), [["/review", "diff"]]);
    await assert.rejects(go("deny"), { exit: 4 });
    await assert.rejects(go(null), /^UserError: \/review was not run: no permission/);
  });
});

describe("in a prompt of -p", () => {
  const plugins = (result: { prompt: string } | { output: string }): OtherCommands => ({
    names: ["review", "acme:fix"],
    run: (name, args) =>
      Promise.resolve("prompt" in result ? { prompt: `${name} ${args} ${result.prompt}` } : result),
  });
  const go = (words: string, piped: string, others: OtherCommands) =>
    headlessInput(
      words,
      words + piped,
      () => Promise.resolve({ commands: [], warnings: [] }),
      () => {},
      () => Promise.resolve(others),
    );

  it("a prompt is sent as the command's, with what was piped in behind; a text is shown only", async () => {
    assert.deepEqual(await go("/acme:fix 7", "\n\nlog", plugins({ prompt: "!" })), {
      text: "acme:fix 7 !\n\nlog",
      source: "command",
    });
    assert.deepEqual(await go("/review", "", plugins({ output: "done" })), {
      text: "",
      source: "command",
      output: "done",
    });
    await assert.rejects(go("/revew", "", plugins({ output: "" })), {
      hint: /\/review, \/acme:fix/,
    });
  });
});
