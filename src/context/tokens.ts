// Token estimates. A token is about four bytes of UTF-8 (characters would undercount CJK threefold);
// what the provider counts corrects that for the text at hand.

/** Tokens taken for a window that is not known. */
export const USUAL_WINDOW = 128_000;

/** Estimated tokens of a text, uncorrected. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}

/** Tokens of an image by the length of its base64: what providers charge depends on pixels, which grow with it. */
export function imageTokens(base64Length: number): number {
  return Math.min(1600, 85 + Math.ceil(base64Length * 0.75 / 750));
}

/** Counts that no text explains (a provider that counts only what was not cached) teach nothing. */
const [LEAST, MOST] = [0.3, 4];

/**
 * What providers count for each estimated token. The newest reply counts three quarters, so that it follows a
 * conversation that turns from prose to code or Chinese within two replies.
 */
export class Calibration {
  #ratio = 1;
  #learned = false;

  get ratio(): number {
    return this.#ratio;
  }

  /** A request estimated at `raw` tokens was counted as `input`. */
  learn(raw: number, input: number): void {
    const ratio = raw > 0 ? input / raw : NaN;
    if (!(ratio >= LEAST && ratio <= MOST)) return;
    this.#ratio = this.#learned ? (this.#ratio + 3 * ratio) / 4 : ratio;
    this.#learned = true;
  }
}
