import { Client, type WorkflowClientInterceptor } from '@temporalio/client';
import { expect, test } from 'vitest';
import { LonghaulClient } from '../../../src/client/index.ts';
import { failWith, hang, say, scriptedModel } from '../../../src/testing/index.ts';
import { assistant } from '../testbed/agents.ts';
import { executionStatus, Testbed, until } from '../testbed/testbed.ts';

test('every request to a namespace that the server does not have is refused with its name', async () => {
  await using testbed = await Testbed.open();
  const client = new LonghaulClient(new Client({ connection: testbed.client.temporal.connection, namespace: 'nowhere' }));
  const refused = { code: 'namespace_not_found', message: expect.stringContaining('has no namespace "nowhere"') as string };
  const run = client.handle('run-1');
  const asked = [
    () => client.start('clerk', { input: 'Q' }),
    () => run.result(),
    () => run.status(),
    () => run.approvals(),
    () => run.send('Hello'),
  ];
  for (const ask of asked) await expect(ask()).rejects.toMatchObject(refused);
});

test('starting an existing run id is refused, or returns the existing run, as the caller chooses', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([say('once')]) } });
  const runId = `${testbed.taskQueue}-same`;
  const options = { input: 'Q', taskQueue: testbed.taskQueue, runId };
  const first = await testbed.client.run(assistant, options);
  await expect(testbed.client.start(assistant, options)).rejects.toMatchObject({
    code: 'run_exists',
    message: expect.stringContaining(runId),
  });
  const again = await testbed.client.run(assistant, { ...options, ifExists: 'return' });
  expect(again).toEqual(first);
});

test('with `restartFailed`, a failed run is started again under its id, once, and other runs are not', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([failWith('model_forbidden'), say('this time'), hang()]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const options = { input: 'Q', taskQueue: testbed.taskQueue, runId: `${testbed.taskQueue}-again`, ifExists: 'restartFailed' } as const;
  expect(await testbed.client.run(assistant, options)).toMatchObject({ status: 'error' });
  const both = await Promise.all([testbed.client.run(assistant, options), testbed.client.run(assistant, options)]);
  expect(both[0]).toMatchObject({ status: 'completed', output: 'this time' });
  expect(both[1]).toEqual(both[0]);
  expect(await testbed.client.run(assistant, options)).toEqual(both[0]);
  expect(scripted.requests).toHaveLength(2);

  const stopped = { ...options, runId: `${options.runId}-stopped` };
  const run = await testbed.client.start(assistant, stopped);
  await until(() => scripted.requests.length === 3, 'the model call');
  await testbed.client.start(assistant, stopped);
  await run.cancel('enough');
  expect(await testbed.client.run(assistant, stopped)).toMatchObject({ status: 'cancelled', cancelReason: 'enough' });
  expect(scripted.requests).toHaveLength(3);
});

test('a caller that saw a run fail does not start it again if it has been started meanwhile, even if that start has failed too', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([failWith('model_forbidden'), failWith('model_forbidden'), say('too often')]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const options = { input: 'Q', taskQueue: testbed.taskQueue, runId: `${testbed.taskQueue}-late`, ifExists: 'restartFailed' } as const;
  await testbed.client.run(assistant, options);
  const seen = Promise.withResolvers<void>();
  const meanwhile = Promise.withResolvers<void>();
  const { connection, options: connected } = testbed.client.temporal;
  const describe: WorkflowClientInterceptor['describe'] = async (input, next) => {
    const description = await next(input);
    seen.resolve();
    await meanwhile.promise;
    return description;
  };
  const late = new LonghaulClient(
    new Client({ connection, namespace: connected.namespace, interceptors: { workflow: [{ describe }] } }),
  ).start(assistant, options);
  await seen.promise;
  await testbed.client.run(assistant, options);
  meanwhile.resolve();
  await (await late).result();
  expect(scripted.requests).toHaveLength(2);
});

test('if no worker polls, a caller that waits is told, and the run begins when one does', async () => {
  await using testbed = await Testbed.open();
  const waiting = testbed.client.run(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => testbed.notices.length > 0, 'the notice');
  expect(testbed.notices[0]).toContain(`"${testbed.taskQueue}"`);
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([say('here I am')]) } });
  expect((await waiting).output).toBe('here I am');
});

test('the client refuses input that does not fit before it sends anything', async () => {
  await using testbed = await Testbed.open();
  const start = (input: unknown) =>
    testbed.client.start('assistant', { input: input as string, taskQueue: testbed.taskQueue, runId: `${testbed.taskQueue}-bad` });
  await expect(start(3)).rejects.toMatchObject({ code: 'invalid_input', message: expect.stringContaining('input') });
  await expect(start('x'.repeat(2_000_000))).rejects.toMatchObject({ code: 'payload_too_large' });
  await expect(testbed.client.handle(`${testbed.taskQueue}-bad`).status()).rejects.toMatchObject({ code: 'run_not_found' });
});

test('invalid input that bypasses the client ends as a failed run, and does not block a workflow task', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([]) } });
  const { workflow } = testbed.client.temporal;
  const inputs: unknown[][] = [
    [],
    [3],
    [null],
    [{}],
    [{ agent: 'assistant' }],
    [{ agent: 'assistant', input: 7 }],
    [{ agent: '', input: 'Q', deps: [] }],
  ];
  for (const [index, args] of inputs.entries()) {
    const { workflowId } = await workflow.start('agentRun', {
      args,
      taskQueue: testbed.taskQueue,
      workflowId: `${testbed.taskQueue}-${index}`,
    });
    const result = await testbed.client.handle(workflowId).result({ timeout: 5_000 });
    expect(result).toMatchObject({ status: 'error', errorCode: 'invalid_input' });
    expect(result.error).toMatch(/input|agent|deps/);
    expect(await executionStatus(testbed, workflowId)).toBe('FAILED');
  }
});
