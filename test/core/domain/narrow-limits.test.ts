import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type LimitChanges, narrowLimits } from '../../../src/core/domain/limits.ts';

const amount = fc.nat(1_000);
const limits: fc.Arbitrary<LimitChanges> = fc.record(
  {
    toolCalls: amount,
    inputTokens: amount,
    outputTokens: amount,
    totalTokens: amount,
    costUsd: amount,
    deadlineMs: amount,
    toolCallsByName: fc.dictionary(fc.constantFrom('a', 'b', '__proto__', 'constructor'), amount),
  },
  { requiredKeys: [] },
);

/** The numbers of limits, by name; those of single tools too. */
function numbersOf({ toolCallsByName = {}, ...limitsOfRun }: LimitChanges): [string, number][] {
  return [
    ...Object.entries(limitsOfRun),
    ...Object.entries(toolCallsByName).map(([tool, calls]): [string, number] => [`of ${tool}`, calls]),
  ];
}

test('no limit is above its ceiling, and none is above what it was', () => {
  fc.assert(
    fc.property(limits, limits, (own, ceiling) => {
      const narrowed = new Map(numbersOf(narrowLimits(own, ceiling)));
      const above = [...numbersOf(own), ...numbersOf(ceiling)].filter(([name, most]) => (narrowed.get(name) ?? Infinity) > most);
      expect(above).toEqual([]);
    }),
  );
});

test('limits without a ceiling stay as they are', () => {
  fc.assert(
    fc.property(limits, (own) => {
      expect(narrowLimits({ ...own, steps: 3 })).toEqual({ ...own, steps: 3 });
    }),
  );
});
