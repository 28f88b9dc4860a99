import { describe, expect, it, test, vi } from 'vitest';
import type { ApprovalView } from '../../../src/core/domain/approvals.ts';
import { type DecideAs, toUIMessageStream, toUIMessageStreamResponse } from '../../../src/server/protocols/ai-sdk/index.ts';
import { approvalIdOf } from '../../../src/server/protocols/ai-sdk/turn-calls.ts';
import type { Caller, Handler, Problem } from '../../../src/server/index.ts';
import { chatWith as recipe } from '../../../examples/cookbook/streaming-to-react.ts';
import { approvalIn, FakeChat, fetchFrom, pageOf, serviceOf, textOf, waitingCall } from './fake-chat.ts';
import { asks, call, decided, ended, item, recorded, result, says } from './recorded-turn.ts';

const running = item({ type: 'status', status: 'running' });

function askedCall(kind: ApprovalView['kind'], more: Partial<ApprovalView> = {}): ApprovalView {
  return waitingCall({ kind, reason: 'Ask the bank about ACME-7', ...more });
}

/** A chat whose first message leads to these calls, which wait. */
function chatWith(...pending: ApprovalView[]): FakeChat {
  const session = new FakeChat();
  const own = pending.filter(({ kind }) => kind !== 'limit');
  session.onRequest = (name) => {
    if (name !== 'send') return;
    session.beginTurn();
    session.publish(asks(0, 'Refund me'), says(1, 'e1', '', ...own.map(({ callId, arguments: input }) => call(callId, input, 'refund'))));
    session.wait(...pending);
  };
  return session;
}

function ownRoutes(session: FakeChat, decideAs: DecideAs): Handler {
  return async (request) => {
    const posted: { posted?: unknown } = request.method === 'POST' ? { posted: await request.json() } : {};
    const chat = session.client().session('clerk', { id: 'c1' });
    return toUIMessageStreamResponse(chat, { ...posted, decideAs, signal: request.signal });
  };
}

/** The user of a page, who may decide, but has no right on runs. */
const USER: Partial<Caller> = { scopes: ['chats:read', 'chats:write', 'approvals:decide'] };

/** The answer that a page sends to a call that waits. */
async function answered(handler: Handler, { callId, digest }: ApprovalView, more: object = {}): Promise<Response> {
  const approval = { id: approvalIdOf({ runId: 'c1', callId, digest, turn: 1, offset: 1 }), approved: true, ...more };
  const part = { type: 'tool-refund', toolCallId: callId, state: 'approval-responded', input: {}, approval };
  const body = JSON.stringify({ id: 'c1', messages: [{ id: 'c1-turn-1', role: 'assistant', parts: [part] }] });
  return fetchFrom(handler)('/v1/agents/clerk/chat', { method: 'POST', body, headers: { 'content-type': 'application/json' } });
}

/** A chat in which a call waits. */
function waits(waiting: ApprovalView): FakeChat {
  const session = chatWith(waiting);
  session.isNew = false;
  session.beginTurn();
  session.publish(asks(0, 'Refund me'), says(1, 'e1', '', call('p1', {}, 'refund')));
  session.wait(waiting);
  session.onRequest = () => session.publish(decided(2, { type: 'approve', callId: 'p1' }), running, ended(3));
  return session;
}

const OTHERS = [askedCall('outcome', { digest: 'outcome/e1/0' }), askedCall('limit', { callId: 'limits', toolName: 'raise_limits' })];

