import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { hang, say } from '../../../../src/testing/index.ts';
import { answer } from '../../../server-http/requests.ts';
import { Testbed, until } from '../../testbed/testbed.ts';
import { type Json, service, serviceOf } from './http-testbed.ts';

test('a session is opened, asked, read by its turns, raised, reset, saved and closed', async () => {
  await using testbed = await Testbed.open();
  const handler = await service(testbed, [say('Hello Ada'), say('Still here'), say('Who?')]);
  const id = `chat/${randomUUID()}`;
  const opened = await answer<Json>(handler, 'POST', '/v1/sessions', {
    body: { agent: 'assistant', id, title: 'A chat', limits: { turns: 20 } },
  });
  const path = `/v1/sessions/${encodeURIComponent(id)}`;
  expect(opened).toMatchObject({ status: 201, body: { sessionId: id, repeated: false } });
  expect(opened.headers.get('location')).toBe(path);
  expect(await answer(handler, 'GET', `${path}/turns/newest`)).toMatchObject({ status: 202, body: { turn: 1 } });
  const post = (route: string, body?: object, headers: Record<string, string> = {}) =>
    answer<Json>(handler, 'POST', `${path}${route}`, { headers, ...(body === undefined ? {} : { body }) });
  const key = { 'idempotency-key': 'm1' };
  expect(await post('/ask?wait=30s', { content: 'I am Ada' }, key)).toMatchObject({ status: 200, body: { turn: 1, output: 'Hello Ada' } });
  // The same message again is answered by the same turn. A wait of any length counts as the longest one.
  expect(await post('/ask?wait=999999999999999s', { content: 'I am Ada' }, key)).toMatchObject({
    status: 200,
    body: { turn: 1, output: 'Hello Ada' },
  });
  expect(await post('/messages', { content: 'Are you there?' })).toMatchObject({ status: 200, body: { turn: 2 } });
  expect(await answer(handler, 'GET', `${path}/turns/2?wait=30s`)).toMatchObject({ status: 200, body: { output: 'Still here' } });
  expect(await answer(handler, 'GET', `${path}/turns/1`)).toMatchObject({ status: 200, body: { output: 'Hello Ada' } });
  expect(await answer(handler, 'GET', `${path}/turns/0`)).toMatchObject({ status: 422 });
  expect(await post('/limits', { limits: { turns: 50, totalTokens: null } })).toMatchObject({ status: 200, body: { status: 'raised' } });
  expect(await post('/refresh')).toMatchObject({ status: 200, body: { beforeTurn: 3 } });
  expect(await post('/reset', {})).toMatchObject({ status: 200, body: { beforeTurn: 3 } });
  expect(await answer(handler, 'GET', path)).toMatchObject({ status: 200, body: { session: { title: 'A chat', limits: { turns: 50 } } } });
  expect(await post('/interrupt', { reason: 'stop' })).toMatchObject({ status: 200, body: { interrupted: false } });
  const saved = await answer<Json>(handler, 'GET', `${path}/save`);
  expect(saved).toMatchObject({ status: 200, body: { version: 1 } });
  expect(await post('/close')).toMatchObject({ status: 200 });
  await until(async () => (await answer<Json>(handler, 'GET', path)).body['status'] === 'completed', 'the session closes');
  expect(await post('/messages', { content: 'One more' })).toMatchObject({ status: 409, body: { code: 'run_ended' } });
  expect(await answer(handler, 'GET', `${path}/turns/9`)).toMatchObject({ status: 409, body: { code: 'run_ended' } });
  const body = { agent: 'assistant', id: `${id}-2`, saved: saved.body };
  expect(await answer(handler, 'POST', '/v1/sessions', { body })).toMatchObject({ status: 201 });
});

test('a question whose answer takes longer than the wait continues, and a turn is interrupted by its caller', async () => {
  await using testbed = await Testbed.open();
  const handler = await service(testbed, [hang()], { caller: { id: 'key-9' } });
  const path = `/v1/sessions/${randomUUID()}`;
  const body = { content: 'Think', agent: 'assistant' };
  expect(await answer(handler, 'POST', `${path}/ask?wait=20ms`, { body })).toMatchObject({ status: 202, body: { turn: 1 } });
  expect(await answer(handler, 'GET', `${path}/turns/1?wait=20ms`)).toMatchObject({ status: 202, body: { turn: 1 } });
  const interrupted = await answer(handler, 'POST', `${path}/interrupt`, { body: { by: 'another', reason: 'too slow' } });
  expect(interrupted).toMatchObject({ status: 200, body: { interrupted: true, turn: 1 } });
  const { body: ended } = await answer<Json>(handler, 'GET', `${path}/turns/1?wait=30s`);
  expect(ended).toMatchObject({ status: 'cancelled', cancelReason: 'too slow (key-9)' });
});

