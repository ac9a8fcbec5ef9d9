// A worker thread of a plugin, for work that would hold up the session: a module of the plugin's folder whose
// default export answers requests. Whatever goes wrong in it is the error of a request. It ends with the call
// that started it. What runs inside is worker-entry.ts.

import { pathToFileURL } from "node:url";
import type { Worker } from "node:worker_threads";
import { ToolError } from "../tools/tool.ts";
import { insidePlugin } from "./discover.ts";
import type { Plugin } from "./manifest.ts";
import type { PluginWorker } from "./sdk.ts";
import type { WorkerAnswer, WorkerRequest } from "./worker-entry.ts";

/** In the binary the code of this file lies in a piece at the root, and entries keep their paths. */
const ENTRY = /\/(?:\$bunfs|~BUN)\//.test(import.meta.url)
  ? "./src/plugins/worker-entry.js"
  : "./worker-entry.ts";

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/**
 * Starts a worker.
 *
 * @param path Of the module, relative to the plugin's folder.
 * @param ended Aborted when the call is over: the worker ends then.
 * @throws {ToolError} for a path that is not a file of the plugin
 */
export function startWorker(
  { manifest: { name }, folder }: Pick<Plugin, "manifest" | "folder">,
  path: string,
  ended: AbortSignal,
): PluginWorker {
  const file = insidePlugin(folder, path);
  if (file === null) {
    throw new ToolError(`the plugin ${name} has no file ${path} in its folder for a worker`);
  }
  const fault = (what: string) => new ToolError(`the worker ${path} of the plugin ${name} ${what}`);
  if (ended.aborted) throw fault("cannot start: its call is over");
  const { Worker } = process.getBuiltinModule("node:worker_threads");
  const worker: Worker = new Worker(new URL(ENTRY, import.meta.url), {
    workerData: { url: pathToFileURL(file).href },
  });
  const waiting = new Map<number, Waiting>();
  let last = 0;
  let why: ToolError | null = null;
  /** Nothing more will be answered. */
  const stop = (error: ToolError) => {
    why ??= error;
    for (const { reject } of waiting.values()) reject(why);
    waiting.clear();
  };
  const terminate = async () => {
    ended.removeEventListener("abort", onEnd);
    stop(fault("was ended"));
    await worker.terminate();
  };
  const onEnd = () => void terminate().catch(() => {});
  ended.addEventListener("abort", onEnd, { once: true });
  worker.on("message", (answer: WorkerAnswer) => {
    const one = waiting.get(answer.id);
    waiting.delete(answer.id);
    if ("error" in answer) one?.reject(fault(`failed: ${answer.error}`));
    else one?.resolve(answer.result);
  });
  worker.on("error", (error: Error) => {
    stop(fault(`failed: ${error.message}`));
    onEnd();
  });
  worker.on("messageerror", () => stop(fault("sent something that cannot be sent")));
  worker.on("exit", () => stop(fault("ended by itself")));
  return {
    terminate,
    async request(message, { signal, timeoutMs } = {}) {
      if (why !== null) throw why;
      const late = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
      const give = AbortSignal.any([signal, late].filter((one) => one !== undefined));
      const gaveUp = () =>
        fault(late?.aborted ? `did not answer within ${timeoutMs} ms` : "was interrupted");
      if (give.aborted) throw gaveUp();
      const id = ++last;
      const { promise, ...waits } = Promise.withResolvers<unknown>();
      waiting.set(id, waits);
      const onGive = () => waits.reject(gaveUp());
      give.addEventListener("abort", onGive, { once: true });
      try {
        const request: WorkerRequest = { id, message };
        worker.postMessage(request);
        return await promise;
      } catch (error) {
        if (error instanceof ToolError) throw error;
        throw fault(`cannot be sent this: ${(error as Error).message}`);
      } finally {
        waiting.delete(id);
        give.removeEventListener("abort", onGive);
      }
    },
  };
}
