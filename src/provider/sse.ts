// Bytes of a response body → server-sent event frames. Takes chunks cut anywhere, also inside a
// character or between CR and LF, in time linear in the bytes and in bounded memory. It knows lines
// and fields only: what a frame means is a provider's decoder (chat-stream.ts).

/** A frame longer than this is refused: no provider sends one, and memory must stay bounded. */
const MAX_FRAME = 4 * 1024 * 1024;

export interface Frame {
  /**
   * The `event:` field, "" without one. `error` also for lines of the non-standard field `error:`
   * (llama.cpp before #16109); `overflow`: the frame was too long, nothing follows it.
   */
  event: string;
  /** The `data:` lines, joined by LF. */
  data: string;
  /** False when the stream ended before the frame's blank line: the frame may be cut. */
  whole: boolean;
}

/** Decodes one response body. `push` chunks as they arrive, then `end` once. */
export class SseDecoder {
  /**
   * Grows with every line that says something, not with comments and blank lines: a stream of
   * keep-alive comments makes no progress (bugs.md ST-19).
   */
  progress = 0;
  /** The lines that are no field: what servers send in the place of a stream, or behind it. */
  other = "";
  readonly #maxFrame: number;
  /** Deno drops a BOM also behind a first chunk of ASCII; it is ours to drop, before a field. */
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** Pieces of the unfinished line. */
  #line: string[] = [];
  #afterCr = false;
  #event = "";
  #data: string[] = [];
  /** Characters of the unfinished frame; beyond `#maxFrame` nothing is read any more. */
  #size = 0;

  /** `maxFrame` in characters. */
  constructor(maxFrame: number = MAX_FRAME) {
    this.#maxFrame = maxFrame;
  }

  /** The frames that `bytes` complete. */
  push(bytes: Uint8Array): Frame[] {
    const frames: Frame[] = [];
    this.#read(this.#decoder.decode(bytes, { stream: true }), frames);
    return frames;
  }

  /** The frame that the end of the stream cut off, if there is one. */
  end(): Frame[] {
    const frames: Frame[] = [];
    this.#read(this.#decoder.decode(), frames);
    if (this.#line.length > 0) this.#endLine(frames);
    this.#endFrame(frames, false);
    return frames;
  }

  #read(text: string, frames: Frame[]): void {
    if (text === "") return;
    const lines = text.slice(this.#afterCr && text.startsWith("\n") ? 1 : 0).split(/\r\n?|\n/);
    this.#afterCr = text.endsWith("\r");
    for (const [at, piece] of lines.entries()) {
      if (this.#size > this.#maxFrame) return;
      if (at > 0) this.#endLine(frames);
      if (piece === "") continue;
      this.#line.push(piece);
      this.#size += piece.length;
      if (!this.#line[0]?.startsWith(":")) this.progress += piece.length;
      if (this.#size > this.#maxFrame) {
        this.#line = [];
        this.#data = [];
        frames.push({ event: "overflow", data: "", whole: false });
      }
    }
  }

  #endLine(frames: Frame[]): void {
    const line = this.#line.join("").replace(/^\ufeff/, "");
    this.#line = [];
    if (line === "") return this.#endFrame(frames, true);
    if (line.startsWith(":")) {
      this.#size -= line.length;
      return;
    }
    const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === "event") {
      this.#event = value;
    } else if (name === "data") {
      this.#data.push(value);
    } else if (name === "error") {
      this.#event = name;
      this.#data.push(value);
    } else if (name !== "id" && name !== "retry" && this.other.length < this.#maxFrame) {
      this.other += `${line}\n`;
    }
  }

  #endFrame(frames: Frame[], whole: boolean): void {
    if (this.#data.length > 0) {
      frames.push({ event: this.#event, data: this.#data.join("\n"), whole });
    }
    this.#data = [];
    this.#event = "";
    this.#size = 0;
  }
}
