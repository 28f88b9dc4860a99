import { describe, expect, test } from 'vitest';
import type { RunLimits } from '../../../../src/core/domain/limits.ts';
import { abovePart, hasFixedDeadline, raisable } from '../../../../src/core/kernel/limits.ts';

const limits: RunLimits = { steps: 5, finalAttempt: false, totalTokens: 100, toolCallsByName: { t: 1, u: 1 } };
const parent = { runId: 'above', depth: 1, checkMs: 1, left: { steps: 8, totalTokens: 100, toolCallsByName: { t: 2 } } };

describe('a raise of the limits of a child', () => {
  test('is accepted up to the part that the child was given', () => {
    expect(abovePart({ limits, parent }, { steps: 8, toolCallsByName: { t: 2, u: 9 }, costUsd: 5 })).toBeUndefined();
    expect(abovePart({ limits }, { steps: 800 })).toBeUndefined();
  });

  test('is refused above it, with the names of the limit and of the run above', () => {
    expect(abovePart({ limits, parent }, { steps: 9 })).toContain(
      'limit "steps" is 5, and the run has been given 8 of the limit of run "above"',
    );
    expect(abovePart({ limits, parent }, { toolCallsByName: { t: 3 } })).toContain('limit "toolCallsByName.t" is 1');
  });

  test('leaves room for the final attempt', () => {
    expect(abovePart({ limits: { ...limits, finalAttempt: true }, parent }, { steps: 8 })).toContain('given 7');
  });

  test('does not move a deadline that is the one of the run above', () => {
    const left = { ...parent, left: { deadlineMs: 60 } };
    expect(hasFixedDeadline({ limits: { ...limits, onLimit: 'ask', deadlineMs: 60 }, parent: left })).toBe(true);
    expect(hasFixedDeadline({ limits: { ...limits, onLimit: 'ask', deadlineMs: 50 }, parent: left })).toBe(false);
    expect(hasFixedDeadline({ limits: { ...limits, onLimit: 'ask', deadlineMs: 60 } })).toBe(false);
    expect(hasFixedDeadline({ limits })).toBe(true);
  });

  test('is proposed within that part, and not at all if nothing is left of it', () => {
    const reached = { stopReason: 'step_limit' as const, message: 'used', proposal: { steps: 10 } };
    expect(raisable({ limits, parent }, reached)?.proposal).toEqual({ steps: 8 });
    expect(raisable({ limits }, reached)?.proposal).toEqual({ steps: 10 });
    expect(raisable({ limits, parent }, { ...reached, proposal: { totalTokens: 300 } })).toBeUndefined();
    expect(raisable({ limits, parent }, { ...reached, proposal: { toolCallsByName: { t: 9, u: 1 } } })?.proposal).toEqual({
      toolCallsByName: { t: 2, u: 1 },
    });
  });
});
