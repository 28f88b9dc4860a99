import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readBack } from '../../src/history/read-run.ts';
import { approvalsFrom, statusFrom } from '../../src/client/recorded-views.ts';
import { defineTool } from '../../src/define/define-tool.ts';
import type { ContentItem, ToolCall } from '../../src/core/domain/content.ts';
import { defined } from '../../src/core/domain/json.ts';
import { ACTIVITIES } from '../../src/core/protocol.ts';
import { agentTo, to } from '../core/loop/handoffs/agents.ts';
import { newSnapshot } from '../fakes/snapshot.ts';
import { APART, BEGAN, HandMade } from './hand-made.ts';

const parameters = z.object({ amount: z.number() });
const pay = defineTool({ name: 'pay', description: 'Pays', parameters, approval: 'always', execute: () => '' });
const look = defineTool({ name: 'look', description: 'Looks', parameters: z.object({}), execute: () => '' });
const snapshot = newSnapshot({ tools: [pay, look] });

const RUNNING = { status: 'RUNNING' };
const DONE = [{ type: 'message', role: 'assistant', content: 'done' }] as const;

function call(name: string, toolCallId: string, args = {}): ToolCall {
  return { type: 'tool_call', toolCallId, name, arguments: args };
}

/** A response of two calls: one needs a decision, and one does not. */
function waiting(): HandMade {
  const calls = [call('pay', 'c1', { amount: 5 }), call('look', 'c2')];
  return new HandMade(snapshot).model(1, { asked: 2, ended: 3 }, calls, { approvals: { c1: { digest: 'd' } } });
}

const approve = (id: string, more = {}): object => ({ callId: 'c1', id, digest: 'd', ...more });

test('a waiting run is read back with its pending call and the results of its other calls', async () => {
  const { recorded } = waiting().tool(1, 1, { asked: 3, ended: 4 }, 'seen');
  const run = await readBack('r', recorded);
  const status = statusFrom('r', RUNNING, run);
  expect(status).toMatchObject({ status: 'pending_confirmation', waitingFor: ['pay'], toolCallsStarted: 1, events: 3 });
  expect(approvalsFrom('r', RUNNING, run).pending).toMatchObject([
    { callId: 'c1', digest: 'd', arguments: { amount: 5 }, requestedAt: new Date(BEGAN + 3 * APART).toISOString() },
  ]);
  expect(run.state?.context.events.at(-1)).toMatchObject({ partial: true, content: [{ toolCallId: 'c2', content: ['seen'] }] });
});

test('a decision that comes with the end of another call is carried out, and both results are one event', async () => {
  const { recorded } = waiting()
    .tool(1, 1, { asked: 3, ended: 4 }, 'seen')
    .arrival('update', 4, 'approve', approve('x', { by: 'ann', arguments: { amount: 6 } }))
    .tool(1, 0, { asked: 4, ended: 5 }, 'paid')
    .model(4, { asked: 5, ended: 6 }, [...DONE]);
  const { state, result } = await readBack('r', recorded);
  expect(result).toMatchObject({ status: 'completed', output: 'done', stepsUsed: 2 });
  expect(state?.context.events.map(({ author, content }) => [author, content.length])).toEqual([
    ['user', 1],
    ['bot', 2],
    ['ann', 0],
    ['bot', 2],
    ['bot', 1],
  ]);
  expect(state?.steps[0]?.toolCalls.map(({ arguments: args, result: text }) => [args, text])).toEqual([
    [{ amount: 6 }, 'paid'],
    [{}, 'seen'],
  ]);
});

