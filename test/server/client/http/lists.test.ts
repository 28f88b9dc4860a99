import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { ask, defineProgram, unit } from '../../../../src/define/program/index.ts';
import { callTool, hang, say } from '../../../../src/testing/index.ts';
import { answer } from '../../../server-http/requests.ts';
import { Testbed, until } from '../../testbed/testbed.ts';
import { type Json, service, serviceOf, started } from './http-testbed.ts';

interface Page {
  runs: { runId: string }[];
  next?: string;
}

test('runs are listed in pages that any instance of the service continues, each run once', async () => {
  await using testbed = await Testbed.open();
  const handler = await service(
    testbed,
    Array.from({ length: 5 }, () => hang()),
  );
  const tag = randomUUID();
  const runs = await Promise.all(
    [1, 2, 3, 4, 5].map((input) => started(handler, { agent: 'assistant', input: String(input), tags: [tag] })),
  );
  const ids = runs.map((path) => decodeURIComponent(path.replace('/v1/runs/', '')));
  const list = async (query: string, from = handler): Promise<Page> =>
    (await answer<Page>(from, 'GET', `/v1/runs?tag=${tag}${query}`)).body;
  await until(async () => (await list('')).runs.length === 5, 'the runs are listed');
  const other = await serviceOf(testbed);
  const listed: string[] = [];
  let page = await list('&limit=2');
  listed.push(...page.runs.map(({ runId }) => runId));
  while (page.next !== undefined) {
    page = await list(`&limit=2&cursor=${page.next}`, other);
    expect(page.runs.length).toBeLessThanOrEqual(2);
    listed.push(...page.runs.map(({ runId }) => runId));
  }
  expect(listed.toSorted()).toEqual(ids.toSorted());
  expect((await list('&status=running')).runs).toHaveLength(5);
  expect((await list('&status=completed')).runs).toHaveLength(0);
  expect((await list('&startedBefore=2020-01-01T00:00:00Z')).runs).toHaveLength(0);
  expect((await list('&startedAfter=2020-01-01T00:00:00Z')).runs).toHaveLength(5);
});

test('a cursor of another filter, of another caller, or of nothing is refused with 400', async () => {
  await using testbed = await Testbed.open();
  const handler = await service(testbed, [hang(), hang()]);
  const tag = randomUUID();
  for (const input of ['1', '2']) await started(handler, { agent: 'assistant', input, tags: [tag] });
  const path = `/v1/runs?limit=1&tag=${tag}`;
  await until(async () => (await answer<Page>(handler, 'GET', `/v1/runs?tag=${tag}`)).body.runs.length === 2, 'both are listed');
  const { body } = await answer<Page>(handler, 'GET', path);
  const cursor = body.next ?? '';
  expect((await answer<Page>(handler, 'GET', `${path}&cursor=${cursor}`)).status).toBe(200);
  // The size of the page may change.
  expect((await answer<Page>(handler, 'GET', `${path.replace('limit=1', 'limit=9')}&cursor=${cursor}`)).status).toBe(200);
  const foreign = await serviceOf(testbed, { principal: { tenant: 'acme' } });
  const { at: _, ...kept } = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as { at: string; of: string };
  const forged = Buffer.from(JSON.stringify({ ...kept, at: Buffer.from('nothing').toString('base64url') })).toString('base64url');
  const refused = [
    answer(handler, 'GET', `${path}&agent=assistant&cursor=${cursor}`),
    answer(handler, 'GET', `/v1/sessions?tag=${tag}&cursor=${cursor}`),
    answer(foreign, 'GET', `${path}&cursor=${cursor}`),
    answer(handler, 'GET', `${path}&cursor=nothing`),
    answer(handler, 'GET', `${path}&cursor=${forged}`),
  ];
  for (const one of refused) expect(await one).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } });
});

test('a filter is data: a quote in it, or a query, selects nothing else', async () => {
  await using testbed = await Testbed.open();
  const handler = await service(testbed, [hang()]);
  await started(handler, { agent: 'assistant', input: 'Q' });
  const quote = encodeURIComponent("x' OR ExecutionStatus = 'Running");
  for (const name of ['agent', 'tag', 'waitingFor', 'tenant', 'user']) {
    expect(await answer(handler, 'GET', `/v1/runs?${name}=${quote}`)).toMatchObject({ status: 200, body: { runs: [] } });
    expect(await answer(handler, 'GET', `/v1/runs?${name}=x%00y`)).toMatchObject({ status: 422, body: { code: 'invalid_input' } });
  }
  for (const query of ['query=x', 'status=open', 'startedAfter=yesterday', 'limit=0']) {
    expect((await answer(handler, 'GET', `/v1/runs?${query}`)).status).toBe(422);
  }
});

