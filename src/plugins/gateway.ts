// The tool Plugin: how a model reloads plugins (one it has just written, say) and calls tools that came
// with a reload. One fixed tool, because the tools of a session do not change.

import { z } from "zod";
import { fitArguments, parseToolArguments } from "../tools/arguments.ts";
import { defineTool, type Tool, type ToolContext, ToolError } from "../tools/tool.ts";
import description from "./gateway.md" with { type: "text" };
import type { SessionPlugins } from "./session.ts";
import type { TrustItem } from "./trust.ts";

const input = z.strictObject({
  /** Absent: reload. */
  tool: z.string().optional(),
  /** JSON: schemas of tools hold no objects of any shape. */
  args: z.string().optional(),
});

type Input = z.infer<typeof input>;

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ToolError(`args is not JSON: ${(error as Error).message}. Nothing was done.`);
  }
}

/** What each call that reloads was allowed to trust: the content as it was shown with the question. */
const asked = new WeakMap<ToolContext["call"], readonly TrustItem[]>();

/** The tool, over the plugins of a session that is running. */
export function gateway(plugins: () => SessionPlugins): Tool {
  /** A late tool with its checked arguments. */
  const resolve = async ({ tool = "", args = "{}" }: Input) => {
    const { late, tools } = plugins();
    const entry = late.get(tool);
    if (!entry) {
      const names = [...late.keys()].join(", ") || "none; without tool, Plugin looks for new ones";
      const isKnown = tools.has(tool) ? `${tool} is called by itself, without Plugin. ` : "";
      throw new ToolError(
        `${isKnown}There is no tool "${tool}" behind Plugin. There are: ${names}.`,
      );
    }
    const definition = await entry.load();
    const parsed = parseToolArguments(definition, jsonOf(args), entry.spec.schema);
    if (!parsed.ok) throw new ToolError(parsed.error);
    return { definition, input: parsed.input };
  };
  return defineTool<Input>({
    name: "Plugin",
    description,
    input,
    example: { tool: "Weather", args: '{"city":"Rome"}' },
    normalize: ({ args, action: _, ...rest }) => ({
      ...rest,
      ...(args === undefined
        ? {}
        : { args: typeof args === "string" ? args : JSON.stringify(args) }),
    }),
    isConcurrencySafe: () => false,
    title: ({ tool, args }) => tool === undefined ? "reload" : `${tool} ${args ?? ""}`.trim(),
    carries({ tool, args = "{}" }) {
      if (tool === undefined) return null;
      const wrap = (inner: unknown) => ({ tool, args: JSON.stringify(inner) });
      try {
        const { schema } = plugins().late.get(tool)?.spec ?? {};
        const inner: unknown = JSON.parse(args);
        return { tool, args: schema ? fitArguments({}, inner, schema) : inner, wrap };
      } catch {
        return { tool, args, wrap }; // the call will say what is wrong
      }
    },
    async effects(args, ctx: ToolContext) {
      if (args.tool !== undefined) {
        const { definition, input } = await resolve(args);
        return await definition.effects(input, ctx);
      }
      const { pending, changed } = await plugins().survey();
      asked.set(ctx.call, pending);
      const cwd = ctx.session.cwd;
      return [
        ...pending.map(({ id }) => ({ kind: "trust" as const, what: `the plugin ${id}` })),
        ...[...pending.map(({ id }) => id), ...changed].map((name) => ({
          kind: "exec" as const,
          command: `load the plugin ${name}`,
          cwd,
        })),
      ];
    },
    preview: (_, ctx) =>
      Promise.resolve(
        (asked.get(ctx.call) ?? []).flatMap(({ id, shows }) => [
          `load the plugin ${id}`,
          ...shows.map((line) => `  ${line}`),
        ]).join("\n"),
      ),
    async run(args, ctx) {
      if (args.tool !== undefined) {
        const { definition, input } = await resolve(args);
        return await definition.run(input, ctx);
      }
      const { lines } = await plugins().reload(asked.get(ctx.call));
      const late = [...plugins().late.values()].map(({ spec }) =>
        `Call ${spec.name} by {"tool":"${spec.name}","args":"…"}: ${spec.description} ` +
        `args is JSON of this schema: ${JSON.stringify(spec.schema)}`
      );
      return { output: [...lines, ...late].join("\n"), summary: lines.join(", ") };
    },
  }) as Tool;
}
