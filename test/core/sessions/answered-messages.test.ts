import { describe, expect, it, test } from 'vitest';
import { takeUpdate } from '../../../src/core/handlers/requests.ts';
import type { ModelCallOutcome } from '../../../src/core/kernel/ports.ts';
import { Inbox } from '../../../src/core/kernel/inbox.ts';
import { call, called, said } from '../loop/fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../loop/fakes/snapshot.ts';
import { type FakeSession, runFakeSession, type SessionCaller } from './fake-session.ts';
import type { ToolResult } from '../../../src/core/domain/content.ts';
import { endedTurns } from '../../../src/core/domain/sessions.ts';

const says =
  (id: string): SessionCaller =>
  (session) =>
    session.update('send', { id, content: `message ${id}` });

/** Sends message "b" during a model call, with the outcome. */
function meanwhile(outcome: ModelCallOutcome, ...others: SessionCaller[]): (session: FakeSession) => ModelCallOutcome {
  return (session) => {
    expect(session.update('send', { id: 'b', content: 'message b' })).toMatchObject({ status: 'queued', turn: 1 });
    for (const other of others) other(session);
    return outcome;
  };
}

const interrupts: SessionCaller = ({ update }) => expect(update('interrupt', {})).toMatchObject({ interrupted: true, turn: 1 });
const looks = called(call('c1', 'look'));

describe('a message that its turn ends without reading is answered in the next turn', () => {
  it.each([
    ['after an interrupt', { type: 'cancelled' } as const, interrupts, { status: 'cancelled' }],
    ['after an interrupt in the task of the answer', said('A'), interrupts, { status: 'cancelled', output: 'A' }],
    ['after an error', { type: 'failed', code: 'model_error', message: 'down' } as const, undefined, { status: 'error' }],
    ['at a limit', looks, undefined, { status: 'max_iterations_reached' }],
  ])('%s', async (_, outcome, also, expected) => {
    const snapshot = testSnapshot({ tools: [testTool('look')], limits: { steps: 1, finalAttempt: false } });
    const { state, events } = await runFakeSession({
      snapshot,
      model: [meanwhile(outcome, ...(also === undefined ? [] : [also])), said('B')],
      callers: [says('a')],
    });
    expect(endedTurns(state)).toMatchObject([
      { turn: 1, ...expected, unanswered: ['b'] },
      { turn: 2, status: 'completed', output: 'B' },
    ]);
    expect(endedTurns(state)?.[1]).not.toHaveProperty('unanswered');
    expect(events.flatMap(({ turn }) => turn ?? [])).toMatchObject([{ number: 1, unanswered: ['b'] }, { number: 2 }]);
  });

  it('that came during the final attempt', async () => {
    const snapshot = testSnapshot({ tools: [testTool('look')], limits: { steps: 1, finalAttempt: true } });
    const { state } = await runFakeSession({ snapshot, model: [looks, meanwhile(said('Final')), said('B')], callers: [says('a')] });
    expect(endedTurns(state)).toMatchObject([
      { status: 'max_iterations_reached', output: 'Final', unanswered: ['b'] },
      { status: 'completed', output: 'B' },
    ]);
  });
});

test('a turn that is interrupted while its agent is resolved again has taken its message, and leaves a later one to the next turn', async () => {
  const { state, events } = await runFakeSession({
    model: [said('B')],
    callers: [
      (session) => {
        session.update('refresh', {});
        return says('a')(session);
      },
    ],
    refreshed: [testSnapshot()],
    duringRefresh: (session) => {
      interrupts(session);
      says('b')(session);
    },
  });
  expect(endedTurns(state)).toMatchObject([
    { turn: 1, status: 'cancelled', unanswered: ['b'] },
    { turn: 2, status: 'completed', output: 'B' },
  ]);
  const order = events.map(({ content: [item], turn }) => (item?.type === 'message' ? item.content : turn?.number));
  expect(order.filter((one) => one !== undefined)).toEqual(['message a', 1, 'message b', 'B', 2]);
});

test('a message whose text was sent to the model is answered by its turn, also if the turn fails', async () => {
  const { state } = await runFakeSession({
    snapshot: testSnapshot({ tools: [testTool('look')] }),
    model: [meanwhile(looks), { type: 'failed', code: 'model_error', message: 'down' }],
    callers: [says('a')],
  });
  expect(endedTurns(state)).toMatchObject([{ status: 'error' }]);
  expect(endedTurns(state)?.[0]).not.toHaveProperty('unanswered');
});

