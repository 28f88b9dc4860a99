import { expect, inject, test } from 'vitest';
import { connect } from '../../../src/client/index.ts';
import type { CodecOptions } from '../../../src/codec/encryption.ts';
import { failWith, hang, scriptedModel } from '../../../src/testing/index.ts';
import { createWorker } from '../../../worker/index.ts';
import { codecWith, DISCREET_SCRIPT, keeper, SECRETS } from './codec-agents.ts';
import { databaseOf } from '../testbed/server-database.ts';
import { sharedBundle, until } from '../testbed/testbed.ts';

const cliPath = inject('temporalCliPath');

/** Ids that a user chooses, and all other texts that stay in clear text with encryption on. */
const RUN_IDS = { completed: 'clear-run-id-1', failed: 'clear-run-id-2', cancelled: 'clear-run-id-3' };
const CLEAR = {
  ...RUN_IDS,
  workflowType: 'agentRun',
  taskQueue: 'clear-task-queue',
  toolNames: 'look_up',
  agentName: 'keeper',
  status: 'cancelled',
  searchAttribute: 'LonghaulAgent',
  failureType: 'model_bad_request',
  updateName: 'send',
  keyId: 'k1',
};

/** Three runs whose data fills every field that holds user data. */
async function threeRuns(address: string, codec: CodecOptions | undefined): Promise<void> {
  const scripted = scriptedModel([...DISCREET_SCRIPT, failWith('model_bad_request', SECRETS.runFailure), hang(SECRETS.partialAnswer)]);
  const options = { address, taskQueue: CLEAR.taskQueue, ...(codec === undefined ? {} : { codec }) };
  const workflowBundle = sharedBundle(codec);
  const worker = await createWorker({
    ...options,
    agents: [keeper],
    providers: { scripted },
    worker: { workflowBundle },
    heartbeatEvery: 300,
  });
  const running = worker.run();
  const client = await connect(options);
  try {
    const input = { input: SECRETS.prompt, deps: { customer: SECRETS.deps } };
    expect(await client.run(keeper, { ...input, runId: RUN_IDS.completed })).toMatchObject({ status: 'completed' });
    expect(await client.run(keeper, { ...input, runId: RUN_IDS.failed })).toMatchObject({ status: 'error' });
    const handle = await client.start(keeper, { ...input, runId: RUN_IDS.cancelled });
    await until(() => scripted.requests.length === DISCREET_SCRIPT.length + 2, 'the model call that hangs');
    const workflow = client.temporal.workflow.getHandle(handle.runId);
    await workflow.executeUpdate('send', { args: [{ id: 'm1', content: SECRETS.message }] });
    await handle.cancel(SECRETS.cancelReason);
    expect(await handle.result()).toMatchObject({ status: 'cancelled', cancelReason: SECRETS.cancelReason });
    expect((await workflow.describe()).memo).toMatchObject({ longhaulResult: { cancelReason: SECRETS.cancelReason } });
  } finally {
    worker.shutdown();
    await running;
    await client.close();
  }
}

function found(database: string, texts: Record<string, string>): string[] {
  return Object.entries(texts)
    .filter(([, text]) => database.includes(text))
    .map(([name]) => name);
}

test.skipIf(cliPath === undefined)('with encryption on, the database of the server contains no user data in clear text', async () => {
  const codec = codecWith('k1', 1);
  const database = await databaseOf(async ({ address }) => {
    await threeRuns(address, codec);
    // Data that is not encrypted can be read and searched without a key.
    const client = await connect({ address });
    const execution = await client.temporal.workflow.getHandle(RUN_IDS.completed).describe();
    expect(execution).toMatchObject({ type: 'agentRun', taskQueue: CLEAR.taskQueue });
    const attributes = execution.typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value] as const);
    const own = attributes.filter(([name]) => name !== 'BuildIds');
    expect(Object.fromEntries(own)).toEqual({ LonghaulAgent: 'keeper', LonghaulStatus: 'completed' });
    await client.close();
  });
  expect(found(database, SECRETS)).toEqual([]);
  expect(found(database, CLEAR)).toEqual(Object.keys(CLEAR));
});

test.skipIf(cliPath === undefined)('without encryption, all of the same texts are found in the database', async () => {
  const database = await databaseOf(({ address }) => threeRuns(address, undefined));
  expect(found(database, SECRETS)).toEqual(Object.keys(SECRETS));
});
