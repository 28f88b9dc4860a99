import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { PRODUCT_FOLDERS, readTexts } from '../architecture/source-tree.ts';
import { codeOf, roomOf, sizeOf, sumOf } from './size.ts';

const TEXT = `import a from 'a';
import {
  b,
} from 'b';

// Why.
/** What
 * it is. */
export { c } from 'c';
export {
  d,
  e,
};
const lazy = import('f');
`;

test('the lines of a file are comments, blank, imports or code', () => {
  const size = sizeOf(TEXT);
  expect(size).toEqual({ files: 1, lines: 14, comments: 3, blank: 1, imports: 5 });
  expect(codeOf(size)).toBe(5);
});

test.each([
  ['src/core/kernel/run-loop.ts', 'src/core/kernel'],
  ['src/core/capabilities.ts', 'src/core'],
  ['src/index.ts', 'src'],
  ['activities/models/openai/openai.ts', 'activities/models'],
  ['workflows/run/children.ts', 'workflows'],
])('%s is in the room %s', (path, room) => {
  expect(roomOf(path)).toBe(room);
});

describe('the product', () => {
  const sizes = [...readTexts(fileURLToPath(new URL('../..', import.meta.url)), PRODUCT_FOLDERS).values()].map(sizeOf);
  const sum = sumOf(sizes);

  // It may grow. It may not fall apart into files that are one function each.
  test('has files that are things: of 150 lines at the median, and 180 on average', () => {
    const lines = sizes.map((one) => one.lines).toSorted((one, other) => one - other);
    expect(lines[Math.floor(lines.length / 2)]).toBeGreaterThanOrEqual(150);
    expect(sum.lines / sum.files).toBeGreaterThanOrEqual(180);
  });

  test('is imports in one line of fourteen at most', () => {
    expect(sum.imports / sum.lines).toBeLessThanOrEqual(1 / 14);
  });
});