describe('a message that is resent', () => {
  it.each([[false], [true]])('has the turn that answers it in its receipt (the session continues as new: %s)', async (continues) => {
    const receipts: unknown[] = [];
    const sendsAgain: SessionCaller = (session) => {
      for (const id of ['a', 'b']) receipts.push(session.update('send', { id, content: `message ${id}` }));
      session.update('close', {});
    };
    await runFakeSession({
      terms: { refresh: 'never' },
      model: [meanwhile({ type: 'cancelled' }, interrupts), said('B'), said('C')],
      callers: [says('a'), says('c'), sendsAgain],
      continues,
    });
    expect(receipts).toMatchObject([
      { id: 'a', status: 'duplicate', turn: 1 },
      { id: 'b', status: 'duplicate', turn: 2 },
    ]);
  });

  it('has it before the next turn begins, too', async () => {
    const snapshot = testSnapshot({ limits: { steps: 1, finalAttempt: false } });
    const receipts: unknown[] = [];
    await runFakeSession({
      snapshot,
      model: [
        meanwhile({ type: 'failed', code: 'model_error', message: 'down' }),
        (session) => {
          receipts.push(session.update('send', { id: 'b', content: 'message b' }));
          return said('B');
        },
      ],
      callers: [says('a')],
    });
    expect(receipts).toMatchObject([{ status: 'duplicate', turn: 2 }]);
  });
});

test('the first message of a session is answered by its first turn, and its receipt says so before the agent is resolved', () => {
  const message = { id: 'a', content: 'Hello' };
  const run = { runId: 'talk', inbox: new Inbox() };
  expect(takeUpdate({ ...run, opensAs: 'session' }, 'send', message, 0)).toMatchObject({ status: 'queued', turn: 1 });
  expect(takeUpdate({ ...run, opensAs: 'session' }, 'send', message, 0)).toMatchObject({ status: 'duplicate', turn: 1 });
  expect(takeUpdate({ runId: 'run', inbox: new Inbox() }, 'send', message, 0)).not.toHaveProperty('turn');
});

test('an interrupted turn gives results to running, waiting and unstarted calls, and the session continues', async () => {
  const calls = [call('c1', 'slow'), call('c2', 'asked'), call('c3', 'once')];
  const response = called(...calls);
  if (response.type !== 'response') throw new Error('no response');
  const approvals = { c2: { digest: 'of c2' } };
  const { state, events } = await runFakeSession({
    snapshot: testSnapshot({
      parallel: false,
      tools: [testTool('slow'), testTool('asked', { approval: { when: 'predicate', onDeadline: 'reject' } }), testTool('once')],
    }),
    model: [{ ...response, response: { ...response.response, approvals } }, said('B')],
    tool: (
      {
        state: {
          approvals: { pending },
        },
        update,
      },
      toolCallId,
    ) => {
      expect(toolCallId).toBe('c1');
      expect(pending.map(({ callId }) => callId)).toEqual(['c2']);
      update('interrupt', { reason: 'enough' });
      return { type: 'cancelled' };
    },
    callers: [({ update }) => update('send', { id: 'a', content: 'a' }), ({ update }) => update('send', { id: 'b', content: 'b' })],
  });
  const results = events.flatMap(({ content }) => content.filter((item): item is ToolResult => item.type === 'tool_result'));
  expect(results.map(({ toolCallId, status, content }) => [toolCallId, status, content])).toMatchInlineSnapshot(`
    [
      [
        "c1",
        "error",
        [
          "Tool call was running when the run was cancelled; its outcome is unknown.",
        ],
      ],
      [
        "c2",
        "error",
        [
          "Tool call was interrupted and not executed. Please retry if needed.",
        ],
      ],
      [
        "c3",
        "error",
        [
          "Tool call was interrupted and not executed. Please retry if needed.",
        ],
      ],
    ]
  `);
  expect(endedTurns(state)).toMatchObject([
    { turn: 1, status: 'cancelled', cancelReason: 'enough', toolCallsTotal: 1, toolCallsNotRun: { not_started: {} } },
    { turn: 2, status: 'completed', output: 'B' },
  ]);
  expect(state.approvals.pending).toEqual([]);
  const seen = state.window.events.flatMap(({ content }) =>
    content.flatMap((item) => (item.type === 'tool_result' ? item.toolCallId : [])),
  );
  expect(seen).toEqual(['c1', 'c2', 'c3']);
});
