// Tests of scale and of time limits: what they hold is the same on both runtimes, and they take longest. Bun,
// which the binary is made of, runs them always; Deno when more runs are asked for (npm run test:deep).

import { it } from "node:test";

const isDeep = Number(process.env.NANOCODE_RUNS ?? 1) > 1;

/** As `it`. */
export const heavy: typeof it = typeof Bun !== "undefined" || isDeep ? it : it.skip as typeof it;
