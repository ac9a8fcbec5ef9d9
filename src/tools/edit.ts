// The tool Edit: anchored and literal changes of one file, planned in memory, written only over the
// bytes they were planned on. The rules of the operations are edit-plan.ts, anchors resolve.ts, texts
// edit-result.ts. What one call of a batch leaves behind is the state the next one starts from.

import { dirname } from "node:path";
import { HostError } from "../host/host.ts";
import type { Change as Written } from "../session/records.ts";
import { anchors, type LineHash } from "./anchor.ts";
import { type Change, diffStat, type Hunk, hunksBetween, unifiedDiff } from "./diff.ts";
import { Lines, whyNotEncodable } from "./document.ts";
import description from "./edit.md" with { type: "text" };
import { type Batch, type EditedFile, fileOf, isUnchanged, load } from "./edit-batch.ts";
import { type EditCall, editInput, foldEdit } from "./edit-fields.ts";
import { type FileState, planCall } from "./edit-plan.ts";
import { failure, type FileNow, successText } from "./edit-result.ts";
import { encode, sameBytes } from "./encodings.ts";
import { MAX_KEPT, type Span } from "./lines.ts";
import { locate, type Located, nearNames, withSlashes } from "./paths.ts";
import { defineTool, type ToolContext, ToolError } from "./tool.ts";

/** Bytes of diff that a person is shown. */
const MAX_DISPLAY = 64 * 1024;
/** Faults of a call that are told at once. */
const MAX_FAULTS = 8;

export const edit = defineTool<EditCall>({
  name: "Edit",
  description,
  input: editInput,
  example: {
    path: "src/a.ts",
    edits: [{ op: "replace", start: "3:xls", content: "export const x = 2;" }],
  },
  aliases: { anchor: "start", line: "start", start_line: "start", end_line: "end", type: "op" },

  /** A lone edit without its list: `{path, op, start, …}`; and what edits themselves are sent as. */
  normalize(args) {
    const { path, edits, ...lone } = args;
    if (Array.isArray(edits)) return { ...args, edits: edits.map(foldEdit) };
    if (edits !== undefined || Object.keys(lone).length === 0) return args;
    return { ...(path === undefined ? {} : { path }), edits: [foldEdit(lone)] };
  },

  async effects(call, ctx) {
    return [{ kind: "write", path: (await find(call, ctx)).path }];
  },

  isConcurrencySafe: () => false,

  async beginBatch(calls, ctx) {
    const batch: Batch = new Map();
    for (const call of calls) {
      try {
        const { path } = await find(call, ctx);
        if (!batch.has(path)) batch.set(path, await load(path, ctx));
      } catch (error) {
        if (!(error instanceof ToolError || error instanceof HostError)) throw error;
        // The call itself will say so.
      }
    }
    return batch;
  },

  async preview(call, ctx) {
    const job = await begin(call, ctx);
    const plan = await planned(job);
    if (plan.same) return "No change: the file already reads like this.";
    return display(job, plan, await hunksOf(plan));
  },

  title({ path, edits }) {
    const points = edits.map(({ op, start, end }) =>
      [op, start?.split("|")[0], end && `to ${end.split("|")[0]}`].filter(Boolean).join(" ")
    );
    return `${path} ${points.join(", ")}`;
  },

  async run(call, ctx) {
    const job = await begin(call, ctx);
    const { target, file } = job;
    await refuseLink(target, ctx);
    if (!await isUnchanged(target.path, file, ctx)) throw await changedOnDisk(job);
    const plan = await planned(job);
    const { before, lines, bytes, state, notes } = plan;
    if (target.note) notes.unshift(target.note);
    if (plan.same) {
      const text = ["No change: the file already reads like this; nothing was written.", ...notes];
      return { output: text.join("\n"), status: "noop", summary: "no change" };
    }
    // Compared while the disk is busy.
    const [change, hunks] = await Promise.all([write(job, bytes), hunksOf(plan)]);
    Object.assign(file, { bytes, version: change.after, state });
    const { text, observations } = successText(nowOf(job, lines), before === null, hunks, notes);
    return {
      output: text,
      summary: diffStat(hunks),
      display: display(job, plan, hunks),
      observations,
      changes: [change],
    };
  },
});

function display({ target }: Job, { before }: Planned, hunks: readonly Hunk[]): string {
  return unifiedDiff(target.shown, before === null, hunks, MAX_DISPLAY);
}

/** A call, its file, and what both need. */
interface Job {
  call: EditCall;
  target: Located;
  file: EditedFile;
  ctx: ToolContext;
  hash: LineHash;
}

async function begin(call: EditCall, ctx: ToolContext): Promise<Job> {
  const target = await find(call, ctx);
  return { call, target, file: await fileOf(target.path, ctx), ctx, hash: await anchors() };
}

/** The file of each call, found once: what permission was asked for is what is written. */
const targets = new WeakMap<EditCall, Located>();

async function find(call: EditCall, ctx: ToolContext): Promise<Located> {
  const known = targets.get(call);
  if (known) return known;
  try {
    const target = await locate(call.path, ctx, { exact: call.edits[0]?.op === "create" });
    targets.set(call, target);
    return target;
  } catch (error) {
    if (!(error instanceof ToolError || error instanceof HostError)) throw error;
    throw failure([error.message]);
  }
}

