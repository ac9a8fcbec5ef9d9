import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Grants } from "../../src/permission/grants.ts";
import { isInside, isProtected, isSecret } from "../../src/permission/paths.ts";
import { decide, type Policy } from "../../src/permission/policy.ts";
import { parseRule, plainWords } from "../../src/permission/rules.ts";
import type { Effect } from "../../src/session/records.ts";

const ROOT = "/w/app";
const policy = (
  over: { allow?: string[]; ask?: string[]; deny?: string[]; yolo?: boolean } = {},
): Policy => ({
  allow: (over.allow ?? []).map(parseRule),
  ask: (over.ask ?? []).map(parseRule),
  deny: (over.deny ?? []).map(parseRule),
  yolo: over.yolo ?? false,
});
const exec = (command: string): Effect => ({ kind: "exec", command, cwd: ROOT });
const write = (path: string): Effect => ({ kind: "write", path });
const read = (path: string): Effect => ({ kind: "read", path });
const verdict = (over: Parameters<typeof policy>[0], ...effects: Effect[]) =>
  decide(policy(over), "T", effects, ROOT).decision;

describe("policy", () => {
  it("reading inside the workspace is free, everything else asks", () => {
    assert.equal(verdict({}, read(`${ROOT}/a.ts`)), "allow");
    assert.equal(verdict({}, read("/w/application/a.ts")), "ask");
    assert.equal(verdict({}, read("/etc/passwd")), "ask");
    assert.equal(verdict({}, write(`${ROOT}/a.ts`)), "ask");
    assert.equal(verdict({}, exec("ls")), "ask");
    assert.equal(verdict({}, { kind: "net", host: "example.com" }), "ask");
    assert.equal(verdict({}), "allow");
  });

  it("the strictest effect decides, and deny wins over everything", () => {
    assert.equal(verdict({}, read(`${ROOT}/a`), exec("ls")), "ask");
    assert.equal(
      verdict({ yolo: true, allow: ["Bash"], deny: ["Bash(rm)"] }, exec("rm -rf x")),
      "deny",
    );
    assert.equal(verdict({ yolo: true, ask: ["Bash(git push)"] }, exec("git push origin")), "ask");
    assert.equal(verdict({ deny: ["Read(secret/**)"] }, read(`${ROOT}/secret/x`)), "deny");
    assert.equal(verdict({ yolo: true, deny: ["Tool(T)"] }, exec("ls")), "deny");
  });

  it("a command rule is a prefix of whole words, and only a plain command can match", () => {
    const allow = ["Bash(git status)"];
    assert.equal(verdict({ allow }, exec("git status")), "allow");
    assert.equal(verdict({ allow }, exec("git status --short")), "allow");
    assert.equal(verdict({ allow }, exec("git statusx")), "ask");
    assert.equal(verdict({ allow }, exec("git stash")), "ask");
    for (
      const trick of [
        "git status; touch p",
        "git status && touch p",
        "git status | sh",
        "git status $(touch p)",
        "git status `touch p`",
        "git status\ntouch p",
        "git status > p",
        "X=1 git status",
        "git status &",
        "git 'status'",
        "git status \\",
        "git status #x",
        "git status *",
        "git status ~",
        "git status {a,b}",
        "git status <(x)",
        "",
        " ",
      ]
    ) assert.equal(verdict({ allow }, exec(trick)), "ask", trick);
  });

  it("path rules are globs below the workspace", () => {
    const allow = ["Edit(src/**)"];
    assert.equal(verdict({ allow }, write(`${ROOT}/src/a/b.ts`)), "allow");
    assert.equal(verdict({ allow }, write(`${ROOT}/test/b.ts`)), "ask");
    assert.equal(verdict({ allow }, write(`${ROOT}/../src/b.ts`)), "ask");
    assert.equal(verdict({ allow: ["Read(/lib/**)"] }, read("/lib/x")), "allow");
  });

  it("protected and secret paths ask even under --yolo; only a rule that names them lifts that (CVE-2025-54135, CVE-2025-59944)", () => {
    for (
      const path of [
        ".git/config",
        ".nanocode/config.json",
        "AGENTS.md",
        ".github/workflows/ci.yml",
        "sub/.npmrc",
        ".GIT/hooks/x",
        ".MCP.json",
        "agents.MD",
        ".nanocode./config.json",
        ".GitHub/Workflows/ci.yml",
        "sub/BunFig.toml .",
      ]
    ) {
      assert.equal(verdict({ yolo: true }, write(`${ROOT}/${path}`)), "ask", path);
      assert.equal(verdict({ allow: ["Edit(**)", "Edit"] }, write(`${ROOT}/${path}`)), "ask", path);
    }
    assert.equal(
      verdict(
        { allow: ["Edit(.nanocode/plugins/**)"] },
        write(`${ROOT}/.nanocode/plugins/a/index.ts`),
      ),
      "allow",
    );
    assert.equal(verdict({}, read(`${ROOT}/.env`)), "ask");
    assert.equal(verdict({ yolo: true }, read(`${ROOT}/.env.local`)), "ask");
    assert.equal(verdict({}, read(`${ROOT}/.env.example`)), "allow");
    assert.equal(verdict({ allow: ["Read(.env)"] }, read(`${ROOT}/.env`)), "allow");
  });

  it("nanocode's own folder is protected wherever it lies", () => {
    const own = { ...policy({ yolo: true, allow: ["Edit(**)"] }), home: "/x/nc" };
    const of = (effect: Effect, rules: Policy = own) => decide(rules, "T", [effect], ROOT).decision;
    assert.equal(of(write("/x/nc/trust.json")), "ask");
    assert.equal(of(write("/x/nc2/trust.json")), "allow");
    const named = { ...policy({ allow: ["Edit(/x/nc/skills/**)"] }), home: "/x/nc" };
    assert.equal(of(write("/x/nc/skills/a/SKILL.md"), named), "allow");
  });

  it("trust asks under --yolo and every wide rule; only a rule that names the tool lifts that", () => {
    const trust: Effect = { kind: "trust", what: "the plugin x" };
    const wide = ["Bash", "Edit", "Read", "Net", "Tool(*)", "Edit(.nanocode/plugins/**)"];
    assert.equal(verdict({ yolo: true, allow: wide }, trust), "ask");
    assert.equal(verdict({ yolo: true, allow: ["Tool(Other)"] }, trust), "ask");
    assert.equal(verdict({ allow: ["Tool(T)"] }, trust), "allow");
    assert.equal(verdict({ allow: ["Tool(T)"], deny: ["Tool(T)"] }, trust), "deny");
  });

  it("a rule that is none is an error that shows a right one", () => {
    assert.throws(() => parseRule("git status"), /not a permission rule.*Bash\(git status\)/s);
    assert.throws(() => parseRule("Tool"), /names no tool/);
    assert.deepEqual(plainWords("npm  run test"), ["npm", "run", "test"]);
  });

  it("paths: containment is separator-aware, secrets and protected names are known", () => {
    assert.equal(isInside("/a/b", "/a/bc"), false);
    assert.equal(isInside("/", "/x"), true);
    assert.ok(isSecret("/x/.ssh/config") && isSecret("/x/id_ed25519") && isSecret("/x/server.pem"));
    assert.ok(!isSecret("/x/id_rsa.pub") && !isSecret("/x/environment.ts"));
    assert.ok(isProtected(ROOT, `${ROOT}/a/CLAUDE.md`) && !isProtected(ROOT, `${ROOT}/a/b.md`));
  });
});

describe("session grants", () => {
  it("grant only what was displayed (PM-03)", () => {
    const grants = new Grants();
    grants.add([exec("git status && rm -rf ./tmp")], ROOT);
    assert.ok(grants.cover([exec("git status && rm -rf ./tmp")], ROOT));
    assert.ok(!grants.cover([exec("rm -rf ./other")], ROOT));
    assert.ok(!grants.cover([exec("git status")], ROOT));
    grants.add([write(`${ROOT}/a.ts`)], ROOT);
    assert.ok(grants.cover([write(`${ROOT}/b.ts`)], ROOT));
    assert.ok(!grants.cover([write(`${ROOT}/.git/config`)], ROOT));
    assert.ok(!grants.cover([write("/w/other")], ROOT));
    assert.ok(!grants.cover([], ROOT));
    const trust: Effect = { kind: "trust", what: "the plugin x" };
    grants.add([trust, exec("load x")], ROOT);
    assert.ok(!grants.cover([trust], ROOT) && !grants.cover([trust, exec("load x")], ROOT));
  });
});
