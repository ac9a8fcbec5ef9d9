import assert from "node:assert/strict";
import fc from "fast-check";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { z } from "zod";
import { loadConfig, type PluginEntry } from "../../src/config/config.ts";
import { openPlugins } from "../../src/plugins/open.ts";
import { checkManifest } from "../../src/plugins/manifest-schema.ts";
import type { ConfigField, Plugin } from "../../src/plugins/manifest.ts";
import { LoadedPlugin, pluginTools } from "../../src/plugins/registry.ts";
import type { PluginTool } from "../../src/plugins/sdk.ts";
import { SessionPlugins } from "../../src/plugins/session.ts";
import { masker, settingsOf, switchedOff } from "../../src/plugins/settings.ts";
import { TrustStore } from "../../src/plugins/trust.ts";
import { toolBench } from "../support/tool-context.ts";
import { cityTool, manifest, type Places, places } from "./support.ts";

const RUNS = Number(process.env["NANOCODE_RUNS"] ?? 1);

let at: Places;
beforeEach(() => at = places());
afterEach(() => at.close());

const FIELDS: Record<string, ConfigField> = {
  limit: { type: "integer", default: 5 },
  ratio: { type: "number" },
  loud: { type: "boolean", default: false },
  place: { type: "string" },
  token: { type: "string", secret: true },
};
const ours = {
  config: FIELDS,
  capabilities: { env: ["ACME_TOKEN", "ACME_LIMIT"] },
};
const put = (tier: "home" | "work/.nanocode", name: string, extension: object = ours) =>
  at.write(`${tier}/plugins/${name}/plugin.json`, manifest(name, extension));
const user = (plugins: object) => at.write("home/config.json", JSON.stringify({ plugins }));
const project = (plugins: object) =>
  at.write("work/.nanocode/config.json", JSON.stringify({ plugins }));
const configured = async () => {
  const { plugins: entries } = await loadConfig({ home: at.home, root: at.root });
  return { found: [], entries };
};
const builtIn: Plugin = {
  manifest: { name: "inner" },
  tier: "built-in",
  folder: "/",
  load: () => Promise.reject(new Error("not loaded")),
};
const open = async (env: Record<string, string> = {}) =>
  await openPlugins([builtIn], at.folders, new TrustStore(at.home), {
    configured: await configured(),
    env,
  });
const trustAll = async () => new TrustStore(at.home).answer(at.root, (await open()).items, "yes");
const valuesOf = async (name: string, env?: Record<string, string>) =>
  (await open(env)).plugins.find(({ manifest }) => manifest.name === name)?.settings?.values;
const why = async (name: string) => (await open()).states.find((one) => one.name === name)?.why;

