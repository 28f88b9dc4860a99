/** A change of one line that a test should notice. */
export interface Mutant {
  /** The path of the file from the project. */
  file: string;
  /** Counted from 1. */
  line: number;
  before: string;
  after: string;
}

/** The replaced text in a line, and its replacement. Only the first place of a line counts. */
const REPLACEMENTS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/ === /, ' !== '],
  [/ !== /, ' === '],
  [/ && /, ' || '],
  [/ \|\| /, ' && '],
  [/ < /, ' <= '],
  [/ <= /, ' < '],
  [/ > /, ' >= '],
  [/ >= /, ' > '],
  [/ \+ 1\b/, ' + 2'],
  [/ - 1\b/, ' - 2'],
  [/ \+= /, ' -= '],
  [/ \?\? /, ' && '],
  [/\breturn true\b/, 'return false'],
  [/\breturn false\b/, 'return true'],
  [/ = true;/, ' = false;'],
  [/ = false;/, ' = true;'],
  [/\bif \((?=[^\n]*\) [\w{])/, 'if (!'],
  // A statement that only calls something, or that deletes a member.
  [/^( +)(?:await |void )?[\w.#]+\([^{]*\);$/, '$1;'],
  [/^( +)delete .*;$/, '$1;'],
];

/** Lines that no test runs: imports, comments, types and members of types. */
const UNCHANGED =
  /^\s*(?:import\b|export \{|export type\b|type\b|export interface\b|interface\b|\/\/|\/?\*|readonly\b|\w+\??: [^({]*;$|\|)/;

/** Returns every mutant of a file. */
export function mutantsOf(file: string, text: string): Mutant[] {
  return text.split('\n').flatMap((before, index) => {
    if (UNCHANGED.test(before)) return [];
    const found = REPLACEMENTS.flatMap(([pattern, replacement]) => {
      const after = before.replace(pattern, replacement);
      return after === before ? [] : [{ file, line: index + 1, before, after: negated(before, after) }];
    });
    return found;
  });
}

/** A negated condition is put in parentheses as a whole, up to the parenthesis that closes it. */
function negated(before: string, after: string): string {
  const at = after.indexOf('if (!');
  if (at < 0 || before.includes('if (!(') || before.indexOf('if (!') === at) return after;
  const open = at + 'if (!'.length;
  let depth = 1;
  for (let end = open; end < after.length; end += 1) {
    if (after[end] === '(') depth += 1;
    if (after[end] === ')') depth -= 1;
    if (depth === 0) return `${after.slice(0, open)}(${after.slice(open, end)})${after.slice(end)}`;
  }
  return after;
}

/** Chooses some, each as likely as any other: the same for the same seed and list. */
export function chooseMutants(all: readonly Mutant[], { seed, count }: { seed: number; count: number }): Mutant[] {
  const random = seeded(seed);
  const ranked = all.map((mutant) => ({ mutant, rank: random() }));
  return ranked
    .toSorted((one, other) => one.rank - other.rank)
    .slice(0, count)
    .map(({ mutant }) => mutant);
}

/** Numbers from 0 to 1 that follow from a seed (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
