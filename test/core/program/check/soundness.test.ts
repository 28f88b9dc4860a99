import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkProgram } from '../../../../src/core/program/check/check-program.ts';
import { CHOICES, playedReferences, randomProgram } from './random-programs.ts';

test('a program without problems refers to nothing that has not run, in any order and in any case', () => {
  let played = 0;
  fc.assert(
    fc.property(CHOICES, (choose) => {
      const { document } = checkProgram(randomProgram(choose));
      if (document === undefined) return;
      played += 1;
      for (let time = 0; time < 5; time += 1) expect(playedReferences(document, choose)).toEqual([]);
    }),
    { seed: 16, numRuns: 4_000 },
  );
  expect(played).toBeGreaterThan(200);
});
