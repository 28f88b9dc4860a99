import { describe, expect, test } from 'vitest';
import type { MessageReceiver } from '../../../src/core/handlers/decisions.ts';
import { refuseUpdate, takeSignal, takeUpdate } from '../../../src/core/handlers/requests.ts';
import { Inbox } from '../../../src/core/kernel/inbox.ts';
import { newRunState } from '../../../src/core/kernel/run-state.ts';
import type { SIGNALS } from '../../../src/core/protocol.ts';
import { beginSession, openAs } from '../../../src/core/sessions/open-session.ts';
import { testSnapshot, testTool } from '../loop/fakes/snapshot.ts';
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

test('a program refuses messages, also before its worker has resolved it', () => {
  const starting: MessageReceiver = { runId: 'p-1', inbox: new Inbox(), programInput: { input: {} } };
  const message = { id: 'm1', content: [{ type: 'text', text: 'hurry' }] };
  const refusal = { code: 'invalid_input', message: expect.stringContaining('is a program, which accepts no messages') };
  expect(refuseUpdate(starting, 'send', message, 0)).toMatchObject(refusal);
  expect(signal(starting, 'send', message)).toMatchObject(refusal);
  expect(starting.inbox.queued).toBe(0);
  const others = { ...starting, principal: { tenant: 't', user: 'ann' } };
  expect(refuseUpdate(others, 'send', { ...message, principal: { tenant: 't', user: 'bob' } }, 0)).toEqual({
    code: 'run_not_found',
    message: 'No run "p-1"',
  });
});

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

describe('a message for a session', () => {
  const message = { id: 'm1', content: 'Hi' };

  test('is refused by a run that is not a session, before and after its agent is resolved', () => {
    const refused = { code: 'invalid_input', message: 'Run "r" is not a session: send the message to the run, not to a session' };
    expect(refuseUpdate(receiver(), 'send', { ...message, session: {} }, 0)).toEqual(refused);
    expect(refuseUpdate({ runId: 'r', inbox: new Inbox() }, 'send', { ...message, session: {} }, 0)).toEqual(refused);
    expect(refuseUpdate(receiver(), 'send', message, 0)).toBeUndefined();
  });

  test('of another agent is refused, also after a handoff: the session is the one of the agent that it began with', () => {
    const beginning = { runId: 'r', inbox: new Inbox(), opensAs: 'session', agentName: 'clerk' } as const;
    const state = newRunState({ runId: 'r', snapshot: testSnapshot({ name: 'clerk' }), startedAt: 0, input: 'Q' }, clock);
    openAs(state, beginSession({}, { startedAt: 0, opens: true, overrides: {} }));
    const handedOver = { ...state, snapshot: testSnapshot({ name: 'triage' }), slices: { ...state.slices, handoffs: { first: 'clerk' } } };
    const open = [beginning, { ...beginning, state }, { ...beginning, state: handedOver }];
    for (const run of open) {
      for (const session of [{ agent: 'clerk' }, {}]) expect(refuseUpdate(run, 'send', { ...message, session }, 0)).toBeUndefined();
      expect(refuseUpdate(run, 'send', { ...message, session: { agent: 'triage' } }, 0)).toMatchObject({
        code: 'run_exists',
        message: expect.stringContaining('began with agent "clerk", not with "triage"'),
      });
    }
  });
});

