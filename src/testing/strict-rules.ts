// What the real Chat Completions API refuses, as rules over a parsed request body; each broken rule is
// one sentence. By a rule of our own, tools must be sorted. The server around it is strict-server.ts.

type Fields = Record<string, unknown>;

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export interface Rules {
  /** Fields beyond OpenAI's own, of the body or of a message (`thinking`, `reasoning_content`). */
  allowFields: readonly string[];
  /** DeepSeek's demand: once one assistant message had reasoning_content, all with calls need it. */
  requireReasoning: boolean;
}

/** Fields of a request, as in the openai package's types. */
const BODY_FIELDS = new Set(
  ("messages model audio frequency_penalty function_call functions logit_bias logprobs " +
    "max_completion_tokens max_tokens metadata modalities moderation n parallel_tool_calls prediction " +
    "presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort " +
    "response_format safety_identifier seed service_tier stop store stream stream_options temperature " +
    "tool_choice tools top_logprobs top_p user verbosity web_search_options").split(" "),
);

const MESSAGE_FIELDS: Record<string, string[]> = {
  system: ["role", "content", "name"],
  developer: ["role", "content", "name"],
  user: ["role", "content", "name"],
  assistant: ["role", "content", "name", "tool_calls", "refusal", "audio"],
  tool: ["role", "content", "tool_call_id"],
};

const SCHEMA_REFUSED = ["anyOf", "oneOf", "allOf", "not", "prefixItems", "$ref", "$defs"];

/** Everything that is wrong with a body; empty when the API would take it. */
export function refusals(body: unknown, rules: Rules): string[] {
  if (!isFields(body)) return ["the body must be a JSON object"];
  const wrong: string[] = [];
  for (const field of Object.keys(body)) {
    if (!BODY_FIELDS.has(field) && !rules.allowFields.includes(field)) {
      wrong.push(`Unrecognized request argument supplied: ${field}`);
    }
  }
  if (typeof body.model !== "string" || body.model === "") wrong.push("model must be a string");
  if (body.stream_options !== undefined && body.stream !== true) {
    wrong.push("stream_options is only allowed when stream is true");
  }
  if (body.parallel_tool_calls !== undefined && body.tools === undefined) {
    wrong.push("parallel_tool_calls is only allowed when tools are specified");
  }
  if (body.tool_choice !== undefined && body.tools === undefined) {
    wrong.push("tool_choice is only allowed when tools are specified");
  }
  if (!Array.isArray(body.messages) || body.messages.length === 0) {
    wrong.push("messages must be a non-empty array");
  } else {
    wrong.push(...messageRefusals(body.messages, rules));
  }
  if (body.tools !== undefined) wrong.push(...toolRefusals(body.tools));
  findLoneSurrogates(body, "body", wrong);
  return wrong;
}

function messageRefusals(messages: unknown[], rules: Rules): string[] {
  const wrong: string[] = [];
  /** Ids of calls that still need their result. */
  let open = new Set<string>();
  let hadReasoning = false;
  messages.forEach((message, at) => {
    const where = `messages[${at}]`;
    const fields = isFields(message) ? MESSAGE_FIELDS[String(message.role)] : undefined;
    if (!isFields(message) || !fields) {
      wrong.push(`${where}.role must be one of ${Object.keys(MESSAGE_FIELDS).join(", ")}`);
      return;
    }
    for (const field of Object.keys(message)) {
      if (!fields.includes(field) && !rules.allowFields.includes(field)) {
        wrong.push(`${where}: property '${field}' is unsupported`);
      }
    }
    if (message.role === "tool") {
      const id = message.tool_call_id;
      if (typeof message.content !== "string" && !isTextParts(message.content)) {
        wrong.push(`${where}.content must be a string`);
      }
      if (typeof id !== "string" || !open.delete(id)) {
        wrong.push(
          `${where}: messages with role 'tool' must be a response to a preceding message with ` +
            `'tool_calls' (tool_call_id ${JSON.stringify(id)})`,
        );
      }
      return;
    }
    if (open.size > 0) {
      wrong.push(
        `${where}: an assistant message with 'tool_calls' must be followed by tool messages ` +
          `responding to each 'tool_call_id': ${[...open].join(", ")}`,
      );
      open = new Set();
    }
    if (message.role === "assistant") {
      open = assistantRefusals(message, where, wrong);
      if (typeof message.reasoning_content === "string") hadReasoning = true;
      else if (rules.requireReasoning && hadReasoning && message.tool_calls !== undefined) {
        wrong.push("The `reasoning_content` in the thinking mode must be passed back to the API.");
      }
    } else if (!isContent(message.content, message.role === "user")) {
      wrong.push(`${where}.content must be a string or an array of content parts`);
    }
  });
  if (open.size > 0) wrong.push(`tool_call_ids without a response: ${[...open].join(", ")}`);
  return wrong;
}