describe.each<[string, (session: FakeChat) => Handler]>([
  ['a page whose route names its user', (session) => ownRoutes(session, 'ada')],
  ['a page of the service, whose user has no right on runs', (session) => serviceOf(session, USER)],
])('%s', (_, handlerOf) => {
  it.each([askedCall('tool'), askedCall('question')])('decides about a $kind', async (waiting) => {
    const session = waits(waiting);
    const response = await answered(handlerOf(session), waiting, { reason: 'yes' });
    expect(await response.text()).toContain('"finish"');
    expect(session.calls.map(([name]) => name)).toEqual([waiting.kind === 'tool' ? 'approve' : 'respond']);
  });

  it.each(OTHERS)('does not decide about the kind $kind', async (waiting) => {
    const session = waits(waiting);
    const response = await answered(handlerOf(session), waiting, { reason: '{"refunded":1000000}' });
    expect([response.status, ((await response.json()) as Problem).code]).toEqual([403, 'forbidden']);
    expect(session.calls).toEqual([]);
  });

  it('does not decide about a call before it waits', async () => {
    const session = waits(askedCall('tool'));
    const [outcome] = OTHERS;
    const early = { ...askedCall('tool'), digest: outcome?.digest ?? '' };
    expect((await answered(handlerOf(session), early, { reason: '{}' })).status).toBe(409);
    session.pending = [];
    const response = await answered(handlerOf(session), early, { reason: '{}' });
    await response.body?.cancel();
    expect(session.calls).toEqual([]);
  });

  it.each(OTHERS)('hears the decision on the kind $kind in its stream, and not why it was asked', async (waiting) => {
    const session = chatWith(waiting);
    const page = pageOf(handlerOf(session));
    const sent = page.sendMessage({ text: 'Refund me' });
    await expect.poll(() => page.messages.at(-1)?.parts.at(-1)).toMatchObject({ state: 'approval-requested' });
    const part = page.messages.at(-1)?.parts.at(-1);
    expect(part).toMatchObject({ approval: { descriptor: { kind: waiting.kind, decidedBy: 'others' } } });
    expect(JSON.stringify(page.messages)).not.toContain('ACME-7');
    expect([page.status, session.open]).toEqual(['streaming', 1]);
    session.pending = [];
    session.publish(decided(2, { type: 'respond', callId: waiting.callId, by: 'bob' }), running);
    session.publish(recorded(3, 'r1', [result('p1', ['paid'])]), says(4, 'e2', 'Done.'), ended(5));
    await sent;
    expect([textOf(page), page.events]).toEqual(['Done.', ['finished: stop']]);
  });
});

test('a caller of the service with the right to change runs decides about every kind', async () => {
  for (const waiting of OTHERS) {
    const session = waits(waiting);
    const response = await answered(serviceOf(session), waiting, { reason: '{}' });
    expect(await response.text()).toContain('"finish"');
    expect(session.calls.map(([name]) => name)).toEqual([waiting.kind === 'outcome' ? 'respond' : 'approve']);
  }
});

test('the user of a page decides about no more by the route of approvals', async () => {
  const body = JSON.stringify({ type: 'respond', content: 1, digest: 'outcome/e1/0' });
  const init = { method: 'POST', body, headers: { 'content-type': 'application/json' } };
  const run = { approvals: async () => ({ pending: OTHERS }), respond: vi.fn<() => void>() };
  const client: object = { as: () => client, handle: () => run, temporal: { options: { namespace: 'default' } } };
  const session = Object.assign(new FakeChat(), { client: () => client });
  const response = await fetchFrom(serviceOf(session, USER))('/v1/runs/c1/approvals/p1', init);
  expect([response.status, ((await response.json()) as Problem).code]).toEqual([403, 'forbidden']);
  expect(run.respond).not.toHaveBeenCalled();
});

