// The anchor hash written a second time, from spec/tools and not from our code: three letters of
// xxHash32 (seed 0) mod 26³, as tests of the binary need it.

const P1 = 2654435761;
const P2 = 2246822519;
const P3 = 3266489917;
const P4 = 668265263;
const P5 = 374761393;

const rotate = (x: number, by: number) => ((x << by) | (x >>> (32 - by))) >>> 0;
const times = (a: number, b: number) => Math.imul(a, b) >>> 0;

function xxHash32(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  let hash: number;
  if (bytes.length >= 16) {
    const lanes = [(P1 + P2) >>> 0, P2, 0, (0 - P1) >>> 0];
    for (; at + 16 <= bytes.length; at += 16) {
      for (let lane = 0; lane < 4; lane++) {
        const input = times(view.getUint32(at + lane * 4, true), P2);
        lanes[lane] = times(rotate(((lanes[lane] ?? 0) + input) >>> 0, 13), P1);
      }
    }
    const [a = 0, b = 0, c = 0, d = 0] = lanes;
    hash = (rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18)) >>> 0;
  } else hash = P5;
  hash = (hash + bytes.length) >>> 0;
  for (; at + 4 <= bytes.length; at += 4) {
    hash = times(rotate((hash + times(view.getUint32(at, true), P3)) >>> 0, 17), P4);
  }
  for (; at < bytes.length; at++) {
    hash = times(rotate((hash + times(bytes[at] ?? 0, P5)) >>> 0, 11), P1);
  }
  hash = times((hash ^ (hash >>> 15)) >>> 0, P2);
  hash = times((hash ^ (hash >>> 13)) >>> 0, P3);
  return (hash ^ (hash >>> 16)) >>> 0;
}

export function xxHash32Anchor(text: string): string {
  const value = xxHash32(new TextEncoder().encode(text)) % 26 ** 3;
  return [676, 26, 1].map((unit) => String.fromCharCode(97 + Math.floor(value / unit) % 26)).join(
    "",
  );
}
