import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { grantDiff, grantsOf } from "../../src/plugins/grants.ts";
import { checkManifest, manifestJsonSchema } from "../../src/plugins/manifest-schema.ts";
import type { Manifest } from "../../src/plugins/manifest.ts";
import { cityTool, manifest } from "./support.ts";

const ours = (part: object) => manifest("x", part);
const withTool = (tool: object) =>
  ours({ entry: "./i.ts", contributes: { tools: [cityTool("T", tool)] } });
const withSchema = (inputSchema: unknown) => withTool({ inputSchema });
const withHook = (hook: object) => ours({ contributes: { hooks: [hook] } });
const top = (part: object) => JSON.stringify({ name: "x", ...part });

/** Manifests that are taken, with the warnings that they give. */
const good: [what: string, text: string, warnings?: RegExp[]][] = [
  ["nothing but a name", '{"name":"x"}'],
  ["a byte order mark", '\ufeff{"name":"x"}'],
  ["one letter", top({ name: "a" })],
  ["64 characters", top({ name: "a".repeat(64) })],
  ["dots and hyphens", top({ name: "acme.git-log.2" })],
  ["a hyphen beside a dot", top({ name: "a-.b" })],
  [
    "every field of the standard",
    top({
      $schema: "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json",
      version: "1.2.3-rc.1+5",
      description: "D",
      author: { name: "Ada", email: "a@x.example", url: "https://x.example" },
      homepage: "https://x.example",
      repository: "https://x.example/r",
      license: "MIT",
      keywords: ["a", "b"],
    }),
  ],
  ["other people's extensions", top({ extensions: { "com.other": { anything: [1] } } })],
  ["an unknown field", top({ lisence: "MIT" }), [
    /unknown field lisence, ignored \(did you mean license\?\)/,
  ]],
  [
    "unknown fields deep inside",
    ours({
      entry: "./i.ts",
      contributes: { tools: [cityTool("T", { effect: [] })], panels: [] },
      capabilities: { fs: { delete: [] } },
    }),
    [
      /tools\[0\]\.effect, ignored \(did you mean effects\?\)/,
      /contributes\.panels/,
      /capabilities\.fs\.delete/,
    ],
  ],
  ["a field named __proto__", '{"name":"x","__proto__":{"name":"y"}}', [/unknown field __proto__/]],
  ["an engine range", ours({ engines: { nanocode: ">=0.1 <1" } })],
  [
    "each way of activation",
    ours({
      activation: [
        "onStartup",
        "onTool:T",
        "onCommand:c",
        "onHook:tool.before",
        "onProvider:p",
        "onFile:**/*.sql",
      ],
    }),
  ],
  ["a hook that is a command", withHook({ event: "tool.before", command: ["./guard.sh"] })],
  [
    "a parameter named like a keyword",
    withSchema({
      type: "object",
      properties: { anyOf: { type: "string" }, not: { enum: ["$ref"] }, type: { type: "string" } },
      additionalProperties: false,
    }),
  ],
  ["concurrency by input", withTool({ concurrencySafe: "by-input" })],
];

