// `nanocode -p`: the answer on standard output and nothing else there, progress on standard error, one
// line a call and one its result. Text that comes before calls is progress. On a terminal that both
// go to, the text is written as it comes; else the answer is written when it is known to be one.

import type { AgentEvent } from "../loop/events.ts";
import {
  callLine,
  compactLine,
  endLine,
  errorLine,
  loadedLine,
  resultLine,
  retryLine,
  warnLine,
} from "./lines.ts";
import type { Out } from "./out.ts";
import { type Renderer, type TurnSummary, TurnTally } from "./renderer.ts";
import { visible, VisibleStream, withoutControls } from "./text.ts";
import type { Theme } from "./theme.ts";

export interface PrintDeps {
  stdout: Out;
  stderr: Out;
  /** Colours of standard error; standard output is never painted. */
  theme: Theme;
}

export function printRenderer({ stdout, stderr, theme }: PrintDeps): Renderer {
  const live = stdout.isTTY && stderr.isTTY;
  const stream = new VisibleStream();
  const tally = new TurnTally();
  const titles = new Map<string, string>();
  /** Text of the newest reply that has any: what `turn_end` calls the answer. */
  let reply = { step: 0, text: "", shown: live };
  /** Does the cursor of the shared terminal stand after text? */
  let midLine = false;
  /** The call whose line was written last, so that its result needs no label. */
  let lastCall: string | null = null;

  const show = (text: string) => {
    if (text === "") return;
    stdout.write(text);
    midLine = !text.endsWith("\n");
  };
  const progress = (line: string) => {
    show(stream.end());
    if (midLine) show("\n");
    stderr.write(`${line}\n`);
    lastCall = null;
  };
  /** The reply turned out not to be the answer: it is progress. */
  const showReply = () => {
    if (!reply.shown && reply.text.trim() !== "") progress(visible(reply.text.trim()));
    reply.shown = true;
  };

  const event = (event: AgentEvent) => {
    tally.add(event);
    switch (event.type) {
      case "text":
        if (event.step !== reply.step) {
          showReply();
          show(stream.end());
          if (midLine) show("\n");
          reply = { step: event.step, text: "", shown: live };
        }
        reply.text += event.text;
        if (live) show(stream.push(event.text));
        break;
      case "call_start":
        showReply();
        titles.set(event.call, `${event.tool} ${event.title}`);
        progress(callLine(event, theme));
        lastCall = event.call;
        break;
      case "call_end": {
        const label = lastCall === event.call ? "" : titles.get(event.call) ?? event.tool;
        progress(resultLine(event, theme, label));
        break;
      }
      case "retry":
        if (live && reply.step === event.step && reply.text !== "") {
          progress(theme.warning("(the text above is void)"));
        }
        reply.text = "";
        progress(retryLine(event, theme));
        break;
      case "loaded":
        progress(loadedLine(event, theme));
        break;
      case "compact":
        progress(compactLine(event, theme));
        break;
      case "warn":
        progress(warnLine(event, theme));
        break;
      case "error":
        progress(errorLine(event, theme));
        break;
    }
  };

  const end = async (summary: TurnSummary) => {
    show(stream.end());
    if (live) {
      if (summary.answer.startsWith(reply.text)) {
        show(visible(summary.answer.slice(reply.text.length)));
      } else if (summary.answer.trim() !== reply.text.trim()) {
        progress(visible(summary.answer));
      }
      if (midLine) show("\n");
    } else if (summary.answer !== "") {
      // A pipe's reader gets the text as it is, but no byte that could steer a terminal.
      const answer = stdout.isTTY ? visible(summary.answer) : withoutControls(summary.answer);
      stdout.write(answer.endsWith("\n") ? answer : `${answer}\n`);
    }
    stderr.write(`${endLine(tally, theme)}\n`);
    await Promise.all([stdout.drained(), stderr.drained()]);
  };

  return { event, end };
}
