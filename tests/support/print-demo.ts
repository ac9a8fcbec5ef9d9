// A program for tests of the renderers without a terminal: one scripted turn of many lines.
// Arguments: `text`, `json` or `stream-json`, then the number of lines.

import type { EventBody } from "../../src/loop/events.ts";
import { jsonRenderer, streamJsonRenderer } from "../../src/ui/json.ts";
import { outOf } from "../../src/ui/out.ts";
import { printRenderer } from "../../src/ui/print.ts";
import { TurnTally } from "../../src/ui/renderer.ts";
import { makeTheme } from "../../src/ui/colors.ts";
import { wantsColors } from "../../src/ui/theme.ts";

const [output = "text", count = "1"] = process.argv.slice(2);
const stdout = outOf(process.stdout, "standard output");
const stderr = outOf(process.stderr, "standard error");
const renderer = output === "json"
  ? jsonRenderer({ stdout, stderr })
  : output === "stream-json"
  ? streamJsonRenderer({ stdout })
  : printRenderer({ stdout, stderr, theme: makeTheme(wantsColors(process.stderr, process.env)) });

const tally = new TurnTally();
const show = (body: EventBody) => {
  const event = { session: "s", turn: 1, step: 1, time: "", ...body };
  tally.add(event);
  renderer.event(event);
};
const lines = Array.from({ length: Number(count) }, (_, i) => `line ${i} \x1b[31m漢字\n`);
show({ type: "call_start", call: "c", tr: "tr.1", tool: "Read", title: "a.ts", args: {} });
for (const text of lines) show({ type: "text", text });
show({ type: "turn_end", reason: "done", answer: lines.join(""), steps: 1, ms: 1 });
try {
  await renderer.end(tally.summary(0));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exit(1);
}
process.exit(0);
