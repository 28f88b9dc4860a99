import type { Client } from '@temporalio/client';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { LonghaulClient } from '../../../src/client/longhaul-client.ts';
import { LonghaulError } from '../../../src/core/domain/errors.ts';
import { defineAgent } from '../../../src/index.ts';
import { httpStatusOf } from '../../../src/server/problems.ts';
import { type Caller, type ChatSessions, createHandler, type Handler, type Problem } from '../../../src/server/index.ts';
import { hasScope } from '../../../src/server/auth/caller.ts';
import type { Route } from '../../../src/server/route.ts';
import { ROUTES } from '../../../src/server/routes/all-routes.ts';
import { approvalIdOf } from '../../../src/server/protocols/ai-sdk/turn-calls.ts';
import { approvalIn, FakeChat, fetchFrom, pageOf, serviceOf, textOf, waitingCall } from './fake-chat.ts';
import { asks, call, ended, item, recorded, result, says, textPiece } from './recorded-turn.ts';

const PATH = '/v1/agents/clerk/chat';
const hello = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] };
const approvalId = approvalIdOf({ runId: 'c1', callId: 'p1', digest: 'x', turn: 1, offset: 1 });
const approved = {
  id: 'a1',
  role: 'assistant',
  parts: [{ type: 'tool-refund', toolCallId: 'p1', state: 'approval-responded', approval: { id: approvalId, approved: true } }],
};

/** A call that waits for a decision. */
const MAIL = {
  kind: 'tool' as const,
  toolName: 'mail',
  digest: 'y',
  key: 'k',
  step: 1,
  requestedAt: '2026-11-26T10:00:00.000Z',
  arguments: {},
};

async function posted(handler: Handler, body: object): Promise<Response> {
  return fetchFrom(handler)(PATH, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
}

async function refused(handler: Handler, body: object): Promise<[number, string, unknown]> {
  const response = await posted(handler, body);
  const problem = (await response.json()) as Problem;
  return [response.status, problem.code, problem.errors?.[0]?.pointer];
}

test('the stream has the headers of the protocol, data alone, and its last word', async () => {
  const session = new FakeChat();
  session.onRequest = () => {
    session.beginTurn();
    session.publish(asks(0, 'Hi'), says(1, 'e1', 'Hello'), ended(2));
  };
  const response = await posted(serviceOf(session), { id: 'c1', messages: [hello] });
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'x-vercel-ai-ui-message-stream': 'v1',
    'x-accel-buffering': 'no',
    'cache-control': 'no-store, no-transform',
  });
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('retry:'));
  expect(lines.every((line) => line.startsWith('data: '))).toBe(true);
  expect(lines.at(-1)).toBe('data: [DONE]');
});

test('a message is not accepted if its caller has no place for the stream of the answer', async () => {
  const session = new FakeChat();
  const handler = serviceOf(session, {}, { limits: { streams: 1 } });
  session.onRequest = () => session.beginTurn();
  const following = await posted(handler, { id: 'c1', messages: [hello] });
  expect(await refused(handler, { id: 'c1', messages: [{ ...hello, id: 'm2' }] })).toEqual([429, 'too_many_requests', undefined]);
  expect(session.calls.map(([name, , , , id]) => [name, id])).toEqual([['send', 'm1']]);
  await following.body?.cancel();
});

test('a message that the session refuses gives the place of its stream back', async () => {
  const session = new FakeChat();
  const handler = serviceOf(session, {}, { limits: { streams: 1 } });
  session.onRequest = () => {
    throw new LonghaulError('queue_full', 'The session has too many messages');
  };
  for (let attempt = 0; attempt < 2; attempt += 1) {
    expect(await refused(handler, { id: 'c1', messages: [hello] })).toEqual([httpStatusOf('queue_full'), 'queue_full', undefined]);
  }
});

