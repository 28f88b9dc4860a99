import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { sizeOf, sumOf } from '../size/size.ts';
import { PRODUCT_FOLDERS, readTexts } from './source-tree.ts';

describe('the product', () => {
  const sizes = [...readTexts(fileURLToPath(new URL('../..', import.meta.url)), PRODUCT_FOLDERS).values()].map(sizeOf);
  const sum = sumOf(sizes);

  // It may grow. It may not fall apart into files that are one function each.
  test('has files that are things: of 200 lines at the median, and 220 on average', () => {
    const lines = sizes.map((one) => one.lines).toSorted((one, other) => one - other);
    expect(lines[Math.floor(lines.length / 2)]).toBeGreaterThanOrEqual(200);
    expect(sum.lines / sum.files).toBeGreaterThanOrEqual(220);
  });

  test('is imports in one line of fifteen at most', () => {
    expect(sum.imports / sum.lines).toBeLessThanOrEqual(1 / 15);
  });
});
