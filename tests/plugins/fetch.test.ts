import assert from "node:assert/strict";
import { existsSync, readdirSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, it, mock } from "node:test";
import { PluginCache, removeTree } from "../../src/plugins/cache.ts";
import { registryFor } from "../../src/plugins/fetch-npm.ts";
import { install, type Installed } from "../../src/plugins/install.ts";
import type { LockEntry } from "../../src/plugins/lock.ts";
import { parseSource, type Source } from "../../src/plugins/sources.ts";
import { treeOf } from "../../src/plugins/tree-hash.ts";
import { repository } from "./repository.ts";
import { cityTool, manifest, type Places, places } from "./support.ts";
import { packed, type Registry, sha, startRegistry, tgz } from "./tarballs.ts";

let at: Places;
let cache: PluginCache;
let registry: Registry;
before(async () => registry = await startRegistry());
after(() => registry.close());
beforeEach(() => {
  at = places();
  cache = new PluginCache(at.home);
});
afterEach(() => {
  removeTree(join(at.home, "cache"));
  at.close();
});

const fetchPlugin = (text: string, pinned: LockEntry | null = null): Promise<Installed> =>
  install(text, parseSource(text, true) as Exclude<Source, { kind: "path" }>, pinned, cache, {
    configured: registry.url,
    env: {},
    home: undefined,
  });
const files = (more: Record<string, string> = {}) => ({
  "plugin.json": manifest("x", { entry: "./i.ts", contributes: { tools: [cityTool("T")] } }),
  "i.ts": "1",
  ...more,
});
/** Nothing half-fetched stays, whatever happened. */
const leftovers = () =>
  existsSync(cache.folder)
    ? readdirSync(cache.folder).filter((name) => name.startsWith(".tmp"))
    : [];

