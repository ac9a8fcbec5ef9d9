// A file in a legacy encoding through the compiled binary: the library for it is in there.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import iconv from "iconv-lite";
import { startServer } from "../support/strict-server.ts";
import { join, modelEnv, readFileSync, run, sandbox, writeFileSync } from "./support.ts";

describe("a Shift_JIS file", () => {
  it("is read and edited, other bytes untouched", async () => {
    const box = sandbox();
    const file = (line: string) => iconv.encode(`// 変数を初期化する\n${line}\n`, "shift_jis");
    writeFileSync(join(box.work, "f.c"), file("int a;"));
    const edits = [{ op: "replace_text", old: "int a;", new: "// 新しい行" }];
    const steps = [
      { calls: [{ name: "Read", args: { files: [{ path: "f.c" }] } }] },
      { calls: [{ name: "Edit", args: { path: "f.c", edits } }] },
      { text: "Done." },
    ];
    const server = await startServer((_request, n) => steps[n] ?? { status: 500, body: "over" }, {
      key: "x",
    });
    try {
      const { code, stderr } = await run(["-p", "go on", "--yolo"], {
        cwd: box.work,
        env: { ...box.env, ...modelEnv(server.url) },
      });
      assert.equal(code, 0, stderr);
      assert.deepEqual(readFileSync(join(box.work, "f.c")), file("// 新しい行"));
    } finally {
      await server.close();
      box.close();
    }
  });
});
