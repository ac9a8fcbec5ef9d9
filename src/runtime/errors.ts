// Errors for people: one line what, one line what to do, and the exit code. Anything thrown that is
// not one of these is a fault of ours and is shown as such, without a stack.

/** Exit codes of the program (spec/terminal). */
export const EXIT = {
  done: 0,
  failure: 1,
  usage: 2,
  steps: 3,
  permission: 4,
  budget: 5,
  trust: 6,
  interrupted: 130,
} as const;

export class UserError extends Error {
  override name = "UserError";
  /** What to do about it. */
  readonly hint: string | undefined;
  readonly exit: number;
  constructor(message: string, hint?: string, exit: number = EXIT.usage) {
    super(message);
    this.hint = hint;
    this.exit = exit;
  }
}
