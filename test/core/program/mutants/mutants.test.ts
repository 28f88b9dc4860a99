import { expect, it } from 'vitest';
import { checkProgram } from '../../../../src/core/program/check/check-program.ts';
import { choicesOf } from './choices.ts';
import { countFates, mutantOf } from './judge-mutant.ts';
import { validProgram } from './valid-programs.ts';

it('a program before its mutation has no problems', () => {
  for (let seed = 1; seed <= 200; seed += 1) expect(checkProgram(validProgram(choicesOf(seed))).problems).toEqual([]);
});

it('mutants have changes of every kind', () => {
  const changes = Array.from({ length: 500 }, (_, seed) => mutantOf(seed).changes).flat();
  expect([...new Set(changes)].toSorted()).toHaveLength(16);
});

// The other nine thousand run with the matrices.
it('a mutated document is refused with its problems, or runs to an end', { timeout: 60_000 }, async () => {
  const { refused, completed, failed, limited } = await countFates(1, 1_000);
  expect(refused + completed + failed + limited).toBe(1_000);
  expect(completed + failed + limited).toBeGreaterThan(200);
  expect(Math.min(refused, completed, failed, limited)).toBeGreaterThan(5);
});
