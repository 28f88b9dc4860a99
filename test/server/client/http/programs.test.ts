import { expect, test } from 'vitest';
import { createHandler } from '../../../../src/server/index.ts';
import { answer, send } from '../../../server-http/requests.ts';
import { careful, inner, letters } from '../../programs/programs-with-children.ts';
import { Testbed, until } from '../../testbed/testbed.ts';
import { type Json, serviceOf } from './http-testbed.ts';

test('the run of a program is read, followed, decided, paused and waited for at /v1/runs', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [careful], programs: [inner], providers: { child: letters() } });
  const handler = await serviceOf(testbed, { id: 'key-7' }, [inner]);
  const begun = await answer<{ runId: string }>(handler, 'POST', '/v1/programs', { body: { program: 'inner', input: { name: 'Ann' } } });
  const run = begun.headers.get('location') ?? '';
  expect([begun.status, run]).toEqual([201, `/v1/runs/${encodeURIComponent(begun.body.runId)}`]);
  const read = async (path = ''): Promise<Json> => (await answer<Json>(handler, 'GET', `${run}${path}`)).body;
  const post = (path: string, body: object = {}) => answer<Json>(handler, 'POST', `${run}${path}`, { body });
  const stream = testbed.client.handle(begun.body.runId).stream();
  const items: string[] = [];
  const followed = (async () => {
    for await (const { type } of stream) items.push(type);
  })();

  expect(await read()).toMatchObject({ runId: begun.body.runId, agentName: 'inner' });
  const pending = async (): Promise<Json[]> => (await read('/approvals'))['pending'] as Json[];
  await until(async () => (await pending()).length === 1, 'the agent below asks for a decision');
  expect(await post('/pause')).toMatchObject({ status: 200, body: { paused: true } });
  expect(await post('/resume')).toMatchObject({ status: 200, body: { paused: false } });
  expect(await read('/tree')).toMatchObject({ kind: 'program', children: [{ kind: 'agent' }] });
  const [{ callId, digest, runId }] = (await pending()) as [{ callId: string; digest: string; runId: string }];
  expect(runId).not.toBe(begun.body.runId);
  const decided = await post(`/approvals/${encodeURIComponent(callId)}`, { type: 'approve', digest, runId });
  expect(decided).toMatchObject({ status: 200, body: { decision: { by: 'key-7' } } });

  expect(await answer<Json>(handler, 'GET', `${run}/result?wait=30s`)).toMatchObject({ status: 200, body: { output: 'Dear Ann' } });
  expect(await read('/trace')).toMatchObject({ program_name: 'inner' });
  await followed;
  const text = await (await send(createHandler(testbed.client), 'GET', `${run}/stream`)).text();
  const sent = text.split('\n').filter((line) => line.startsWith('event: '));
  expect(sent.at(-1)).toBe('event: end');
  expect(sent.filter((line) => line === 'event: event')).toHaveLength(items.filter((type) => type === 'event').length);
  expect(text).toContain('"Letter"');
});

test('the run of a program is cancelled with its descendants', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [careful], programs: [inner], providers: { child: letters() } });
  const handler = await serviceOf(testbed, undefined, [inner]);
  const begun = await answer<Json>(handler, 'POST', '/v1/programs', { body: { program: 'inner', input: { name: 'Ann' } } });
  const run = begun.headers.get('location') ?? '';
  await until(
    async () => ((await answer<{ pending: object[] }>(handler, 'GET', `${run}/approvals`)).body.pending ?? []).length === 1,
    'the agent below asks for a decision',
  );
  expect(await answer(handler, 'POST', `${run}/cancel`, { body: { reason: 'enough' } })).toMatchObject({ status: 200 });
  expect(await answer<Json>(handler, 'GET', `${run}/result?wait=30s`)).toMatchObject({ status: 200, body: { status: 'cancelled' } });
  expect(await answer<Json>(handler, 'GET', `${run}/tree`)).toMatchObject({
    body: { status: 'cancelled', children: [{ status: 'cancelled' }] },
  });
});
