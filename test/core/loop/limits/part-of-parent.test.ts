import { describe, expect, test } from 'vitest';
// oxlint-disable-next-line import/no-unassigned-import -- it composes the capabilities, which know what a run was given.
import '../../../../src/core/capabilities.ts';
import type { RunLimits } from '../../../../src/core/domain/limits.ts';
import { abovePart, fixedDeadline, raisable } from '../../../../src/core/kernel/limits.ts';
import { PARENT, type ParentRun } from '../../../../src/core/domain/run-input.ts';
import type { Slices } from '../../../../src/core/kernel/run-state.ts';

const limits: RunLimits = { steps: 5, finalAttempt: false, totalTokens: 100, toolCallsByName: { t: 1, u: 1 } };
const parent = { runId: 'above', depth: 1, checkMs: 1, left: { steps: 8, totalTokens: 100, toolCallsByName: { t: 2 } } };

/** A run with these limits that was started by another one. */
function child(own: RunLimits, by: ParentRun = parent): { limits: RunLimits; slices: Slices } {
  return { limits: own, slices: { [PARENT]: by } };
}

describe('a raise of the limits of a child', () => {
  test('is accepted up to the part that the child was given', () => {
    expect(abovePart(child(limits), { steps: 8, toolCallsByName: { t: 2, u: 9 }, costUsd: 5 })).toBeUndefined();
    expect(abovePart({ limits, slices: {} }, { steps: 800 })).toBeUndefined();
  });

  test('is refused above its share, with the names of the limit and the parent', () => {
    expect(abovePart(child(limits), { steps: 9 })).toContain(`limit "steps" is 5, and the run's share of it from its parent "above" is 8`);
    expect(abovePart(child(limits), { toolCallsByName: { t: 3 } })).toContain('limit "toolCallsByName.t" is 1');
  });

  test('leaves room for the final attempt', () => {
    expect(abovePart(child({ ...limits, finalAttempt: true }), { steps: 8 })).toContain('is 7, which does not change');
  });

  test('does not move a deadline that it has from its parent', () => {
    const left = { ...parent, left: { deadlineMs: 60 } };
    const endOf = (run: Parameters<typeof abovePart>[0]): number => fixedDeadline({ ...run, startedAt: 1_000 });
    expect(endOf(child({ ...limits, onLimit: 'ask', deadlineMs: 60 }, left))).toBe(1_060);
    expect(endOf(child({ ...limits, onLimit: 'ask', deadlineMs: 50 }, left))).toBe(Infinity);
    expect(endOf({ limits: { ...limits, onLimit: 'ask', deadlineMs: 60 }, slices: {} })).toBe(Infinity);
    expect(endOf({ limits: { ...limits, deadlineMs: 60 }, slices: {} })).toBe(1_060);
    expect(endOf({ limits, slices: {} })).toBe(Infinity);
  });

  test('is proposed within that part, and not at all if nothing is left of it', () => {
    const reached = { stopReason: 'step_limit' as const, message: 'used', proposal: { steps: 10 } };
    expect(raisable(child(limits), reached)?.proposal).toEqual({ steps: 8 });
    expect(raisable({ limits, slices: {} }, reached)?.proposal).toEqual({ steps: 10 });
    expect(raisable(child(limits), { ...reached, proposal: { totalTokens: 300 } })).toBeUndefined();
    expect(raisable(child(limits), { ...reached, proposal: { toolCallsByName: { t: 9, u: 1 } } })?.proposal).toEqual({
      toolCallsByName: { t: 2, u: 1 },
    });
  });
});
