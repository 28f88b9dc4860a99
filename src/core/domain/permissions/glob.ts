/**
 * Globs of permission rules: `*` stands for any text, also none, `?` for one character, and `\` takes the next character as it is.
 * All positions in the pattern are followed at once, as bits: the work grows with the length of the text, for any pattern.
 */

/** The most characters of a glob. */
export const MAX_GLOB_LENGTH = 256;

/** A character that stands for itself, one character (`any`), or any text (`star`). */
type Token = { char: string } | 'any' | 'star';

/** Returns the reason why a text is not a glob; undefined for a glob. */
export function globProblem(glob: unknown): string | undefined {
  if (typeof glob !== 'string') return 'a glob is a text';
  if (glob === '') return 'a glob has at least one character: write "*" for any text';
  if (glob.length > MAX_GLOB_LENGTH) return `a glob has at most ${MAX_GLOB_LENGTH} characters`;
  return /^(?:[^\\]|\\.)*$/su.test(glob) ? undefined : 'the glob ends with "\\": write "\\\\" for a backslash';
}

/** True if the whole text matches. */
export function matchesGlob(glob: string, text: string, ignoreCase = false): boolean {
  const [pattern, value] = ignoreCase ? [glob.toLowerCase(), text.toLowerCase()] : [glob, text];
  return accepts(
    tokensOf(pattern),
    Array.from(value, (char) => ({ char })),
  );
}

/**
 * True if each text that matches `narrow` matches `wide` too. Any text of `narrow` must lie within one `*` of `wide`: some pairs
 * for which this holds are not recognised.
 */
export function globCovers(wide: string, narrow: string, ignoreCase = false): boolean {
  const [a, b] = ignoreCase ? [wide.toLowerCase(), narrow.toLowerCase()] : [wide, narrow];
  return accepts(tokensOf(a), tokensOf(b));
}

function tokensOf(glob: string): Token[] {
  const tokens: Token[] = [];
  let isEscaped = false;
  for (const char of glob) {
    if (!isEscaped && char === '\\') {
      isEscaped = true;
      continue;
    }
    if (isEscaped) tokens.push({ char });
    else if (char !== '*') tokens.push(char === '?' ? 'any' : { char });
    else if (tokens.at(-1) !== 'star') tokens.push('star');
    isEscaped = false;
  }
  return tokens;
}

/** The pattern as sets of positions, in words of 31 bits: those that a character leads on from, and those that a `*` stays at. */
interface Positions {
  words: number;
  byChar: Map<string, Uint32Array>;
  any: Uint32Array;
  stay: Uint32Array;
  last: number;
}

const WORD = 31;
const FULL = 0x7fffffff;

function positionsOf(pattern: readonly Token[]): Positions {
  const last = pattern.filter((token) => token !== 'star').length;
  const words = Math.floor(last / WORD) + 1;
  const positions: Positions = { words, byChar: new Map(), any: new Uint32Array(words), stay: new Uint32Array(words), last };
  let at = 0;
  for (const token of pattern) {
    if (token === 'star') {
      setBit(positions.stay, at);
      continue;
    }
    if (token === 'any') setBit(positions.any, at);
    else setBit(setOf(positions, token.char), at);
    at += 1;
  }
  return positions;
}

function setOf({ byChar, words }: Positions, char: string): Uint32Array {
  const set = byChar.get(char) ?? new Uint32Array(words);
  byChar.set(char, set);
  return set;
}

function setBit(set: Uint32Array, at: number): void {
  const word = Math.floor(at / WORD);
  set[word] = (set[word] ?? 0) | (1 << (at % WORD));
}

function accepts(pattern: readonly Token[], text: readonly Token[]): boolean {
  const positions = positionsOf(pattern);
  const { words, byChar, any, stay, last } = positions;
  const none = new Uint32Array(words);
  let current = new Uint32Array(words);
  setBit(current, 0);
  for (const token of text) {
    const same = typeof token === 'object' ? (byChar.get(token.char) ?? none) : none;
    const wild = token === 'star' ? none : any;
    const next = new Uint32Array(words);
    let carry = 0;
    let isAlive = 0;
    for (let word = 0; word < words; word += 1) {
      const now = current[word] ?? 0;
      const moved = now & ((same[word] ?? 0) | (wild[word] ?? 0));
      const bits = ((moved << 1) & FULL) | carry | (now & (stay[word] ?? 0));
      carry = (moved >>> (WORD - 1)) & 1;
      next[word] = bits;
      isAlive |= bits;
    }
    if (isAlive === 0) return false;
    current = next;
  }
  return (((current[Math.floor(last / WORD)] ?? 0) >>> (last % WORD)) & 1) === 1;
}
