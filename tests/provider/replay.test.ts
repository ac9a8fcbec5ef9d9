// Recordings: what one run recorded, another plays back.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { Delta, Provider } from "../../src/provider/provider.ts";
import {
  type Cassette,
  type Placeholders,
  readCassette,
  recording,
  replayProvider,
} from "../../src/provider/replay.ts";
import { chatRequest, collect } from "./support.ts";

const folder = mkdtempSync(join(tmpdir(), "nanocode-replay-"));
after(() => rmSync(folder, { recursive: true }));

const HERE: Placeholders = { cwd: "/home/a/work", home: "/home/a" };
const THERE: Placeholders = { cwd: "/tmp/x", home: "/root" };
const ask = (text: string) => chatRequest({ messages: [{ role: "user", text }] });

/** Says what it was asked, in three pieces. */
const echo: Provider = {
  id: "echo",
  async *stream({ messages }) {
    const text = messages.map((message) => message.text).join();
    const pieces: Delta[] = [text.slice(0, 3), text.slice(3), "!"]
      .map((piece) => ({ type: "text", text: piece }));
    yield* pieces;
    yield { type: "finish", reason: "stop", raw: "stop" };
  },
};

async function recorded(...texts: string[]): Promise<Cassette> {
  const path = join(folder, "cassette.json");
  const provider = recording(echo, HERE, (cassette) => {
    writeFileSync(path, JSON.stringify(cassette));
  });
  for (const text of texts) await collect(provider, ask(text));
  return readCassette(path);
}

describe("a recording", () => {
  it("holds replies in few pieces and requests as hashes", async () => {
    const { exchanges } = await recorded("my secret words");
    assert.deepEqual(exchanges[0]?.deltas, [
      { type: "text", text: "my secret words!" },
      { type: "finish", reason: "stop", raw: "stop" },
    ]);
    assert.doesNotMatch(JSON.stringify(exchanges[0]?.request), /secret/);
  });

  it("is played back in order, whatever is asked", async () => {
    const provider = replayProvider({ id: "replay", cassette: await recorded("one", "two") });
    assert.equal((await collect(provider, ask("something"))).reply.text, "one!");
    assert.equal((await collect(provider, ask("else"))).reply.text, "two!");
    const { failure } = (await collect(provider, ask("more"))).reply;
    assert.match(failure?.message ?? "", /holds 2 replies and all were played/);
    assert.equal(failure?.retryable, false);
  });

  it("strictly: another machine and day are the same request, other words are not", async () => {
    const cassette = await recorded("in /home/a/work of /home/a on 2026-01-02, 1.5 s", "two");
    const provider = replayProvider({ id: "replay", cassette, strict: THERE });
    const same = await collect(provider, ask("in /tmp/x of /root on 2027-11-30, 20 ms"));
    assert.equal(same.reply.failure, null);
    const { failure } = (await collect(provider, ask("three"))).reply;
    assert.match(failure?.message ?? "", /^request 2 is not the recorded one: message 1 \(user\)/);
    assert.equal((await collect(provider, ask("two"))).reply.text, "two!");
  });

  it("that is none is refused with its path", () => {
    const path = join(folder, "other.json");
    for (const text of ["{", "null", "[]", '{"version":2,"exchanges":[]}']) {
      writeFileSync(path, text);
      assert.throws(() => readCassette(path), /the recording .*other\.json (is not|cannot)/, text);
    }
  });
});