/** Refuses where the path leads elsewhere by now: neither written nor shown was that file allowed to be. */
async function refuseLink({ path, shown }: Located, ctx: ToolContext): Promise<void> {
  const real = await ctx.host.realpath(path);
  if (real === path) return;
  throw failure([`${shown} changed on disk: a link leads from there to ${real} now`]);
}

/** A call planned on the state of its file. */
interface Planned {
  /** Null when there is no file yet. */
  before: Lines | null;
  lines: Lines;
  bytes: Uint8Array;
  state: FileState;
  changes: Change[];
  notes: string[];
  same: boolean;
}

async function hunksOf({ before, lines, changes }: Planned): Promise<Hunk[]> {
  return await hunksBetween(before ?? new Lines(""), lines, changes);
}

/** Plans the call. Writes nothing. @throws {ToolError} */
async function planned(job: Job): Promise<Planned> {
  const { call, target, file } = job;
  const { state } = file;
  const hindrance = await whyNot(job);
  if (hindrance !== null) throw failure([`${target.shown}: ${hindrance}`]);
  const before = new Lines(state.draft.text);
  const plan = planCall(state, call.edits, file.resolver);
  if (!plan.ok) {
    const faults = plan.faults.slice(0, MAX_FAULTS);
    const messages = faults.map(({ message }) => message);
    const more = plan.faults.length - faults.length;
    if (more > 0) messages.push(`${more} more edits of this call have faults`);
    throw refused(job, messages, before, faults.flatMap(({ show }) => show));
  }
  const { state: after, notes } = plan;
  const { draft: { text }, codec } = after;
  const bytes = await encode(text, codec);
  if (bytes === null) throw failure([`${target.shown}: ${await whyNotEncodable(text, codec)}`]);
  return {
    before: state.exists ? before : null,
    // A mark put in front of an unmarked file is one from now on, not text.
    lines: new Lines(codec.bom.length === 0 ? text.replace(/^\ufeff/, "") : text),
    bytes,
    state: after,
    changes: after.draft.changesSince(state.draft),
    notes,
    same: file.bytes !== null && sameBytes(bytes, file.bytes),
  };
}

/** Why nothing can be planned at all, or null. */
async function whyNot({ call, target, file, ctx }: Job): Promise<string | null> {
  if (file.refusal !== null) return `cannot be edited: ${file.refusal}`;
  if (file.state.exists) return null;
  if (call.edits[0]?.op !== "create") {
    return `no such file (${await nearNames(call.path, ctx)}); to make it use op create`;
  }
  const slashed = await withSlashes(call.path, ctx);
  if (slashed !== null) {
    return `the path has backslashes, which would become part of a name; use ${slashed}`;
  }
  if (/[/\\]$/.test(call.path)) return "the path ends with a slash; give the path of a file";
  const root = await ctx.host.realpath(ctx.session.root);
  const folder = dirname(target.path);
  if (target.path.startsWith(root.endsWith("/") ? root : `${root}/`)) return null;
  if (await ctx.host.stat(folder) !== null) return null;
  return `its folder ${folder} does not exist, and folders are made only inside the workspace`;
}

/** Writes over the bytes the call was planned on. @throws {ToolError} */
async function write(job: Job, bytes: Uint8Array): Promise<Written & { after: string }> {
  const { target: { path }, file, ctx } = job;
  let change: Written & { after: string };
  try {
    // First what undo needs: without it nothing is written.
    change = {
      path,
      kind: file.bytes ? "edit" : "create",
      before: file.bytes && ctx.keep(file.bytes, file.version),
      after: ctx.keep(bytes),
    };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw failure([`the old content cannot be kept for undo: ${why}`]);
  }
  try {
    await ctx.host.write(path, bytes, file.bytes);
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    throw error.code === "ECHANGED" ? await changedOnDisk(job) : failure([error.message]);
  }
  return change;
}

/** The refusal when somebody else wrote the file after this batch began: with the lines as they are now. */
async function changedOnDisk(job: Job): Promise<ToolError> {
  const { call, target, ctx } = job;
  await refuseLink(target, ctx);
  const message = `${target.shown} changed on disk after this reply began`;
  const file = await load(target.path, ctx);
  if (file.refusal !== null || !file.state.exists) {
    return failure([`${message}: ${file.refusal ?? "it is gone"}`]);
  }
  // Planned on the file as it is now, the edits lead to the places that they are about.
  const { state } = file;
  const plan = planCall(state, call.edits, file.resolver);
  const show = plan.ok
    ? plan.state.draft.changesSince(state.draft).map(({ from, to }): Span => [from, to + 1])
    : plan.faults.flatMap((fault) => fault.show);
  const faults = [`${message}, so this call was not applied`];
  return refused({ ...job, file }, faults, state.draft.base, show);
}

/** An error that shows lines of the file on the disk; what was shown is kept, so that it is found again. */
function refused(job: Job, faults: string[], lines: Lines, show: readonly Span[]): ToolError {
  const { bytes } = job.file;
  if (bytes && bytes.length <= MAX_KEPT) job.ctx.keep(bytes, job.file.version);
  return failure(faults, nowOf(job, lines), show);
}

function nowOf({ target, file, ctx, hash }: Job, lines: Lines): FileNow {
  const { path, shown } = target;
  return { path, shown, version: file.version, lines, hash, room: ctx.limits.outputTokens * 4 };
}
