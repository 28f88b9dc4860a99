import { isToolUIPart, type UIMessage } from 'ai';
import { expect, test } from 'vitest';
import { type ErrorCode, LonghaulError } from '../../../src/core/domain/errors.ts';
import type { Decision } from '../../../src/core/domain/approvals.ts';
import type { Handler, Problem } from '../../../src/server/index.ts';
import { approvalIdOf } from '../../../src/server/protocols/ai-sdk/turn-calls.ts';
import { approvalIn, FakeChat, fetchFrom, pageOf, serviceOf, textOf } from './fake-chat.ts';
import { asks, call, decided, ended, says } from './recorded-turn.ts';

const refund = {
  kind: 'tool' as const,
  toolName: 'refund',
  digest: 'x',
  key: 'k',
  step: 1,
  requestedAt: '2026-11-26T10:00:00.000Z',
  arguments: {},
};
const message = { id: 'm2', role: 'user', parts: [{ type: 'text', text: 'Go on' }] };

/** A message of the assistant whose call the user has approved. */
function approved(approvalId = approvalIdOf({ runId: 'c1', callId: 'p1', digest: 'x', turn: 1, offset: 1 })): object {
  const approval = { id: approvalId, approved: true };
  return { id: 'c1-turn-1', role: 'assistant', parts: [{ type: 'tool-refund', toolCallId: 'p1', state: 'approval-responded', approval }] };
}

/** A chat whose first turn has ended. Its run lists calls that wait, and refuses all decisions with that error, and it answers the next message. */
function refusing(code: ErrorCode): FakeChat {
  const session = new FakeChat();
  session.isNew = false;
  session.turns = 1;
  session.publish(asks(0, 'Hi'), says(1, 'e1', '', call('p1')), ended(2));
  session.pending = Array.from({ length: 40 }, (_, index) => ({ ...refund, callId: `p${index}` }));
  session.onRequest = (name) => {
    if (name !== 'send') throw new LonghaulError(code, 'No');
    session.beginTurn();
    session.publish(asks(3, 'Go on'), says(4, 'e2', 'Going on'), ended(5, 2));
  };
  return session;
}

async function posted(handler: Handler, body: object): Promise<Response> {
  const init = { method: 'POST', body: JSON.stringify({ id: 'c1', ...body }), headers: { 'content-type': 'application/json' } };
  return fetchFrom(handler)('/v1/agents/clerk/chat', init);
}

test.each<ErrorCode>(['already_decided', 'unknown_call', 'run_ended'])(
  'an answer on a call that waits no more (%s) is accepted, alone and with the next message',
  async (code) => {
    const session = refusing(code);
    const alone = await posted(serviceOf(session), { messages: [approved()] });
    expect(alone.status).toBe(200);
    await alone.text();
    const next = await posted(serviceOf(session), { messages: [approved(), message] });
    expect(await next.text()).toContain('Going on');
  },
);

test.each<ErrorCode>(['invalid_arguments', 'digest_mismatch', 'not_authorized', 'invalid_input'])(
  'an answer that the run refuses (%s) is an error, but not to a new message',
  async (code) => {
    const session = refusing(code);
    const alone = await posted(serviceOf(session), { messages: [approved()] });
    expect(((await alone.json()) as Problem).code).toBe(code);
    const next = await posted(serviceOf(session), { messages: [approved(), message] });
    expect(await next.text()).toContain('Going on');
  },
);

test('an id that belongs to no approval is an error, but not for a new message', async () => {
  const session = refusing('unknown_call');
  expect((await posted(serviceOf(session), { messages: [approved('forged')] })).status).toBe(422);
  const next = await posted(serviceOf(session), { messages: [approved('forged'), message] });
  expect(await next.text()).toContain('Going on');
});

test('a new message is refused if an answer may be accepted when it is resent', async () => {
  const session = refusing('wait_timeout');
  expect((await posted(serviceOf(session), { messages: [approved(), message] })).status).toBe(503);
  expect(session.calls.map(([name]) => name)).not.toContain('send');
});

test('an answer that is refused is an error to a message that was sent before, unless its recorded answer is asked for', async () => {
  const session = refusing('invalid_arguments');
  session.receipt = { id: 'm2', status: 'queued', queued: 1, offset: 0, beforeStep: 1, turn: 1 };
  expect((await posted(serviceOf(session), { messages: [approved(), message] })).status).toBe(422);
  const again = await posted(serviceOf(session), { messages: [approved(), message], trigger: 'regenerate-message' });
  expect(again.status).toBe(200);
  await again.body?.cancel();
});

