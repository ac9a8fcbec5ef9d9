// Everything that must hold: type check, lint, format, unit tests on Bun and on Deno, end-to-end tests
// of the compiled binary. Ends with one line `N passed, N failed`. `check` stops before the tests.

import { spawn, spawnSync, type SpawnSyncOptions } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const root = dirname(import.meta.dirname);
const [task = "test", ...flags] = process.argv.slice(2);
const deep = flags.includes("--deep");
const bun = process.execPath;
const deno = join(root, "node_modules", "deno", process.platform === "win32" ? "deno.exe" : "deno");
const reports = mkdtempSync(join(tmpdir(), "nanocode-test-"));
// Tests must not depend on who runs them: no keys, no settings of the person's own.
const env: Record<string, string | undefined> = {
  ...process.env,
  NO_COLOR: "1",
  NANOCODE_RUNS: deep ? "20" : "1",
};
for (const name of Object.keys(env)) {
  if (/_API_KEY$|^OPENAI_|^NANOCODE_HOME$|^MODEL$|^FORCE_COLOR$/.test(name)) delete env[name];
}

interface Count {
  passed: number;
  failed: number;
}

const total: Count = { passed: 0, failed: 0 };
const add = (name: string, { passed, failed }: Count, seconds: number) => {
  total.passed += passed;
  total.failed += failed;
  console.log(
    `${failed === 0 ? "ok  " : "FAIL"} ${name}: ${passed} passed, ${failed} failed (${
      seconds.toFixed(1)
    } s)`,
  );
};

if (task === "test") installPackages();
await Promise.all([
  check("type check", bun, ["check", "--no-script"]),
  check("lint", deno, ["lint", "--quiet"]),
  check("format", deno, ["fmt", "--check", "--quiet"]),
]);
if (task === "test") {
  const units = readdirSync(join(root, "tests"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !["cases", "support", "e2e"].includes(entry.name))
    .map((entry) => join("tests", entry.name)).sort();
  const onBun = (...paths: string[]) => paths.map((path) => `./${path}/`);
  // Together: each waits a good part of its time.
  await Promise.all([
    suite("unit tests on Bun", bun, ["test", "--timeout", "60000"], onBun(...units), "bun"),
    suite("unit tests on Deno", deno, ["test", "-A", "--no-check", "--quiet"], units, "deno"),
    suite(
      "end-to-end tests",
      bun,
      ["test", "--timeout", "120000"],
      onBun(join("tests", "e2e")),
      "bun",
    ),
  ]);
}
rmSync(reports, { recursive: true, force: true });
console.log(`\n${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed === 0 ? 0 : 1);

/** One yes-or-no check; its output is shown when it fails. */
async function check(name: string, command: string, args: string[]): Promise<void> {
  const { code, output, seconds } = await run(command, args);
  if (code !== 0) console.log(output);
  add(name, code === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 }, seconds);
}

/** A test runner; counts come from its JUnit report, never from its prose. */
async function suite(
  name: string,
  command: string,
  args: string[],
  paths: string[],
  kind: "bun" | "deno",
): Promise<void> {
  const report = join(reports, `${name.replaceAll(" ", "-")}.xml`);
  const reporting = kind === "bun"
    ? ["--reporter=junit", `--reporter-outfile=${report}`]
    : [`--junit-path=${report}`];
  const { code, output, seconds } = await run(command, [...args, ...reporting, ...paths]);
  const count = countReport(report);
  if (code !== 0) console.log(output);
  // A runner that failed without a failed test (a crash, a file that does not load) is a failure too.
  if (code !== 0 && count.failed === 0) count.failed = 1;
  if (count.passed + count.failed === 0) count.failed = 1;
  add(name, count, seconds);
}

function countReport(path: string): Count {
  let xml: string;
  try {
    xml = readFileSync(path, "utf8");
  } catch {
    return { passed: 0, failed: 0 };
  }
  const cases = xml.match(/<testcase\b/g)?.length ?? 0;
  const failed = xml.match(/<(failure|error)\b/g)?.length ?? 0;
  const skipped = xml.match(/<skipped\b/g)?.length ?? 0;
  return { passed: cases - failed - skipped, failed };
}

function run(
  command: string,
  args: string[],
): Promise<{ code: number; output: string; seconds: number }> {
  const started = performance.now();
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: root,
      env: env as NodeJS.ProcessEnv,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    child.stdout.on("data", (chunk) => (output += chunk));
    child.stderr.on("data", (chunk) => (output += chunk));
    child.on("error", (error) => (output += error.message));
    child.on(
      "close",
      (code) => resolve({ code: code ?? 1, output, seconds: (performance.now() - started) / 1000 }),
    );
  });
}

/** Debian packages that tests need (tests/apt.txt); a missing tool fails, it is never skipped. */
function installPackages(): void {
  const wanted = readFileSync(join(root, "tests", "apt.txt"), "utf8").split("\n").map((line) =>
    line.trim()
  ).filter((line) => line && !line.startsWith("#"));
  const missing = wanted.filter((name) =>
    !/^install ok installed/.test(
      spawnSync("dpkg-query", ["-W", "-f=${Status}", name]).stdout?.toString() ?? "",
    )
  );
  if (missing.length === 0) return;
  console.log(`installing Debian packages for the tests: ${missing.join(" ")} …`);
  const options: SpawnSyncOptions = {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  };
  spawnSync("apt-get", ["update", "-qq"], options);
  const { status } = spawnSync("apt-get", [
    "install",
    "-y",
    "-qq",
    "--no-install-recommends",
    ...missing,
  ], options);
  if (status !== 0) {
    console.error(
      `The tests need these Debian packages: ${
        missing.join(" ")
      }. Install them as root: apt-get install ${missing.join(" ")}`,
    );
    process.exit(1);
  }
}
