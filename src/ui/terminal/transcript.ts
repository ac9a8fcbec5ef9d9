// Events of a turn → the output above the live area, and the part of the live area that shows what is
// going on: calls that run with their last lines of output, and the line of text being written.
// Not here: the status line and the prompt (conversation.ts), how anything gets on the screen.

import type { AgentEvent } from "../../loop/events.ts";
import {
  callLine,
  compactLine,
  errorLine,
  loadedLine,
  resultLine,
  retryLine,
  warnLine,
} from "../lines.ts";
import { cut, visible, wrap } from "../text.ts";
import { paintDiff, PLAIN, type Theme } from "../theme.ts";
import { plainFlow, type TextFlow, visibleFlow } from "./flow.ts";
import type { Row, Size } from "./layout.ts";

/** Lines of a running command that are shown. */
const OUTPUT_LINES = 6;
/** Characters of its output that are kept for that. */
const OUTPUT_KEPT = 8192;
/** Lines of a diff shown with a result. */
const DIFF_LINES = 12;
/** Lines, and characters, of an input that are echoed. */
const ECHO_LINES = 20;
const ECHO_LENGTH = 4000;

/** What is printed, by kind; between two kinds stands an empty line. */
type Kind = "input" | "text" | "reasoning" | "call" | "note";

interface RunningCall {
  tool: string;
  title: string;
  output: string;
}

export interface TranscriptDeps {
  print(text: string): void;
  theme: Theme;
  /** Renders the answer's text; plain lines when absent. */
  textFlow?: () => TextFlow;
}

export class Transcript {
  #deps: TranscriptDeps;
  #flows: { text: TextFlow; reasoning: TextFlow };
  #open: "text" | "reasoning" | null = null;
  #last: Kind | null = null;
  /** Empty lines that are printed when a line follows them. */
  #blank = 0;
  #running = new Map<string, RunningCall>();
  #asked = new Set<string>();
  /** Text of the newest reply that has any: what `turn_end` calls the answer. */
  #reply = { step: 0, text: "" };