test('a deadline passes in the task that saw its timer fire, and not before', async () => {
  const terms = { approvals: { c1: { digest: 'd', deadlineMs: 2 * APART } } };
  const begun = (): HandMade => new HandMade(snapshot).model(1, { asked: 2, ended: 3 }, [call('pay', 'c1', { amount: 5 })], terms);
  const before = await readBack('r', begun().arrival('update', 4, 'send', { id: 'm', content: 'hm' }).recorded);
  expect(before.state?.approvals.pending).toMatchObject([{ callId: 'c1', deadlineAt: BEGAN + 5 * APART }]);
  const { state } = await readBack('r', begun().timer(6).recorded);
  expect(state?.context.events[2]?.decision).toMatchObject({
    type: 'reject',
    source: 'deadline',
    at: new Date(BEGAN + 6 * APART).toISOString(),
  });
  expect(state?.approvals.pending).toEqual([]);
});

test('a cancellation ends a pending call and the tool that runs at the same time, in its own task', async () => {
  const { recorded } = waiting().tool(1, 1, { asked: 3, ended: 9 }, 'too late').cancel(5);
  const { state, result } = await readBack('r', recorded);
  expect(result).toMatchObject({ status: 'cancelled', stepsUsed: 1, endTime: new Date(BEGAN + 5 * APART).toISOString() });
  expect(state?.steps[0]?.toolCalls.map(({ isError }) => isError)).toEqual([true, true]);
});

test('after a cancellation, the model call is waited for, and its output so far is kept', async () => {
  const partial = { id: 'p', content: [...DONE], usage: null, finishReason: 'interrupted' as const };
  const recorded = (ended?: number): HandMade =>
    new HandMade(snapshot).modelOutput(1, { asked: 2, ...(ended === undefined ? {} : { ended }) }, { type: 'aborted', partial }).cancel(4);
  const still = await readBack('r', recorded().recorded);
  expect(still.result).toBeUndefined();
  const { state, result } = await readBack('r', recorded(6).recorded);
  expect(result).toMatchObject({ status: 'cancelled', endTime: new Date(BEGAN + 6 * APART).toISOString() });
  expect(state?.context.events[1]).toMatchObject({ id: 'p', interrupted: true });
});

test('a model call that was aborted for a message is not a cancellation: the next one reads the message', async () => {
  const { recorded } = new HandMade(snapshot)
    .arrival('update', 3, 'send', { id: 'm', content: 'rather this', mode: 'interrupt' })
    .modelOutput(
      1,
      { asked: 2, ended: 4 },
      { type: 'aborted', partial: { id: 'p', content: [], usage: null, finishReason: 'interrupted' } },
    )
    .model(3, { asked: 4, ended: 5 }, [...DONE]);
  const { state, result } = await readBack('r', recorded);
  expect(result?.status).toBe('completed');
  expect(state?.context.events.map(({ id, interrupted }) => (interrupted ? id : '-'))).toEqual(['-', 'p', '-', '-']);
});

test('an invalid decision by Signal is an event of the run, and the call stays pending', async () => {
  const { recorded } = waiting()
    .tool(1, 1, { asked: 3, ended: 4 }, 'seen')
    .arrival('signal', 5, 'approve', approve('x', { digest: 'of other arguments' }));
  const { state } = await readBack('r', recorded);
  expect(state?.context.events.at(-1)?.refused).toMatchObject({ request: 'approve', id: 'x', callId: 'c1', code: 'digest_mismatch' });
  expect(state?.approvals.pending).toHaveLength(1);
});

test('a decision that came after the ending was decided is not accepted', async () => {
  const { recorded } = new HandMade(snapshot)
    .model(1, { asked: 2, ended: 3 }, [...DONE])
    .arrival('signal', 4, 'send', { id: 'late', content: 'too late' });
  const { queued, result } = await readBack('r', recorded);
  expect([result?.status, queued]).toEqual(['completed', 0]);
});

test('a message by Signal before the agent is resolved is accepted from the principal of the run alone, as the run does', async () => {
  const { recorded } = new HandMade(snapshot)
    .arrival('signal', 1, 'send', { id: 'own', content: 'mine', principal: { tenant: 'acme' } })
    .arrival('signal', 1, 'send', { id: 'other', content: 'not mine', principal: { tenant: 'other' } })
    .model(3, { asked: 2, ended: 3 }, [...DONE]);
  Object.assign(recorded.input ?? {}, { principal: { tenant: 'acme' } });
  const { state } = await readBack('r', recorded);
  expect(state?.context.events.map(({ content, refused }) => refused?.id ?? content[0])).toMatchObject([
    { content: 'Q' },
    'other',
    { content: 'mine' },
    DONE[0],
  ]);
});

