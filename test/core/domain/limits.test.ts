import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  checkSessionLimits,
  type LimitChanges,
  narrowLimits,
  remainingLimits,
  type SessionLimits,
  shouldCompact,
} from '../../../src/core/domain/limits.ts';

const none = { turns: 0, totalTokens: 0 };

describe('the limits of a session', () => {
  test.each<[string, SessionLimits, Parameters<typeof checkSessionLimits>[1], string]>([
    ['nothing is used', {}, none, 'ok'],
    ['one turn is left', {}, { turns: 9, totalTokens: 199_999 }, 'ok'],
    ['the last turn is complete', { turns: 10 }, { turns: 10, totalTokens: 0 }, 'max_turns_reached'],
    ['turns have no separate limit', {}, { turns: 10_000, totalTokens: 0 }, 'ok'],
    ['the tokens are used up', { totalTokens: 1_000 }, { turns: 0, totalTokens: 1_000 }, 'max_budget_reached'],
    ['turns come before tokens', { turns: 1, totalTokens: 1 }, { turns: 1, totalTokens: 1 }, 'max_turns_reached'],
    ['a limit of 0 is reached at once', { turns: 0 }, none, 'max_turns_reached'],
    ['null lifts the limit of turns', { turns: null }, { turns: 10_000, totalTokens: 0 }, 'ok'],
    ['null lifts the limit of tokens', { totalTokens: null }, { turns: 0, totalTokens: 1e9 }, 'ok'],
    ['the cost is used up', { costUsd: 0.5 }, { ...none, costUsd: 0.5 }, 'max_cost_reached'],
    ['the time is over', { deadlineMs: 60_000 }, { ...none, elapsedMs: 60_000 }, 'deadline_reached'],
    ['cost and time have no separate limit', {}, { ...none, costUsd: 1e6, elapsedMs: 1e12 }, 'ok'],
    ['cost comes before time', { costUsd: 1, deadlineMs: 1 }, { ...none, costUsd: 2, elapsedMs: 2 }, 'max_cost_reached'],
  ])('%s', (_, limits, used, expected) => {
    expect(checkSessionLimits(limits, used)).toBe(expected);
  });

  it('are 200,000 tokens, and no limit of turns, if a session names none', () => {
    expect(remainingLimits({}, none)).toEqual({ turns: null, totalTokens: 200_000, costUsd: null, deadlineMs: null });
  });

  it('are reached exactly if nothing of one is left, and the rest is never negative (property)', () => {
    const amount = fc.nat({ max: 50 });
    const limit = fc.option(amount, { nil: null });
    const limits = fc.record({ turns: limit, totalTokens: limit, costUsd: limit, deadlineMs: limit }, { requiredKeys: [] });
    const used = fc.record({ turns: amount, totalTokens: amount, costUsd: amount, elapsedMs: amount });
    fc.assert(
      fc.property(limits, used, (given, spent) => {
        const left = Object.values(remainingLimits(given, spent));
        expect(left.every((one) => one === null || one >= 0)).toBe(true);
        expect(checkSessionLimits(given, spent) === 'ok').toBe(!left.includes(0));
      }),
    );
  });
});

test.each([
  [{}, 20, false],
  [{}, 21, true],
  [{ compactAfter: 5 }, 5, false],
  [{ compactAfter: 5 }, 6, true],
  [{ compactAfter: 0 }, 1, true],
  [{ compactAfter: null }, 1_000, false],
])('a session with %j after %i turns: compacted %s', (limits, turns, expected) => {
  expect(shouldCompact(limits, turns)).toBe(expected);
});

describe('narrowed limits', () => {
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

  /** The values of limits by name, including the limits of single tools. */
  function numbersOf({ toolCallsByName = {}, ...limitsOfRun }: LimitChanges): [string, number][] {
    return [
      ...Object.entries(limitsOfRun),
      ...Object.entries(toolCallsByName).map(([tool, calls]): [string, number] => [`of ${tool}`, calls]),
    ];
  }

  test('no limit is above its ceiling or above its previous value', () => {
    fc.assert(
      fc.property(limits, limits, (own, ceiling) => {
        const narrowed = new Map(numbersOf(narrowLimits(own, ceiling)));
        const above = [...numbersOf(own), ...numbersOf(ceiling)].filter(([name, most]) => (narrowed.get(name) ?? Infinity) > most);
        expect(above).toEqual([]);
      }),
    );
  });

  test('limits without a ceiling do not change', () => {
    fc.assert(
      fc.property(limits, (own) => {
        expect(narrowLimits({ ...own, steps: 3 })).toEqual({ ...own, steps: 3 });
      }),
    );
  });
});
