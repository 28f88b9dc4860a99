import { expect, test } from 'vitest';
import { callTool, failWith, hang, say, scriptedModel } from '../../../src/testing/index.ts';
import { assistant } from '../testbed/agents.ts';
import { Testbed, until } from '../testbed/testbed.ts';

test('a run that ends in any way is readable with no worker running, steps included', async () => {
  await using testbed = await Testbed.open();
  const endings = {
    completed: [callTool('search', { query: 'a' }), say('done')],
    error: [callTool('search', { query: 'a' }), failWith('model_bad_request', 'no')],
    max_iterations_reached: [callTool('search', { query: 'a' })],
    limit_reached: [callTool('search', { query: 'a' })],
    cancelled: [callTool('search', { query: 'a' }), hang()],
  } as const;
  const ended = new Map<string, { runId: string; withWorker: unknown }>();
  for (const [status, script] of Object.entries(endings)) {
    const scripted = scriptedModel(script);
    await testbed.work({ agents: [assistant], providers: { scripted } });
    const steps = status === 'max_iterations_reached' ? 1 : 5;
    const toolCalls = status === 'limit_reached' ? 0 : 5;
    const handle = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue, limits: { steps, toolCalls } });
    if (status === 'cancelled') {
      await until(() => scripted.requests.length === 2, 'the second model call');
      await handle.cancel('enough');
    }
    const result = await handle.result();
    expect(result.status).toBe(status);
    ended.set(status, { runId: handle.runId, withWorker: await handle.steps() });
    await testbed.stopWorkers();
  }
  for (const [status, { runId, withWorker }] of ended) {
    const result = await testbed.client.handle(runId).result({ steps: true });
    const { endTime, errorCode } = await testbed.client.handle(runId).status();
    expect({ endTime, errorCode }).toEqual({ endTime: result.endTime, errorCode: result.errorCode });
    expect(result.status).toBe(status);
    expect(result.steps).toEqual(withWorker);
    expect(result.stepsUsed).toBe(status === 'completed' ? 2 : 1);
    expect(result.steps).toHaveLength(result.stepsUsed);
  }
});

test('status, context and events of a closed run are read from history if no worker answers', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([callTool('search', { query: 'a' }), say('done')]) } });
  const handle = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  await handle.result();
  const live = { status: await handle.status(), context: await handle.context() };
  await testbed.stopWorkers();
  expect(await handle.status()).toEqual(live.status);
  const context = await handle.context();
  // Only the workflow knows the id of an event that no model call named.
  const lastEvent = live.context.events.at(-1);
  expect(context).toEqual({
    ...live.context,
    events: [...live.context.events.slice(0, -1), { ...lastEvent, id: context.events.at(-1)?.id }],
  });
}, 30_000);

test('the status of a run that no worker has taken yet gives its agent and its start time', async () => {
  await using testbed = await Testbed.open();
  const before = Date.now();
  const handle = await testbed.client.start('assistant', { input: 'Q', taskQueue: testbed.taskQueue });
  const { agentName, status, startTime } = await handle.status();
  expect({ agentName, status }).toEqual({ agentName: 'assistant', status: 'running' });
  expect(Math.abs(Date.parse(startTime) - before)).toBeLessThan(60_000);
  await testbed.client.temporal.workflow.getHandle(handle.runId).terminate();
}, 30_000);

test('a terminated run has no result, and the error says so', async () => {
  await using testbed = await Testbed.open();
  const handle = await testbed.client.start('assistant', { input: 'Q', taskQueue: testbed.taskQueue });
  await testbed.client.temporal.workflow.getHandle(handle.runId).terminate('operator said so');
  await expect(handle.result()).rejects.toMatchObject({ code: 'run_terminated', message: expect.stringContaining('operator said so') });
});

test('a run that was terminated while a worker polls is not reported as running', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([hang()]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const handle = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => scripted.requests.length === 1, 'the model call');
  await testbed.client.temporal.workflow.getHandle(handle.runId).terminate('operator');
  // Its status, the list and the web interface of Temporal agree about its end, although it has no result.
  const status = await handle.status();
  expect(status).toMatchObject({ status: 'error', errorCode: 'run_terminated' });
  const { closeTime } = await testbed.client.temporal.workflow.getHandle(handle.runId).describe();
  expect(status.endTime).toBe(closeTime?.toISOString());
  const listed = async (): Promise<object | undefined> => (await Array.fromAsync(testbed.client.list({ runIdPrefix: handle.runId })))[0];
  await until(async () => Object(await listed()).status === 'error', 'the list to have the end', 20);
  expect(await listed()).toMatchObject({ status: 'error', endTime: status.endTime });
  const events = [];
  for await (const event of handle.events({ follow: true })) events.push(event);
  expect(events).toHaveLength(1);
});

test('a run that the server timed out has no result, and the error says so', async () => {
  await using testbed = await Testbed.open();
  const { workflow } = testbed.client.temporal;
  const args = [{ agent: 'assistant', input: 'Q' }];
  const { workflowId } = await workflow.start('agentRun', {
    args,
    taskQueue: testbed.taskQueue,
    workflowId: `${testbed.taskQueue}-timeout`,
    workflowExecutionTimeout: 1_000,
  });
  await expect(testbed.client.handle(workflowId).result()).rejects.toMatchObject({ code: 'run_timed_out' });
});

test('a run that does not exist is not found, and the error names it', async () => {
  await using testbed = await Testbed.open();
  const handle = testbed.client.handle('no-such-run');
  const expected = { code: 'run_not_found', message: expect.stringContaining('"no-such-run"') };
  await expect(handle.result()).rejects.toMatchObject(expected);
  await expect(handle.status()).rejects.toMatchObject(expected);
  await expect(handle.cancel('x')).rejects.toMatchObject(expected);
});

test('waiting for a result ends at its time limit or with its signal, and the run continues', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([hang()]) } });
  const handle = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  await expect(handle.result({ timeout: 300 })).rejects.toMatchObject({ code: 'wait_timeout' });
  const reason = new Error('the caller left');
  await expect(handle.result({ signal: AbortSignal.timeout(200) })).rejects.toMatchObject({ name: 'TimeoutError' });
  await expect(handle.result({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  expect((await handle.status()).status).toBe('running');
  await handle.cancel('done with it');
  expect(await handle.result()).toMatchObject({ status: 'cancelled', cancelReason: 'done with it' });
  expect(await handle.cancel('again')).toBe('already_ended');
});
