const LETTERS = 'abcdefghijklmnopqrstuvwxyz     .';
const BITS_PER_LETTER = 5;
const LETTERS_PER_NUMBER = 6;

/**
 * `chars` characters of ASCII text, the same for the same seed. It has the entropy of 5 bits a character, so that
 * no 200 characters repeat, within one text or between texts of different seeds: nothing that stores or sends them
 * can profit from repetition.
 */
export function uniqueText(seed: number, chars: number): string {
  const next = randomNumbers(seed);
  let text = '';
  while (text.length < chars) {
    let bits = next();
    for (let letter = 0; letter < LETTERS_PER_NUMBER; letter += 1) {
      text += LETTERS[bits & (LETTERS.length - 1)];
      bits >>>= BITS_PER_LETTER;
    }
  }
  return text.slice(0, chars);
}

/** Numbers of 32 bits (the generator sfc32). Its state of 128 bits keeps the sequences of neighbouring seeds apart. */
function randomNumbers(seed: number): () => number {
  let a = seed | 0;
  let b = 0x9e3779b9 | 0;
  let c = 0x243f6a88 | 0;
  let counter = 1;
  const next = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum;
  };
  for (let round = 0; round < 15; round += 1) next();
  return next;
}