describe('a function of the call', () => {
  const small: DecideAs = ({ kind, arguments: { amount } }) => (kind === 'tool' && Number(amount) < 50 ? 'ada' : undefined);

  it('lets the user decide about small refunds, and someone else about large ones, in one message', async () => {
    const pending = [askedCall('tool'), askedCall('tool', { callId: 'p2', digest: 'y', arguments: { amount: 500 } })];
    const session = chatWith(...pending);
    const page = pageOf(ownRoutes(session, small), {
      sendAutomaticallyWhen: ({ messages }) => JSON.stringify(messages.at(-1)).includes('"approval-responded"'),
    });
    const states = (): unknown => page.messages.at(-1)?.parts.flatMap((part) => ('toolCallId' in part ? [part.state] : []));
    await page.sendMessage({ text: 'Refund me' });
    expect([states(), page.events]).toEqual([['approval-requested', 'input-available'], ['finished: tool-calls']]);
    const { onRequest } = session;
    session.onRequest = (name) => {
      if (name === 'send') onRequest(name);
      else session.publish(decided(2, { type: 'approve', callId: 'p1' }), recorded(3, 'r1', [result('p1', ['paid 5'])]));
    };
    const parts = page.messages.at(-1)?.parts ?? [];
    const first = parts.find((part) => 'toolCallId' in part && part.toolCallId === 'p1');
    const deciding = page.addToolApprovalResponse({
      id: approvalIn({ id: '', role: 'assistant', parts: first ? [first] : [] }),
      approved: true,
    });
    await expect.poll(states).toEqual(['output-available', 'approval-requested']);
    expect(session.calls.at(-1)).toMatchObject(['approve', { callId: 'p1' }, { by: 'ada' }]);
    session.pending = [];
    session.publish(decided(4, { type: 'approve', callId: 'p2', by: 'bob' }), running, recorded(5, 'r2', [result('p2', ['paid 500'])]));
    session.publish(says(6, 'e2', 'Paid.'), ended(7));
    await deciding;
    await expect.poll(() => page.events).toEqual(['finished: tool-calls', 'finished: stop']);
    expect([states(), textOf(page)]).toEqual([['output-available', 'output-available'], 'Paid.']);
  });

  it('sends the decision of the user by the recipe of useChat, while a call of others waits in the same answer', async () => {
    const large = askedCall('tool', { callId: 'p2', digest: 'y', arguments: { amount: 500 } });
    const session = new FakeChat();
    session.onRequest = (name) => {
      if (name !== 'send') return;
      session.beginTurn();
      session.publish(asks(0, 'Refund me'), says(1, 'e1', '', call('p1', { amount: 5 }, 'refund'), call('p2', { amount: 500 }, 'refund')));
      session.wait(large);
    };
    const when: unknown = recipe('clerk', 'c1', async () => '').sendAutomaticallyWhen;
    const page = pageOf(ownRoutes(session, small), { sendAutomaticallyWhen: when as () => boolean });
    const sending = page.sendMessage({ text: 'Refund me' });
    const states = (): unknown => page.messages.at(-1)?.parts.flatMap((part) => ('toolCallId' in part ? [part.state] : []));
    await expect.poll(states).toEqual(['input-available', 'approval-requested']);
    session.wait(askedCall('tool'), large);
    await sending;
    expect([states(), page.events]).toEqual([['approval-requested', 'approval-requested'], ['finished: tool-calls']]);
    const [own] = page.messages.at(-1)?.parts.filter((part) => 'toolCallId' in part && part.toolCallId === 'p1') ?? [];
    await page.addToolApprovalResponse({ id: approvalIn({ id: '', role: 'assistant', parts: own ? [own] : [] }), approved: true });
    await expect.poll(() => session.calls.at(-1)).toMatchObject(['approve', { callId: 'p1' }, { by: 'ada' }]);
  });

  it('may let the user decide about limits, too', async () => {
    const [, limit = askedCall('limit')] = OTHERS;
    const session = waits(limit);
    expect(
      (
        await answered(
          ownRoutes(session, () => 'ada'),
          limit,
        )
      ).status,
    ).toBe(200);
    expect(session.calls).toMatchObject([['approve', { callId: 'limits' }, { by: 'ada' }]]);
  });

  it('refuses an answer on a call of others', async () => {
    const large = askedCall('tool', { arguments: { amount: 500 } });
    const session = waits(large);
    const response = await answered(ownRoutes(session, small), large);
    expect([response.status, ((await response.json()) as Problem).code]).toEqual([403, 'forbidden']);
    expect(session.calls).toEqual([]);
  });

  it('returns the name itself', async () => {
    const session = waits(askedCall('tool'));
    const decideAs = (async () => 'ada') as unknown as DecideAs;
    await expect(answered(ownRoutes(session, decideAs), askedCall('tool'))).rejects.toThrow('"decideAs" returned a promise');
    const wrong: object = { decideAs: 7 };
    await expect(toUIMessageStream(session.client().session('clerk', { id: 'c1' }), wrong)).rejects.toThrow('"decideAs"');
  });
});
