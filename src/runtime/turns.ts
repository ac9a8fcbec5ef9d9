// Long synchronous work in slices, so that the event loop gets its turn between them.

/** How long a slice is, in milliseconds. */
const SLICE_MS = 10;

/**
 * Hands each item to `each`, until that returns true; says whether it did.
 *
 * @throws the signal's reason, soon after it aborts.
 */
export async function inTurns<T>(
  items: Iterable<T>,
  signal: AbortSignal,
  each: (item: T) => boolean | void,
): Promise<boolean> {
  signal.throwIfAborted();
  let slice = performance.now();
  for (const item of items) {
    if (each(item) === true) return true;
    if (performance.now() - slice < SLICE_MS) continue;
    await new Promise((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
    slice = performance.now();
  }
  return false;
}
