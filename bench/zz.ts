import { timeToCompose } from "./context-compose.ts";
import { mkdtempSync } from "node:fs";
const t = await timeToCompose(mkdtempSync("/tmp/zz-"), process.argv[2] ?? "src", 5000);
console.log(t.map(x=>x.toFixed(1)).join(" "));
process.exit(0);
