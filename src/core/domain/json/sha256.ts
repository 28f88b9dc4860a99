const ENCODER = new TextEncoder();

const BLOCK_BYTES = 64;

/** The first 32 bits of the fractional parts of the square roots of the first 8 primes, and of the cube roots of the first 64. */
const [INITIAL, ROUND] = constants();

/** Returns the SHA-256 of a text in UTF-8: 8 numbers of 32 bits. The sandbox has no library for it. */
export function sha256(text: string): number[] {
  const bytes = padded(ENCODER.encode(text));
  const view = new DataView(bytes.buffer);
  const state = [...INITIAL];
  for (let offset = 0; offset < bytes.length; offset += BLOCK_BYTES) {
    const words = Array.from({ length: 16 }, (_, index) => view.getUint32(offset + 4 * index));
    addBlock(state, words);
  }
  return state.map((word) => word >>> 0);
}

/** Adds the end of the message: a bit, zeros, and its length in bits. */
function padded(message: Uint8Array): Uint8Array {
  const length = Math.ceil((message.length + 9) / BLOCK_BYTES) * BLOCK_BYTES;
  const bytes = new Uint8Array(length);
  bytes.set(message);
  bytes[message.length] = 0x80;
  const view = new DataView(bytes.buffer);
  view.setUint32(length - 8, Math.floor(message.length / 0x2000_0000));
  view.setUint32(length - 4, message.length * 8);
  return bytes;
}

function addBlock(state: number[], words: number[]): void {
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (const [round, constant] of ROUND.entries()) {
    const word = wordOf(words, round);
    const choice = (e & f) ^ (~e & g);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const first = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + choice + constant + word) | 0;
    const second = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + majority) | 0;
    [a, b, c, d, e, f, g, h] = [(first + second) | 0, a, b, c, (d + first) | 0, e, f, g];
  }
  for (const [index, word] of [a, b, c, d, e, f, g, h].entries()) state[index] = ((state[index] ?? 0) + word) | 0;
}

/** Returns the word of a round, and extends the words of the block by it. */
function wordOf(words: number[], round: number): number {
  const known = words[round];
  if (known !== undefined) return known;
  const [old = 0, next = 0, late = 0, last = 0] = [words[round - 16], words[round - 15], words[round - 7], words[round - 2]];
  const small = turned(next, 7) ^ turned(next, 18) ^ (next >>> 3);
  const large = turned(last, 17) ^ turned(last, 19) ^ (last >>> 10);
  return (words[round] = (old + small + late + large) | 0);
}

function turned(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

function constants(): [initial: number[], round: number[]] {
  const primes: number[] = [];
  for (let number = 2; primes.length < 64; number += 1) if (primes.every((prime) => number % prime !== 0)) primes.push(number);
  return [primes.slice(0, 8).map((prime) => fraction(prime ** (1 / 2))), primes.map((prime) => fraction(prime ** (1 / 3)))];
}

function fraction(root: number): number {
  return ((root - Math.floor(root)) * 0x1_0000_0000) | 0;
}
