import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { LonghaulClient } from '../../../../src/client/index.ts';
import { callTool, hang, say } from '../../../../src/testing/index.ts';
import { checkedHandler } from '../../../server-http/checked-handler.ts';
import { answer } from '../../../server-http/requests.ts';
import { type Json, service, serviceOf, started } from './http-testbed.ts';
import { Testbed, until } from '../../testbed/testbed.ts';

test('a run is started, waited for and read over HTTP', async () => {
  await using testbed = await Testbed.open();
  const handler = await service(testbed, [callTool('search', { query: 'x' }), say('Here it is')]);
  const run = await started(handler, { agent: 'assistant', input: 'Find x', tags: ['http'] });
  const result = await answer<Json>(handler, 'GET', `${run}/result?wait=30s&steps=true`);
  expect(result).toMatchObject({ status: 200, body: { status: 'completed', output: 'Here it is', steps: [{ step: 1 }, { step: 2 }] } });
  expect((await answer<Json>(handler, 'GET', `${run}/result`)).body).toMatchObject({ output: 'Here it is' });
  const read = async (path: string): Promise<Json> => (await answer<Json>(handler, 'GET', `${run}${path}`)).body;
  expect(await read('')).toMatchObject({ status: 'completed', currentStep: 2 });
  expect(await read('/context')).toMatchObject({ total: 4, finalResult: 'Here it is' });
  expect(await read('/steps')).toMatchObject({ steps: [{ step: 1, toolCalls: [{ toolName: 'search' }] }, { step: 2 }] });
  expect(await read('/events?from=1&limit=2')).toMatchObject({ from: 1, next: 3, events: [{}, {}] });
  expect(await read('/tree')).toMatchObject({ kind: 'agent', children: [] });
  expect(await read('/approvals')).toMatchObject({ pending: [], remembered: [] });
  expect(await read('/save')).toMatchObject({ version: 1, agent_name: 'assistant' });
  expect(await answer(handler, 'GET', `${run}/trace`)).toMatchObject({ status: 200, body: { program_name: 'assistant' } });
  const exported = await (await handler(new Request(`http://localhost${run}/export`))).text();
  const lines = exported
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as Json)['type']);
  expect([lines[0], lines.at(-1)]).toEqual(['run', 'summary']);
  const ofTree = await (await handler(new Request(`http://localhost${run}/tree/events`))).text();
  expect(ofTree.trim().split('\n')).toHaveLength(4);
});

test('a call is listed, approved by its digest, and not decided otherwise afterwards', async () => {
  await using testbed = await Testbed.open();
  const handler = await service(testbed, [callTool('refund', { amount: 5 }), say('Paid')], { caller: { id: 'key-7' } });
  const run = await started(handler, { agent: 'clerk', input: 'Refund me' });
  const pending = async (): Promise<Json[]> => (await answer<{ pending: Json[] }>(handler, 'GET', `${run}/approvals`)).body.pending;
  await until(async () => (await pending()).length === 1, 'the call waits');
  const [{ callId, digest }] = (await pending()) as [{ callId: string; digest: string }];
  const path = `${run}/approvals/${encodeURIComponent(callId)}`;
  const decide = (body: object) => answer<Json>(handler, 'POST', path, { body, headers: { 'idempotency-key': 'click-1' } });
  expect(await decide({ type: 'approve', digest: 'another' })).toMatchObject({ status: 409, body: { code: 'digest_mismatch' } });
  expect(await decide({ type: 'approve', digest, arguments: { amount: 'much' } })).toMatchObject({ status: 422 });
  const approval = { type: 'approve', digest, by: 'the boss' };
  expect(await decide(approval)).toMatchObject({
    status: 200,
    body: { status: 'decided', decision: { by: 'key-7', id: expect.stringMatching(/^key-/) as string } },
  });
  expect(await answer<Json>(handler, 'GET', `${run}/result?wait=30s`)).toMatchObject({ body: { output: 'Paid' } });
  expect(await decide(approval)).toMatchObject({ status: 200, body: { status: 'repeated' } });
  expect(await decide({ type: 'reject', digest })).toMatchObject({ status: 409, body: { code: 'already_decided' } });
});

