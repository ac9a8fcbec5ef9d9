// Text that streams in, as lines to print: whole lines go to the output, the unfinished one is shown
// in the live area until its end has come. A markdown renderer is another TextFlow. What it is given
// is made visible already (VisibleStream); what it returns is printed as it is.

import { VisibleStream } from "../text.ts";

export interface TextFlow {
  /** Takes more text; gives the lines that are finished, painted. */
  push(text: string): string[];
  /** The unfinished line, plain. */
  tail(): string;
  /** Gives what is left; the flow begins anew. */
  end(): string[];
}

/** Lines as they come, all painted the same; empty ones stay empty. */
export function plainFlow(color: (line: string) => string = (line) => line): TextFlow {
  const paint = (line: string) => line === "" ? "" : color(line);
  let rest: string[] = [];
  return {
    push(text) {
      const end = text.lastIndexOf("\n");
      if (end === -1) {
        rest.push(text);
        return [];
      }
      const lines = (rest.join("") + text.slice(0, end)).split("\n");
      rest = [text.slice(end + 1)];
      return lines.map(paint);
    },
    tail: () => {
      rest = [rest.join("")];
      return rest[0] ?? "";
    },
    end() {
      const line = rest.join("");
      rest = [];
      return line === "" ? [] : [paint(line)];
    },
  };
}

/** A flow of untrusted text: everything that reaches `flow` is visible. */
export function visibleFlow(flow: TextFlow): TextFlow {
  const stream = new VisibleStream();
  return {
    push: (text) => flow.push(stream.push(text)),
    tail: () => flow.tail(),
    end() {
      const lines = flow.push(stream.end());
      return [...lines, ...flow.end()];
    },
  };
}
