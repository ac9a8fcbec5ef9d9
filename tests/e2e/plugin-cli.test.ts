// `nanocode plugin …` through the binary: sources, lock, cache, and what a start makes of them.

import assert from "node:assert/strict";
import { chmodSync, cpSync, mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { dirname } from "node:path";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { removeTree } from "../../src/plugins/cache.ts";
import { repository } from "../plugins/repository.ts";
import { packed, type Registry, sha, startRegistry } from "../plugins/tarballs.ts";
import { type RequestBody, startServer, type StrictServer } from "../support/strict-server.ts";
import { Tmux } from "../support/tmux.ts";
import {
  BINARY,
  existsSync,
  type Finished,
  join,
  modelEnv,
  readFileSync,
  run,
  type Sandbox,
  sandbox,
  writeFileSync,
} from "./support.ts";

let box: Sandbox;
let registry: Registry;
let server: StrictServer | undefined;
let terminal: Tmux | undefined;
before(async () => registry = await startRegistry());
after(() => registry.close());
beforeEach(() => {
  box = sandbox({ ".git/HEAD": "ref: refs/heads/main\n" });
  box.env["npm_config_registry"] = registry.url;
});
afterEach(async () => {
  terminal?.kill();
  terminal = undefined;
  await server?.close();
  server = undefined;
  removeTree(join(box.home, ".nanocode", "cache"));
  box.close();
});

const plugin = (...args: string[]): Promise<Finished> =>
  run(["plugin", ...args], { cwd: box.work, env: box.env });
/** As `plugin`, and it must succeed. */
const did = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await plugin(...args);
  assert.equal(code, 0, `${args.join(" ")}: ${stdout}${stderr}`);
  return stdout;
};
const read = (path: string) => readFileSync(join(box.work, path), "utf8");
const write = (path: string, text: string) => {
  mkdirSync(dirname(join(box.work, path)), { recursive: true });
  writeFileSync(join(box.work, path), text);
};
const lock = () => JSON.parse(read(".nanocode/plugins.lock.json")).plugins;

const inputSchema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const manifest = (version: string, ours: object = {}) =>
  JSON.stringify({
    name: "weather",
    version,
    extensions: {
      "dev.nanocode": {
        apiVersion: 1,
        entry: "./index.ts",
        contributes: {
          tools: [{ name: "Weather", description: "Tells the weather.", inputSchema, effects: [] }],
        },
        ...ours,
      },
    },
  });
const code = (says: string) => `
import { definePlugin, defineTool } from "nanocode";
import { z } from "zod";
export default definePlugin({ tools: [defineTool({
  name: "Weather", description: "Tells the weather.", input: z.strictObject({ city: z.string() }),
  example: { city: "Rome" }, async run({ city }) { return { output: "${says} in " + city }; },
})] });
`;
const release = async (
  name: string,
  version: string,
  ours: object = {},
  says = `sunny ${version}`,
) =>
  registry.publish(
    name,
    version,
    await packed({ "plugin.json": manifest(version, ours), "index.ts": code(says) }),
  );

/** Runs one turn in which the model calls Weather; gives what it was told. */
async function turn(): Promise<{ text: string; stderr: string }> {
  server = await startServer([{ calls: [{ name: "Weather", args: { city: "Rome" } }] }, {
    text: "ok",
  }]);
  const { stderr } = await run(["-p", "go"], {
    cwd: box.work,
    env: { ...box.env, ...modelEnv(server.url) },
  });
  const { messages } = server.requests[1]?.body as RequestBody;
  await server.close();
  return { text: messages.map(({ content }) => String(content)).join("\n"), stderr };
}