test('a run is paused, sent a message, raised, resumed, cancelled, retried and deleted', async () => {
  await using testbed = await Testbed.open();
  const handler = await service(testbed, [hang(), say('After all')]);
  const run = await started(handler, { agent: 'assistant', input: 'Q' });
  const post = (path: string, body?: object) => answer<Json>(handler, 'POST', `${run}${path}`, body === undefined ? {} : { body });
  expect(await post('/pause')).toMatchObject({ status: 200, body: { paused: true } });
  expect(await post('/resume', {})).toMatchObject({ status: 200, body: { paused: false } });
  expect(await post('/messages', { content: 'One more', id: 'm1' })).toMatchObject({ status: 200, body: { status: 'queued' } });
  expect((await post('/messages', { content: 'One more', id: 'm1' })).status).toBe(200);
  expect(await answer(handler, 'GET', run)).toMatchObject({ body: { queued: 1 } });
  expect(await post('/limits', { limits: { steps: 20 } })).toMatchObject({ status: 200, body: { limits: { steps: 20 } } });
  expect(await post('/limits', { limits: { steps: 2 } })).toMatchObject({ status: 422, body: { code: 'invalid_input' } });
  const permissions = { permissions: { deny: ['broken'] } };
  expect(await answer(handler, 'PUT', `${run}/permissions`, { body: permissions })).toMatchObject({ status: 200, body: { status: 'set' } });
  expect(await answer(handler, 'DELETE', run)).toMatchObject({ status: 409, body: { code: 'run_open' } });
  expect(await post('/retry')).toMatchObject({ status: 409, body: { code: 'run_open' } });
  expect(await answer(handler, 'GET', `${run}/result?wait=20ms`)).toMatchObject({ status: 202, body: { status: 'running' } });
  expect(await post('/cancel', { reason: 'enough' })).toMatchObject({ status: 200, body: { outcome: 'requested' } });
  expect(await answer(handler, 'GET', `${run}/result?wait=30s`)).toMatchObject({ status: 200, body: { status: 'cancelled' } });
  expect(await post('/cancel')).toMatchObject({ status: 200, body: { outcome: 'already_ended' } });
  expect(await post('/pause')).toMatchObject({ status: 409, body: { code: 'run_ended' } });
  expect(await answer(handler, 'DELETE', `${run}/remembered/d`)).toMatchObject({ status: 409 });
  expect(await post('/retry', {})).toMatchObject({ status: 200, body: { fromStep: 1 } });
  expect(await answer(handler, 'GET', `${run}/result?wait=30s`)).toMatchObject({ body: { output: 'After all' } });
  expect(await answer(handler, 'DELETE', run)).toMatchObject({ status: 200, body: { outcome: 'deleted' } });
});

test('the same key with the same body is one run, and with another body it is refused', async () => {
  await using testbed = await Testbed.open();
  const handler = await service(testbed, [say('once')]);
  const key = { 'idempotency-key': randomUUID() };
  const body = { agent: 'assistant', input: 'Q', deps: { a: 1, b: 2 } };
  const all = await Promise.all([1, 2, 3].map(() => answer<Json>(handler, 'POST', '/v1/runs', { body, headers: key })));
  expect(all.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 200, 201]);
  expect(new Set(all.map(({ body: { runId } }) => runId)).size).toBe(1);
  const reordered = { deps: { b: 2, a: 1 }, input: 'Q', agent: 'assistant' };
  expect(await answer(handler, 'POST', '/v1/runs', { body: reordered, headers: key })).toMatchObject({ status: 200 });
  expect(await answer(handler, 'POST', '/v1/runs', { body: { ...body, input: 'R' }, headers: key })).toMatchObject({
    status: 422,
    body: { code: 'key_reused' },
  });
  // Another process, and a key of another principal.
  const other = await serviceOf(testbed);
  expect(await answer(other, 'POST', '/v1/runs', { body, headers: key })).toMatchObject({ status: 200, body: { repeated: true } });
  const foreign = await serviceOf(testbed, { principal: { tenant: 'acme' } });
  expect(await answer(foreign, 'POST', '/v1/runs', { body, headers: key })).toMatchObject({ status: 201 });
});

test('a run id of the caller is refused if it is taken, or returns that run, as the caller chooses', async () => {
  await using testbed = await Testbed.open();
  const handler = await service(testbed, [say('once'), say('twice')]);
  const body = { agent: 'assistant', input: 'Q', runId: `own/${randomUUID()}` };
  await started(handler, body);
  expect(await answer(handler, 'POST', '/v1/runs', { body })).toMatchObject({ status: 409, body: { code: 'run_exists' } });
  const again = await answer(handler, 'POST', '/v1/runs', { body: { ...body, ifExists: 'return' } });
  expect(again).toMatchObject({ status: 200, body: { runId: body.runId, repeated: true } });
  const headers = { 'idempotency-key': 'k' };
  expect(await answer(handler, 'POST', '/v1/runs', { body, headers })).toMatchObject({ status: 409, body: { code: 'run_exists' } });
});

