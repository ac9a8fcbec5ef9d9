// Benchmark `plugins`: what plugins of the user add to the time until the first request, whose code nobody
// asked for yet; and reading and checking their manifests alone, in this process.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { discover } from "../src/plugins/discover.ts";
import { type Bench, interleaved, type Report, type Row, rowOf, runSession } from "./measure.ts";

const ROUNDS = 25;

export async function bench({ binary, folder }: Bench): Promise<Report> {
  const cwd = join(folder, "work");
  mkdirSync(cwd);
  const none = home(folder, 0);
  const answer = [() => ({ text: "Hello." })];
  const rows: Row[] = [];
  for (const [count, target] of [[40, 25], [200, undefined]] as const) {
    const many = home(folder, count);
    const runs = await interleaved(ROUNDS, {
      ours: () => runSession([binary, "-p", "hi", "--yolo"], { home: many, cwd }, answer),
      floor: () => runSession([binary, "-p", "hi", "--yolo"], { home: none, cwd }, answer),
    });
    rows.push(rowOf(
      {
        what: `to the first request with ${count} plugins (floor: without)`,
        unit: "ms",
        compare: "difference",
        ...(target === undefined ? {} : { target }),
      },
      runs,
      (run) => run.firstRequestMs,
    ));
  }
  const places = { home: join(home(folder, 200), ".nanocode"), root: null, flags: [], cwd };
  const kept = join(places.home, "cache");
  const timed = async (act: () => unknown) => {
    const start = performance.now();
    await act();
    return performance.now() - start;
  };
  const found = await interleaved(ROUNDS, {
    ours: () => timed(() => discover(places)),
    anew: () => {
      rmSync(kept, { recursive: true, force: true });
      return timed(() => discover(places));
    },
    floor: () =>
      timed(() => {
        for (let i = 0; i < 200; i++) {
          JSON.parse(readFileSync(join(places.home, "plugins", `p${i}`, "plugin.json"), "utf8"));
        }
      }),
  });
  const row = { unit: "ms", compare: "ours", target: 40 } as const;
  const what = "200 manifests read and checked (floor: read and parsed)";
  rows.push(
    { ...row, what, ours: found.ours, floor: found.floor },
    { ...row, what: `${what}, never seen before`, ours: found.anew, floor: found.floor },
  );
  return {
    name: "plugins",
    rows,
    notes: ["Each plugin declares one tool, which is in the request."],
  };
}

/** A home with so many plugins. */
function home(folder: string, count: number): string {
  const path = join(folder, `home-${count}`);
  for (let i = 0; i < count; i++) {
    const plugin = join(path, ".nanocode", "plugins", `p${i}`);
    mkdirSync(plugin, { recursive: true });
    const tool = {
      name: `Tool${i}`,
      description: `Does thing ${i}.`,
      inputSchema: {
        type: "object",
        properties: { a: { type: "string" } },
        additionalProperties: false,
      },
      effects: [],
    };
    const ours = { apiVersion: 1, entry: "./index.ts", contributes: { tools: [tool] } };
    const manifest = { name: `p${i}`, version: "1.0.0", extensions: { "dev.nanocode": ours } };
    writeFileSync(join(plugin, "plugin.json"), JSON.stringify(manifest));
    writeFileSync(join(plugin, "index.ts"), "export default {};\n");
  }
  mkdirSync(path, { recursive: true });
  return path;
}
