// What is wrong with argument text that is not JSON, in words for the model. Loaded only for a call
// whose arguments did not parse (call-arguments.ts).

import { parse, type ParseError, printParseErrorCode } from "jsonc-parser";
import { mapControls, withoutFence } from "./call-arguments.ts";

/** Why and where the text breaks, e.g. `invalid symbol at character 15 (line 2, column 7), near: …`. */
export function explainBroken(text: string): string {
  const body = withoutFence(text);
  return explain(body, faultOf(body));
}

/** The first thing that is wrong with broken JSON; undefined when it is nested too deeply to tell. */
function faultOf(text: string): ParseError | undefined {
  const errors: ParseError[] = [];
  try {
    // Control characters are tolerated, so they must not be what is complained about here.
    parse(mapControls(text, () => " "), errors, { disallowComments: true });
  } catch {
    return undefined; // too much for the stack: a model that repeats "[" until it is cut off
  }
  return errors[0];
}

function isMoreText(fault: ParseError): boolean {
  return printParseErrorCode(fault.error) === "EndOfFileExpected";
}

function explain(text: string, fault: ParseError | undefined): string {
  if (!fault) return "it is nested too deeply";
  const length = text.trimEnd().length;
  const isCut = !isMoreText(fault) && fault.offset + fault.length >= length;
  const at = isCut ? length : Math.min(fault.offset, length);
  const near = JSON.stringify(text.slice(Math.max(0, at - 40), at + 20)).slice(1, -1);
  if (isCut) return `the JSON was cut off after ${at} characters, near: ${near}`;
  const before = text.slice(0, at).split("\n");
  const place = `line ${before.length}, column ${(before.at(-1) ?? "").length + 1}`;
  const what = isMoreText(fault)
    ? "there is more text after the JSON value"
    : printParseErrorCode(fault.error).replaceAll(/\B[A-Z]/g, " $&").toLowerCase();
  return `${what} at character ${at} (${place}), near: ${near}`;
}
