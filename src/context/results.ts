// Tool results: text of any size kept in bounded memory, and the bound on what the model sees of it.
// Not here: the numbering tr.N (loop/invoke.ts), Recall.

/** Text too large to hold, kept in a file of the session. `head` and `tail` are whole lines. */
export interface SpilledText {
  /** Blob name. */
  spill: string;
  bytes: number;
  lines: number;
  head: string;
  tail: string;
}

/** Collects output of any size in bounded memory; past a threshold it goes to a file of the session. */
export interface OutputSink {
  write(text: string): void;
  /** The whole text when small, else where it lies. */
  end(): Promise<string | SpilledText>;
}