test('the run of another principal is unknown in every route, and so is an id that does not exist', async () => {
  await using testbed = await Testbed.open();
  const acme = await service(testbed, [say('secret')], { caller: { principal: { tenant: 'acme', user: 'ada' } } });
  const run = await started(acme, { agent: 'assistant', input: 'Q' });
  expect(await answer(acme, 'GET', `${run}/result?wait=30s`)).toMatchObject({ status: 200 });
  const others = [
    await serviceOf(testbed, { principal: { tenant: 'acme', user: 'bob' } }),
    await serviceOf(testbed, { principal: { tenant: 'other' } }),
  ];
  const requests: [string, string, object?][] = [
    ...['', '/result', '/context', '/events', '/steps', '/trace', '/tree', '/tree/events', '/approvals', '/export', '/save'].map(
      (path): [string, string] => ['GET', path],
    ),
    ['POST', '/messages', { content: 'x' }],
    ['POST', '/pause'],
    ['POST', '/resume'],
    ['POST', '/cancel'],
    ['POST', '/retry'],
    ['POST', '/limits', { limits: { steps: 20 } }],
    ['PUT', '/permissions', { permissions: {} }],
    ['POST', '/approvals/c', { type: 'approve', digest: 'd' }],
    ['DELETE', '/remembered/d'],
    ['DELETE', ''],
  ];
  for (const other of others) {
    for (const [method, path, body] of requests) {
      const request = body === undefined ? {} : { body };
      const [foreign, unknown] = [
        await answer(other, method, `${run}${path}`, request),
        await answer(other, method, `/v1/runs/no-such${path}`, request),
      ];
      expect([method, path, foreign.status, foreign.body]).toEqual([method, path, 404, unknown.body]);
      expect(foreign.body.code).toBe('run_not_found');
    }
  }
});

test('the service is ready while Temporal answers, and says which part does not', async () => {
  await using testbed = await Testbed.open();
  const client = new LonghaulClient(testbed.client.temporal);
  const ready = await checkedHandler(client);
  expect(await answer(ready, 'GET', '/readyz')).toMatchObject({ status: 200, body: { status: 'ready', checks: { temporal: 'ok' } } });
  const checks = { sink: async () => Promise.reject(new Error('redis://secret')), other: () => undefined };
  const broken = await checkedHandler(client, { checks });
  const { status, body } = await answer<Json>(broken, 'GET', '/readyz');
  expect([status, body]).toEqual([503, { status: 'not_ready', checks: { temporal: 'ok', streams: 'ok', sink: 'failed', other: 'ok' } }]);
});

test('each kind of request is accepted once for the key of its caller, and refused with other content', async () => {
  await using testbed = await Testbed.open();
  const ann = await service(testbed, [hang()], { caller: { id: 'ann' } });
  const bob = await serviceOf(testbed, { id: 'bob' });
  const run = await started(ann, { agent: 'assistant', input: 'Q' });
  await until(async () => (await answer<Json>(ann, 'GET', run)).body['events'] !== 0, 'the run has begun');
  const kinds = [
    ['POST', '/messages', { content: 'One' }, { content: 'Two' }],
    ['POST', '/limits', { limits: { steps: 20 } }, { limits: { steps: 30 } }],
    ['PUT', '/permissions', { permissions: { deny: ['broken'] } }, { permissions: { deny: ['broken', 'search'] } }],
  ] as const;
  for (const [index, [method, path, body, other]] of kinds.entries()) {
    const send = (handler: typeof ann, sent: object): ReturnType<typeof answer<Json>> =>
      answer<Json>(handler, method, `${run}${path}`, { body: sent, headers: { 'idempotency-key': `${index}` } });
    const first = await send(ann, body);
    expect(first).toMatchObject({ status: 200, body: { status: expect.stringMatching(/^(?:queued|raised|set)$/) as string } });
    expect((await send(ann, body)).body).toEqual(first.body);
    expect(await send(ann, other)).toMatchObject({ status: 422, body: { code: 'key_reused' } });
    // The key of another caller is another one.
    const ofBob = await send(bob, other);
    expect(ofBob).toMatchObject({ status: 200, body: { status: first.body['status'] } });
    expect(ofBob.body['id']).not.toBe(first.body['id']);
  }
  const [, [method, path, body]] = kinds;
  expect(await answer(ann, method, `${run}${path}`, { body, headers: { 'idempotency-key': '0' } })).toMatchObject({
    status: 422,
    body: { code: 'key_reused' },
  });
  expect(await answer(ann, 'GET', run)).toMatchObject({ body: { queued: 2, limits: { steps: 30 } } });
  expect((await answer(ann, 'POST', `${run}/cancel`)).status).toBe(200);
});
