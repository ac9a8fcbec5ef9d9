// The floor of the benchmarks: the least that deserves the name of an agent loop. It asks the model,
// runs the calls of the reply by plain file and process functions, appends to one array of messages,
// and ends with a reply that has no call. No records, no anchors, no permissions, no retries; only the
// arguments that the benchmarks send. Compiled like nanocode, given the same server and the same folder.

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

interface Call {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

interface Chunk {
  choices: {
    delta: {
      content?: string | null;
      tool_calls?: {
        index: number;
        id?: string;
        function: { name?: string; arguments?: string };
      }[];
    };
  }[];
}

interface Arguments {
  command: string;
  edits: { start: string; content: string }[];
  files: { path: string }[];
  path: string;
  queries: { pattern: string }[];
}

const TOOLS: Record<string, { does: string; takes: string; run(args: Arguments): string }> = {
  Bash: {
    does: "Runs a command.",
    takes: "command",
    run({ command }) {
      const { status, stdout, stderr } = spawnSync("bash", ["-c", command], { encoding: "utf8" });
      return `exit ${status}\n${stdout}${stderr}`;
    },
  },
  Edit: {
    does: "Replaces lines of a file.",
    takes: "edits, path",
    run({ path, edits }) {
      const lines = readFileSync(path, "utf8").split("\n");
      for (const { start, content } of edits) lines[Number.parseInt(start) - 1] = content;
      writeFileSync(path, lines.join("\n"));
      return `${path}: ${edits.length} changed`;
    },
  },
  Read: {
    does: "Shows files.",
    takes: "files",
    run: ({ files }) =>
      files.map(({ path }) =>
        readFileSync(path, "utf8").split("\n").map((line, at) => `${at + 1}|${line}`).join("\n")
      ).join("\n"),
  },
  Search: {
    does: "Finds lines of files.",
    takes: "queries",
    run: ({ queries }) => queries.flatMap(({ pattern }) => found(new RegExp(pattern))).join("\n"),
  },
};

function* found(pattern: RegExp, folder = "."): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* found(pattern, path);
    else {
      for (const [at, line] of readFileSync(path, "utf8").split("\n").entries()) {
        if (pattern.test(line)) yield `${path}:${at + 1}|${line}`;
      }
    }
  }
}

const tools = Object.entries(TOOLS).map(([name, { does, takes }]) => ({
  type: "function",
  function: {
    name,
    description: does,
    parameters: {
      type: "object",
      properties: Object.fromEntries(takes.split(", ").map((field) => [field, {}])),
      additionalProperties: false,
    },
  },
}));

const messages: unknown[] = [
  { role: "system", content: "You are a coding agent." },
  { role: "user", content: process.argv.slice(2).join(" ") },
];

while (true) {
  const { text, calls } = await ask();
  if (calls.length === 0) {
    process.stdout.write(`${text}\n`);
    process.exit(0);
  }
  messages.push({ role: "assistant", content: text || null, tool_calls: calls });
  for (const { id, function: { name, arguments: args } } of calls) {
    const tool = TOOLS[name];
    if (!tool) throw new Error(`there is no tool ${name}`);
    messages.push({ role: "tool", tool_call_id: id, content: tool.run(JSON.parse(args)) });
  }
}

/** One request, its reply read as it streams. */
async function ask(): Promise<{ text: string; calls: Call[] }> {
  const response = await fetch(`${process.env["OPENAI_BASE_URL"]}/chat/completions`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${process.env["OPENAI_API_KEY"]}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({ model: process.env["OPENAI_MODEL"], messages, tools, stream: true }),
  });
  if (!response.ok || !response.body) throw new Error(await response.text());
  let text = "";
  const calls: Call[] = [];
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of response.body) {
    const events = (rest + decoder.decode(bytes, { stream: true })).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) {
      if (event === "data: [DONE]") continue;
      const { choices: [choice] }: Chunk = JSON.parse(event.slice("data: ".length));
      text += choice?.delta.content ?? "";
      for (const { index, id = "", function: part } of choice?.delta.tool_calls ?? []) {
        const call = calls[index] ??= {
          id,
          type: "function",
          function: { name: "", arguments: "" },
        };
        call.function.name += part.name ?? "";
        call.function.arguments += part.arguments ?? "";
      }
    }
  }
  return { text, calls };
}
