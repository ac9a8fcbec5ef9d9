// A program for the tests of writing: `append FILE LOCKS NAME COUNT` adds COUNT lines to a file that
// others change too; `write FILE LOCKS BYTES` replaces a file once and prints how that went.

import { localHost } from "../../src/host/local.ts";

const [mode, file = "", locks = "", third = "", fourth = ""] = process.argv.slice(2);
const host = localHost({ locks });

if (mode === "append") {
  let refused = 0;
  for (let i = 0; i < Number(fourth);) {
    const before = await host.read(file);
    const after = new TextEncoder().encode(new TextDecoder().decode(before) + `${third}.${i}\n`);
    try {
      await host.write(file, after, before);
      i++;
    } catch (error) {
      if ((error as { code?: string }).code !== "ECHANGED") throw error;
      refused++;
    }
  }
  console.log(`refused ${refused}`);
} else {
  const before = await host.stat(file) ? await host.read(file) : null;
  try {
    await host.write(file, new Uint8Array(Number(third)).fill(120), before);
    console.log("written");
  } catch (error) {
    const { name, code, message } = error as { name: string; code: string; message: string };
    console.log(JSON.stringify({ name, code, message }));
  }
}
