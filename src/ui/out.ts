// Where renderers write: standard output or error behind a small interface, so that a reader that
// closes early (`| head -1`) ends quietly and a full disk does not. Not here: what is written.

import { writeSync } from "node:fs";

export interface Out {
  readonly isTTY: boolean;
  /** Queues text; nothing happens once the reader is gone. */
  write(text: string): void;
  /** Aborted when the reader went away: nothing written from then on can be seen. */
  readonly closed: AbortSignal;
  /** Resolves when everything written so far has left. Rejects when it could not be written. */
  drained(): Promise<void>;
}

/** The part of a Node stream that is used. */
export interface Writable {
  isTTY?: boolean;
  write(text: string, done?: (error?: Error | null) => void): boolean;
  on(event: "error", listener: (error: Error) => void): unknown;
}

/**
 * Standard output or error without its stream: making one takes Bun 3 ms and each write through it a
 * tenth of one. Written at once; the stream is made when the reader is too slow to take all of it.
 */
export function direct(fd: 1 | 2, open: () => NodeJS.WriteStream): Writable {
  const listeners: ((error: Error) => void)[] = [];
  let stream: NodeJS.WriteStream | undefined;
  return {
    isTTY: isTerminal(fd),
    write(text, done) {
      if (stream) return stream.write(text, done);
      const bytes = Buffer.from(text);
      let at = 0;
      try {
        while (at < bytes.length) at += writeSync(fd, bytes, at);
        done?.();
        return true;
      } catch (error) {
        if ((error as { code?: unknown }).code !== "EAGAIN") {
          done?.(error as Error);
          return false;
        }
      }
      stream = open();
      for (const listener of listeners) stream.on("error", listener);
      return stream.write(bytes.subarray(at), done);
    },
    on: (_event, listener) => listeners.push(listener),
  };
}

/** Is this descriptor a terminal? */
export function isTerminal(fd: number): boolean {
  return process.getBuiltinModule("node:tty").isatty(fd);
}

/** Wraps a stream. `name` stands in the message of a failure, e.g. `standard output`. */
export function outOf(stream: Writable, name: string): Out {
  const gone = new AbortController();
  let failure: Error | null = null;
  let waiting = 0;
  let wake: (() => void)[] = [];
  const settle = () => {
    if (waiting > 0 && !gone.signal.aborted && !failure) return;
    for (const resolve of wake) resolve();
    wake = [];
  };
  const fail = (error: Error) => {
    const code = (error as { code?: unknown }).code;
    if (code === "EPIPE" || code === "ERR_STREAM_DESTROYED") gone.abort();
    else failure ??= error;
    settle();
  };
  stream.on("error", fail);
  return {
    isTTY: stream.isTTY === true,
    closed: gone.signal,
    write(text) {
      if (text === "" || gone.signal.aborted || failure) return;
      waiting++;
      try {
        stream.write(text, (error) => {
          waiting--;
          if (error) fail(error);
          else settle();
        });
      } catch (error) {
        waiting--;
        fail(error instanceof Error ? error : new Error(String(error)));
      }
    },
    async drained() {
      await new Promise<void>((resolve) => {
        wake.push(resolve);
        settle();
      });
      if (failure) {
        throw new Error(
          `Cannot write to ${name}: ${failure.message}. Free some space or send the output elsewhere.`,
        );
      }
    },
  };
}
