import { expect, test } from 'vitest';
import { refuseUpdate } from '../../../src/core/handlers/requests.ts';
import { Inbox } from '../../../src/core/loop/state/inbox.ts';
import { newRunState } from '../../../src/core/loop/state/run-state.ts';
import { testSnapshot } from '../loop/fakes/snapshot.ts';

const clock = { now: () => 0, uuid: () => 'id' };

/** A run that was given 8 steps by the run above, and has a limit of 5. */
function childWith(pending: object[] = []): Parameters<typeof refuseUpdate>[0] {
  const snapshot = testSnapshot({ limits: { steps: 5, finalAttempt: false, onLimit: 'ask' } });
  const state = newRunState({ runId: 'child', snapshot, input: 'Go', startedAt: 0 }, clock);
  state.parent = { runId: 'above', depth: 1, checkMs: 1_000, left: { steps: 8 } };
  Object.assign(state.approvals, { pending });
  return { runId: 'child', inbox: new Inbox(), state };
}

test('a raise of the limits of a child is refused above the part that the run above has given it', () => {
  const run = childWith();
  expect(refuseUpdate(run, 'raise', { id: 'r1', limits: { steps: 8 } }, 0)).toBeUndefined();
  expect(refuseUpdate(run, 'raise', { id: 'r2', limits: { steps: 9 } }, 0)).toMatchObject({
    code: 'budget_exceeded',
    message: expect.stringMatching(/given 8 of the limit of run "above".*Raise the limit of the root/),
  });
});

test('an approval at a limit is refused above that part', () => {
  const limit = { kind: 'limit', callId: 'limit-1', toolName: 'raise_limits', digest: 'd', key: 'k', step: 1, requestedAt: 0 };
  const run = childWith([{ ...limit, proposal: { steps: 8 } }]);
  const approval = { callId: 'limit-1', id: 'a1', digest: 'd' };
  expect(refuseUpdate(run, 'approve', approval, 0)).toBeUndefined();
  expect(refuseUpdate(run, 'approve', { ...approval, arguments: { steps: 9 } }, 0)).toMatchObject({
    code: 'budget_exceeded',
    message: expect.stringContaining('given 8'),
  });
});
