import { expect, test } from 'vitest';
import { LonghaulClient } from '../../../../src/client/index.ts';
import { createHandler } from '../../../../src/server/index.ts';
import { say, scriptedModel } from '../../../../src/testing/index.ts';
import { answer } from '../../../server-http/requests.ts';
import { assistant } from '../../testbed/agents.ts';
import { slowLoading } from '../../testbed/slow-loading.ts';
import { Testbed, until } from '../../testbed/testbed.ts';

const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi' }] };

test('a service that lists no agents answers 404 to a request that waits for an agent which the worker lacks, and cancels its run', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([say('Hello.'), say('Hello.')]) } });
  const handler = createHandler(new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue }));
  const requests: [path: string, body: (agent: string) => object][] = [
    ['/v1/chat/completions', (model) => ({ model, messages: [{ role: 'user', content: 'Hi' }] })],
    ['/v1/responses', (model) => ({ model, input: 'Hi' })],
  ];
  for (const [path, body] of requests) {
    const refused = await answer<{ error: { code: string; message: string } }>(handler, 'POST', path, { body: body('asistant') });
    expect(refused).toMatchObject({ status: 404, body: { error: { code: 'model_not_found' } } });
    expect(refused.body.error.message).toContain('Did you mean "assistant"?');
    expect((await answer(handler, 'POST', path, { body: body('assistant') })).status).toBe(200);
  }
  const chat = await answer<{ code: string }>(handler, 'POST', '/v1/agents/asistant/chat', { body: { id: 'c', messages: [message] } });
  expect(chat).toMatchObject({ status: 404, body: { code: 'agent_not_found' } });
  const goesOn = `TaskQueue = '${testbed.taskQueue}' AND ExecutionStatus = 'Running'`;
  await until(async () => (await testbed.client.temporal.workflow.count(goesOn)).count === 0, 'the runs of unknown agents are cancelled');
}, 120_000);

test('also if the worker takes seconds to load the run', async () => {
  await using testbed = await Testbed.open();
  const worker = { dataConverter: { payloadCodecs: [slowLoading('asistant', 1_000)] } };
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([]) }, worker });
  const handler = createHandler(new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue }));
  const refused = await answer(handler, 'POST', '/v1/responses', { body: { model: 'asistant', input: 'Hi' } });
  expect(refused).toMatchObject({ status: 404, body: { error: { code: 'model_not_found' } } });
});