describe("an npm package", () => {
  it("is resolved as npm does, checked, unpacked and pinned", async () => {
    for (const version of ["1.0.0", "1.3.0", "2.0.0", "2.1.0-rc.1"]) {
      registry.publish(
        "@acme/x",
        version,
        await packed(files({ v: version })),
        version === "1.3.0" ? ["latest", "old"] : [],
      );
    }
    const chosen = async (range: string) =>
      (await fetchPlugin(`npm:@acme/x@${range}`)).entry.version;
    assert.deepEqual(
      [
        await chosen("^1.0.0"),
        await chosen(">=1"),
        await chosen("2"),
        await chosen("old"),
        await chosen("1.0.0"),
      ],
      ["1.3.0", "1.3.0", "2.0.0", "1.3.0", "1.0.0"],
    );
    const { entry, manifest: { name }, folder } = await fetchPlugin("npm:@acme/x");
    assert.equal(name, "x");
    assert.equal(entry.version, "1.3.0", "the tag latest");
    assert.equal(entry.resolved, `${registry.url}/@acme/x/-/x-1.3.0.tgz`);
    assert.match(entry.artifact ?? "", /^sha512-/);
    assert.equal(entry.tree, treeOf(folder).hash);
    assert.deepEqual(entry.grants, ["tool:T"]);
    assert.deepEqual(leftovers(), []);
  });

  it("that is pinned is fetched as pinned, from the person's registry, whatever the lock names", async () => {
    registry.publish("pinned", "1.0.0", await packed(files()));
    const { entry } = await fetchPlugin("npm:pinned@^1");
    registry.publish("pinned", "1.1.0", await packed(files({ "new.ts": "" })));
    const elsewhere = { ...entry, resolved: "https://evil.example/x.tgz" };
    assert.equal((await fetchPlugin("npm:pinned@^1", elsewhere)).entry.version, "1.0.0");
    assert.equal((await fetchPlugin("npm:pinned@^1")).entry.version, "1.1.0");
  });

  it("whose bytes, integrity or tree are not those named is refused with exit code 3", async () => {
    const exit3 = (says: RegExp) => (error: { message: string; exit?: number }) =>
      says.test(error.message) && error.exit === 3;
    registry.publish("changed", "1.0.0", await packed(files()));
    const { entry } = await fetchPlugin("npm:changed@1");
    removeTree(cache.folder);
    await assert.rejects(
      fetchPlugin("npm:changed@1", { ...entry, tree: `t1-${"0".repeat(64)}` }),
      exit3(/other files than the lock pins/),
    );
    registry.tamper("changed", "1.0.0", await packed(files({ "evil.ts": "" })));
    await assert.rejects(
      fetchPlugin("npm:changed@1"),
      exit3(/not the one that the registry names/),
    );
    registry.publish("changed", "1.0.0", await packed(files({ "evil.ts": "" })));
    await assert.rejects(
      fetchPlugin("npm:changed@1", entry),
      exit3(/other content for changed@1\.0\.0 than the lock/),
    );
    assert.deepEqual(readdirSync(cache.folder), [], "nothing was kept");
  });

  const wrong: [what: string, text: string, says: RegExp][] = [
    ["no such package", "npm:nothing-here@1", /answered 404/],
    ["no version in the range", "npm:wrong@^9", /no version of wrong is in \^9/],
    ["no such tag", "npm:wrong@beta", /beta is no range of versions and no tag of wrong/],
    ["a package that is no plugin", "npm:wrong@1", /no plugin\.json/],
    ["a bad manifest", "npm:wrong@2", /cannot be used: plugin\.json: name is "Bad"/],
  ];
  for (const [what, text, says] of wrong) {
    it(`says what is wrong: ${what}`, async () => {
      registry.publish("wrong", "1.0.0", await packed({ "index.js": "" }));
      registry.publish("wrong", "2.0.0", await packed({ "plugin.json": '{"name":"Bad"}' }));
      await assert.rejects(fetchPlugin(text), says);
      assert.deepEqual(leftovers(), []);
    });
  }

  it("runs no script, installs nothing, and says which packages it does not bring", async () => {
    const scripts = {
      preinstall: "touch SENTINEL",
      install: "touch SENTINEL",
      postinstall: "touch SENTINEL",
    };
    registry.publish(
      "scripted",
      "1.0.0",
      await packed(files({
        "package.json": JSON.stringify({
          scripts,
          dependencies: { zod: "4", "left-pad": "1", brought: "1" },
        }),
        "node_modules/brought/index.js": "",
      })),
    );
    registry.asked.length = 0;
    const { notes, folder } = await fetchPlugin("npm:scripted@1");
    assert.match(notes.join(), /asks for left-pad, which it does not bring/);
    assert.ok(!existsSync(join(folder, "SENTINEL")));
    assert.deepEqual(registry.asked, ["/scripted", "/scripted/-/scripted-1.0.0.tgz"]);
  });

  describe("with a bun.lock for packages that it does not bring", () => {
    /** Publishes `tiny`, which needs `@s/low`, and a plugin with this lock. */
    const withLock = async (change: (lock: string) => string = (lock) => lock) => {
      const low = await packed({
        "package.json": '{"name":"@s/low","version":"1.0.0","main":"i.js"}',
        "i.js": 'module.exports = "low";',
      });
      const tiny = await packed({
        "package.json": JSON.stringify({
          name: "tiny",
          version: "1.0.0",
          main: "i.js",
          bin: { tiny: "i.js" },
          scripts: { postinstall: `touch ${at.root}/SENTINEL` },
          dependencies: { "@s/low": "^1.0.0" },
        }),
        "i.js": 'module.exports = "tiny and " + require("@s/low");',
      });
      registry.publish("@s/low", "1.0.0", low);
      registry.publish("tiny", "1.0.0", tiny, ["latest"], { "@s/low": "^1.0.0" });
      const integrity = (bytes: Uint8Array) => `sha512-${sha("sha512", bytes, "base64")}`;
      const lock = `{
  "lockfileVersion": 1,
  "workspaces": { "": { "name": "p", "dependencies": { "tiny": "^1.0.0" } } },
  "packages": {
    "tiny": ["tiny@1.0.0", "", { "dependencies": { "@s/low": "^1.0.0" }, "bin": { "tiny": "i.js" } }, "${
        integrity(tiny)
      }"],
    "@s/low": ["@s/low@1.0.0", "", {}, "${integrity(low)}"],
  }
}
`;
      const described = {
        name: "p",
        dependencies: { tiny: "^1.0.0" },
        scripts: { postinstall: `touch ${at.root}/SENTINEL` },
      };
      registry.publish(
        "locked",
        "1.0.0",
        await packed(files({
          "package.json": JSON.stringify(described),
          "bun.lock": change(lock),
          // Neither is read.
          ".npmrc": "registry=http://127.0.0.1:1\n",
          "bunfig.toml": '[install]\nregistry = "http://127.0.0.1:1"\n',
        })),
      );
    };
    const onBun = typeof Bun === "undefined" ? it.skip : it;

    onBun("has them installed as locked, without scripts, and pins the whole", async () => {
      await withLock();
      const { notes, folder, entry } = await fetchPlugin("npm:locked@1");
      assert.match(notes.join(), /installed tiny as its bun\.lock pins them/);
      assert.ok(existsSync(join(folder, "node_modules/@s/low/i.js")));
      assert.ok(!existsSync(join(folder, "node_modules/.bin")));
      assert.ok(!existsSync(join(at.root, "SENTINEL")));
      assert.deepEqual(leftovers(), []);
      removeTree(cache.folder);
      const again = await fetchPlugin("npm:locked@1", entry);
      assert.equal(again.entry.tree, entry.tree);
    });

    const refused: [what: string, change: (lock: string) => string, says: RegExp][] = [
      [
        "a package from a repository",
        (lock) => lock.replace("tiny@1.0.0", "tiny@git+https://x.dev/t.git#abc"),
        /takes tiny from tiny@git\+https.*, which is no release/,
      ],
      [
        "another registry",
        (lock) => lock.replace('"@s/low@1.0.0", ""', '"@s/low@1.0.0", "https://x.dev/low.tgz"'),
        /takes @s\/low from https:\/\/x\.dev\/low\.tgz, and your registry is/,
      ],
      [
        "no hash",
        (lock) => lock.replaceAll(/"sha512-[^"]*"/g, '""'),
        /names no sha512 for tiny/,
      ],
      [
        "another hash",
        (lock) => lock.replaceAll(/sha512-.{20}/g, `sha512-${"A".repeat(20)}`),
        /cannot be installed as its bun\.lock pins them: .*[Ii]ntegrity/,
      ],
      [
        "a lock for something else",
        (lock) => lock.replaceAll("tiny", "huge"),
        /cannot be installed as its bun\.lock pins them: .*frozen/,
      ],
    ];
    for (const [what, change, says] of refused) {
      onBun(`is refused with ${what}`, async () => {
        await withLock(change);
        await assert.rejects(fetchPlugin("npm:locked@1"), says);
        assert.deepEqual(leftovers(), []);
      });
    }
  });

  it("comes from the registry that the person set, else the error says how to set one", () => {
    const set = (configured: string | undefined, env: Record<string, string>, npmrc = "") => {
      at.write("home/.npmrc", npmrc);
      return (name: string) => registryFor(name, { configured, env, home: at.home });
    };
    const rc = "# x\nregistry = https://rc.example/npm/\n@acme:registry=https://acme.example\n";
    assert.equal(set(undefined, {}, rc)("x"), "https://rc.example/npm");
    assert.equal(set(undefined, {}, rc)("@acme/x"), "https://acme.example");
    assert.equal(set(undefined, {}, rc)("@other/x"), "https://rc.example/npm");
    assert.equal(
      set(undefined, { npm_config_registry: "https://env.example" }, rc)("x"),
      "https://env.example",
    );
    assert.equal(
      set("https://own.example", { npm_config_registry: "https://env.example" }, rc)("x"),
      "https://own.example",
    );
    assert.throws(
      () => set(undefined, {})("x"),
      (error: { message: string; hint?: string }) =>
        /no npm registry is set/.test(error.message) &&
        /npm config set registry/.test(error.hint ?? ""),
    );
    assert.throws(() => set("http://plain.example", {})("x"), /no https address/);
  });
});

