import { describe, expect, it } from 'vitest';
import { BUILT_IN_ANCHORS } from '../../src/anchors/anchors.ts';
import type { JsonValue } from '../../src/core/domain/json.ts';
import { validateAnswer } from '../../src/core/program/ask.ts';
import { countedWork } from './counted-work.ts';

const DATA_SEEDS = ['a', '1', '1-', '@', 'a@', 'a@a.', '.', '%.', 'a.', '-', '(1', '(555)', 'é', 'İ', ' ', '\n', '’'];
const LABEL_SEEDS = [
  'premise',
  'premise ',
  'premise 1',
  'conclusion',
  'conclusion ',
  'step',
  'step ',
  '[1',
  '(Aa,',
  '(Aa, ',
  '(A',
  'doi: ',
  'https:/',
];
const MARKER_SEEDS = ['i might be wrong bu', 'a rough estimate would b', 'mother', 'motherfuc', 'ass', '__import_'];
const SEEDS = [...DATA_SEEDS, ...LABEL_SEEDS, ...MARKER_SEEDS];
const SHAPES: ((seed: string, length: number) => string)[] = [
  (seed, length) => seed.repeat(Math.ceil(length / seed.length)),
  (seed, length) => seed + ' '.repeat(length),
  (seed, length) => seed + '1'.repeat(length),
  (seed, length) => 'a.'.repeat(length / 2) + seed,
  (seed, length) => `(A${'a'.repeat(length)}${seed}`,
  (seed, length) => `${seed} `.repeat(length / (seed.length + 1)),
];

/** Longer than the texts that messages cut. */
const HALF = 1_500;

/** Returns the largest ratio of the work for a text to the work for one of half the length. */
function growth(work: (text: string) => unknown): { ratio: number; text: string } {
  let worst = { ratio: 0, text: '' };
  for (const seed of SEEDS) {
    for (const shape of SHAPES) {
      const [half = 0, whole = 0] = [HALF, 2 * HALF].map((length) => countedWork(() => work(shape(seed, length))));
      const ratio = whole / Math.max(half, HALF);
      if (ratio > worst.ratio) worst = { ratio, text: shape(seed, 12) };
    }
  }
  return worst;
}

describe('the work for a hostile text of twice the length', () => {
  it.each(BUILT_IN_ANCHORS)('is at most about twice as much: $name', (anchor) => {
    // Work that grows with the square would be four times as much.
    expect(growth((text) => anchor.check(text))).toMatchObject({ ratio: expect.toSatisfy((ratio: number) => ratio < 2.5) });
  });

  it.each<[string, (text: string) => JsonValue]>([
    ['a text', (text) => text],
    ['a value', (value) => ({ value })],
    ['a confidence', (confidence) => ({ confidence })],
    ['a type', (type) => ({ type })],
    ['a key', (text) => ({ [text]: 1 })],
  ])('is at most about twice as much for the validator: %s', (_, answer) => {
    const rules = { type: 'RiskScore', confidenceFloor: 0.5, requiredFields: ['source'], range: { min: 0, max: 1 } };
    expect(growth((text) => validateAnswer(answer(text), rules))).toMatchObject({
      ratio: expect.toSatisfy((ratio: number) => ratio < 2.5),
    });
  });

  it('is seen if it grows with the square', () => {
    const email = /[a-z.]+@[a-z.]+\.[a-z]+/;
    const works: ((text: string) => unknown)[] = [
      (text) => email.test(text),
      (text) => Array.from({ length: text.length }, (_, index) => text.indexOf('z', index)),
      (text) => Array.from({ length: text.length }, (_, index) => text.slice(index)),
    ];
    for (const work of works) {
      const [half = 0, whole = 0] = [200, 400].map((length) => countedWork(() => work('a'.repeat(length))));
      expect(whole / half).toBeGreaterThan(3.5);
    }
  });
});