test('a session takes only its own messages: not those for another agent, and a run that is no session has none', async () => {
  await using testbed = await Testbed.open();
  const handler = await service(testbed, [say('Hello'), hang()]);
  const path = `/v1/sessions/${randomUUID()}`;
  const send = (to: string, body: object, headers = {}) => answer<Json>(handler, 'POST', `${to}/messages`, { body, headers });
  const key = { 'idempotency-key': 'k1' };
  const first = await send(path, { content: 'pay invoice 1', agent: 'assistant' }, key);
  expect(first).toMatchObject({ status: 200, body: { status: 'queued', turn: 1 } });
  expect((await send(path, { content: 'pay invoice 1', agent: 'assistant' }, key)).body).toEqual(first.body);
  const reused = { status: 422, body: { code: 'key_reused' } };
  expect(await send(path, { content: 'pay invoice 2' }, key)).toMatchObject(reused);
  expect(await answer(handler, 'POST', `${path}/ask`, { body: { content: 'pay invoice 3' }, headers: key })).toMatchObject(reused);
  expect(await send(path, { content: 'Hi', agent: 'clerk' })).toMatchObject({
    status: 409,
    body: { code: 'run_exists', detail: expect.stringContaining('agent "assistant", not with "clerk"') as string },
  });
  const { headers } = await answer(handler, 'POST', '/v1/runs', { body: { agent: 'assistant', input: 'Q' } });
  const run = headers.get('location') ?? '';
  const session = run.replace('/runs/', '/sessions/');
  await until(async () => (await answer<Json>(handler, 'GET', run)).body['events'] !== 0, 'the run has begun');
  const none = { status: 422, body: { code: 'invalid_input', detail: expect.stringContaining('is not a session') as string } };
  expect(await send(session, { content: 'Hi' })).toMatchObject(none);
  expect(await send(session, { content: 'Hi', agent: 'assistant' })).toMatchObject(none);
  for (const route of ['', '/save', '/turns', '/turns/1']) expect(await answer(handler, 'GET', `${session}${route}`)).toMatchObject(none);
  for (const route of ['/close', '/reset', '/refresh', '/interrupt'])
    expect(await answer(handler, 'POST', `${session}${route}`)).toMatchObject(none);
  expect(await answer(handler, 'POST', `${session}/limits`, { body: { limits: { turns: 5 } } })).toMatchObject(none);
  expect(await send(run, { content: 'Hi' })).toMatchObject({ status: 200, body: { status: 'queued' } });
});

test('a message to a session that has not begun is refused, unless it names the agent', async () => {
  await using testbed = await Testbed.open();
  const handler = await service(testbed, [say('Hello')]);
  const path = `/v1/sessions/${randomUUID()}`;
  for (const route of ['/messages', '/ask']) {
    expect(await answer(handler, 'POST', `${path}${route}`, { body: { content: 'Hi' } })).toMatchObject({ status: 404 });
  }
  expect(await answer(handler, 'POST', `${path}/messages`, { body: { content: 'Hi', agent: 'assistant' } })).toMatchObject({ status: 200 });
  const limited = await serviceOf(testbed, { agents: ['other'] });
  expect(await answer(limited, 'POST', `${path}/messages`, { body: { content: 'Hi', agent: 'assistant' } })).toMatchObject({ status: 403 });
});

test('the same key opens one session, and another body with it is refused', async () => {
  await using testbed = await Testbed.open();
  const handler = await service(testbed, []);
  const headers = { 'idempotency-key': randomUUID() };
  const open = (body: object) => answer<Json>(handler, 'POST', '/v1/sessions', { body, headers });
  const first = await open({ agent: 'assistant', title: 'One' });
  expect(first.status).toBe(201);
  expect(await open({ title: 'One', agent: 'assistant' })).toMatchObject({ status: 200, body: { sessionId: first.body['sessionId'] } });
  expect(await open({ agent: 'assistant', title: 'Two' })).toMatchObject({ status: 422, body: { code: 'key_reused' } });
  // The key of a session is not the key of a run.
  const run = await answer(handler, 'POST', '/v1/runs', { body: { agent: 'assistant', input: 'Q' }, headers });
  expect(run).toMatchObject({ status: 422, body: { code: 'key_reused' } });
});

test('the session of another principal is unknown in every route', async () => {
  await using testbed = await Testbed.open();
  const ada = await service(testbed, [], { caller: { principal: { tenant: 'acme', user: 'ada' } } });
  const id = randomUUID();
  expect(await answer(ada, 'POST', '/v1/sessions', { body: { agent: 'assistant', id } })).toMatchObject({ status: 201 });
  const bob = await serviceOf(testbed, { principal: { tenant: 'acme', user: 'bob' } });
  expect(await answer(bob, 'POST', '/v1/sessions', { body: { agent: 'assistant', id } })).toMatchObject({ status: 409 });
  const headers = { 'idempotency-key': 'k' };
  expect(await answer(bob, 'POST', '/v1/sessions', { body: { agent: 'assistant', id }, headers })).toMatchObject({ status: 409 });
  const requests: [string, string, object?][] = [
    ['GET', ''],
    ['GET', '/save'],
    ['GET', '/turns/1'],
    ['GET', '/turns/newest'],
    ['POST', '/messages', { content: 'x' }],
    ['POST', '/ask', { content: 'x' }],
    ['POST', '/interrupt'],
    ['POST', '/reset'],
    ['POST', '/refresh'],
    ['POST', '/close'],
    ['POST', '/limits', { limits: { turns: 50 } }],
  ];
  for (const [method, route, body] of requests) {
    const { status, body: problem } = await answer(bob, method, `/v1/sessions/${id}${route}`, body === undefined ? {} : { body });
    expect([method, route, status, problem.code]).toEqual([method, route, 404, 'run_not_found']);
  }
  // A message that would start the session learns that its id is taken, as every other start does.
  for (const route of ['/messages', '/ask']) {
    const sent = await answer(bob, 'POST', `/v1/sessions/${id}${route}`, { body: { content: 'x', agent: 'assistant' } });
    expect([route, sent.status, sent.body.code]).toEqual([route, 409, 'run_exists']);
  }
});