describe("settings of a plugin", () => {
  it("are the user's own, checked against the manifest", async () => {
    put("home", "acme");
    user({
      acme: { config: { limit: 7, ratio: 0.5, loud: true, place: "x", token: "t0ps3cret" } },
    });
    assert.deepEqual(await valuesOf("acme"), {
      limit: 7,
      ratio: 0.5,
      loud: true,
      place: "x",
      token: "t0ps3cret",
    });
    assert.deepEqual((await open()).warnings, []);
  });

  const wrong: [config: object, warning: RegExp][] = [
    [
      { limit: 1.5 },
      /config\.json: plugins\.acme\.config\.limit is 1\.5, but must be an integer: the default 5 holds/,
    ],
    [{ limit: "7" }, /limit is "7", but must be an integer/],
    [{ limit: null }, /limit is null, but must be an integer/],
    [{ ratio: {} }, /ratio is \{\}, but must be a number: ignored, it is not set/],
    [{ loud: "yes" }, /loud is "yes", but must be true or false: the default false holds/],
    [{ place: ["t"] }, /place is \["t"\], but must be a string/],
    [
      { limt: 3 },
      /plugins\.acme\.config\.limt is ignored: acme has the settings limit, .*did you mean limit\?/,
    ],
    [{ constructor: 3 }, /constructor is ignored/],
    [{ place: { env: "HOME" } }, /names the variable HOME, which is not in capabilities\.env/],
    [{ token: { env: "ACME_TOKEN" } }, /names the variable ACME_TOKEN, which is not set/],
  ];
  for (const [config, warning] of wrong) {
    it(`that are wrong are one warning, and what held holds: ${JSON.stringify(config)}`, async () => {
      put("home", "acme");
      user({ acme: { config } });
      const { warnings, plugins } = await open();
      assert.equal(warnings.length, 1);
      assert.match(warnings[0] ?? "", warning);
      assert.deepEqual(plugins.find(({ tier }) => tier === "user")?.settings?.values, {});
    });
  }

  it("may be variables that the manifest names, also of another type", async () => {
    put("home", "acme");
    user({ acme: { config: { token: { env: "ACME_TOKEN" }, limit: { env: "ACME_LIMIT" } } } });
    const env = { ACME_TOKEN: "from outside", ACME_LIMIT: "12" };
    assert.deepEqual(await valuesOf("acme", env), { token: "from outside", limit: 12 });
    const { warnings } = await open({ ...env, ACME_LIMIT: "secret words" });
    assert.match(warnings.join("\n"), /ACME_LIMIT, whose value is not an integer/);
    assert.doesNotMatch(warnings.join("\n"), /secret words/);
  });

  it("that are secret are in no warning, whatever is wrong with them", async () => {
    put("home", "acme", { config: { token: { type: "integer", secret: true, default: 4321 } } });
    user({ acme: { config: { token: "t0ps3cret" } } });
    const { warnings } = await open();
    assert.match(warnings.join(), /token is of another type, but must be an integer/);
    assert.doesNotMatch(warnings.join(), /t0ps3cret|4321/);
  });

  it("that have a default of another type are a fault of the manifest", () => {
    const checked = checkManifest(
      manifest("acme", { config: { limit: { type: "integer", default: "5" } } }),
    );
    assert.ok(!checked.ok);
    assert.match(checked.fault, /config\.limit\.default is "5", but its type is integer/);
  });
});

describe("a project's config", () => {
  it("sets what is not secret, of the project's plugins, over the user's", async () => {
    put("work/.nanocode", "acme");
    await trustAll();
    user({ acme: { config: { limit: 1, place: "mine", token: "t0ps3cret" } } });
    project({ acme: { config: { limit: 2, token: "theirs", place: { env: "ACME_TOKEN" } } } });
    const { warnings } = await open({ ACME_TOKEN: "x" });
    assert.deepEqual(await valuesOf("acme", { ACME_TOKEN: "x" }), {
      limit: 2,
      place: "mine",
      token: "t0ps3cret",
    });
    assert.match(
      warnings.join("\n"),
      /token is secret, and a project's file may not set it .*: your own value holds/,
    );
    assert.match(
      warnings.join("\n"),
      /place names a variable, and a project's file may not do that/,
    );
    assert.doesNotMatch(warnings.join("\n"), /theirs|t0ps3cret/);
  });

  for (const name of ["acme", "inner"]) {
    it(`changes nothing of a plugin that is not the project's: ${name}`, async () => {
      put("home", "acme");
      project({ [name]: { enabled: false, config: { limit: 2 }, only: { tools: [] } } });
      const { warnings, plugins } = await open();
      assert.deepEqual(plugins.map(({ manifest }) => manifest.name), ["inner", "acme"]);
      assert.ok(plugins.every(({ settings }) => JSON.stringify(settings?.values) === "{}"));
      assert.match(
        warnings.join(),
        new RegExp(`plugins\\.${name} is ignored: that plugin is not the project's`),
      );
    });
  }

  it("switches off the project's own, not the user's of the same name, and switches nothing on", async () => {
    put("home", "acme");
    put("work/.nanocode", "acme");
    project({ acme: { enabled: false } });
    const { items, plugins, states } = await open();
    assert.deepEqual(items, [], "what is off is not asked about");
    assert.deepEqual(plugins.map(({ tier }) => tier), ["built-in", "user"]);
    assert.match(
      states.find(({ name, tier }) => name === "acme" && tier === "project")?.why ?? "",
      /switched off in .*\.nanocode\/config\.json/,
    );
    user({ acme: { enabled: false } });
    project({ acme: { enabled: true } });
    assert.deepEqual((await open()).plugins.map(({ tier }) => tier), ["built-in"]);
  });

  it("that speaks of a plugin that there is not is told, with what it may mean", async () => {
    put("work/.nanocode", "acme");
    project({ acne: { enabled: false } });
    assert.match(
      (await open()).warnings.join("\n"),
      /plugins\.acne is ignored: the project has no plugin of this name \(did you mean acme\?\)/,
    );
  });
});

