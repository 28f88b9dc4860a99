import fc from 'fast-check';
import { expect, test } from 'vitest';
import { narrowLimits } from '../../../src/core/domain/agent/narrow-limits.ts';
import type { LimitChanges } from '../../../src/core/domain/agent/limits.ts';

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

test('no limit is above its ceiling, and none is above what it was', () => {
  fc.assert(
    fc.property(limits, limits, (own, ceiling) => {
      const narrowed = narrowLimits(own, ceiling);
      for (const most of [own, ceiling]) {
        for (const [name, value] of Object.entries(most)) {
          if (typeof value === 'number') expect(narrowed[name as 'costUsd']).toBeLessThanOrEqual(value);
        }
        for (const [tool, value] of Object.entries(most.toolCallsByName ?? {})) {
          expect(new Map(Object.entries(narrowed.toolCallsByName ?? {})).get(tool)).toBeLessThanOrEqual(value);
        }
      }
    }),
  );
});

test('limits without a ceiling stay as they are', () => {
  fc.assert(
    fc.property(limits, (own) => {
      expect(narrowLimits({ ...own, maxIterations: 3 })).toEqual({ ...own, maxIterations: 3 });
    }),
  );
});