test('a message in the middle of a turn waits until the model has read it, and then shows that turn', async () => {
  const session = new FakeChat();
  const page = pageOf(serviceOf(session));
  session.onRequest = () => {
    if (session.turn !== undefined) return;
    session.beginTurn();
    session.publish(asks(0, 'Hi'), textPiece('e1', 'Hel'));
  };
  const first = page.sendMessage({ text: 'Hi' });
  await vi.waitFor(() => expect(textOf(page)).toBe('Hel'));
  const second = page.sendMessage({ text: 'And more' });
  await vi.waitFor(() => expect(session.calls).toHaveLength(2));
  session.publish(says(1, 'e1', 'Hello'), asks(2, 'And more'), says(3, 'e2', 'More'), ended(4));
  await Promise.all([first, second]);
  expect(page.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  expect(page.messages[1]?.parts.filter(({ type }) => type === 'text')).toMatchObject([{ text: 'Hello' }, { text: 'More' }]);
});

test('a message that a turn ends without reading is answered by the next turn, in a separate message', async () => {
  const session = new FakeChat();
  session.beginTurn();
  session.isNew = false;
  session.publish(asks(0, 'Hi'), textPiece('e1', 'Hel'));
  const page = pageOf(serviceOf(session));
  session.onRequest = () => {
    const [, , , , id] = session.calls[0] ?? [];
    session.publish(ended(1, 1, { status: 'cancelled', stopReason: 'cancelled', unanswered: [id as string] }));
    session.beginTurn();
    session.publish(asks(2, 'Instead'), says(3, 'e2', 'All right'), ended(4, 2));
  };
  await page.sendMessage({ text: 'Instead' });
  expect(page.messages.at(-1)).toMatchObject({ id: 'c1-turn-2', role: 'assistant' });
  expect(textOf(page)).toBe('All right');
});

test('a call that waits ends the stream of a message that is not read yet, so that the page can decide', async () => {
  const session = new FakeChat();
  session.beginTurn();
  session.isNew = false;
  session.publish(asks(0, 'Hi'), says(1, 'e1', 'One moment', { type: 'tool_call', toolCallId: 'p1', name: 'refund', arguments: {} }));
  session.wait(waitingCall({ arguments: {} }));
  const page = pageOf(serviceOf(session));
  await page.sendMessage({ text: 'Hurry' });
  expect(page).toMatchObject({ status: 'ready', events: ['finished: tool-calls'] });
});

test('a resent message is answered with the recorded answer', async () => {
  const session = new FakeChat();
  session.isNew = false;
  session.beginTurn();
  session.publish(asks(0, 'Hi'), says(1, 'e1', 'Hello'), ended(2));
  session.receipt = { id: 'm1', status: 'duplicate', queued: 0, turn: 1 };
  for (const trigger of ['submit-message', 'regenerate-message']) {
    const page = await posted(serviceOf(session), { id: 'c1', messages: [hello], trigger });
    expect(await page.text()).toContain('"Hello"');
  }
});

test('approvals that arrive while others wait are requested as well', async () => {
  const session = new FakeChat();
  session.onRequest = () => {
    session.beginTurn();
    session.publish(asks(0, 'Hi'), item({ type: 'status', status: 'pending_confirmation' }));
    session.pending = [{ ...MAIL, callId: 'p9', runId: 'c1/0' }];
  };
  const page = pageOf(serviceOf(session));
  await page.sendMessage({ text: 'Hi' });
  expect(page.messages.at(-1)?.parts).toMatchObject([{ type: 'tool-mail', toolCallId: 'c1/0:p9', state: 'approval-requested' }]);
});

test('a call that waits is asked for once the other calls of the response have their results', async () => {
  const session = new FakeChat();
  session.onRequest = () => {
    session.beginTurn();
    session.publish(asks(0, 'Hi'), says(1, 'e1', '', call('c1'), call('c2', {}, 'mail')));
    session.wait({ ...MAIL, callId: 'c2' });
    setTimeout(() => session.publish(recorded(2, 'r', [result('c1', ['found'])], { partial: true })), 20);
  };
  const page = pageOf(serviceOf(session));
  await page.sendMessage({ text: 'Hi' });
  expect(page.messages.at(-1)?.parts).toMatchObject([
    { type: 'step-start' },
    { type: 'tool-search', state: 'output-available' },
    { type: 'tool-mail', state: 'approval-requested' },
  ]);
});

test("an answer to a descendant's call is shown as given, and sent once", async () => {
  const session = new FakeChat();
  session.onRequest = (name) => {
    if (name !== 'send') return session.publish(ended(2));
    session.beginTurn();
    session.publish(asks(0, 'Hi'), says(1, 'e1', '', { type: 'tool_call', toolCallId: 'a1', name: 'writer', arguments: {} }));
    return session.wait({ ...MAIL, callId: 'p9', runId: 'c1/0' });
  };
  const page = pageOf(serviceOf(session));
  await page.sendMessage({ text: 'Hi' });
  // The call of the session itself has no result: the page itself decides when to continue.
  await page.addToolApprovalResponse({ id: approvalIn(page.messages.at(-1)), approved: true });
  await page.sendMessage();
  expect(session.calls.map(([name]) => name)).toEqual(['send', 'approve']);
  expect(page.messages.at(-1)?.parts.at(-1)).toMatchObject({ state: 'output-available', approval: { approved: true } });
});

test.each<[string, Partial<Caller>, object, string[]]>([
  ['a message needs chats:write', { scopes: ['runs:read', 'approvals:decide'] }, { id: 'c1', messages: [hello] }, []],
  ['an answer to an approval needs approvals:decide', { scopes: ['runs:write'] }, { id: 'c1', messages: [approved] }, []],
  ['a chat of an agent needs the right to start it', { agents: ['other'] }, { id: 'c1', messages: [hello] }, []],
])('%s', async (_, caller, body, calls) => {
  const session = new FakeChat();
  expect((await refused(serviceOf(session, caller), body)).slice(0, 2)).toEqual([403, 'forbidden']);
  expect(session.calls).toEqual(calls);
});

test('the stream of a chat needs chats:read, and stopping it chats:write', async () => {
  const service = serviceOf(new FakeChat(), { scopes: ['approvals:decide'] });
  const statuses = [`${PATH}/c1/stream`, `${PATH}/c1/stop`].map(
    async (path) => (await fetchFrom(service)(path, { method: path.endsWith('stop') ? 'POST' : 'GET' })).status,
  );
  expect(await Promise.all(statuses)).toEqual([403, 403]);
});

test('requests that the service cannot follow are refused with the problem', async () => {
  const service = serviceOf(new FakeChat());
  const cases: [object, string | undefined][] = [
    [{ id: 'c1', messages: [] }, '#/messages'],
    [{ messages: [hello] }, '#/id'],
    [{ id: 'c1', messages: [{ ...hello, parts: [] }] }, '#/messages/0/parts'],
    [{ id: 'c1', messages: [{ ...hello, parts: [{ type: 'file', url: 'x' }] }] }, '#/messages/0/parts/0'],
    [{ id: 'c1', messages: [{ id: 'a', role: 'assistant', parts: [] }] }, '#/messages'],
    [{ id: 'c1', messages: [{ ...approved, parts: [{ ...approved.parts[0], approval: { id: 'forged', approved: true } }] }] }, undefined],
  ];
  for (const [body, pointer] of cases) expect(await refused(service, body)).toEqual([422, 'invalid_request', pointer]);
});

test('an answer on other arguments than the call has is refused', async () => {
  const session = new FakeChat();
  session.isNew = false;
  session.pending = [{ ...MAIL, callId: 'p1', digest: 'other' }];
  expect((await refused(serviceOf(session), { id: 'c1', messages: [approved] })).slice(0, 2)).toEqual([409, 'digest_mismatch']);
  expect(session.calls).toEqual([]);
});

test('a call that was decided before shows the recorded decision', async () => {
  const session = new FakeChat();
  session.isNew = false;
  session.beginTurn();
  session.publish(asks(0, 'Hi'), says(1, 'e1', 'Well'), ended(2));
  session.onRequest = () => {
    throw new LonghaulError('already_decided', 'Call "p1" was rejected');
  };
  expect((await posted(serviceOf(session), { id: 'c1', messages: [approved] })).status).toBe(200);
});

test('a chat is reached by the route of its agent alone', async () => {
  const session = new FakeChat();
  session.isNew = false;
  session.agentName = 'treasurer';
  session.beginTurn();
  const handler = serviceOf(session, { agents: ['clerk'] });
  const sent = await posted(handler, { id: 'c1', messages: [hello] });
  expect([sent.status, ((await sent.json()) as { code: string }).code]).toEqual([409, 'run_exists']);
  const at = (path: string, method: string): Promise<Response> =>
    handler(new Request(`http://localhost/v1/agents/clerk/chat/c1/${path}`, { method }));
  expect((await at('stream', 'GET')).status).toBe(204);
  expect((await at('stop', 'POST')).status).toBe(404);
  expect([session.calls, session.open]).toEqual([[], 0]);
});

test('the same chat id is another session for another tenant, and for another user of one', async () => {
  const ids: unknown[] = [];
  for (const principal of [{ tenant: 'a' }, { tenant: 'b' }, { user: 'a' }, { tenant: 'a', user: 'u' }, undefined]) {
    const session = new FakeChat();
    session.onRequest = () => {
      session.beginTurn();
      session.publish(asks(0, 'Hi'), ended(1));
    };
    await (await posted(serviceOf(session, principal === undefined ? {} : { principal }), { id: 'c1', messages: [hello] })).text();
    const [sent] = session.calls;
    ids.push((sent?.[2] as { id: string } | undefined)?.id);
  }
  expect(new Set(ids).size).toBe(5);
  expect(ids[4]).toBe('c1');
});

test('an agent that requires deps is refused with a way to give them, unless the service does', async () => {
  const agents = [defineAgent({ name: 'clerk', model: 'p/m', deps: z.object({ customer: z.string(), language: z.string() }) })];
  const response = await posted(serviceOf(new FakeChat(), {}, { agents, chats: () => ({ deps: { language: 'en' } }) }), {
    id: 'c1',
    messages: [hello],
  });
  expect([response.status, await response.json()]).toMatchObject([
    422,
    {
      code: 'invalid_input',
      detail:
        'Agent "clerk" requires deps ("customer"), which a page cannot send: return them from the option "chats" of the service, or give these fields defaults',
    },
  ]);
  const session = new FakeChat();
  session.onRequest = () => session.beginTurn();
  const chats: ChatSessions = () => ({ deps: { customer: 'Ada', language: 'en' } });
  expect((await posted(serviceOf(session, {}, { agents, chats }), { id: 'c1', messages: [hello] })).status).toBe(200);
});

test('the service chooses the limits of chats, and no client does', async () => {
  const session = new FakeChat();
  session.onRequest = () => {
    session.beginTurn();
    session.publish(asks(0, 'Hi'), ended(1));
  };
  const chats = vi.fn<ChatSessions>(() => ({ limits: { turns: null } }));
  const service = serviceOf(session, {}, { chats });
  await (await posted(service, { id: 'c1', messages: [hello], limits: { turns: 9 } })).text();
  expect(session.calls[0]?.[2]).toEqual({ id: 'c1', limits: { turns: null } });
  expect(chats).toHaveBeenCalledWith({ agent: 'clerk', caller: expect.objectContaining({ id: 'ada' }) as Caller });
});

test('chats:write and chats:read open the routes of chats alone', async () => {
  const scopes: Caller['scopes'] = ['chats:read', 'chats:write'];
  const isOpen = ({ definition: { scope } }: Route): boolean => scope !== 'public' && hasScope({ scopes }, scope);
  expect(ROUTES.filter(isOpen).map(({ definition: { method, path } }) => `${method} ${path}`)).toEqual([
    'POST /v1/agents/{agent}/chat',
    'GET /v1/agents/{agent}/chat/{id}/stream',
    'GET /v1/agents/{agent}/chat/{id}',
    'POST /v1/agents/{agent}/chat/{id}/stop',
  ]);
  const service = serviceOf(new FakeChat(), { scopes });
  for (const { definition } of ROUTES.filter((route) => !isOpen(route) && route.definition.scope !== 'public')) {
    const path = definition.path.replaceAll(/\{\w+\}/g, 'x');
    const response = await fetchFrom(service)(path, { method: definition.method });
    expect([definition.id, response.status]).toEqual([definition.id, 403]);
  }
  const response = await fetchFrom(service)(PATH, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id: 'c1', messages: [hello] }),
  });
  expect(response.status).toBe(200);
  await response.body?.cancel();
});

test.each<[object, string]>([
  [{ titel: 'Orders' }, 'unknown field "titel"'],
  [{ limits: { totalToken: 3 } }, 'totalToken'],
])('options of chats that do not exist are an internal error, which the log explains: %j', async (options, why) => {
  const client = new LonghaulClient({ options: { namespace: 'default' } } as Client);
  const reported: unknown[] = [];
  const service = createHandler(client, {
    authenticate: () => ({ id: 'ada', principal: 'all', scopes: ['chats:write'] }),
    chats: () => options,
    onError: (error) => reported.push(error),
  });
  expect((await posted(service, { id: 'c1', messages: [hello] })).status).toBe(500);
  expect(String(reported[0])).toContain('"chats" returned invalid options for agent "clerk": ');
  expect(String(reported[0])).toContain(why);
});
