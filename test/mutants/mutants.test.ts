import { expect, test } from 'vitest';
import { chooseMutants, mutantsOf } from './mutants.ts';

const TEXT = `import { a } from './a.ts';
/** If a < b && c. */
interface Size {
  isLarge: boolean;
}
export function grow(size: Size, by: number): boolean {
  if (size.isLarge && by > 1) return false;
  size.isLarge = true;
  note(size);
  return true;
}`;

test('changes conditions, values and calls of lines that run, and no others', () => {
  expect(mutantsOf('grow.ts', TEXT).map(({ line, after }) => `${line}: ${after.trim()}`)).toEqual([
    '7: if (size.isLarge || by > 1) return false;',
    '7: if (size.isLarge && by >= 1) return false;',
    '7: if (size.isLarge && by > 1) return true;',
    '7: if (!(size.isLarge && by > 1)) return false;',
    '8: size.isLarge = false;',
    '9: ;',
    '10: return false;',
  ]);
});

test('chooses the same for the same seed, and each at most once', () => {
  const all = mutantsOf('grow.ts', TEXT);
  const chosen = chooseMutants(all, { seed: 7, count: 4 });
  expect(chooseMutants(all, { seed: 7, count: 4 })).toEqual(chosen);
  expect(new Set(chosen).size).toBe(4);
  expect(chooseMutants(all, { seed: 8, count: 4 })).not.toEqual(chosen);
});
