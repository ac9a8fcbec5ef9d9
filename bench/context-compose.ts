// How long the composing of a request takes in a long session: a played one, repeated until it has enough
// records.

import { join } from "node:path";
import { SessionLog } from "../src/session/log.ts";
import { openSession, project } from "../src/loop/session.ts";
import { requestFor } from "../src/loop/request.ts";
import { BlobStore } from "../src/session/blobs.ts";
import type { NewRecord } from "../src/session/records.ts";
import { play } from "./context-play.ts";

const STEPS = 100;
const ROUNDS = 40;
/** Requests before that: a session of so many records has made thousands. */
const WARM_UP = 10;

/** Times of requests in a session of so many records, each one record after the other; milliseconds. */
export async function timeToCompose(
  folder: string,
  source: string,
  records: number,
): Promise<number[]> {
  const times: number[] = [];
  await play({
    folder,
    source,
    steps: STEPS,
    placement: "inline",
    seed: 4,
    onRequest: () => {},
    async onEnd(session, deps) {
      const log = SessionLog.create(join(folder, "home", "long.jsonl"));
      const played = session.log.records;
      const [header, ...rest] = played.filter(({ type }) => type !== "compact" && type !== "fold");
      if (!header) throw new Error("the played session has no records");
      log.append(header as NewRecord);
      for (let i = 0; log.records.length < records; i++) {
        log.append(rest[i % rest.length] as NewRecord);
      }
      const long = openSession(log, new BlobStore(session.blobs.folder));
      for (let round = -WARM_UP; round < ROUNDS; round++) {
        project(
          long,
          log.append({ type: "user", turn: 99, step: 0, text: "go on", source: "typed" }),
        );
        const started = performance.now();
        const { sent } = await requestFor(long, deps, []);
        if (round >= 0) times.push(performance.now() - started);
        long.context.sent = sent;
      }
      log.close();
    },
  });
  return times;
}
