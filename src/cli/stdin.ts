// Standard input as extra input of `-p`: a file or pipe is read to its end; one that stays silent for
// two seconds is left with a warning, because an open pipe that nobody writes to would hang for ever.

import { fstatSync, readFileSync } from "node:fs";

export interface StdinOptions {
  /** The prompt was `-`: wait however long it takes. */
  wait: boolean;
  /** Milliseconds of silence before the first byte after which it is left. */
  patienceMs?: number;
  warn(message: string): void;
}

/** Everything on stdin as text; "" when it is a terminal, closed or silent. */
export async function readStdin({ wait, patienceMs = 2000, warn }: StdinOptions): Promise<string> {
  // A file or device needs no stream, whose setup costs as much as half the start.
  const kind = kindOfStdin();
  if (kind === "none") return "";
  if (kind === "file") return decode(readFileSync(0));
  const { stdin } = process;
  const chunks: Uint8Array[] = [];
  const ended = await new Promise<boolean>((resolve) => {
    const timer = wait ? undefined : setTimeout(() => resolve(false), patienceMs);
    stdin.on("data", (chunk: Uint8Array) => {
      clearTimeout(timer);
      chunks.push(chunk);
    });
    stdin.on("end", () => resolve(true));
    stdin.on("error", () => resolve(true));
  });
  if (!ended) {
    stdin.pause();
    warn(
      "standard input is open but silent: going on without it (give the prompt `-` to wait for it)",
    );
  }
  return decode(Buffer.concat(chunks));
}

/** `none`: a terminal, another device, or closed. */
function kindOfStdin(): "none" | "file" | "stream" {
  try {
    const stat = fstatSync(0);
    if (stat.isFile()) return "file";
    return stat.isCharacterDevice() ? "none" : "stream";
  } catch {
    return "none";
  }
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).replace(/^\ufeff/, "");
}