describe("enabled: false of the user", () => {
  it("switches off any plugin, also a built-in one, without a warning at each start", async () => {
    put("home", "acme");
    user({ acme: { enabled: false }, inner: { enabled: false } });
    const { plugins, warnings } = await open();
    assert.deepEqual([plugins, warnings], [[], []]);
    for (const name of ["acme", "inner"]) {
      assert.equal(await why(name), `switched off in ${join(at.home, "config.json")}`);
    }
  });

  it("does not hold for a plugin that was asked for with --plugin", async () => {
    put("home", "acme");
    user({ acme: { enabled: false } });
    const folders = { ...at.folders, flags: [join(at.home, "plugins", "acme")] };
    const { plugins } = await openPlugins([], folders, new TrustStore(at.home), {
      configured: await configured(),
    });
    assert.deepEqual(plugins.map(({ tier }) => tier), ["flag"]);
  });

  it("with a name that no plugin has is listed, and told where another name is near", async () => {
    put("home", "acme");
    user({ elsewhere: { enabled: false } });
    assert.match(await why("elsewhere") ?? "", /config\.json names it, and there is none here/);
    assert.deepEqual((await open()).warnings, []);
    user({ acmee: { enabled: false } });
    assert.match((await open()).warnings.join(), /plugin acmee: .*did you mean acme\?/);
  });
});

