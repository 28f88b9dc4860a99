import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { callTool, failWith, hang, say, scriptedModel } from '../../../../src/testing/index.ts';
import { answer } from '../../../server-http/requests.ts';
import { assistant } from '../../testbed/agents.ts';
import { Testbed, until } from '../../testbed/testbed.ts';
import { type Json, service, serviceOf, started } from './http-testbed.ts';

interface Page {
  runs: (Json & { runId: string; tokens?: number; steps?: number })[];
  next?: string;
  cut?: boolean;
}

test("only the caller's runs are listed with their usage, sorted by it, and counted by status and agent", async () => {
  await using testbed = await Testbed.open();
  const principal = { tenant: `acme-${randomUUID()}` };
  const script = [
    say('one'),
    callTool('search', { query: 'x' }),
    callTool('search', { query: 'y' }),
    say('three'),
    callTool('refund', { amount: 5 }),
  ];
  const handler = await service(testbed, script, { caller: { principal } });
  const get = <Body>(path: string) => answer<Body>(handler, 'GET', path);
  const ids: string[] = [];
  for (const agent of ['assistant', 'assistant', 'clerk']) {
    const run = await started(handler, { agent, input: 'Q' });
    ids.push(decodeURIComponent(run.slice('/v1/runs/'.length)));
    await (agent === 'clerk'
      ? until(async () => (await get<{ pending: object[] }>(`${run}/approvals`)).body.pending.length === 1, 'the call waits')
      : get(`${run}/result?wait=30s`));
  }
  const [short, long, open] = ids;
  const status = (value: string) => get<Page>(`/v1/runs?status=${value}`);
  await until(async () => (await status('pending_confirmation')).body.runs.length === 1, 'the wait is listed');
  await until(async () => (await status('completed')).body.runs.length === 2, 'the ends are listed');
  await testbed.stopWorkers();

  const plain = (await get<Page>('/v1/runs')).body.runs;
  expect(plain.map(({ runId }) => runId)).toEqual(ids.toReversed());
  expect(plain.map((entry) => [typeof entry['durationMs'], entry.steps])).toEqual([
    ['undefined', undefined],
    ['number', undefined],
    ['number', undefined],
  ]);
  const { body: ranked } = await get<Page>('/v1/runs?sort=tokens');
  expect(ranked).not.toHaveProperty('cut');
  const { tokens: least = 0 } = ranked.runs.find(({ runId }) => runId === short) ?? {};
  expect(ranked.runs.map(({ runId, steps, tokens }) => [runId, steps, tokens === undefined ? undefined : tokens / least])).toEqual([
    [long, 3, 3],
    [open, 0, 1],
    [short, 1, 1],
  ]);
  // The run that waits gets older than those that have ended, however long a busy machine took for these.
  await until(
    async () => (await get<Page>('/v1/runs?sort=duration&limit=1')).body.runs[0]?.runId === open,
    'the run that waits is the longest',
  );
  const first = (await get<Page>('/v1/runs?sort=duration&limit=2')).body;
  expect([first.runs.length, first.runs[0]?.runId]).toEqual([2, open]);
  const second = (await get<Page>(`/v1/runs?sort=duration&limit=2&cursor=${first.next}`)).body;
  expect([...first.runs, ...second.runs].map(({ runId }) => runId).toSorted()).toEqual(ids.toSorted());
  expect(second.next).toBeUndefined();
  const other = await answer(handler, 'GET', `/v1/runs?sort=tokens&limit=2&cursor=${first.next}`);
  expect(other).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } });
  const { body: amounts } = await get<Page>('/v1/runs?amounts=true');
  expect(amounts.runs.map(({ runId, steps }) => [runId, steps])).toEqual([
    [open, 0],
    [long, 3],
    [short, 1],
  ]);
  for (const entry of amounts.runs) expect(JSON.stringify(entry).length).toBeLessThan(2_000);

  expect(await get('/v1/runs/counts?by=status')).toMatchObject({
    status: 200,
    body: {
      by: 'status',
      counts: [
        { value: 'completed', runs: 2 },
        { value: 'pending_confirmation', runs: 1 },
      ],
      total: 3,
    },
  });
  expect((await get<Json>('/v1/runs/counts?by=agent')).body).toEqual({
    by: 'agent',
    counts: [
      { value: 'assistant', runs: 2 },
      { value: 'clerk', runs: 1 },
    ],
    total: 3,
  });
  expect(await get('/v1/runs/counts')).toMatchObject({ status: 422 });
  const foreign = await serviceOf(testbed, { principal: { tenant: 'other' } });
  expect(await answer(foreign, 'GET', '/v1/runs/counts?by=agent')).toMatchObject({ body: { counts: [], total: 0 } });

  const approvals = (await get<{ approvals: Json[] }>('/v1/approvals')).body.approvals;
  expect(approvals).toMatchObject([{ runId: open, agentName: 'clerk', description: 'Pays money back', schema: { required: ['amount'] } }]);
}, 60_000);

test('a list has the usage of each execution of a run that was started again, and does not wait for the end of the newest', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('search', { query: 'x' }), failWith('model_forbidden'), hang()]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const runId = `${testbed.taskQueue}-again`;
  const options = { input: 'Q', taskQueue: testbed.taskQueue, runId, ifExists: 'restartFailed' } as const;
  expect(await testbed.client.run(assistant, options)).toMatchObject({ status: 'error', stepsUsed: 1 });
  await testbed.client.start(assistant, options);
  await until(() => scripted.requests.length === 3, 'the model call of the second execution');
  const filter = { runIdPrefix: runId, amounts: true };
  const listed = async () => (await testbed.client.listPage(filter, { pageSize: 10 })).items;
  await until(async () => (await listed()).length === 2, 'both executions are listed');
  expect((await listed()).map(({ status, steps }) => [status, steps])).toEqual([
    ['running', 0],
    ['error', 1],
  ]);
  const byTokens = await Array.fromAsync(testbed.client.list({ ...filter, sort: 'tokens' }));
  expect(byTokens.map(({ status, steps }) => [status, steps])).toEqual([
    ['error', 1],
    ['running', 0],
  ]);
});
