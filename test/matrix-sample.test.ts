import { expect, test } from 'vitest';
import { everyNth, matrixSample, turnOf } from './matrix-sample.ts';

const parts = Array.from({ length: 20 }, (_, index) => index);

test('a matrix runs whole if no commit is named', () => {
  expect(matrixSample(parts, { env: {} })).toEqual(parts);
});

test('a commit runs every nth part, the same ones each time it runs', () => {
  const env = { MATRIX_SAMPLE: '0003aaaa' };
  expect(matrixSample(parts, { env })).toEqual([3, 15]);
  expect(matrixSample(parts, { env })).toEqual([3, 15]);
});

test('the turns of all commits together run every part', () => {
  const turns = Array.from({ length: 8 }, (_, turn) => everyNth(parts, { every: 8, turn }));
  expect(turns.flat().toSorted((one, other) => one - other)).toEqual(parts);
});

test('a matrix with fewer parts than turns still runs one', () => {
  expect(everyNth(['a', 'b', 'c'], { every: 8, turn: 7 })).toEqual(['b']);
  expect(everyNth([], { every: 8, turn: 7 })).toEqual([]);
});

test.each(['', '3', '1/4', 'HEAD', '78C2CF7F'])('"%s" is not a commit hash', (text) => {
  expect(() => turnOf(text)).toThrow(`MATRIX_SAMPLE is "${text}"`);
});
