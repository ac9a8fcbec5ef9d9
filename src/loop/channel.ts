// A one-way queue from whoever emits to one reader: how a turn, whose tools emit live output from
// callbacks, becomes an AsyncIterable of events.

export interface Channel<T> extends AsyncIterable<T> {
  push(value: T): void;
  /** Ends the stream after what was pushed; with an error the reader throws it. */
  close(error?: unknown): void;
}

export function channel<T>(): Channel<T> {
  const values: T[] = [];
  let closed = false;
  let failure: { error: unknown } | null = null;
  let wake: (() => void) | null = null;
  const notify = () => {
    wake?.();
    wake = null;
  };
  return {
    push(value) {
      values.push(value);
      notify();
    },
    close(error) {
      closed = true;
      if (error !== undefined) failure = { error };
      notify();
    },
    async *[Symbol.asyncIterator]() {
      while (true) {
        const batch = values.splice(0);
        yield* batch;
        if (values.length > 0) continue;
        if (failure) throw failure.error;
        if (closed) return;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}
