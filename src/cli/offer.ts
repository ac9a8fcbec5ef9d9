// Choices put to a person at a terminal: a model when no key is set, a session for --resume.

import { isCancel, select } from "@clack/prompts";
import type { NoModelError } from "../provider/choose.ts";
import { UserError } from "../runtime/errors.ts";
import type { SessionFile } from "../session/store.ts";

/** `provider/model` or `demo`; leaving throws the error that led here. */
export async function offer(error: NoModelError): Promise<string> {
  const answer = await select({
    message: `${error.message}. What now?`,
    options: [
      ...error.local.slice(0, 12).map(({ id, model }) => ({
        value: `${id}/${model}`,
        label: `Use ${model}`,
        hint: `${id}, on this machine`,
      })),
      {
        value: "demo",
        label: "Try the offline demo",
        hint: "recorded replies, real tools, no key",
      },
      { value: "quit", label: "Leave and set a key" },
    ],
  });
  if (isCancel(answer) || answer === "quit") throw error;
  return answer;
}

/** Id of one of the project's sessions; leaving throws a UserError. */
export async function pickSession(files: readonly SessionFile[]): Promise<string> {
  const answer = await select({
    message: "Which session?",
    options: files.slice(0, 20).map(({ id, modifiedMs, bytes }) => ({
      value: id,
      label: new Date(modifiedMs).toLocaleString(),
      hint: `${id}, ${Math.ceil(bytes / 1024)} KB`,
    })),
  });
  if (isCancel(answer)) throw new UserError("no session was chosen");
  return answer;
}
