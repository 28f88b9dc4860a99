import { describe, expect, it, test } from 'vitest';
import type { ApprovalView } from '../../../src/core/domain/approvals.ts';
import { LonghaulError } from '../../../src/core/domain/errors.ts';
import type { StreamItem } from '../../../src/client/index.ts';
import type { ChatMetadata } from '../../../src/server/index.ts';
import { FakeChat, pageOf, serviceOf, textOf, waitingCall } from './fake-chat.ts';
import { asks, call, decided, ended, item, result, recorded, says } from './recorded-turn.ts';

/** A customer, who may not decide. */
const CUSTOMER = { scopes: ['runs:read' as const, 'runs:write' as const] };

const refund = waitingCall();

const running: StreamItem = item({ type: 'status', status: 'running' });

/** A chat whose first message leads to a call that waits. */
function waiting(...pending: ApprovalView[]): FakeChat {
  const session = new FakeChat();
  session.onRequest = (name) => {
    if (name !== 'send') return;
    session.beginTurn();
    session.publish(asks(0, 'Refund me'), says(1, 'e1', '', call('p1', { amount: 5 }, 'refund')));
    session.wait(...pending);
  };
  return session;
}

/** The newest message of a page: the states of its calls, and its text. */
function shown(page: ReturnType<typeof pageOf>): unknown[] {
  const parts = page.messages.at(-1)?.parts ?? [];
  return parts.flatMap((part) => ('state' in part && 'toolCallId' in part ? [part.state] : part.type === 'text' ? [part.text] : []));
}

describe('the page of a caller who may not decide', () => {
  test.each([
    ['approved', { type: 'approve', callId: 'p1', by: 'bob' }, result('p1', ['paid 5']), ['output-available', 'Paid.']],
    ['rejected', { type: 'reject', callId: 'p1', by: 'bob', reason: 'no' }, result('p1', ['no'], 'error'), ['output-denied', 'Paid.']],
    ['rejected in time', { type: 'reject', callId: 'p1', source: 'deadline' }, result('p1', ['late'], 'error'), ['output-denied', 'Paid.']],
  ] as const)('hears that a call was %s by someone else, in the stream that is open', async (_, decision, outcome, seen) => {
    const session = waiting(refund);
    const page = pageOf(serviceOf(session, CUSTOMER));
    const sent = page.sendMessage({ text: 'Refund me' });
    await expect.poll(() => shown(page)).toEqual(['approval-requested']);
    expect([page.status, page.events, session.open]).toEqual(['streaming', [], 1]);
    session.pending = [];
    session.publish(decided(2, decision), running, recorded(3, 'r1', [outcome]), says(4, 'e2', 'Paid.'), ended(5));
    await sent;
    expect([shown(page), page.events, session.open]).toEqual([seen, ['finished: stop'], 0]);
    expect(session.calls.map(([name]) => name)).toEqual(['send']);
  });

  it("shows a descendant's call and its decision", async () => {
    const below: ApprovalView = { ...refund, callId: 'b1', runId: 'below' };
    const session = waiting(below);
    const page = pageOf(serviceOf(session, CUSTOMER));
    const sent = page.sendMessage({ text: 'Refund me' });
    await expect.poll(() => shown(page)).toEqual(['input-available', 'approval-requested']);
    const { event } = decided(0, { type: 'reject', callId: 'b1', reason: 'too much' });
    session.below = [event];
    session.pending = [];
    session.publish(running, recorded(2, 'r1', [result('p1', ['It was not paid'])]), says(3, 'e2', 'Sorry.'), ended(4));
    await sent;
    expect(shown(page)).toEqual(['output-available', 'output-denied', 'Sorry.']);
  });

  it("shows that a descendant's call no longer waits, if its decision is not known", async () => {
    const session = waiting({ ...refund, callId: 'b1', runId: 'below' });
    session.below = new LonghaulError('run_not_found', 'No run');
    const page = pageOf(serviceOf(session, CUSTOMER));
    const sent = page.sendMessage({ text: 'Refund me' });
    await expect.poll(() => shown(page)).toEqual(['input-available', 'approval-requested']);
    session.pending = [];
    session.publish(recorded(2, 'r1', [result('p1', ['Gone'], 'error')]), says(3, 'e2', 'Sorry.'), ended(4));
    await sent;
    expect(shown(page)).toEqual(['output-error', 'output-error', 'Sorry.']);
  });

  it('shows one decision after the other, each call once', async () => {
    const session = waiting(refund);
    const page = pageOf(serviceOf(session, CUSTOMER));
    const sent = page.sendMessage({ text: 'Refund me' });
    await expect.poll(() => shown(page)).toEqual(['approval-requested']);
    session.wait(refund);
    session.pending = [];
    session.publish(decided(2, { type: 'approve', callId: 'p1' }), running, recorded(3, 'r1', [result('p1', ['paid 5'])]));
    session.publish(says(4, 'e2', '', call('p2', { amount: 7 }, 'refund')));
    session.wait({ ...refund, callId: 'p2' });
    await expect.poll(() => shown(page)).toEqual(['output-available', 'approval-requested']);
    session.pending = [];
    session.publish(decided(5, { type: 'approve', callId: 'p2' }), running, recorded(6, 'r2', [result('p2', ['paid 7'])]));
    session.publish(says(7, 'e3', 'Both are paid.'), ended(8));
    await sent;
    expect(shown(page)).toEqual(['output-available', 'output-available', 'Both are paid.']);
  });

  it('hears it, too, if it was loaded again while the call waited', async () => {
    const session = waiting(refund);
    const handler = serviceOf(session, CUSTOMER);
    const before = pageOf(handler);
    void before.sendMessage({ text: 'Refund me' });
    await expect.poll(() => shown(before)).toEqual(['approval-requested']);
    const page = pageOf(handler);
    const resuming = page.resumeStream();
    await expect.poll(() => shown(page)).toEqual(['approval-requested']);
    session.pending = [];
    session.publish(decided(2, { type: 'approve', callId: 'p1' }), running, recorded(3, 'r1', [result('p1', ['paid 5'])]));
    session.publish(says(4, 'e2', 'Paid.'), ended(5));
    await resuming;
    expect([shown(page), textOf(page)]).toEqual([['output-available', 'Paid.'], 'Paid.']);
  });
});

test('the stream of a caller who may decide ends with the cursor after which the session reports the decisions of others', async () => {
  const session = waiting(refund);
  const page = pageOf(serviceOf(session));
  await page.sendMessage({ text: 'Refund me' });
  expect([shown(page), page.events]).toEqual([['approval-requested'], ['finished: tool-calls']]);
  const metadata = page.messages.at(-1)?.metadata as ChatMetadata | undefined;
  expect(metadata).toMatchObject({ runId: 'c1', cursor: expect.any(String) as string });
  session.pending = [];
  session.publish(decided(2, { type: 'approve', callId: 'p1' }), running, recorded(3, 'r1', [result('p1', ['paid 5'])]));
  const resuming = page.resumeStream();
  await expect.poll(() => session.open).toBe(1);
  session.publish(says(4, 'e2', 'Paid.'), ended(5));
  await resuming;
  expect([page.messages.length, shown(page)]).toEqual([2, ['output-available', 'Paid.']]);
});
