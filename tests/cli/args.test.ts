import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseArgs } from "../../src/cli/args.ts";
import { exitCode } from "../../src/cli/exit-code.ts";
import { helpText } from "../../src/cli/help.ts";
import { UserError } from "../../src/runtime/errors.ts";

const fails = (argv: string[]): UserError => {
  try {
    parseArgs(argv);
  } catch (error) {
    assert.ok(error instanceof UserError);
    return error;
  }
  throw new Error("no error");
};

describe("command line", () => {
  it("flags, their values and the prompt", () => {
    const options = parseArgs([
      "-p",
      "fix",
      "the test",
      "--output=json",
      "--max-steps",
      "3",
      "--allow",
      "Bash(ls)",
      "--allow",
      "Edit(a)",
      "--yolo",
      "-c",
    ]);
    assert.deepEqual(options.words, ["fix", "the test"]);
    assert.deepEqual([
      options.print,
      options.output,
      options.maxSteps,
      options.allow,
      options.yolo,
      options.continue,
    ], [true, "json", 3, ["Bash(ls)", "Edit(a)"], true, true]);
  });

  it("- is the prompt that waits for stdin; after -- everything is prompt", () => {
    assert.deepEqual(parseArgs(["-p", "-"]).words, ["-"]);
    assert.deepEqual(parseArgs(["-p", "--", "--yolo", "-x"]).words, ["--yolo", "-x"]);
  });

  it("--resume takes an id only where one stands", () => {
    assert.equal(parseArgs(["-r"]).resume, "");
    assert.equal(parseArgs(["-r", "0mk3abc"]).resume, "0mk3abc");
    const options = parseArgs(["-r", "refactor", "it"]);
    assert.deepEqual([options.resume, options.words], ["", ["refactor", "it"]]);
    assert.equal(parseArgs(["--resume=0abc"]).resume, "0abc");
  });

  it("what is wrong is said with the nearest right one", () => {
    assert.match(fails(["--yollo"]).hint ?? "", /--yolo/);
    assert.match(fails(["--output", "xml"]).message, /text, json, stream-json/);
    assert.match(fails(["--max-steps", "many"]).message, /whole number/);
    assert.match(fails(["--model"]).message, /needs a value/);
    assert.match(fails(["--yolo=1"]).message, /takes no value/);
    assert.match(fails(["--budget-usd", "-1"]).message, /needs a value/);
  });

  it("the help fits a screen and names every flag once", () => {
    const help = helpText();
    assert.ok(help.split("\n").length <= 48);
    assert.ok(help.split("\n").every((line) => line.length <= 100));
    for (const flag of ["--output", "--continue", "--demo", "--deny"]) {
      assert.ok(help.includes(flag));
    }
  });

  it("exit codes", () => {
    assert.equal(exitCode("done", false), 0);
    assert.equal(exitCode("done", true), 4);
    assert.equal(exitCode("steps", true), 3);
    assert.equal(exitCode("budget", false), 5);
    assert.equal(exitCode("timeout", false), 5);
    assert.equal(exitCode("interrupt", false), 130);
    assert.equal(exitCode("provider", false), 1);
  });
});
