import { describe, expect, test } from 'vitest';
import type { MessageReceiver } from '../../../src/core/handlers/decisions.ts';
import { refuseUpdate, takeSignal } from '../../../src/core/handlers/requests.ts';
import { Inbox } from '../../../src/core/kernel/inbox.ts';
import { newRunState } from '../../../src/core/kernel/run-state.ts';
import type { SIGNALS } from '../../../src/core/protocol.ts';
import { testSnapshot } from '../loop/fakes/snapshot.ts';
import { setParent } from '../../../src/core/capabilities/children/children.ts';

const clock = { now: () => 0, uuid: () => 'e' };

function receiver(): MessageReceiver & { inbox: Inbox } {
  const state = newRunState({ runId: 'r', snapshot: testSnapshot(), startedAt: 0, input: 'Q' }, clock);
  return { runId: 'r', inbox: new Inbox(), state };
}

function signal(run: MessageReceiver, name: keyof typeof SIGNALS, input: unknown): unknown {
  return takeSignal(run, name, input, 0);
}

test.each([undefined, null, {}, { by: 'ann' }, 'now', 5])('pause and resume take any payload, such as %j', (input) => {
  const run = receiver();
  expect(signal(run, 'pause', input)).toBeUndefined();
  expect(run.inbox.paused).toBe(true);
  expect(signal(run, 'resume', input)).toBeUndefined();
  expect(run.inbox.paused).toBe(false);
});

test.each([undefined, null, 'now', 5, {}, { reason: '' }, { reason: 5 }])(
  'a cancellation keeps its reason if %j comes as another one',
  (input) => {
    const run = receiver();
    signal(run, 'cancelReason', { reason: 'enough' });
    expect(signal(run, 'cancelReason', input)).toBeUndefined();
    expect(run.inbox.cancelReason).toBe('enough');
  },
);

test('raise does what the Update does, once for its id', () => {
  const run = receiver();
  const raise = { id: 'r1', limits: { steps: 20 }, by: 'ann' };
  expect([signal(run, 'raise', raise), signal(run, 'raise', raise)]).toEqual([undefined, undefined]);
  expect(run.inbox.takeRaises()).toMatchObject([{ id: 'r1', limits: { steps: 20 }, by: 'ann' }]);
  expect(run.inbox.takeRefused()).toEqual([]);
});

describe('a raise that does not fit is noted for the record, and changes nothing', () => {
  test.each([
    ['nothing', undefined, {}],
    ['a text', 'more', {}],
    ['no limits', { id: 'r1' }, { id: 'r1' }],
    ['a limit that is lower', { id: 'r1', limits: { steps: 1 }, by: 'ann' }, { id: 'r1', by: 'ann' }],
    ['a limit that the run does not have', { id: 'r1', limits: { costUsd: 1 } }, { id: 'r1' }],
    ['an id that is too long', { id: 'x'.repeat(65), limits: { steps: 20 } }, {}],
    ['something else beside', { id: 'r1', limits: { steps: 20 }, more: 1 }, { id: 'r1' }],
  ])('%s', (_, input, named) => {
    const run = receiver();
    expect(signal(run, 'raise', input)).toMatchObject({ code: 'invalid_input' });
    expect(run.inbox.takeRaises()).toEqual([]);
    expect(run.inbox.takeRefused()).toMatchObject([{ request: 'raise', code: 'invalid_input', ...named }]);
  });
});

test.each(['pause', 'raise'] as const)('%s of a run that has ended is refused', (name) => {
  const run = receiver();
  run.inbox.closed = true;
  expect(signal(run, name, { id: 'r1', limits: { steps: 20 } })).toMatchObject({ code: 'run_ended' });
  expect(run.inbox.paused).toBe(false);
});

describe('a raise of the limits of a child', () => {
  /** A run with 8 steps from its parent, and a limit of 5. */
  function childWith(pending: object[] = []): Parameters<typeof refuseUpdate>[0] {
    const snapshot = testSnapshot({ limits: { steps: 5, finalAttempt: false, onLimit: 'ask' } });
    const state = newRunState({ runId: 'child', snapshot, input: 'Go', startedAt: 0 }, clock);
    setParent(state, { runId: 'above', depth: 1, checkMs: 1_000, left: { steps: 8 } });
    Object.assign(state.approvals, { pending });
    return { runId: 'child', inbox: new Inbox(), state };
  }

  test('a raise of the limits of a child is refused above the share that its parent gave it', () => {
    const run = childWith();
    expect(refuseUpdate(run, 'raise', { id: 'r1', limits: { steps: 8 } }, 0)).toBeUndefined();
    expect(refuseUpdate(run, 'raise', { id: 'r2', limits: { steps: 9 } }, 0)).toMatchObject({
      code: 'budget_exceeded',
      message: expect.stringMatching(/share of it from its parent "above" is 8.*Raise the limit of the root/),
    });
  });

  test('an approval at a limit is refused above that part', () => {
    const limit = { kind: 'limit', callId: 'limit-1', toolName: 'raise_limits', digest: 'd', key: 'k', step: 1, requestedAt: 0 };
    const run = childWith([{ ...limit, proposal: { steps: 8 } }]);
    const approval = { callId: 'limit-1', id: 'a1', digest: 'd' };
    expect(refuseUpdate(run, 'approve', approval, 0)).toBeUndefined();
    expect(refuseUpdate(run, 'approve', { ...approval, arguments: { steps: 9 } }, 0)).toMatchObject({
      code: 'budget_exceeded',
      message: expect.stringContaining('is 8, which does not change'),
    });
  });
});