test('a caller that acts for a principal lists its own runs, sessions and approvals alone', async () => {
  await using testbed = await Testbed.open();
  const tenants = [`t-${randomUUID()}`, `t-${randomUUID()}`];
  const [one, two] = [
    await service(testbed, [callTool('refund', { amount: 1 }), callTool('refund', { amount: 2 })], {
      caller: { principal: { tenant: tenants[0] ?? '' } },
    }),
    await serviceOf(testbed, { principal: { tenant: tenants[1] ?? '' } }),
  ];
  const own = new Map<unknown, string[]>();
  for (const handler of [one, two]) {
    const run = await started(handler, { agent: 'clerk', input: 'Refund me' });
    const { body } = await answer<{ sessionId: string }>(handler, 'POST', '/v1/sessions', { body: { agent: 'assistant', title: 'Mine' } });
    own.set(handler, [decodeURIComponent(run.replace('/v1/runs/', '')), body.sessionId]);
  }
  const approvals = async (handler: typeof one): Promise<Json[]> =>
    (await answer<{ approvals: Json[] }>(handler, 'GET', '/v1/approvals')).body.approvals;
  for (const handler of [one, two]) {
    const [runId, sessionId] = own.get(handler) ?? [];
    await until(async () => (await approvals(handler)).length === 1, 'the call waits');
    expect(await approvals(handler)).toMatchObject([{ runId, toolName: 'refund' }]);
    const sessions = async (): Promise<Json> => (await answer<Json>(handler, 'GET', '/v1/sessions')).body;
    await until(async () => ((await sessions())['sessions'] as Json[]).length === 1, 'the session is listed');
    expect(await sessions()).toMatchObject({ sessions: [{ sessionId, title: 'Mine' }] });
    const { body } = await answer<Page>(handler, 'GET', '/v1/runs');
    expect(body.runs.map((run) => run.runId).toSorted()).toEqual([runId ?? '', sessionId ?? ''].toSorted((a, b) => (a < b ? -1 : 1)));
    expect(await answer(handler, 'GET', `/v1/runs?tenant=${tenants[handler === one ? 1 : 0]}`)).toMatchObject({ status: 422 });
  }
});

const note = defineProgram({ name: 'note', model: 'scripted/m', units: [unit('u', {}, [ask('Note', 'Write a note')])] });

test('programs and agents are listed as far as the caller may start them, and a program is started by its name', async () => {
  await using testbed = await Testbed.open();
  const handler = await service(testbed, [say('A note')], { programs: [note] });
  expect(await answer(handler, 'GET', '/v1/programs')).toMatchObject({ body: { programs: [{ name: 'note', units: ['u'] }] } });
  const agents = await answer(handler, 'GET', '/v1/agents');
  expect(agents).toMatchObject({
    body: { agents: [{ name: 'assistant', tools: [{ name: 'search' }, { name: 'broken' }] }, { name: 'clerk' }] },
  });
  expect(await answer(handler, 'GET', '/v1/agents/assistant')).toMatchObject({ status: 200, body: { name: 'assistant' } });
  const limited = await serviceOf(testbed, { agents: ['other'], scopes: ['runs:read', 'runs:write'] }, [note]);
  expect(await answer(limited, 'GET', '/v1/agents')).toMatchObject({ body: { agents: [] } });
  expect(await answer(limited, 'GET', '/v1/programs')).toMatchObject({ body: { programs: [] } });
  expect(await answer(limited, 'GET', '/v1/agents/assistant')).toMatchObject({ status: 404, body: { code: 'agent_not_found' } });
  expect(await answer(limited, 'POST', '/v1/programs', { body: { program: 'note' } })).toMatchObject({ status: 403 });
  const headers = { 'idempotency-key': randomUUID() };
  const first = await answer<Json>(handler, 'POST', '/v1/programs', { body: { program: 'note' }, headers });
  expect(first.status).toBe(201);
  expect(await answer(handler, 'POST', '/v1/programs', { body: { program: 'note' }, headers })).toMatchObject({ status: 200 });
  const run = `/v1/runs/${encodeURIComponent(String(first.body['runId']))}`;
  expect(await answer(handler, 'GET', `${run}/result?wait=30s`)).toMatchObject({ status: 200, body: { output: 'A note', units: [{}] } });
  expect(await answer(handler, 'GET', `${run}/trace`)).toMatchObject({ status: 200, body: { program_name: 'note' } });
});

test('a program as a document needs "admin", and one with problems is refused with all of them', async () => {
  await using testbed = await Testbed.open();
  const handler = await service(testbed, []);
  const document = { version: 1, name: 'x', units: [{ name: 'u', steps: [{ nothing: true }] }] };
  const { status, body } = await answer(handler, 'POST', '/v1/programs', { body: { program: document } });
  expect([status, body.code]).toEqual([422, 'invalid_program']);
  const caller = await serviceOf(testbed, { scopes: ['runs:write'] });
  expect(await answer(caller, 'POST', '/v1/programs', { body: { program: document } })).toMatchObject({ status: 403 });
});