function assistantRefusals(message: Fields, where: string, wrong: string[]): Set<string> {
  const open = new Set<string>();
  const { content, tool_calls: calls } = message;
  const hasContent = typeof content === "string" ? content !== "" : isTextParts(content);
  if (calls === undefined) {
    if (!hasContent) wrong.push(`${where}: an assistant message needs content or tool_calls`);
    return open;
  }
  if (content !== null && content !== undefined && typeof content !== "string" && !hasContent) {
    wrong.push(`${where}.content must be a string or null`);
  }
  if (!Array.isArray(calls) || calls.length === 0) {
    wrong.push(`${where}.tool_calls must be a non-empty array`);
    return open;
  }
  calls.forEach((call, at) => {
    const place = `${where}.tool_calls[${at}]`;
    const called = isFields(call) && isFields(call.function) ? call.function : {};
    if (!isFields(call) || call.type !== "function") wrong.push(`${place}.type must be 'function'`);
    const id = isFields(call) ? call.id : undefined;
    if (typeof id !== "string" || id === "") wrong.push(`${place}.id must be a string`);
    else if (id.length > 40) wrong.push(`${place}.id: string too long, maximum length 40`);
    else if (open.has(id)) wrong.push(`${place}.id is a duplicate: ${id}`);
    else open.add(id);
    if (typeof called.name !== "string" || !/^[A-Za-z0-9_-]{1,64}$/.test(called.name)) {
      wrong.push(`${place}.function.name does not match ^[A-Za-z0-9_-]{1,64}$`);
    }
    if (typeof called.arguments !== "string") {
      wrong.push(`${place}.function.arguments must be a string`);
    } else if (!isJson(called.arguments)) {
      wrong.push(`${place}.function.arguments is not valid JSON`);
    }
  });
  return open;
}

function isContent(content: unknown, mayHoldImages: boolean): boolean {
  if (typeof content === "string") return true;
  if (!Array.isArray(content) || content.length === 0) return false;
  return content.every((part) =>
    isTextParts([part]) ||
    (mayHoldImages && isFields(part) && part.type === "image_url" && isFields(part.image_url) &&
      typeof part.image_url.url === "string")
  );
}

function isTextParts(content: unknown): boolean {
  return Array.isArray(content) && content.length > 0 &&
    content.every((part) =>
      isFields(part) && part.type === "text" && typeof part.text === "string"
    );
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function toolRefusals(tools: unknown): string[] {
  if (!Array.isArray(tools) || tools.length === 0) return ["tools must be a non-empty array"];
  const wrong: string[] = [];
  const names: string[] = [];
  tools.forEach((tool, at) => {
    const where = `tools[${at}]`;
    const called = isFields(tool) && isFields(tool.function) ? tool.function : {};
    if (!isFields(tool) || tool.type !== "function") wrong.push(`${where}.type must be 'function'`);
    if (typeof called.name !== "string" || !/^[A-Za-z0-9_-]{1,64}$/.test(called.name)) {
      wrong.push(`${where}.function.name does not match ^[A-Za-z0-9_-]{1,64}$`);
    } else {
      if (names.includes(called.name)) wrong.push(`${where}: duplicate tool name ${called.name}`);
      names.push(called.name);
    }
    if (typeof called.description !== "string") {
      wrong.push(`${where}.function.description must be a string`);
    }
    if (!isFields(called.parameters) || called.parameters.type !== "object") {
      wrong.push(`${where}.function.parameters must be a schema of type object`);
    } else {
      schemaRefusals(called.parameters, `${where}.function.parameters`, wrong);
    }
  });
  const sorted = names.toSorted((a, b) => (a < b ? -1 : 1));
  if (names.join() !== sorted.join()) {
    wrong.push(`tools are not sorted by name: ${names.join(", ")}`);
  }
  return wrong;
}

function schemaRefusals(schema: unknown, where: string, wrong: string[]): void {
  if (!isFields(schema)) {
    wrong.push(`${where} must be a schema object`);
    return;
  }
  for (const word of SCHEMA_REFUSED) {
    if (word in schema) wrong.push(`${where}: '${word}' is not permitted`);
  }
  if (schema.type === "object") {
    if (schema.additionalProperties !== false) {
      wrong.push(`${where}: 'additionalProperties' is required to be false`);
    }
    if (!isFields(schema.properties)) wrong.push(`${where}: object schema missing properties`);
    else {
      for (const [name, inner] of Object.entries(schema.properties)) {
        schemaRefusals(inner, `${where}.properties.${name}`, wrong);
      }
    }
  }
  if (schema.type === "array") {
    if (schema.items === undefined) wrong.push(`${where}: array schema missing items`);
    else schemaRefusals(schema.items, `${where}.items`, wrong);
  }
}

function findLoneSurrogates(value: unknown, where: string, wrong: string[]): void {
  if (typeof value === "string") {
    if (!value.isWellFormed()) wrong.push(`${where}: invalid unicode (lone surrogate)`);
  } else if (Array.isArray(value)) {
    value.forEach((item, at) => findLoneSurrogates(item, `${where}[${at}]`, wrong));
  } else if (isFields(value)) {
    for (const [key, item] of Object.entries(value)) {
      findLoneSurrogates(item, `${where}.${key}`, wrong);
      if (key === "arguments" && typeof item === "string" && isJson(item)) {
        findLoneSurrogates(JSON.parse(item), `${where}.${key}`, wrong);
      }
    }
  }
}