describe("in a session", () => {
  const session = () =>
    SessionPlugins.open({
      bundled: [],
      folders: at.folders,
      trust: new TrustStore(at.home),
      configured,
      skills: () => [],
      core: [],
      warn: () => {},
    });
  const contributes = { tools: [cityTool("Fetch"), cityTool("Other")] };

  it("only narrows the tools, and what there is not is told", async () => {
    put("home", "acme", { ...ours, entry: "./index.js", contributes });
    assert.deepEqual([...(await session()).tools.keys()], ["Fetch", "Other"]);
    user({ acme: { only: { tools: ["Other", "Fetsh"] } } });
    const plugins = await session();
    assert.deepEqual([...plugins.tools.keys()], ["Other"]);
    assert.match(
      plugins.warnings.join(),
      /plugins\.acme\.only\.tools names Fetsh, and acme has the tools Fetch, Other \(did you mean Fetch\?\)/,
    );
  });

  it("/reload takes up other settings of a plugin that is the same, and switches off", async () => {
    put("home", "acme");
    const plugins = await session();
    user({ acme: { config: { limit: 9 } } });
    assert.deepEqual((await plugins.reload()).lines, ["took up the settings of acme"]);
    assert.deepEqual((await plugins.reload()).lines, ["nothing has changed"]);
    assert.deepEqual(plugins.opened.plugins.map(({ settings }) => settings?.values), [{
      limit: 9,
    }]);
    user({ acme: { enabled: false } });
    assert.match(
      (await plugins.reload()).lines.join("\n"),
      /^removed acme\nacme is off: switched off in /,
    );
  });

  it("nothing that a tool says shows a secret: result, summary, progress, fault", async () => {
    let isThrown = false;
    const declared = cityTool("Fetch");
    const plugin: Plugin = {
      ...builtIn,
      manifest: {
        name: "acme",
        extensions: { "dev.nanocode": { apiVersion: 1, contributes: { tools: [declared] } } },
      } as Plugin["manifest"],
      load: () => Promise.resolve({ default: { tools: [fetcher] } }),
    };
    const fetcher: PluginTool = {
      name: "Fetch",
      description: declared.description,
      input: z.unknown(),
      example: {},
      run: async (_, ctx) => {
        const token = String(ctx.config["token"]);
        ctx.progress(`with ${token}`);
        if (isThrown) throw new Error(`refused: ${token}`);
        return {
          output: JSON.stringify({ token, url: encodeURIComponent(token) }),
          summary: token,
        };
      },
    };
    const token = 't0p"s3cret';
    const { entries: [entry] } = pluginTools([new LoadedPlugin(plugin)], new Set(), () => ({
      plugin,
      settings: { token },
      mask: masker([token]),
      skills: () => [],
      data: join(at.home, "data"),
    }));
    const tool = await entry?.load();
    const bench = toolBench();
    const shown: string[] = [];
    const ctx = { ...bench.context(), emit: (text: string) => void shown.push(text) };
    for (isThrown of [false, true]) {
      shown.push(JSON.stringify(await tool?.run({}, ctx).catch((error: Error) => error.message)));
    }
    bench.close();
    assert.equal(shown.length, 4);
    assert.ok(shown.every((text) => text.includes("***")), shown.join("\n"));
    assert.doesNotMatch(shown.join("\n"), /s3cret/);
  });
});

it("a masked text holds no secret", () => {
  const word = fc.stringMatching(/^[a-c"\\ é]{1,4}$/);
  fc.assert(
    fc.property(fc.array(word, { maxLength: 3 }), fc.array(word), (secrets, words) => {
      const text = words.join("");
      const masked = masker(secrets)(text);
      assert.ok(secrets.every((secret) => !masked.includes(secret)), masked);
      assert.equal(masker(secrets)("x\ny"), "x\ny");
    }),
    { numRuns: 250 * RUNS },
  );
});

it("settings of one plugin never reach another", () => {
  const entry: PluginEntry = {
    name: "acme",
    tier: "user",
    file: "config.json",
    config: { limit: 1 },
  };
  const other = { manifest: { name: "other" }, tier: "user" } as const;
  assert.deepEqual(settingsOf(other, [entry], {}), {
    settings: { values: {}, secrets: [], only: {} },
    warnings: [],
  });
});

it("the settings of docs/plugins.md are what the manifest there declares", async () => {
  const page = readFileSync(new URL("../../docs/plugins.md", import.meta.url), "utf8");
  const block = (name: string) =>
    JSON.parse(new RegExp("```json " + name + "\\n([\\s\\S]*?)```").exec(page)?.[1] ?? "");
  const fields = block("manifest");
  const checked = checkManifest(
    manifest("weather", {
      entry: "./index.ts",
      contributes: { tools: [cityTool("Weather")] },
      capabilities: { env: ["WEATHER_TOKEN"] },
      config: fields,
    }),
  );
  assert.ok(checked.ok);
  at.write("home/config.json", JSON.stringify(block("config")));
  const { plugins } = await loadConfig({ home: at.home, root: at.root });
  const plugin = { manifest: checked.manifest, tier: "user" } as const;
  const { settings, warnings } = settingsOf(plugin, plugins, { WEATHER_TOKEN: "w" });
  assert.deepEqual(warnings, []);
  assert.deepEqual(settings.values, { limit: 3, token: "w" });
  assert.match(switchedOff("skills", "built-in", plugins) ?? "", /^switched off in /);
});
