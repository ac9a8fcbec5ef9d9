// Why a turn ended → the exit code of the process (spec/terminal).

import { EXIT } from "../runtime/errors.ts";
import type { EndReason } from "../session/records.ts";

/** `denied`: at least one call was refused for permission. A hook that refuses is as one. */
export function exitCode(reason: EndReason, denied: boolean): number {
  switch (reason) {
    case "done":
      return denied ? EXIT.permission : EXIT.done;
    case "permission":
      return EXIT.permission;
    case "steps":
    case "repeat":
      return EXIT.steps;
    case "budget":
    case "timeout":
      return EXIT.budget;
    case "interrupt":
      return EXIT.interrupted;
    case "provider":
    case "crash":
      return EXIT.failure;
  }
}
