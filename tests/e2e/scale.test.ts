// A real code base of 40,000 files, and a real terminal with Chinese text and emoji.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { afterEach, describe, it } from "node:test";
import { startServer, type Step, type StrictServer } from "../support/strict-server.ts";
import {
  BINARY,
  join,
  modelEnv,
  readFileSync,
  run,
  type Sandbox,
  sandbox,
  until,
  writeFileSync,
} from "./support.ts";

let box: Sandbox;
let server: StrictServer | undefined;
const socket = `nanocode-e2e-${process.pid}`;
const tmux = (...args: string[]) =>
  spawnSync("tmux", ["-L", socket, ...args], { encoding: "utf8" });
afterEach(async () => {
  tmux("kill-server");
  await server?.close();
  server = undefined;
  box.close();
});

describe("scale", () => {
  it("works in a code base of 40,000 files", async () => {
    box = sandbox({ ".gitignore": "generated/\n" });
    for (let folder = 0; folder < 400; folder++) {
      const path = join(box.work, folder < 100 ? "generated" : "src", `m${folder}`);
      mkdirSync(path, { recursive: true });
      for (let file = 0; file < 100; file++) {
        writeFileSync(
          join(path, `f${file}.ts`),
          `export const v${folder}x${file} = ${file};\n${
            folder === 350 && file === 50 ? "// the needle 針\n" : ""
          }`,
        );
      }
    }
    const steps: Step[] = [
      {
        calls: [{
          name: "Search",
          args: { queries: [{ pattern: "needle" }, { pattern: "v399x99\\b" }] },
        }],
      },
      { calls: [{ name: "Read", args: { path: "src/m350/f50.ts" } }] },
      {
        calls: [{
          name: "Edit",
          args: {
            path: "src/m350/f50.ts",
            edits: [{ op: "replace_text", old: "the needle", new: "found" }],
          },
        }],
      },
      { text: "found it" },
    ];
    server = await startServer(steps);
    const result = await run(["-p", "find the needle", "--yolo", "--output", "json"], {
      cwd: box.work,
      env: { ...box.env, ...modelEnv(server.url) },
    });
    assert.equal(result.code, 0, result.stderr);
    assert.equal(JSON.parse(result.stdout).answer, "found it");
    const search = String(
      server.requests[1]?.body.messages.findLast((message) => message.role === "tool")?.content,
    );
    assert.match(search, /> src\/m350\/f50\.ts:2:[a-z]{3}\|\/\/ the needle 針/);
    assert.match(search, /src\/m399\/f99\.ts/);
    assert.match(readFileSync(join(box.work, "src/m350/f50.ts"), "utf8"), /\/\/ found 針/);
  });
});

describe("in a terminal", () => {
  const screen = () => tmux("capture-pane", "-p", "-t", "t").stdout;
  const open = (env: Record<string, string>, args = "") => {
    const words = Object.entries(env).map(([name, value]) => `${name}='${value}'`).join(" ");
    tmux(
      "-f",
      "/dev/null",
      "new-session",
      "-d",
      "-s",
      "t",
      "-x",
      "90",
      "-y",
      "30",
      `cd '${box.work}' && env -i TERM=xterm-256color LANG=C.UTF-8 ${words} '${BINARY}' ${args}; echo "exit $?"; sleep 100`,
    );
  };
  const type = (...keys: string[]) => tmux("send-keys", "-t", "t", ...keys);

  it("streams an answer with Chinese text and emoji, shows calls, asks, and leaves cleanly", async () => {
    box = sandbox({ "读我.md": "# 你好\n世界\n" });
    const steps: Step[] = [
      {
        text: "我先看一下文件。",
        calls: [{ name: "Read", args: { path: "读我.md" } }],
        split: "bytes",
      },
      { calls: [{ name: "Bash", args: { command: "echo 命令输出 && echo 第二行" } }] },
      { text: "完成了：文件里写着“世界” 🎉👩‍💻。\n\n- 第一点\n- 第二点 ✅", split: "bytes" },
      { text: "再见" },
    ];
    server = await startServer(steps);
    open({ ...box.env, ...modelEnv(server.url) });
    await until(() => /nanocode 0/.test(screen()), 20_000, "the start line");
    type("-l", "读一下文件");
    type("Enter");
    await until(() => /Allow\? \[Y\/n\/a or reason\]/.test(screen()), 20_000, "the question");
    assert.match(screen(), /● Read 读我\.md/);
    assert.match(screen(), /echo 命令输出 && echo 第二行/);
    type("Enter");
    await until(() => /第二点 ✅/.test(screen()), 20_000, "the answer");
    assert.match(screen(), /完成了：文件里写着“世界” 🎉/);
    assert.match(screen(), /第二行/);
    type("/exit", "Enter");
    await until(() => /exit 0/.test(screen()), 20_000, "the end");
    assert.deepEqual(server.errors, []);
  });

  it("a refusal with a reason reaches the model, and Ctrl-C interrupts a command", async () => {
    box = sandbox();
    const steps: Step[] = [
      { calls: [{ name: "Bash", args: { command: "rm -rf build" } }] },
      { calls: [{ name: "Bash", args: { command: "sleep 3017" } }] },
      { text: "still here" },
    ];
    server = await startServer(steps);
    open({ ...box.env, ...modelEnv(server.url) }, "'clean up'");
    await until(
      () => /rm -rf build/.test(screen()) && /Allow\?/.test(screen()),
      20_000,
      "the first question",
    );
    type("-l", "never delete anything");
    type("Enter");
    await until(
      () =>
        /sleep 3017/.test(screen()) && (screen().match(/Allow\?/g)?.length ?? 0) > 0 &&
        server?.requests.length === 2,
      20_000,
      "the second question",
    );
    assert.match(
      JSON.stringify(server.requests[1]?.body.messages),
      /Refused by the user: never delete anything/,
    );
    type("y", "Enter");
    await until(
      () => spawnSync("pgrep", ["-f", "^sleep 3017$"], { encoding: "utf8" }).stdout.trim() !== "",
      20_000,
      "the command runs",
    );
    type("C-c");
    await until(() => /interrupt/i.test(screen()), 20_000, "the interrupt");
    await until(
      () => spawnSync("pgrep", ["-f", "^sleep 3017$"], { encoding: "utf8" }).stdout.trim() === "",
      20_000,
      "the command is gone",
    );
    type("-l", "are you there");
    type("Enter");
    await until(() => /still here/.test(screen()), 20_000, "the next answer");
    assert.deepEqual(server.errors, []);
    type("C-d");
    await until(() => /exit 0/.test(screen()), 20_000, "the end");
  });

  it("without a key it offers the demo, which runs there too", async () => {
    box = sandbox();
    open(box.env);
    await until(() => /Try the offline demo/.test(screen()), 20_000, "the offer");
    type("Enter");
    await until(
      () => /recorded/.test(screen()) && /fix the failing test/.test(screen()),
      20_000,
      "the demo",
    );
    type("-l", "fix the failing test");
    type("Enter");
    await until(() => /all tests passed/.test(screen()), 20_000, "the repaired test");
    type("C-d");
    await until(() => /exit 0/.test(screen()), 20_000, "the end");
  });
});