  constructor(deps: TranscriptDeps) {
    this.#deps = deps;
    const { theme, textFlow } = deps;
    this.#flows = {
      text: visibleFlow(textFlow ? textFlow() : plainFlow()),
      reasoning: visibleFlow(plainFlow(theme.faint)),
    };
  }

  /** What the user sent. A long paste is shown by its beginning. */
  input(text: string): void {
    const { theme } = this.#deps;
    const lines = text.split("\n");
    const first = lines.slice(0, ECHO_LINES).join("\n").slice(0, ECHO_LENGTH);
    const shown = visible(first).split("\n").map((line, i) => (i === 0 ? "> " : "  ") + line);
    const more = lines.length > shown.length
      ? `${lines.length - shown.length} more lines`
      : first.length < text.length
      ? `${text.length - first.length} more characters`
      : "";
    this.#print("input", [
      ...shown.map(theme.strong),
      ...(more === "" ? [] : [theme.faint(`  … ${more}`)]),
    ]);
  }

  /** A line of our own; made visible and painted by the caller. */
  note(text: string): void {
    this.#closeText();
    this.#print("note", text.split("\n"));
  }

  /** An approval box or its answer, painted. */
  box(lines: string[]): void {
    this.#closeText();
    this.#print("call", lines);
  }

  event(event: AgentEvent): void {
    const { theme } = this.#deps;
    switch (event.type) {
      case "text":
        if (event.step !== this.#reply.step) this.#reply = { step: event.step, text: "" };
        this.#reply.text += event.text;
        this.#text("text", event.text);
        break;
      case "reasoning":
        this.#text("reasoning", event.text);
        break;
      case "steer":
        this.#closeText();
        this.input(event.text);
        break;
      case "call_start": {
        this.#closeText();
        const { tool, title } = event;
        this.#running.set(event.call, { tool, title, output: "" });
        break;
      }
      case "call_output": {
        const call = this.#running.get(event.call);
        if (call) call.output = (call.output + event.text).slice(-OUTPUT_KEPT);
        break;
      }
      case "call_end":
        this.#callEnd(event);
        break;
      case "ask":
        this.#asked.add(event.call);
        break;
      case "retry": {
        const isVoid = this.#reply.step === event.step && this.#reply.text !== "";
        this.note(retryLine(event, theme) + (isVoid ? " (the text above is void)" : ""));
        this.#reply.text = "";
        break;
      }
      case "loaded":
        this.note(loadedLine(event, theme));
        break;
      case "compact":
        this.note(compactLine(event, theme));
        break;
      case "warn":
        this.note(warnLine(event, theme));
        break;
      case "error":
        this.note(errorLine(event, theme));
        break;
      case "turn_end":
        this.#turnEnd(event.answer);
        break;
    }
  }

  /** The part of the live area above the status line, at most `size.rows` rows. */
  rows(size: Size): Row[] {
    const { theme } = this.#deps;
    const rows: Row[] = [];
    for (const call of this.#running.values()) {
      rows.push({ text: cut(callLine(call, PLAIN), size.columns), paint: theme.strong });
      for (const line of lastLines(call.output)) {
        rows.push({ text: cut(`  ${line}`, size.columns), paint: theme.faint });
      }
    }
    if (this.#open) {
      const tail = this.#flows[this.#open].tail();
      // Only what can be seen of a very long line is wrapped.
      const seen = tail.slice(-size.columns * size.rows * 2);
      const paint = this.#open === "reasoning" ? theme.faint : undefined;
      for (const text of seen === "" ? [] : wrap(seen, size.columns)) {
        rows.push({ text, ...(paint ? { paint } : {}) });
      }
    }
    return size.rows > 0 ? rows.slice(-size.rows) : [];
  }

  #text(kind: "text" | "reasoning", text: string): void {
    if (this.#open !== kind) this.#closeText();
    this.#open = kind;
    this.#print(kind, this.#flows[kind].push(text));
  }

  #closeText(): void {
    if (!this.#open) return;
    const kind = this.#open;
    this.#open = null;
    this.#print(kind, this.#flows[kind].end());
    this.#blank = 0;
  }

  #callEnd(event: Extract<AgentEvent, { type: "call_end" }>): void {
    const { theme } = this.#deps;
    const title = this.#running.get(event.call)?.title ?? "";
    this.#running.delete(event.call);
    this.#closeText();
    const lines = [callLine({ tool: event.tool, title }, theme), resultLine(event, theme)];
    // A diff that was just approved has been seen.
    if (event.display && !this.#asked.has(event.call)) {
      const diff = visible(event.display.trimEnd()).split("\n");
      lines.push(...paintDiff(diff.slice(0, DIFF_LINES).join("\n"), theme).split("\n").map(indent));
      if (diff.length > DIFF_LINES) {
        lines.push(indent(theme.faint(`… ${diff.length - DIFF_LINES} more lines`)));
      }
    }
    this.#print("call", lines);
  }

  /** Closes what the turn left open, also when no `turn_end` came. */
  finish(): void {
    this.#closeText();
    for (const { tool, title } of this.#running.values()) {
      const { theme } = this.#deps;
      const interrupted = resultLine({ status: "interrupted", summary: "" }, theme);
      this.#print("call", [callLine({ tool, title }, theme), interrupted]);
    }
    this.#running.clear();
    this.#asked.clear();
    this.#reply = { step: 0, text: "" };
  }

  #turnEnd(answer: string): void {
    const reply = this.#reply.text;
    this.finish();
    // At a limit the answer says more than the last reply did.
    const rest = answer.startsWith(reply) ? answer.slice(reply.length) : answer;
    if (rest.trim() !== "" && rest.trim() !== reply.trim()) {
      this.#text("text", rest);
      this.finish();
    }
  }

  #print(kind: Kind, lines: string[]): void {
    const out: string[] = [];
    for (const line of lines) {
      if (line.trim() === "") {
        this.#blank++;
        continue;
      }
      const apart = this.#last !== kind || (kind === "input" && out.length === 0);
      if (this.#last !== null && apart) out.push("");
      else for (let i = 0; i < this.#blank; i++) out.push("");
      this.#blank = 0;
      this.#last = kind;
      out.push(line);
    }
    if (out.length > 0) this.#deps.print(out.join("\n"));
  }
}

const indent = (line: string) => `    ${line}`;

/** Live rows are measured, so they are made without colours. */

/** Select graphic rendition: colours, which command output may hold and which say nothing. */
const SGR = /\x1b\[[0-9;:]*m/g;

/** The last lines of a command's output, as a terminal would show them after carriage returns. */
function lastLines(output: string): string[] {
  const lines = output.replace(/\r?\n$/, "").split("\n").slice(-OUTPUT_LINES);
  return lines.map((line) => {
    const written = line.replace(/\r+$/, "");
    return visible(written.slice(written.lastIndexOf("\r") + 1).replaceAll(SGR, ""));
  }).filter((line) => output !== "" || line !== "");
}
