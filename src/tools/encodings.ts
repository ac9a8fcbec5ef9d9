// Character encodings of files: which one some bytes are in, and the way back to bytes. Both runtimes
// decode all of them; the way back to a multi-byte one is iconv-lite's, loaded when first needed.
// Not here: lines and their endings, and whether a file may be edited (document.ts).

/** One encoding of one file. */
export interface Codec {
  /** Name in the words of the web's Encoding Standard. */
  readonly name: string;
  /** Byte order mark in front of the text; empty when it has none. */
  readonly bom: Uint8Array;
}

export const UTF8 = codec("utf-8");
const MARKED = [
  codec("utf-8", 0xef, 0xbb, 0xbf),
  codec("utf-16le", 0xff, 0xfe),
  codec("utf-16be", 0xfe, 0xff),
];

/** Bytes that a guess looks at. */
const SAMPLE = 64 * 1024;

/**
 * What text in a legacy encoding looks like: bytes of characters as running text has them (e.g. the half
 * of a table with the everyday signs), bytes of every other character beyond ASCII, and the language's
 * most frequent characters.
 */
type Looks = readonly [name: string, typical: string, other: string, common: RegExp];

const KANA = /[\u3041-\u309f、。ー日本語人大年中会表示設定変数値文字列名前]/g;
const HAN =
  /[的一是不了在人有我他这這个個们們中来來上大为為和国國地到以说說时時要就出会會可也你对對生能而子那得于於着下自之年过過发發后後作里裡用道行所然家种種事成方多经經去法学學如都同现現当當没沒动動面起看定天分还還进進好小部其些主样樣理心本前开開但因只从從想实實数數文件值类類函返回字符设設置加取名据據输輸入世界，。变變量测測試试错錯误誤]/g;
const HANGUL =
  /[이다는에의가을를하고지은도한기로사리어인자대나시일아수정해서그보과게라여부들전제으만원장스있했니습값파함변반환화글안녕요]/g;
const ACCENTS = /[éèêàâçùûôîïëäöüßñáíóúãõåæøœ¿¡«»°§€’“”–—…]/gi;
// Accents stand between ASCII letters; in other alphabets such bytes come in long runs. Umlauts may.
const LATIN =
  "(?<![\\x80-\\xff])[\\x80-\\xff]{1,2}(?![\\x80-\\xff])|[\\xc4\\xd6\\xdc\\xdf\\xe4\\xf6\\xfc]";
/** Small letters, the first one perhaps a capital, and nothing else around them. */
const WORD =
  "(?<![A-Za-z\\x80-\\xff])[\\xa8\\xc0-\\xdf]?[\\xb8\\xe0-\\xff]+(?![A-Za-z\\x80-\\xff])";

/** The first is taken when two look equally likely: it has every byte. */
const LEGACY: readonly Looks[] = [
  ["windows-1252", LATIN, "[\\x80-\\xff]", ACCENTS],
  ["windows-1251", WORD, "[\\x80-\\xff]", /[оеаинтсрвлкмдпу]/g],
  ["euc-kr", "[\\xa1\\xb0-\\xc8][\\xa1-\\xfe]", "[\\x81-\\xfe][\\x41-\\xfe]", HANGUL],
  ["shift_jis", "[\\x81-\\x83\\x88-\\x97][\\x40-\\xfc]", "[\\x80-\\xff][\\x40-\\xfc]", KANA],
  ["euc-jp", "[\\xa1\\xa4\\xa5\\xb0-\\xcf][\\xa1-\\xfe]", "[\\x80-\\xff][\\xa1-\\xfe]", KANA],
  ["big5", "[\\xa1\\xa4-\\xc6][\\x40-\\xfe]", "[\\x80-\\xff][\\x40-\\xfe]", HAN],
  ["gb18030", "[\\xa1-\\xa3\\xb0-\\xd7][\\xa1-\\xfe]", "[\\x80-\\xff][0-9\\x40-\\xfe]", HAN],
];

/** UTF-8, or UTF-16 with its mark, where all of the bytes are valid; else null. */
export function unicodeOf(bytes: Uint8Array, part = false): Codec | null {
  const marked = MARKED.find(({ bom }) => bom.every((byte, i) => bytes[i] === byte));
  return [...(marked ? [marked] : []), UTF8].find((codec) =>
    decode(bytes.subarray(codec.bom.length), codec, part) !== null
  ) ?? null;
}

/**
 * The likeliest of the legacy encodings in which all bytes are valid. The score is the share of typical
 * characters plus the share of common ones; a tie goes to windows-1252.
 */
export function legacyOf(bytes: Uint8Array, part = false): Codec {
  const first = bytes.findIndex((byte) => byte > 127);
  const sample = bytes.subarray(Math.max(0, first), first + SAMPLE);
  const scores = LEGACY.map((looks) => ({ of: codec(looks[0]), score: score(sample, looks) }));
  const best = scores.toSorted((a, b) => b.score - a.score)
    .find(({ of }) => decode(bytes, of, part) !== null);
  return best?.of ?? codec("windows-1252");
}

function score(sample: Uint8Array, [name, typical, other, common]: Looks): number {
  const text = new TextDecoder(name).decode(sample);
  const characters = text.match(/[^\0-\x7f]/gu)?.length ?? 0;
  let bytes = 0;
  let good = 0;
  for (
    const [token, hit] of Buffer.from(sample).toString("latin1")
      .matchAll(new RegExp(`(${typical})|${other}`, "g"))
  ) {
    bytes += token.length;
    good += hit?.length ?? 0;
  }
  return bytes === 0 ? 0 : good / bytes + (text.match(common)?.length ?? 0) / characters;
}

/** Bytes without the mark → text, or null where they are not valid. Nothing is replaced or left out. */
export function decode(bytes: Uint8Array, { name }: Codec, part = false): string | null {
  try {
    const decoder = new TextDecoder(name, { fatal: true, ignoreBOM: true });
    return decoder.decode(bytes, { stream: part });
  } catch {
    return null;
  }
}

/** Text → bytes with the mark, or null where the encoding does not have all of it. */
export async function encode(text: string, codec: Codec): Promise<Uint8Array | null> {
  const { name, bom } = codec;
  if (!text.isWellFormed()) return null;
  if (name === "utf-8") return Buffer.from(bom.length > 0 ? `\ufeff${text}` : text);
  if (name === "utf-16le") return Buffer.from(`\ufeff${text}`, "utf16le");
  if (name === "utf-16be") return Buffer.from(`\ufeff${text}`, "utf16le").swap16();
  if (name.startsWith("windows-")) return encodeSingleByte(text, codec);
  const { default: iconv } = await import("iconv-lite");
  const bytes = iconv.encode(text, name);
  return decode(bytes, codec) === text ? bytes : null;
}

/** By the platform's own decoding table, so that every byte comes back. */
function encodeSingleByte(text: string, codec: Codec): Uint8Array | null {
  const table = decode(Uint8Array.from({ length: 256 }, (_, i) => i), codec) ?? "";
  const codes = new Map(Array.from(table, (character, code) => [character, code]));
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = codes.get(text.charAt(i)) ?? 0;
  return decode(bytes, codec) === text ? bytes : null;
}

/** Are the two equal, byte for byte? */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

function codec(name: string, ...bom: number[]): Codec {
  return { name, bom: Uint8Array.from(bom) };
}
