import { globSync, readFileSync } from 'node:fs';
import { parseAst } from 'vitest/node';
import { describe, expect, test } from 'vitest';
import { PatternSteps } from '../anchors/pattern-steps.ts';

/** An expression of the product, and where it is. */
interface Found {
  file: string;
  text: string;
  pattern: RegExp;
}

/** Texts that no one else writes: of the developer who defines an agent, or of the operator who starts a command. */
const OWN_TEXTS: readonly (readonly [file: string, texts: string])[] = [
  ['src/cli/serve/dev-worker.ts', "the operator's own modules"],
  ['src/guide/markdown.ts', 'the pages of the package'],
  ['src/guide/find-pages.ts', 'the words of these pages, and the question of their reader'],
  ['src/cli/input-files.ts', "the stack of an error in the operator's own modules"],
];

const ROOT = new URL('../../', import.meta.url).pathname;

/** Returns the literal expressions of all files of the product. */
function expressions(): Found[] {
  const files = globSync('{src,activities,workflows,worker}/**/*.ts', { cwd: ROOT }).toSorted();
  return files.flatMap((file) => {
    const found: Found[] = [];
    visit(parseAst(readFileSync(`${ROOT}${file}`, 'utf8'), { lang: 'ts' }), (node) => {
      const regex = node['regex'] as { pattern: string; flags: string } | undefined;
      if (regex !== undefined)
        found.push({ file, text: `/${regex.pattern}/${regex.flags}`, pattern: new RegExp(regex.pattern, regex.flags) });
    });
    return found;
  });
}

function visit(value: unknown, take: (node: Record<string, unknown>) => void): void {
  if (Array.isArray(value)) for (const item of value) visit(item, take);
  else if (typeof value === 'object' && value !== null && 'type' in value) {
    take({ ...value });
    for (const child of Object.values(value)) visit(child, take);
  }
}

const COMMON = ['a', 'A', '1', ' ', '\n', '.', '-', '_', '/', '"', '=', ';', ',', '(', '[', '<', '`', ':', '@', '\\', '!', 'é'];

/** This code marks escaped characters, to distinguish them from syntax. */
const ESCAPED = 0xe000;

/** Returns texts that the expression begins to match, by its own characters and words. */
function seedsOf({ source }: RegExp): string[] {
  const words = source
    // Escaped characters are literal.
    .replaceAll(/\\([^\w])/g, (_, character: string) => String.fromCharCode(ESCAPED + character.charCodeAt(0)))
    .replaceAll(/\\[pP]\{\w+\}/g, 'a')
    .replaceAll(/\\[sS]/g, ' ')
    .replaceAll(/\\[dD]/g, '1')
    .replaceAll(/\\[wW]/g, 'a')
    .replaceAll(/\\n/g, '\n')
    .replaceAll(/\\b|\(\?(?:[:=!]|<[!=]|<\w+>)|\{\d+,?\d*\}/g, '|')
    .split(/[|()?*+^$[\]{}]/)
    .filter((word) => word !== '')
    .map((word) => word.replaceAll(/[\ue000-\uf8ff]/g, (character) => String.fromCharCode(character.charCodeAt(0) - ESCAPED)));
  return [...new Set([...words, words.join(''), words.join('1'), words.join(' ')])].slice(0, 16);
}

/** Returns functions that make texts of about a given length that make an engine backtrack. */
function hostileShapes(pattern: RegExp): ((length: number) => string)[] {
  return [...seedsOf(pattern), ...COMMON].flatMap((seed) => [
    (length: number) => seed.repeat(length / seed.length),
    (length: number) => `${seed.repeat(length / seed.length)}\0`,
    ...COMMON.flatMap((filler) => [
      (length: number) => `${seed}${filler.repeat(length)}\0`,
      (length: number) => (seed + filler).repeat(length / (seed.length + 1)),
    ]),
  ]);
}

/** Counts the characters that an engine reads to find all matches of an expression in a text. */
function work(pattern: RegExp, steps: PatternSteps, text: string): number {
  const search = new RegExp(pattern.source, `${pattern.flags.replaceAll(/[gy]/g, '')}g`);
  let count = 0;
  for (let from = 0; from <= text.length;) {
    count += steps.search(text, from);
    search.lastIndex = from;
    const match = search.exec(text);
    if (match === null) break;
    from = Math.max(match.index + match[0].length, match.index + 1);
  }
  return count;
}

/** The tested texts have this length and twice as much. Bad candidates are retested, longer than bounded repetitions. */
const LENGTH = { tried: 100, proving: 1_000 };

/** Returns the largest growth of the work for a text of twice the length. */
function growth(pattern: RegExp): { ratio: number; text: string } {
  const steps = new PatternSteps(pattern);
  let worst = { ratio: 0, text: '' };
  for (const shape of hostileShapes(pattern)) {
    const tried = growthOf(pattern, steps, shape, LENGTH.tried);
    const ratio = tried < BAD ? tried : growthOf(pattern, steps, shape, LENGTH.proving);
    if (ratio > worst.ratio) worst = { ratio, text: shape(12) };
    if (ratio >= BAD) break;
  }
  return worst;
}

function growthOf(pattern: RegExp, steps: PatternSteps, shape: (length: number) => string, length: number): number {
  const [half = 0, whole = 0] = [length, 2 * length].map((of) => work(pattern, steps, shape(of)));
  return whole / Math.max(half, 4 * length);
}

/** Work that grows with the square would be four times as much. */
const BAD = 3;

const FOUND = expressions();
const files = [...new Set(FOUND.map(({ file }) => file))];

describe('the work of every expression of the product for a text of twice the length is at most about twice as much', () => {
  test('there are some', () => {
    expect(FOUND.length).toBeGreaterThan(250);
  });

  test.each(files.filter((file) => !OWN_TEXTS.some(([own]) => own === file)))('%s', (file) => {
    for (const { text, pattern } of FOUND.filter((one) => one.file === file)) {
      expect({ expression: text, ...growth(pattern) }).toMatchObject({ ratio: expect.toSatisfy((ratio: number) => ratio < BAD) as number });
    }
  });

  test.each(OWN_TEXTS)('%s reads texts of its user alone: %s', (file) => {
    expect(files).toContain(file);
  });

  test.each([/\s*\n\s*/g, /=+$/, /(\[\d+\])+$/, /exceed\w* (?:the |this )*context/, /let\s*\*?\s*a/, /[a-z.]+@[a-z.]+/])(
    'is seen to grow with the square: %s',
    (pattern) => {
      expect(growth(pattern).ratio).toBeGreaterThan(BAD);
    },
  );
});
