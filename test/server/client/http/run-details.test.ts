import { randomUUID } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { callTool, say, together } from '../../../../src/testing/index.ts';
import { ask, defineProgram, unit } from '../../../../src/define/program/index.ts';
import { answer } from '../../../server-http/requests.ts';
import { Testbed, until } from '../../testbed/testbed.ts';
import { type Json, service, started } from './http-testbed.ts';

const note = defineProgram({ name: 'note', model: 'scripted/model-1', units: [unit('u', {}, [ask('Note', 'Write a note')])] });

test('the timeline, the pinned agent, the requests and the calls of a run are read while it waits, and without a worker', async () => {
  await using testbed = await Testbed.open();
  const handler = await service(testbed, [callTool('refund', { amount: 5 }, 'c1'), say('Paid')], { caller: { id: 'ops' } });
  const run = await started(handler, { agent: 'clerk', input: 'Refund me' });
  const get = (path: string) => answer<Json>(handler, 'GET', `${run}${path}`);
  await until(async () => (((await get('/approvals')).body['pending'] as object[]) ?? []).length === 1, 'the call waits');
  expect(await get('/calls/c1')).toMatchObject({
    status: 200,
    body: { toolName: 'refund', arguments: { amount: 5 }, schema: { type: 'object' }, waiting: { kind: 'tool' }, decisions: [] },
  });
  const { spans } = (await get('/timeline')).body as { spans: Json[] };
  expect(spans.findLast(({ kind }) => kind === 'person')).toMatchObject({ name: 'refund', callId: 'c1' });
  expect(spans.findLast(({ kind }) => kind === 'person')).not.toHaveProperty('to');
  const { digest } = ((await get('/approvals')).body as { pending: { digest: string }[] }).pending[0] ?? { digest: '' };
  const approval = { type: 'approve', digest, arguments: { amount: 4 } };
  expect(await answer(handler, 'POST', `${run}/approvals/c1`, { body: approval })).toMatchObject({ status: 200 });
  expect(await get('/result?wait=30s')).toMatchObject({ body: { output: 'Paid' } });
  // To answer, a worker would replay the run that has ended.
  const queries = vi.spyOn(testbed.client.temporal.workflowService, 'queryWorkflow');
  expect(await get('')).toMatchObject({ body: { status: 'completed', currentStep: 2, toolCallsTotal: 1 } });
  expect(await get('/approvals')).toMatchObject({ body: { status: 'completed', pending: [] } });
  expect(await get('/tree')).toMatchObject({ body: { status: 'completed', steps: 2, children: [] } });
  expect(queries).not.toHaveBeenCalled();
  await testbed.stopWorkers();
  expect(await get('/calls/c1')).toMatchObject({
    body: {
      arguments: { amount: 5 },
      ranWith: { amount: 4 },
      step: 1,
      decisions: [{ type: 'approve', by: 'ops' }],
      result: { status: 'success' },
    },
  });
  expect(await get('/calls/other')).toMatchObject({ status: 404, body: { code: 'call_not_found' } });
  expect(await get('/snapshot')).toMatchObject({ body: { snapshot: { name: 'clerk', digest: expect.any(String) } } });
  expect(await get('/snapshot?at=1')).toMatchObject({ body: { offset: 1, snapshot: { name: 'clerk' } } });
  const whole = (await get('/timeline')).body as { spans: Json[]; ms: Record<string, number> };
  expect(whole.spans.filter(({ kind }) => kind === 'model')).toMatchObject([{ step: 1, attempts: 1 }, { step: 2 }]);
  expect(whole.spans.find(({ kind }) => kind === 'person')).toMatchObject({ decision: 'approve', to: expect.any(String) });
  const first = (await get('/timeline?limit=1')).body as { next: number; spans: Json[] };
  const rest = (await get(`/timeline?from=${first.next}`)).body as { spans: Json[] };
  expect([...first.spans, ...rest.spans]).toEqual(whole.spans);
  expect(await get('/steps/2/request?diff=previous')).toMatchObject({
    status: 200,
    body: {
      step: 2,
      asOf: 'rebuilt',
      unknown: [],
      diff: { step: 1, changed: [], added: [{ type: 'tool_call' }, { type: 'tool_result' }] },
    },
  });
  expect(await get('/steps/3/request')).toMatchObject({
    status: 404,
    body: { code: 'unknown_step', detail: expect.stringContaining('1 to 2') },
  });
});

test('the turns of a session are listed page by page, with the position of the next page', async () => {
  await using testbed = await Testbed.open();
  const handler = await service(testbed, [say('One'), together(say('Looking'), callTool('search', { query: 'x' })), say('Two')]);
  const id = `session-${randomUUID()}`;
  const askIt = (content: string) => answer(handler, 'POST', `/v1/sessions/${id}/ask?wait=30s`, { body: { content, agent: 'assistant' } });
  expect(await askIt('First?')).toMatchObject({ status: 200 });
  expect(await askIt('Second?')).toMatchObject({ status: 200 });
  const get = (query: string) => answer<Json>(handler, 'GET', `/v1/sessions/${id}/turns${query}`);
  const turns = [
    { turn: 1, status: 'completed', question: 'First?', answer: 'One', steps: 1, firstOffset: 0 },
    { turn: 2, status: 'completed', question: 'Second?', answer: 'Two', steps: 2 },
  ];
  expect(await get('')).toMatchObject({ status: 200, body: { sessionId: id, turns } });
  expect(await get('?limit=1')).toMatchObject({ body: { turns: [turns[0]], next: 2 } });
  expect(await get('?from=2')).toMatchObject({ body: { turns: [turns[1]] } });
  await testbed.stopWorkers();
  // Also of a run that nobody has begun.
  const run = await started(handler, { agent: 'assistant', input: 'Q', runId: `plain-${randomUUID()}` });
  expect(await answer(handler, 'GET', `${run.replace('/runs/', '/sessions/')}/turns`)).toMatchObject({
    status: 422,
    body: { code: 'invalid_input', detail: expect.stringContaining('is not a session') },
  });
});

test('a caller reads its identity, and reads agents and programs with their documents', async () => {
  await using testbed = await Testbed.open();
  const caller = { id: 'key-7', name: 'shop', principal: { tenant: 'acme', user: 'ada' }, agents: ['clerk', 'note'] };
  const handler = await service(testbed, [], { caller, programs: [note] });
  const get = (path: string) => answer<Json>(handler, 'GET', path);
  expect(await get('/v1/me')).toMatchObject({
    status: 200,
    body: {
      id: 'key-7',
      name: 'shop',
      scopes: ['admin'],
      principal: { tenant: 'acme', user: 'ada' },
      features: { tokens: false, agents: true, wire: false },
    },
  });
  expect(await get('/v1/agents/clerk')).toMatchObject({
    body: {
      models: ['scripted/model-1'],
      tools: expect.arrayContaining([expect.objectContaining({ name: 'refund', approval: 'always' })]),
      handoffs: [],
      agents: [],
    },
  });
  expect(await get('/v1/agents/assistant')).toMatchObject({ status: 404, body: { code: 'agent_not_found' } });
  expect(await get('/v1/programs/note')).toMatchObject({ body: { units: ['u'], document: { name: 'note', units: [{ name: 'u' }] } } });
  expect(await get('/v1/programs/other')).toMatchObject({ status: 404, body: { code: 'program_not_found' } });
});