describe('a request with the id of another one', () => {
  const permissions = { mode: 'default', deny: [{ tool: 'web_*' }] };
  const pending = { kind: 'tool', toolName: 't', digest: 'd', key: 'k', step: 1, requestedAt: 0 };
  const message = { id: '1', content: 'pay invoice 1' };
  const approval = { id: '1', callId: 'c1', digest: 'd' };

  /** A run in which two calls wait, and its next execution. */
  function waitingRun(): { run: MessageReceiver & { inbox: Inbox }; next: () => MessageReceiver & { inbox: Inbox } } {
    const tools = [testTool('t'), testTool('web_search')];
    const state = newRunState({ runId: 'r', snapshot: testSnapshot({ tools }), startedAt: 0, input: 'Q' }, clock);
    Object.assign(state.approvals, { pending: ['c1', 'c2'].map((callId) => ({ ...pending, callId })) });
    const inbox = new Inbox();
    const next = (): Inbox => new Inbox(JSON.parse(JSON.stringify(inbox.carried())));
    return { run: { runId: 'r', inbox, state }, next: () => ({ runId: 'r', inbox: next(), state }) };
  }

  const refused = { code: 'key_reused', message: 'Run "r" has accepted another request with the id "1": send this one with a new id' };

  test.each([
    ['send', message, 'send', { ...message, content: 'pay invoice 2' }],
    ['send', message, 'send', { ...message, mode: 'interrupt' }],
    ['send', message, 'raise', { id: '1', limits: { steps: 20 } }],
    ['send', message, 'approve', approval],
    ['raise', { id: '1', limits: { steps: 20 } }, 'raise', { id: '1', limits: { steps: 90 } }],
    ['raise', { id: '1', limits: { steps: 20 } }, 'send', message],
    ['setPermissions', { id: '1', permissions }, 'setPermissions', { id: '1', permissions: { mode: 'default', deny: [{ tool: 't' }] } }],
    ['approve', approval, 'approve', { ...approval, callId: 'c2' }],
    ['approve', approval, 'approve', { ...approval, arguments: { a: 1 } }],
    ['reject', { ...approval, reason: 'no' }, 'reject', { ...approval, reason: 'not today' }],
    ['respond', { ...approval, content: 'yes' }, 'respond', { ...approval, content: 'no' }],
  ] as const)('is refused, in this execution and the next: %s %j, then %s %j', (first, input, second, other) => {
    const { run, next } = waitingRun();
    expect(refuseUpdate(run, first, input, 0)).toBeUndefined();
    takeUpdate(run, first, input, 0);
    for (const one of [run, next()]) expect(refuseUpdate(one, second, other, 0)).toEqual(refused);
  });

  test('is refused as a Signal, too, and noted for the record', () => {
    const { run } = waitingRun();
    expect(signal(run, 'send', message)).toBeUndefined();
    expect(signal(run, 'send', { ...message, content: 'pay invoice 2' })).toEqual(refused);
    expect(run.inbox.takeRefused()).toMatchObject([{ request: 'send', id: '1', code: 'key_reused' }]);
    expect(run.inbox.take()).toMatchObject([{ content: 'pay invoice 1' }]);
  });

  test.each([
    ['send', message, { content: message.content, id: '1', mode: 'queue' }],
    ['raise', { id: '1', limits: { steps: 20, toolCalls: 30 } }, { id: '1', limits: { toolCalls: 30, steps: 20 }, by: 'ann' }],
    ['setPermissions', { id: '1', permissions }, { id: '1', permissions, by: 'ann' }],
    ['reject', { ...approval, reason: 'no' }, { ...approval, reason: 'no', digest: 'none' }],
    ['reject', { ...approval, reason: 'no' }, approval],
  ] as const)('is no other one if it asks for the same: %s %j, then %j', (name, first, again) => {
    const { run, next } = waitingRun();
    takeUpdate(run, name, first, 0);
    for (const one of [run, next()]) {
      expect(refuseUpdate(one, name, again, 0)).toBeUndefined();
      expect(takeUpdate(one, name, again, 0)).toMatchObject({ status: expect.stringMatching(/^(?:duplicate|repeated)$/) });
      expect(refuseUpdate(one, name, again, 0)).toBeUndefined();
    }
  });

  test('is accepted as a new one once so many requests have come since that the id is forgotten', () => {
    const { run } = waitingRun();
    takeUpdate(run, 'send', message, 0);
    run.inbox.take();
    let { inbox } = run;
    for (let execution = 0; execution < 3; execution += 1) {
      for (let count = 0; count < 150; count += 1) takeUpdate({ ...run, inbox }, 'send', { id: `${execution} ${count}`, content: 'x' }, 0);
      inbox.take();
      inbox = new Inbox(JSON.parse(JSON.stringify(inbox.carried())));
    }
    const other = { ...message, content: 'pay invoice 2' };
    expect(refuseUpdate({ ...run, inbox }, 'send', other, 0)).toBeUndefined();
    expect(takeUpdate({ ...run, inbox }, 'send', other, 0)).toMatchObject({ status: 'queued' });
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