test('a refused answer is an error to a page that continues the message of the call after the user has written', async () => {
  const session = refusing('invalid_arguments');
  const body = { messages: [approved(), message], messageId: 'c1-turn-1', trigger: 'submit-message' };
  expect((await posted(serviceOf(session), body)).status).toBe(422);
  expect(session.calls.map(([name]) => name)).toEqual(['approve', 'send']);
});

test('a new message is accepted with more answers than one request may have, and the newest of them count', async () => {
  const session = refusing('unknown_call');
  const many = Array.from({ length: 40 }, (_, index) =>
    approved(approvalIdOf({ runId: 'c1', callId: `p${index}`, digest: 'x', turn: 1, offset: 1 })),
  );
  expect((await posted(serviceOf(session), { messages: many })).status).toBe(422);
  const next = await posted(serviceOf(session), { messages: [...many, message] });
  expect(await next.text()).toContain('Going on');
  expect(session.calls.filter(([name]) => name === 'approve')).toHaveLength(32);
});

/** Lets a page approve a call of a descendant, which refuses it with an error, and returns the part of the call. */
async function approvedBelow(code: ErrorCode, below: FakeChat['below']): Promise<UIMessage['parts'][number] | undefined> {
  const session = new FakeChat();
  session.below = below;
  session.onRequest = (name) => {
    if (name !== 'send') {
      session.publish(ended(2));
      throw new LonghaulError(code, 'No');
    }
    session.beginTurn();
    session.publish(asks(0, 'Hi'), says(1, 'e1', '', call('a1', {}, 'writer')));
    session.wait({ ...refund, callId: 'p9', runId: 'c1/0' });
  };
  const page = pageOf(serviceOf(session));
  await page.sendMessage({ text: 'Hi' });
  await page.addToolApprovalResponse({ id: approvalIn(page.messages.at(-1)), approved: true });
  await page.sendMessage();
  expect(page.status).toBe('ready');
  return page.messages.at(-1)?.parts.at(-1);
}

const decisionBelow = (type: Decision['type'], reason: string) => [decided(0, { type, callId: 'p9', reason }).event];

test("a descendant's call that somebody else has decided shows that decision", async () => {
  expect(await approvedBelow('already_decided', decisionBelow('reject', 'too much'))).toMatchObject({
    state: 'output-denied',
    approval: { approved: false, reason: 'too much' },
  });
  expect(await approvedBelow('already_decided', decisionBelow('approve', 'fine'))).toMatchObject({
    state: 'output-available',
    approval: { approved: true, reason: 'fine' },
  });
});

test.each<[ErrorCode, FakeChat['below']]>([
  ['run_ended', []],
  ['unknown_call', []],
  ['already_decided', []],
  ['already_decided', new LonghaulError('history_removed', 'It is removed')],
])("a descendant's call without a known decision (%s) is an error, and not done", async (code, below) => {
  expect(await approvedBelow(code, below)).toMatchObject({
    state: 'output-error',
    errorText: expect.stringContaining('waits no more') as string,
  });
});

test('a page that looks at the last message of the assistant sends an approval after a later message of the user', async () => {
  const session = new FakeChat();
  session.onRequest = (name) => {
    if (name !== 'send') return session.publish(says(2, 'e2', 'Paid'), ended(3));
    if (session.turns > 0) return undefined;
    session.beginTurn();
    session.publish(asks(0, 'Hi'), says(1, 'e1', '', call('p1', {}, 'refund')));
    return session.wait({ ...refund, callId: 'p1' });
  };
  const page = pageOf(serviceOf(session), {
    // As docs/ai-sdk.md has it.
    sendAutomaticallyWhen: ({ messages }) => {
      const answer = messages.findLast(({ role }) => role === 'assistant');
      const states = answer?.parts.filter(isToolUIPart).map(({ state }) => state) ?? [];
      return states.includes('approval-responded') && !states.includes('approval-requested');
    },
  });
  await page.sendMessage({ text: 'Refund me' });
  await page.sendMessage({ text: 'And hurry' });
  await page.addToolApprovalResponse({ id: approvalIn(page.messages[1]), approved: true });
  await expect.poll(() => page.events.at(-1)).toBe('finished: stop');
  expect(page.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  expect(textOf({ messages: page.messages.slice(0, 2) })).toBe('Paid');
});
