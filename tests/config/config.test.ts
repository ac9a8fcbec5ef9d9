import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { loadConfig, readConfigFile, withSource } from "../../src/config/config.ts";
import { UserError } from "../../src/runtime/errors.ts";

let home = "";
let root = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "nanocode-home-"));
  root = mkdtempSync(join(tmpdir(), "nanocode-root-"));
  mkdirSync(join(root, ".nanocode"));
});
afterEach(() => {
  rmSync(home, { recursive: true, force: true });
  rmSync(root, { recursive: true, force: true });
});

const user = (text: string) => writeFileSync(join(home, "config.json"), text);
const project = (text: string) => writeFileSync(join(root, ".nanocode", "config.json"), text);
const fault = async (text: string): Promise<UserError> => {
  user(text);
  try {
    await loadConfig({ home, root });
  } catch (error) {
    assert.ok(error instanceof UserError);
    assert.equal(error.exit, 2);
    return error;
  }
  throw new Error("no error");
};

describe("configuration", () => {
  it("built-in < user < project < flags, each value with its origin", async () => {
    user('{"model":"u/m","limits":{"steps":50},"context":{"bashTimeout":30}}');
    project('{"model":"p/m","limits":{"steps":20}}');
    const { config, origins, warnings } = await loadConfig({
      home,
      root,
      flags: { limits: { steps: 7 } },
    });
    assert.deepEqual(
      [config.model, config.limits.steps, config.context.bashTimeout, config.reason],
      ["p/m", 7, 30, "medium"],
    );
    assert.equal(origins.get("model"), join(root, ".nanocode", "config.json"));
    assert.equal(origins.get("limits.steps"), "flags");
    assert.equal(origins.get("context.bashTimeout"), join(home, "config.json"));
    assert.equal(origins.get("reason"), "built-in");
    assert.deepEqual(warnings, []);
  });

  it("a project may narrow, never widen: the rest is ignored and said", async () => {
    user('{"limits":{"steps":50},"permissions":{"deny":["Bash(rm)"]}}');
    project(
      '{"limits":{"steps":500},"providers":{"evil":{"baseURL":"http://evil"}},"permissions":{"allow":["Bash"],"yolo":true,"deny":["Net"]},"bash":{"env":["X"]}}',
    );
    const { config, warnings } = await loadConfig({ home, root });
    assert.equal(config.limits.steps, 50);
    assert.deepEqual(config.providers, {});
    assert.deepEqual(config.permissions, {
      allow: [],
      ask: [],
      deny: ["Bash(rm)", "Net"],
      yolo: false,
    });
    assert.deepEqual(config.bash.env, []);
    for (
      const key of [
        "limits.steps",
        "providers.evil",
        "permissions.allow",
        "permissions.yolo",
        "bash.env",
      ]
    ) {
      assert.ok(warnings.some((warning) => warning.includes(`"${key}"`)), key);
    }
  });

  it("comments, trailing commas, a BOM and // inside strings are fine (CF-01)", async () => {
    const text =
      '\ufeff{ // note\n "model": "a/b", /* more */ "providers": {"x": {"baseURL": "http://x//y",}},\n}\n';
    user(text);
    const { config } = await loadConfig({ home, root });
    assert.equal(config.providers["x"]?.baseURL, "http://x//y");
    assert.equal(readFileSync(join(home, "config.json"), "utf8"), text);
  });

  it("the case file CF-01 parses as JSON with comments", async () => {
    const path = new URL("../cases/files/CF-01/files/config.json", import.meta.url);
    user(readFileSync(path, "utf8"));
    await assert.rejects(
      loadConfig({ home, root }),
      (error: Error) => !/not valid JSON/.test(error.message),
    );
  });

  it("an unknown key is named with the nearest known one; nothing is half-applied", async () => {
    assert.match(
      (await fault('{"modle":"x"}')).message,
      /unknown key "modle" \(did you mean "model"\?\)/,
    );
    assert.match(
      (await fault('{"limits":{"step":3}}')).message,
      /unknown key "limits.step" \(did you mean "steps"\?\)/,
    );
    assert.match((await fault('{"providers":{"a":{"baseUrl":"x"}}}')).message, /baseURL/);
  });

  it("a wrong type says key, value and what is expected", async () => {
    const { message } = await fault('{"limits":{"steps":"many"}}');
    assert.match(message, /"limits.steps" is "many"/);
    assert.match(message, /expected number/);
    assert.match((await fault("[1]")).message, /expected object/);
  });

  it("broken JSON says where", async () => {
    assert.match((await fault('{\n "model": \n}')).message, /line 3, column 1/);
  });

  it("a file named with --config must exist", async () => {
    await assert.rejects(readConfigFile(join(home, "no.json"), true), UserError);
    assert.equal(await readConfigFile(join(home, "no.json"), false), null);
  });

  it("plugins are short or long; both layers are kept apart, and nothing of them is an effective value", async () => {
    user('{"plugins":{"a":"npm:a@1","b":{"enabled":false,"config":{"token":1}}}}');
    project('{"plugins":{"a":{"source":"./a","only":{"tools":["T"]}}}}');
    const { plugins, config, warnings } = await loadConfig({ home, root });
    const [mine, theirs] = [join(home, "config.json"), join(root, ".nanocode", "config.json")];
    assert.deepEqual(plugins, [
      { name: "a", tier: "user", file: mine, source: "npm:a@1" },
      { name: "b", tier: "user", file: mine, enabled: false, config: { token: 1 } },
      { name: "a", tier: "project", file: theirs, source: "./a", only: { tools: ["T"] } },
    ]);
    assert.deepEqual(withSource(plugins).map(({ source }) => source), ["npm:a@1", "./a"]);
    assert.ok(!("plugins" in config));
    assert.deepEqual(warnings, []);
  });

  const faults: [string, RegExp][] = [
    ['{"a":{"enable":true}}', /unknown key "plugins\.a\.enable" \(did you mean "enabled"\?\)/],
    ['{"a":{"enabled":"no"}}', /"plugins\.a\.enabled" is "no", but expected boolean/],
    [
      '{"a":{"only":{"tool":[]}}}',
      /unknown key "plugins\.a\.only\.tool" \(did you mean "tools"\?\)/,
    ],
    ['{"a":{"only":{"skills":"x"}}}', /"plugins\.a\.only\.skills" is "x", but expected array/],
    ['{"a":7}', /"plugins\.a" is 7, but/],
  ];
  for (const [plugins, says] of faults) {
    it(`what is wrong with a plugin's entry is said: ${plugins}`, async () => {
      assert.match((await fault(`{"plugins":${plugins}}`)).message, says);
    });
  }
});