describe("a plugin from a registry", () => {
  it("is added, pinned, used without the network, verified, updated by consent and removed", async () => {
    await release("nano-weather", "1.0.0");
    write(".nanocode/config.json", '{\n  // ours\n  "reason": "low"\n}\n');
    const asked = await plugin("add", "npm:nano-weather@^1");
    assert.equal(asked.code, 4, "nobody can be asked");
    assert.match(
      asked.stdout,
      /weather 1\.0\.0 from npm:nano-weather@\^1\n {2}runs \.\/index\.ts\n {2}tool Weather\n/,
    );
    assert.match(asked.stderr, /--yes agrees/);
    assert.ok(!read(".nanocode/config.json").includes("plugins"));

    await did("add", "npm:nano-weather@^1", "--yes");
    assert.match(read(".nanocode/config.json"), /\/\/ ours\n/);
    assert.equal(
      JSON.parse(read(".nanocode/config.json").replace("// ours", "")).plugins.weather,
      "npm:nano-weather@^1",
    );
    assert.deepEqual(lock().weather.grants, ["tool:Weather"]);
    assert.match(await did("list"), /^weather +project +1\.0\.0 +on$/m);
    registry.asked.length = 0;
    assert.match((await turn()).text, /sunny 1\.0\.0 in Rome/);
    assert.match(await did("verify"), /^ok +weather$/m);
    assert.match(await did("sync", "--frozen"), /weather 1\.0\.0: there/);
    assert.deepEqual(registry.asked, [], "a start, verify and sync of what is there ask nobody");

    assert.match(await did("update"), /weather 1\.0\.0 is up to date/);
    await release("nano-weather", "1.1.0");
    assert.match(
      await did("update"),
      /weather 1\.0\.0 → 1\.1\.0 .*\n {2}changed file index\.ts\n {2}changed file plugin\.json\nupdated weather/,
    );
    assert.match((await turn()).text, /sunny 1\.1\.0 in Rome/);
    await release("nano-weather", "1.2.0", { capabilities: { net: ["evil.example"] } });
    const refused = await plugin("update", "weather");
    assert.equal(refused.code, 4);
    assert.match(refused.stdout, /\n {2}\+ net:evil\.example\n/);
    assert.equal(lock().weather.version, "1.1.0");
    await did("update", "weather", "--yes");
    assert.deepEqual(lock().weather.grants, ["net:evil.example", "tool:Weather"]);

    await did("remove", "weather");
    assert.deepEqual(lock(), {});
    assert.match(read(".nanocode/config.json"), /\/\/ ours\n/);
    assert.doesNotMatch(await did("list"), /weather/);
    assert.match(
      (await plugin("remove", "weather")).stderr,
      /no config\.json names a plugin weather/,
    );
  });

  it("an update whose code gains powers that it does not declare is asked for, too", async () => {
    await release("nano-sly", "1.0.0");
    await did("add", "npm:nano-sly@^1", "--yes");
    registry.publish(
      "nano-sly",
      "1.0.1",
      await packed({
        "plugin.json": manifest("1.0.1"),
        "index.ts": `import "node:child_process";${code("x")}`,
      }),
    );
    const { code: exit, stdout } = await plugin("update");
    assert.equal(exit, 4);
    assert.match(stdout, /\+ not declared: index\.ts starts programs by itself/);
    assert.equal(lock().weather.version, "1.0.0");
  });

  it("reaches a colleague by the lock: fetched by sync, off until trusted, the same tree", async () => {
    await release("nano-shared", "1.0.0");
    await did("add", "npm:nano-shared@^1", "--yes");
    const { tree } = lock().weather;
    await release("nano-shared", "1.5.0");
    const mine = box;
    box = sandbox();
    box.env["npm_config_registry"] = registry.url;
    try {
      cpSync(join(mine.work, ".nanocode"), join(box.work, ".nanocode"), { recursive: true });
      assert.match(
        await did("list"),
        /weather .*off: it was not fetched on this machine yet: run nanocode plugin sync/,
      );
      assert.equal((await plugin("verify")).code, 4);
      assert.match(
        (await turn()).stderr,
        /weather is off: it was not fetched .*run nanocode plugin sync/,
      );
      await did("sync", "--frozen");
      assert.deepEqual(readdirSync(join(box.home, ".nanocode/cache/plugins")).sort(), [
        tree,
        `${tree}.files`,
      ]);
      assert.equal(lock().weather.version, "1.0.0");
      assert.match(await did("list"), /weather .*off: it is the project's and was not trusted yet/);
      const shown = await run(["trust"], { cwd: box.work, env: box.env });
      assert.match(shown.stdout, /plugin weather: not answered for\n +runs \.\/index\.ts/);
      // The repository's lock does not count as this person's consent.
      const update = await plugin("update");
      assert.equal(update.code, 4);
      assert.match(update.stdout, /runs \.\/index\.ts\n {2}tool Weather/);
      await run(["trust", "--all"], { cwd: box.work, env: box.env });
      assert.match((await turn()).text, /sunny 1\.0\.0 in Rome/);
    } finally {
      const theirs = box;
      box = mine;
      removeTree(join(theirs.home, ".nanocode", "cache"));
      theirs.close();
    }
  });

  it("verify tells mismatch (3), missing (4) and drift (5), and a start is not fooled (Nx s1ngularity)", async () => {
    await release("nano-weather", "1.0.0");
    await did("add", "npm:nano-weather@^1", "--yes");
    const folder = join(box.home, ".nanocode/cache/plugins", lock().weather.tree);
    chmodSync(join(folder, "index.ts"), 0o644);
    writeFileSync(join(folder, "index.ts"), code("evil"));
    const changed = await plugin("verify");
    assert.equal(changed.code, 3);
    assert.match(
      changed.stdout,
      /^mismatch +weather: .* is not what the lock pins: run nanocode plugin sync/m,
    );
    const { text, stderr } = await turn();
    assert.doesNotMatch(text, /evil/);
    assert.match(
      stderr,
      /weather is off: its files are not those that the lock pins: run nanocode plugin sync/,
    );
    await did("sync");
    assert.equal((await plugin("verify")).code, 0);
    removeTree(folder);
    assert.equal((await plugin("verify")).code, 4);
    await did("sync");
    const text1 = read(".nanocode/plugins.lock.json");
    write(
      ".nanocode/plugins.lock.json",
      text1.replace('"tool:Weather"', '"tool:Weather", "exec:git"'),
    );
    assert.equal((await plugin("verify")).code, 3);
    write(".nanocode/plugins.lock.json", text1);
    write(".nanocode/config.json", '{"plugins": {"weather": "npm:nano-weather@^2"}}');
    assert.equal((await plugin("verify")).code, 5);
    assert.equal((await plugin("sync", "--frozen")).code, 5);
    write(".nanocode/config.json", "{}");
    assert.equal((await plugin("verify")).code, 5);
    assert.equal((await plugin("sync", "--frozen")).code, 5);
    await did("sync");
    assert.deepEqual(lock(), {});
    assert.equal((await plugin("verify")).code, 0);
  });

  it("search prints sources that pin, from the registry and from catalogues", async () => {
    await release("nano-findable", "2.3.4");
    mkdirSync(join(box.home, ".nanocode"));
    writeFileSync(
      join(box.home, ".nanocode/market.json"),
      JSON.stringify({
        plugins: [
          {
            name: "findable-git",
            source: { source: "url", url: "https://h.example/a.git", sha: "a".repeat(40) },
          },
          { name: "findable-loose", source: "./here", description: "\x1b[31mred" },
          { name: "other", source: "npm:other@1" },
        ],
      }),
    );
    writeFileSync(join(box.home, ".nanocode/config.json"), '{"catalogues": ["market.json"]}');
    const text = await did("search", "findable");
    assert.match(text, /^npm:nano-findable@\^2\.3\.4\n {4}About nano-findable\.$/m);
    assert.match(text, new RegExp(`^git\\+https://h\\.example/a\\.git#${"a".repeat(40)}$`, "m"));
    assert.match(text, /^findable-loose \(its catalogue names no version\)\n {4}\\x1b\[31mred$/m);
    assert.doesNotMatch(text, /other/);
  });
});

describe("other sources", () => {
  it("a repository that is typed; a project's config cannot make one use ssh keys or other folders (repo-jacked plugins)", async () => {
    const repo = repository(join(box.home, "repo"));
    repo.write("plugin.json", manifest("0.1.0"));
    repo.write("index.ts", code("from git"));
    const rev = repo.commit("v1");
    const source = `git+file://${repo.folder}#v1`;
    assert.match(await did("add", source, "--yes"), new RegExp(`commit ${rev.slice(0, 12)}`));
    assert.equal(lock().weather.rev, rev);
    assert.match((await turn()).text, /from git in Rome/);
    assert.match(await did("sync"), /there/);
    removeTree(join(box.home, ".nanocode/cache"));
    const refused = await plugin("sync");
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /because a file of the project says so/);
    // The tag moved meanwhile: what the lock pins is fetched all the same.
    repo.write("index.ts", code("moved"));
    repo.commit("v1");
    assert.match(await did("add", source), /is there, as the lock pins it|added weather/);
    assert.match((await turn()).text, /from git in Rome/);
  });

  it("a tarball with its hash, for the user: no project file is made", async () => {
    const bytes = await packed({
      "plugin.json": manifest("0.2.0"),
      "index.ts": code("from a file"),
    });
    const url = registry.serve("/x.tgz", bytes);
    await did("add", `${url}#sha256-${sha("sha256", bytes, "hex")}`, "--user", "--yes");
    assert.ok(!existsSync(join(box.work, ".nanocode")));
    assert.match(await did("list"), /^weather +user +0\.2\.0 +on$/m);
    assert.match((await turn()).text, /from a file in Rome/);
    assert.match(await did("update"), /weather stays: its source names the content itself/);
    await did("remove", "weather");
    assert.doesNotMatch(await did("list"), /weather/);
  });

  it("a folder of the project, read where it lies", async () => {
    write("tools/weather/plugin.json", manifest("0.3.0"));
    write("tools/weather/index.ts", code("from here"));
    await did("add", "./tools/weather", "--yes");
    assert.match(read(".nanocode/config.json"), /"weather": "\.\/tools\/weather"/);
    assert.match((await turn()).text, /from here in Rome/);
    write("tools/weather/index.ts", code("changed"));
    assert.match(await did("list"), /weather .*off: it changed since it was trusted/);
    assert.match(
      (await plugin("add", "../home")).stderr,
      /leads out of the project|no plugin\.json/,
    );
  });

  it("what is wrong is said with what is right, and changes nothing", async () => {
    const wrong: [args: string[], says: RegExp, exit: number][] = [
      [["add", "weather"], /is no source\n {2}A source is \.\/path, git\+https/, 2],
      [
        ["add", "https://h.example/x.tgz"],
        /has no hash\n {2}Write https:\/\/h\.example\/x\.tgz#sha256-HASH/,
        2,
      ],
      [["add"], /plugin add got nothing\n {2}nanocode plugin add SOURCE/, 2],
      [["ad", "x"], /did you mean add\?/, 2],
      [["verify", "--yes"], /plugin verify does not take --yes/, 2],
      [["add", "npm:not-there@1", "--yes"], /answered 404/, 2],
    ];
    for (const [args, says, exit] of wrong) {
      const { code, stderr } = await plugin(...args);
      assert.match(stderr, says);
      assert.equal(code, exit, args.join(" "));
    }
    delete box.env["npm_config_registry"];
    assert.match(
      (await plugin("add", "npm:x@1")).stderr,
      /no npm registry is set.*\n.*npm config set registry/,
    );
    assert.ok(!existsSync(join(box.work, ".nanocode")));
    write(".nanocode/config.json", "{ broken");
    assert.match((await plugin("add", "./x")).stderr, /not valid JSON/);
    assert.equal(read(".nanocode/config.json"), "{ broken");
  });
});

describe("a person at a terminal", () => {
  it("is asked before anything is added; Enter alone means No (TrustFall)", async () => {
    write("tools/weather/plugin.json", manifest("0.3.0"));
    write("tools/weather/index.ts", code("from here"));
    const variables = Object.entries(box.env).map(([name, value]) => `${name}='${value}'`).join(
      " ",
    );
    const add =
      `env -i TERM=xterm-256color LANG=C.UTF-8 ${variables} '${BINARY}' plugin add ./tools/weather`;
    terminal = new Tmux(`${add}; echo "first=$?"; ${add}; echo "second=$?"; exec cat`, {
      cwd: box.work,
    });
    await terminal.until(/Add weather\?/);
    terminal.press("Enter");
    await terminal.until(/first=4/);
    assert.ok(!existsSync(join(box.work, ".nanocode")));
    await terminal.until(/first=4[\s\S]*Add weather\?/);
    terminal.press("y");
    await terminal.until(/second=0/);
    assert.match(read(".nanocode/config.json"), /tools\/weather/);
    assert.match(await did("list"), /^weather +project +0\.3\.0 +on$/m);
  });
});

describe("a plugin of one's own", () => {
  it("is made with a test that passes, fails when it should, and its manifest follows the code", async () => {
    await did("new", "weather", "--user");
    assert.match(await did("test"), /^ok +greets\n1 passed, 0 failed\n$/);
    const folder = join(box.home, ".nanocode/plugins/weather");
    const index = readFileSync(join(folder, "index.ts"), "utf8");
    writeFileSync(join(folder, "index.ts"), index.replace("Hello", "Bye"));
    const failed = await plugin("test", "weather");
    assert.equal(failed.code, 1);
    assert.match(failed.stdout, /^FAIL +greets: .*\n[\s\S]*0 passed, 1 failed\n$/);
    writeFileSync(join(folder, "index.ts"), index.replace("z.string()", "z.int()"));
    await did("sync-manifest");
    assert.match(readFileSync(join(folder, "plugin.json"), "utf8"), /"type": "integer"/);
    writeFileSync(
      join(folder, "index.ts"),
      index.replace("z.string()", "z.union([z.string(), z.int()])"),
    );
    const union = await plugin("sync-manifest", "weather");
    assert.match(union.stderr, /cannot stand in a manifest: .*providers refuse a list of types/);
    assert.match(readFileSync(join(folder, "plugin.json"), "utf8"), /"type": "integer"/);
    rmSync(join(folder, "index.test.ts"));
    assert.match((await plugin("test")).stderr, /has no index\.test\.ts/);
  });

  it("new writes nothing through a link out of the project (Claude Code 2.1.216)", async () => {
    const outside = join(box.home, "outside");
    mkdirSync(outside);
    symlinkSync(outside, join(box.work, ".nanocode"));
    const { code, stderr } = await plugin("new", "weather");
    assert.match(stderr, /is behind a link that leads out of the project/);
    assert.equal(code, 2);
    assert.deepEqual(readdirSync(outside), []);
  });

  it("list --json says state, tier, why, and what is used in its place", async () => {
    await did("new", "weather");
    await did("new", "weather", "--user");
    const rows = JSON.parse(await did("list", "--json")) as Record<string, unknown>[];
    const [off, on] = ["off", "on"].map((state) =>
      rows.find((row) => row["name"] === "weather" && row["state"] === state)
    );
    assert.deepEqual([on?.["tier"], on?.["why"], on?.["shadowedBy"]], ["user", null, null]);
    assert.equal(off?.["tier"], "project");
    assert.match(String(off?.["why"]), /not trusted yet/);
    assert.equal(off?.["shadowedBy"], join(box.home, ".nanocode/plugins/weather"));
  });
});