test('earlier pending calls are known, decided or not', async () => {
  const { recorded } = waiting().tool(1, 1, { asked: 3, ended: 4 }, 'seen').cancel(5);
  const { waited } = await readBack('r', recorded);
  expect([...waited]).toEqual(['c1']);
});

test("a history whose commands differ from the loop's commands is refused", async () => {
  const { recorded } = waiting()
    .tool(1, 1, { asked: 3, ended: 4 }, 'seen')
    .model(9, { asked: 5, ended: 6 }, [...DONE]);
  await expect(readBack('r', recorded)).rejects.toMatchObject({ code: 'history_unreadable' });
});

describe('a history of another loop is refused, and names the first difference:', () => {
  const agent = agentTo('a', ['b', 'c']);
  const seen = (): HandMade =>
    new HandMade(snapshot).model(1, { asked: 2, ended: 3 }, [call('look', 'c2')]).tool(1, 0, { asked: 3, ended: 4 }, 'seen');
  const handedTo = (name: string, content: ContentItem[], ended?: number): HandMade =>
    new HandMade(agent)
      .model(1, { asked: 2, ended: 3 }, content)
      .activity(ACTIVITIES.resolveAgent, { agent: name, from: 'a' }, { asked: 3, ...defined({ ended }) }, agentTo(name, []));
  const decided = new HandMade({ ...snapshot, authorize: true })
    .model(1, { asked: 2, ended: 3 }, [call('pay', 'c1', { amount: 5 })], { approvals: { c1: { digest: 'd' } } })
    .arrival('update', 4, 'approve', approve('x', { by: 'ann' }))
    .activity(ACTIVITIES.authorizeDecision, { decision: { id: 'y' } }, { asked: 4 }, null);

  test.each<[string, HandMade, string]>([
    ['a model call after other events, still in flight', seen().modelOutput(9, { asked: 4 }, { type: 'aborted' }), '"callModel" for "3"'],
    ['the handoff to another agent', handedTo('c', [to('b')], 4), '"resolveAgent" for "b"'],
    ['the handoff to another agent, still in flight', handedTo('c', [to('b')]), '"resolveAgent" for "b"'],
    ['a handoff that no call has asked for', handedTo('b', [...DONE], 4), 'without the activity "resolveAgent"'],
    ['the check of another decision, still in flight', decided, '"authorizeDecision" for "x"'],
  ])('%s', async (_, { recorded }, difference) => {
    await expect(readBack('r', recorded)).rejects.toMatchObject({
      code: 'history_unreadable',
      message: expect.stringContaining(difference) as string,
    });
  });
});

test('a notification belongs to the call that waits, in whichever order calls were announced', async () => {
  const calls = [call('pay', 'c1', { amount: 5 }), call('pay', 'c2', { amount: 6 })];
  const { recorded } = new HandMade({ ...snapshot, notify: true })
    .model(1, { asked: 2, ended: 3 }, calls, { approvals: { c1: { digest: 'd' }, c2: { digest: 'e' } } })
    .activity(ACTIVITIES.notifyWaiting, { waiting: { callId: 'c2', key: 'model-2/1' } }, { asked: 3, ended: 4 }, null)
    .activity(ACTIVITIES.notifyWaiting, { waiting: { callId: 'c1', key: 'model-2/0' } }, { asked: 3 }, null);
  const { state } = await readBack('r', recorded);
  expect(state?.approvals.pending.map(({ callId, notified }) => [callId, notified])).toEqual([
    ['c1', undefined],
    ['c2', true],
  ]);
});
