// The system's code of an error, for both runtimes: Deno leaves it out for some (seen with EFBIG) and
// only writes the number into the message.

/** ENOENT, EFBIG, …; undefined for an error that is not the system's. */
export function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === "string") return code;
  const number = error instanceof Error ? /\(os error (\d+)\)/.exec(error.message)?.[1] : undefined;
  if (number === undefined) return undefined;
  const { errno } = process.getBuiltinModule("node:os").constants;
  return Object.entries(errno).find(([, value]) => value === Number(number))?.[0];
}
