// Runs inside a worker thread of a plugin (worker.ts): imports its module and answers requests with what the
// module's default export gives. An entry of its own, because the compiled binary must hold it as one
// (scripts/compile.ts), and a worker has none of the modules that the main thread serves.

import { parentPort, workerData } from "node:worker_threads";
import { serveHostModules } from "./load.ts";

/** A request, and its answer under the same id. */
export interface WorkerRequest {
  id: number;
  message: unknown;
}
export type WorkerAnswer = { id: number; result: unknown } | { id: number; error: string };

type Handler = (message: unknown) => unknown;

async function load(url: string): Promise<Handler> {
  await serveHostModules();
  const module = await import(url) as { default?: unknown };
  if (typeof module.default === "function") return module.default as Handler;
  throw new Error("it has no function as its default export");
}

if (parentPort !== null) {
  const port = parentPort;
  // Requests that come before the module is there wait for it.
  const handler = load((workerData as { url: string }).url);
  handler.catch(() => {}); // told with each request
  const refuse = (id: number, error: unknown) =>
    port.postMessage({ id, error: error instanceof Error ? error.message : String(error) });
  port.on("message", async ({ id, message }: WorkerRequest) => {
    try {
      port.postMessage({ id, result: await (await handler)(message) });
    } catch (error) {
      refuse(id, error);
    }
  });
}
