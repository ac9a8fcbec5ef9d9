// Finds ASCII text in bytes without making strings of them, also in any case of letters: in a copy with
// the bit set that tells small letters from capitals, the platform's own search for bytes does that.

const BIT = 0x20;
const EVERY_BIT = 0x20202020;
const LF = 10;

let scratch = Buffer.alloc(0);
let words = new Int32Array();

/** The bytes with the bit set in each; good until the next call. */
function folded(bytes: Buffer): Buffer {
  if (scratch.length < bytes.length) {
    const memory = new ArrayBuffer((Math.max(bytes.length, 2 * scratch.length) + 3) & ~3);
    scratch = Buffer.from(memory);
    words = new Int32Array(memory);
  }
  scratch.set(bytes);
  setBits(words, (bytes.length + 3) >> 2);
  return scratch.subarray(0, bytes.length);
}

/** Takes its array as an argument: one from outside is looked up anew in each step. */
function setBits(words: Int32Array, count: number): void {
  for (let i = 0; i < count; i++) words[i]! |= EVERY_BIT;
}

/** An ASCII text to be found in bytes. */
export class ByteText {
  readonly #text: Buffer;
  readonly #ignoreCase: boolean;
  /** As it stands in what is searched. */
  readonly #sought: Buffer;
  /** In signs that are no letters the bit is not a matter of case. */
  readonly #check: boolean;

  /** @param text ASCII, not empty. */
  constructor(text: string, ignoreCase: boolean) {
    this.#text = Buffer.from(ignoreCase ? text.toLowerCase() : text);
    this.#ignoreCase = ignoreCase;
    this.#sought = ignoreCase ? Buffer.from(this.#text.map((byte) => byte | BIT)) : this.#text;
    this.#check = ignoreCase && /[^A-Za-z]/.test(text);
  }

  /** What is searched in the place of the bytes, until the next call; null where the text is not in it. */
  in(bytes: Buffer): Buffer | null {
    const searched = this.#ignoreCase ? folded(bytes) : bytes;
    return searched.includes(this.#sought) ? searched : null;
  }

  /**
   * Number of lines that hold the text.
   *
   * @param searched What `in` gave for the bytes.
   * @param isHit Told where in a line the text is and where the line ends (at "\n"), it has the last word.
   */
  linesIn(
    bytes: Buffer,
    searched: Buffer,
    isHit?: (at: number, end: number) => boolean,
  ): number {
    let count = 0;
    for (let at = 0; at < bytes.length; at++) {
      at = searched.indexOf(this.#sought, at);
      if (at === -1) break;
      if (this.#check && !this.#isAt(bytes, at)) continue;
      const lf = bytes.indexOf(LF, at);
      const end = lf === -1 ? bytes.length : lf;
      if (isHit === undefined || isHit(at, end)) count++;
      at = end;
    }
    return count;
  }

  /** Do the signs of the text stand there as they are? */
  #isAt(bytes: Buffer, at: number): boolean {
    return this.#text.every((byte, i) => (byte >= 97 && byte <= 122) || byte === bytes[at + i]);
  }
}