describe("a tarball by its address", () => {
  it("is taken with its hash, and refused with another", async () => {
    const bytes = await tgz(
      Object.entries(files()).map(([name, content]) => ({ name: `repo-1.0/${name}`, content })),
    );
    const url = registry.serve("/files/x.tgz", bytes);
    const { entry } = await fetchPlugin(`${url}#sha256-${sha("sha256", bytes, "hex")}`);
    assert.equal(entry.artifact, `sha256-${sha("sha256", bytes, "base64")}`);
    assert.equal(entry.version, "1.0.0", "the manifest's");
    await assert.rejects(
      fetchPlugin(`${url}#sha256-${"0".repeat(64)}`),
      /has the sha-256 .*, but 0000/,
    );
    await assert.rejects(
      fetchPlugin(`${registry.url}/none.tgz#sha256-${"0".repeat(64)}`),
      /answered 404/,
    );
    await registry.close();
    await assert.rejects(fetchPlugin(`${url}#sha256-${"0".repeat(64)}`), /cannot be reached/);
    registry = await startRegistry();
  });
});

it("a redirect to plain http is not followed up: who sits in between could name other bytes", async () => {
  const redirected = mock.method(globalThis, "fetch", () => {
    const response = new Response("{}");
    Object.defineProperty(response, "url", { value: "http://plain.example/x" });
    return Promise.resolve(response);
  });
  try {
    await assert.rejects(
      fetchPlugin("npm:x@1"),
      /leads to http:\/\/plain\.example\/x, which is no https/,
    );
  } finally {
    redirected.mock.restore();
  }
});

