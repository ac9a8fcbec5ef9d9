// The pipe a command writes to, and the way of its output as text to whoever consumes it, while the
// command runs and at its end. Not the runtime's own pipe: Bun gives children a socket, on which
// `echo x > /dev/stderr` fails, and hands out its bytes only some time after the exit. A named pipe read
// without blocking works the same on Bun and Deno, keeps stdout and stderr in order of arrival, makes a
// fast writer wait, and after the shell's exit is read to the last byte without guessing how long to wait.

import { closeSync, constants, openSync, readSync, unlinkSync } from "node:fs";
import { codeOf } from "../runtime/system-error.ts";

const CHUNK = 64 * 1024;
/** Bytes handed on before the event loop gets its turn. */
const TICK_BYTES = 1024 * 1024;
/** A writer that fills the pipe this much at a time is waited for without sleeping. */
const BUSY_BYTES = 16 * 1024;
const BUSY_MS = 8;
/** Longest sleep between two looks at a quiet pipe, in milliseconds. */
const MAX_SLEEP_MS = 16;
/** The same once its text is dropped. */
const DROP_SLEEP_MS = 50;
/** After the shell's exit: how long output of processes that still hold the pipe is awaited. */
const DRAIN_MS = 100;

export class Output {
  /** For the child; close it with `closeWriter` once the child has it. */
  readonly writer: number;
  /** Nobody has the writing end any more. */
  ended = false;
  /** Rejects when the consumer threw. */
  readonly failed: Promise<never>;
  #fd: number;
  #buffer = new Uint8Array(CHUNK);
  #writerOpen = true;
  #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** Null: text is dropped. */
  #onOutput: ((text: string) => void) | null;
  #fail: (error: unknown) => void;

  /** @param fifo Path of a fresh FIFO; it is removed. */
  constructor(fifo: string, onOutput: (text: string) => void) {
    this.#fd = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
    this.writer = openSync(fifo, constants.O_WRONLY);
    unlinkSync(fifo);
    this.#onOutput = onOutput;
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => {});
    this.failed = promise;
    this.#fail = reject;
  }

  closeWriter(): void {
    if (this.#writerOpen) closeSync(this.writer);
    this.#writerOpen = false;
  }

  /** Hands on what comes until nobody has the writing end any more. */
  start(): void {
    let sleepMs = 1;
    let busyUntil = 0;
    const look = () => {
      let bytes = 0;
      try {
        bytes = this.take();
      } catch (error) {
        this.#onOutput = null;
        this.#fail(error);
      }
      if (this.ended) return;
      const now = performance.now();
      if (bytes >= BUSY_BYTES) busyUntil = now + BUSY_MS;
      sleepMs = bytes > 0 ? 1 : Math.min(sleepMs * 2, MAX_SLEEP_MS);
      if (this.#onOutput === null) setTimeout(look, DROP_SLEEP_MS).unref();
      else if (now < busyUntil) setImmediate(look);
      else setTimeout(look, sleepMs);
    };
    look();
  }

  /** Hands on what lies in the pipe; the number of bytes. */
  take(): number {
    let bytes = 0;
    while (bytes < TICK_BYTES) {
      const chunk = this.#read();
      if (chunk === null) break;
      bytes += chunk.length;
      this.#deliver(this.#decoder.decode(chunk, { stream: true }));
    }
    return bytes;
  }

  /** After the shell's exit: all it wrote lies in the pipe; others that hold the pipe get a moment. */
  async drain(): Promise<void> {
    for (const end = performance.now() + DRAIN_MS;;) {
      this.take();
      if (this.ended || performance.now() > end) return;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  /** Hands on the rest of a cut-off character. */
  flush(): void {
    this.#deliver(this.#decoder.decode());
  }

  /** From now on text is dropped, but still read: a background process would block else. */
  drop(): void {
    this.closeWriter();
    this.#onOutput = null;
    this.take();
  }

  #deliver(text: string): void {
    if (text !== "") this.#onOutput?.(text);
  }

  /** What lies in the pipe now, valid until the next call; null when there is nothing. */
  #read(): Uint8Array | null {
    if (this.ended) return null;
    let count: number;
    try {
      count = readSync(this.#fd, this.#buffer, 0, CHUNK, null);
    } catch (error) {
      if (codeOf(error) === "EAGAIN") return null;
      throw error;
    }
    if (count > 0) return this.#buffer.subarray(0, count);
    this.ended = true;
    closeSync(this.#fd);
    return null;
  }
}
