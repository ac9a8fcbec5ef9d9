// Token estimates. A token is about four bytes of UTF-8 (characters would undercount CJK threefold).

/** Estimated tokens of a text. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}