/** Manifests that are refused, with what the one line says. */
const bad: [what: string, text: string, says: RegExp][] = [
  ["nothing", "", /is not valid JSON/],
  ["comments", '{"name":"x"} // hi', /is not valid JSON/],
  ["a list", "[]", /the file is \[\]/],
  ["null", "null", /the file is null/],
  ["no name", "{}", /^name is missing/],
  ["an empty name", top({ name: "" }), /name is "".*1 to 64/],
  ["65 characters", top({ name: "a".repeat(65) }), /1 to 64/],
  ["capitals", top({ name: "Acme" }), /name is "Acme"/],
  ["a hyphen at the start", top({ name: "-a" }), /name is/],
  ["a dot at the end", top({ name: "a." }), /name is/],
  ["two hyphens", top({ name: "a--b" }), /name is/],
  ["two dots", top({ name: "a..b" }), /name is/],
  ["a path for a name", top({ name: "../a" }), /name is/],
  ["a line break in the name", top({ name: "a\n" }), /name is/],
  ["a number for a name", top({ name: 7 }), /name is 7/],
  ["a version that is none", top({ version: "one" }), /version is "one".*1\.2\.3/],
  ["an author that is a string", top({ author: "Ada" }), /author is "Ada"/],
  ["keywords that are a string", top({ keywords: "a" }), /keywords is "a"/],
  ["no apiVersion", top({ extensions: { "dev.nanocode": {} } }), /apiVersion is missing/],
  [
    "a later apiVersion, whatever else it holds",
    ours({ apiVersion: 2, contributes: 7 }),
    /apiVersion is 2; this nanocode knows 1/,
  ],
  ["an apiVersion in words", ours({ apiVersion: "1" }), /apiVersion is "1"/],
  ["another nanocode", ours({ engines: { nanocode: ">=99" } }), /needs nanocode >=99, this is/],
  [
    "an engine range that is none",
    ours({ engines: { nanocode: "new" } }),
    /"new", which is no version range/,
  ],
  [
    "an entry above",
    ours({ entry: "../i.ts" }),
    /entry is "\.\.\/i\.ts".*inside the plugin's folder/,
  ],
  ["an entry above in the middle", ours({ entry: "./a/../../i.ts" }), /entry is/],
  ["an absolute entry", ours({ entry: "/i.ts" }), /entry is/],
  ["an entry with a backslash", ours({ entry: "a\\i.ts" }), /entry is/],
  ["an activation that is unknown", ours({ activation: ["onTol:T"] }), /activation\[0\]/],
  [
    "a tool without an entry",
    ours({ contributes: { tools: [cityTool("T")] } }),
    /entry is missing/,
  ],
  ["a hook without command and entry", withHook({ event: "tool.before" }), /entry is missing/],
  [
    "a hook of an unknown event",
    withHook({ event: "tool.befor", command: ["x"] }),
    /did you mean tool\.before\?/,
  ],
  [
    "a hook with an empty command",
    withHook({ event: "tool.before", command: [] }),
    /command is \[\]/,
  ],
  ["a tool of a bad name", withTool({ name: "a b" }), /name is "a b"/],
  ["a tool without a description", withTool({ description: "" }), /description is ""/],
  [
    "an unknown effect",
    withTool({ effects: ["network"] }),
    /effects\[0\] is "network"; it can be read, write/,
  ],
  [
    "concurrency in other words",
    withTool({ concurrencySafe: "maybe" }),
    /true, false or "by-input"/,
  ],
  [
    "two tools of one name",
    ours({ entry: "./i.ts", contributes: { tools: [cityTool("T"), cityTool("T")] } }),
    /declares the tool T twice/,
  ],
  [
    "a provider with the name of one whose key the user has",
    ours({ contributes: { providers: [{ id: "openai", api: "chat", baseURL: "https://x.dev" }] } }),
    /declares the provider openai, which nanocode knows already/,
  ],
  ["an API without code", ours({ contributes: { apis: ["acme"] } }), /entry is missing/],
  [
    "a schema that takes any name",
    withSchema({ type: "object", properties: {} }),
    /inputSchema .*must say "additionalProperties": false/,
  ],
  ["a schema that is no object", withSchema({ type: "string" }), /type is "string"/],
  [
    "a union in a schema",
    withSchema({ type: "object", properties: { a: { anyOf: [] } } }),
    /refuse anyOf/,
  ],
  [
    "two types in a schema",
    withSchema({ type: "object", properties: { a: { type: ["string", "null"] } } }),
    /refuse a list of types/,
  ],
  [
    "a reference in a list of a schema",
    withSchema({ type: "object", properties: { a: { type: "array", items: { $ref: "#" } } } }),
    /refuse \$ref/,
  ],
  [
    "a provider with another protocol",
    ours({ contributes: { providers: [{ id: "p", api: "chat", baseURL: "file:///x" }] } }),
    /baseURL is/,
  ],
  [
    "an environment name that is none",
    ours({ capabilities: { env: ["A=B"] } }),
    /env\[0\] is "A=B"/,
  ],
  ["a rule above its folder", ours({ contributes: { rules: [{ path: "../r.md" }] } }), /path is/],
  [
    "a setting of an unknown type",
    ours({ config: { limit: { type: "int" } } }),
    /did you mean integer\?/,
  ],
  [
    "a default that is a list",
    ours({ config: { limit: { type: "string", default: [] } } }),
    /must be a string, a number/,
  ],
];

describe("a manifest", () => {
  for (const [what, text, warnings = []] of good) {
    it(`is taken: ${what}`, () => {
      const checked = checkManifest(text);
      assert.ok(checked.ok, checked.ok ? "" : checked.fault);
      assert.equal(checked.warnings.length, warnings.length, checked.warnings.join("\n"));
      warnings.forEach((says, i) => assert.match(checked.warnings[i] ?? "", says));
    });
  }
  for (const [what, text, says] of bad) {
    it(`is refused: ${what}`, () => {
      const checked = checkManifest(text);
      assert.ok(!checked.ok);
      assert.match(checked.fault, says);
      assert.ok(!checked.fault.includes("\n"), "one line");
    });
  }

  it("of each bundled plugin is taken without a warning", () => {
    const plugins = new URL("../../plugins/", import.meta.url);
    for (const name of readdirSync(plugins)) {
      const checked = checkManifest(readFileSync(new URL(`${name}/plugin.json`, plugins), "utf8"));
      assert.deepEqual(checked.ok ? checked.warnings : checked.fault, [], name);
    }
  });

  it("has its JSON Schema in docs/plugin.schema.json (written by: bun scripts/plugin-schema.ts)", () => {
    const page = readFileSync(new URL("../../docs/plugin.schema.json", import.meta.url), "utf8");
    assert.deepEqual(JSON.parse(page), JSON.parse(JSON.stringify(manifestJsonSchema())));
  });
});

describe("grants", () => {
  const granted = (part: object) => grantsOf(JSON.parse(ours(part)) as Manifest);

  it("name every power and everything that is added, sorted, each once", () => {
    assert.deepEqual(
      granted({
        capabilities: {
          fs: { read: ["workspace"], write: ["~/x"] },
          net: ["api.acme.dev"],
          exec: ["git"],
          env: ["ACME_KEY"],
        },
        contributes: {
          tools: [cityTool("Fetch", { effects: ["net"] })],
          hooks: [{ event: "tool.before" }, {
            event: "edit.after",
            matcher: "Edit",
            command: ["./fmt.sh", "-w"],
          }],
          providers: [{
            id: "acme",
            api: "chat",
            baseURL: "https://llm.acme.dev/v1",
            keyEnv: "ACME_KEY",
          }],
          commands: [{ name: "review", description: "" }],
        },
        replaces: ["builtin/Bash"],
      }),
      [
        "command:review",
        "env:ACME_KEY",
        "exec:./fmt.sh -w",
        "exec:git",
        "fs.read:workspace",
        "fs.write:~/x",
        "hook:edit.after:Edit",
        "hook:tool.before",
        "net:api.acme.dev",
        "net:llm.acme.dev",
        "provider:acme",
        "replaces:builtin/Bash",
        "tool:Fetch",
        "tool:Fetch:net",
      ],
    );
    assert.deepEqual(granted({}), []);
  });

  it("differ by what came and what went", () => {
    assert.deepEqual(grantDiff(["a", "b"], ["b", "c"]), { added: ["c"], removed: ["a"] });
  });
});
