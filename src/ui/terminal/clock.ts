// Time for the interactive session, so that tests can set it: what is now, and calls that come later
// and can all be dropped when the session ends.

export interface Clock {
  /** Milliseconds, never going back. */
  now(): number;
  /** Calls once, later; gives a function that cancels. */
  after(ms: number, call: () => void): () => void;
  /** Cancels everything that has not been called. */
  stop(): void;
}

export function systemClock(): Clock {
  const timers = new Set<ReturnType<typeof setTimeout>>();
  return {
    now: () => performance.now(),
    after(ms, call) {
      const timer = setTimeout(() => {
        timers.delete(timer);
        call();
      }, ms);
      timers.add(timer);
      return () => {
        clearTimeout(timer);
        timers.delete(timer);
      };
    },
    stop() {
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
    },
  };
}