describe("a git repository", () => {
  const make = () => {
    const repo = repository(join(at.root, "repo"));
    for (const [path, text] of Object.entries(files())) repo.write(path, text);
    repo.write("run.sh", "#!/bin/sh\n", 0o755);
    return repo;
  };
  const source = (ref: string) => `git+file://${at.root}/repo#${ref}`;

  it("gives the files of a tag or a commit, without .git, and pins the commit", async () => {
    const repo = make();
    const first = repo.commit("v1");
    repo.write("new.ts", "");
    repo.commit();
    const { entry, folder } = await fetchPlugin(source("v1"));
    assert.equal(entry.rev, first);
    assert.deepEqual(readdirSync(folder).sort(), ["i.ts", "plugin.json", "run.sh"]);
    assert.ok((statSync(join(folder, "run.sh")).mode & 0o100) !== 0);
    assert.equal((await fetchPlugin(source(first))).entry.tree, entry.tree);
    assert.deepEqual(leftovers(), []);
  });

  it("an annotated tag is followed; one that moved is not, once it is pinned", async () => {
    const repo = make();
    const first = repo.commit();
    repo.git("tag", "-a", "-m", "x", "v1");
    const { entry } = await fetchPlugin(source("v1"));
    assert.equal(entry.rev, first);
    repo.write("moved.ts", "");
    const second = repo.commit("v1");
    assert.equal((await fetchPlugin(source("v1"), entry)).entry.rev, first);
    assert.equal((await fetchPlugin(source("v1"))).entry.rev, second);
  });

  it("runs nothing of the repository or the machine: hooks, filters, templates, configuration", async () => {
    const repo = make();
    const mark = join(at.root, "SENTINEL");
    repo.write(".gitattributes", "*.ts filter=evil\n");
    repo.write(".lfsconfig", "[lfs]\n\turl = http://127.0.0.1:1/\n");
    repo.commit("v1");
    at.write("work/repo/.git/hooks/post-checkout", `#!/bin/sh\ntouch ${mark}\n`);
    at.write(
      "home/.gitconfig",
      `[filter "evil"]\n\tsmudge = touch ${mark}\n[core]\n\tfsmonitor = touch ${mark}\n[init]\n\ttemplateDir = ${at.root}/t\n`,
    );
    at.write("work/t/hooks/post-checkout", `#!/bin/sh\ntouch ${mark}\n`);
    const home = process.env["HOME"];
    process.env["HOME"] = at.home;
    process.env["GIT_CONFIG_PARAMETERS"] = `'core.fsmonitor=touch ${mark}'`;
    try {
      await fetchPlugin(source("v1"));
    } finally {
      delete process.env["GIT_CONFIG_PARAMETERS"];
      if (home === undefined) delete process.env["HOME"];
      else process.env["HOME"] = home;
    }
    assert.ok(!existsSync(mark));
  });

  it("with a link or a submodule is refused before anything is written", async () => {
    const repo = make();
    symlinkSync("/etc/passwd", join(repo.folder, "link"));
    repo.commit("linked");
    await assert.rejects(fetchPlugin(source("linked")), /holds a link: "link"/);
    repo.git("rm", "--quiet", "link");
    repo.git("update-index", "--add", "--cacheinfo", `160000,${"1".repeat(40)},sub`);
    repo.git("commit", "--quiet", "-m", "x");
    repo.git("tag", "sub");
    await assert.rejects(fetchPlugin(source("sub")), /holds a submodule: "sub"/);
    assert.deepEqual(leftovers(), []);
  });

  it("says what git said, and what may be wrong: a branch, a missing commit, no repository", async () => {
    const repo = make();
    repo.commit("v1");
    const hinted = (error: { message: string; hint?: string }) =>
      /cannot be fetched: .*/.test(error.message) &&
      /Branches are not taken/.test(error.hint ?? "");
    await assert.rejects(fetchPlugin(source("main")), hinted);
    await assert.rejects(fetchPlugin(source("1".repeat(40))), hinted);
    await assert.rejects(fetchPlugin(`git+file://${at.root}/nowhere#v1`), /cannot be fetched/);
  });
});
