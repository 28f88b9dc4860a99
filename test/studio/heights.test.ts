import { expect, test } from 'vitest';
import { RowHeights } from '../../studio/heights.ts';

test('rows that were measured move those below them, and are found where they are', () => {
  const rows = new RowHeights(40);
  expect([rows.topOf(0), rows.topOf(3), rows.indexAt(85, 10)]).toEqual([0, 120, 2]);
  expect(rows.set(1, 100)).toBe(true);
  expect([rows.topOf(1), rows.topOf(2), rows.topOf(10)]).toEqual([40, 140, 460]);
  expect([rows.indexAt(139, 10), rows.indexAt(140, 10)]).toEqual([1, 2]);
  expect(rows.set(1, 100)).toBe(false);
  rows.set(1, 40);
  expect(rows.topOf(10)).toBe(400);
});

test('a row that is no longer on the screen, and has no height, keeps its last height', () => {
  const rows = new RowHeights(40);
  expect(rows.set(5, 0)).toBe(false);
  // A height of nothing once made the search for a row endless, and the page froze while it was scrolled.
  expect([rows.topOf(6), rows.indexAt(84_000, 10_000), rows.indexAt(1e9, 10_000), rows.indexAt(0, 0)]).toEqual([240, 2_100, 9_999, 0]);
});

test('tops are the sums of heights, in whatever order rows are measured', () => {
  const rows = new RowHeights(40);
  const heights = Array.from({ length: 500 }, (_, index) => 27 + ((index * 7_919) % 90));
  for (let turn = 0; turn < 500; turn += 1) {
    const index = (turn * 271) % 500;
    rows.set(index, heights[index] as number);
  }
  let top = 0;
  for (const [index, height] of heights.entries()) {
    expect(rows.topOf(index)).toBe(top);
    expect(rows.indexAt(top + height - 1, 500)).toBe(index);
    top += height;
  }
});
