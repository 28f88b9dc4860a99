import proto from '@temporalio/proto';
import { describe, expect, test } from 'vitest';
import { runHistory } from '../../../src/history/history-events.ts';
import { connect, type LonghaulClient } from '../../../src/client/index.ts';
import { type AnyAgent, defineAgent } from '../../../src/index.ts';
import { failWith, hang, say, scriptedModel, type ScriptedModel, type ScriptEntry } from '../../../src/testing/index.ts';
import { SIGNALS } from '../../../src/core/protocol.ts';
import { callCli } from '../../cli/call-cli.ts';
import { codecWith, DISCREET_SCRIPT, keeper, keysVariable, SECRETS } from './codec-agents.ts';
import { sharedBundle, Testbed, until } from '../testbed/testbed.ts';

const codec = codecWith('k1', 1);

interface EncryptedBed extends AsyncDisposable {
  testbed: Testbed;
  client: LonghaulClient;
  scripted: ScriptedModel;
}

/** A testbed with a worker and a client that encrypt; the testbed's own client does not. */
async function open(script: readonly ScriptEntry[], agents: readonly AnyAgent[] = [keeper]): Promise<EncryptedBed> {
  const testbed = await Testbed.open();
  const scripted = scriptedModel(script);
  await testbed.work({ agents, providers: { scripted }, codec });
  const client = await connect({ address: testbed.address, taskQueue: testbed.taskQueue, codec });
  return {
    testbed,
    client,
    scripted,
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await testbed[Symbol.asyncDispose]();
    },
  };
}

const INPUT = { input: SECRETS.prompt, deps: { customer: SECRETS.deps } };

/** Returns the bytes of the history that the server stores, as text that can be searched for clear text. */
async function storedHistory(client: LonghaulClient, runId: string): Promise<string> {
  const { HistoryEvent } = proto.temporal.api.history.v1;
  const events: Uint8Array[] = [];
  for await (const event of runHistory(client.temporal, runId)) events.push(HistoryEvent.encode(event).finish());
  return Buffer.concat(events).toString('latin1');
}

/** A failure lists the readable secrets, and not the whole text. */
function expectNoSecret(stored: string): void {
  expect(Object.values(SECRETS).filter((secret) => stored.includes(secret))).toEqual([]);
}

describe('with encryption on worker and client', () => {
  test('a run works as it does without encryption, and everything can be read back with and without a worker', async () => {
    await using bed = await open(DISCREET_SCRIPT);
    const handle = await bed.client.start(keeper, INPUT);
    const result = await handle.result();
    expect(result).toMatchObject({ status: 'completed', output: SECRETS.answer, toolCallsByName: { look_up: 1, fail: 1 } });
    const steps = await handle.steps();
    expect((await handle.context()).state).toEqual({ found: SECRETS.state });
    await bed.testbed.stopWorkers();

    const again = bed.client.handle(handle.runId);
    expect(await again.result()).toMatchObject({ status: 'completed', output: SECRETS.answer });
    expect(await again.steps()).toEqual(steps);
    expect(JSON.stringify(steps)).toContain(SECRETS.toolResult);
    expect(JSON.stringify(steps)).toContain(SECRETS.toolFailure);
    expectNoSecret(await storedHistory(bed.client, handle.runId));
  });

  test('the inputs of agents inside a workflow are encrypted too, in its history and in the summaries of its children', async () => {
    const agents = [defineAgent({ name: 'researcher', model: 'scripted/m' }), defineAgent({ name: 'writer', model: 'scripted/m' })];
    await using bed = await open([say(SECRETS.toolResult), say(SECRETS.answer)], agents);
    const { client, testbed } = bed;
    const start = { args: [SECRETS.prompt], taskQueue: testbed.taskQueue, workflowId: testbed.taskQueue };
    expect(await client.temporal.workflow.execute('report', start)).toMatchObject({ text: SECRETS.answer });
    const summaries: (string | undefined)[] = [];
    for await (const { startChildWorkflowExecutionInitiatedEventAttributes: started, userMetadata } of runHistory(
      client.temporal,
      testbed.taskQueue,
    )) {
      if (started) summaries.push(Buffer.from(userMetadata?.summary?.metadata?.['encoding'] ?? []).toString());
    }
    expect(summaries).toEqual(['binary/aes-256-gcm', 'binary/aes-256-gcm']);
    expectNoSecret(await storedHistory(client, testbed.taskQueue));
  });

  test('the message of a failed run reaches the caller, and only its type is in clear text', async () => {
    await using bed = await open([failWith('model_bad_request', SECRETS.runFailure)]);
    const handle = await bed.client.start(keeper, INPUT);
    expect(await handle.result()).toMatchObject({
      status: 'error',
      errorCode: 'model_bad_request',
      error: expect.stringContaining(SECRETS.runFailure) as string,
    });
    const stored = await storedHistory(bed.client, handle.runId);
    expect(stored.includes('model_bad_request')).toBe(true);
    expect(stored.includes('Encoded failure')).toBe(true);
    expect(stored.includes(SECRETS.runFailure)).toBe(false);
    expect(stored.includes('.ts:')).toBe(false);
  });

  test('the reason of a cancellation and the output so far reach the caller, but not the server', async () => {
    await using bed = await open([hang(SECRETS.partialAnswer)]);
    const handle = await bed.client.start(keeper, INPUT);
    await until(() => bed.scripted.requests.length === 1, 'the model call');
    expect(await handle.cancel(SECRETS.cancelReason)).toBe('requested');
    expect(await handle.result()).toMatchObject({ status: 'cancelled', cancelReason: SECRETS.cancelReason });
    expect((await handle.context()).events.at(-1)).toMatchObject({ interrupted: true, content: [{ content: SECRETS.partialAnswer }] });
    expectNoSecret(await storedHistory(bed.client, handle.runId));
  });

  test('the reason of a cancellation by Signal is encrypted too', async () => {
    await using bed = await open([hang(SECRETS.partialAnswer)]);
    const handle = await bed.client.start(keeper, INPUT);
    await until(() => bed.scripted.requests.length === 1, 'the model call');
    await bed.client.temporal.workflow.getHandle(handle.runId).signal(SIGNALS.cancel, { reason: SECRETS.cancelReason });
    expect(await handle.result()).toMatchObject({ status: 'cancelled', cancelReason: SECRETS.cancelReason });
    expectNoSecret(await storedHistory(bed.client, handle.runId));
  });

  test('the error of a client with another key, with the wrong bytes for the id, or with no key names the key', async () => {
    await using bed = await open([say(SECRETS.answer)]);
    const handle = await bed.client.start(keeper, INPUT);
    await handle.result();
    const cases = [
      [codecWith('k2', 2), 'encryption_key_missing', '"k1" is missing (it is not among'],
      [codecWith('k1', 2), 'decryption_failed', 'does not decrypt with the key "k1"'],
      [undefined, 'encryption_key_missing', '"k1" is missing (this process has no encryption keys)'],
    ] as const;
    for (const [other, code, message] of cases) {
      const client = await connect({ address: bed.testbed.address, ...(other === undefined ? {} : { codec: other }) });
      const failure = { code, message: expect.stringContaining(message) as string };
      await expect(client.handle(handle.runId).result()).rejects.toMatchObject(failure);
      await expect(client.handle(handle.runId).steps()).rejects.toMatchObject(failure);
      await client.close();
    }
  });

  test('a run that began without encryption continues with it, and its clear text is still read', async () => {
    const testbed = await Testbed.open();
    await using bed = testbed;
    const providers = { scripted: scriptedModel([hang(), say(SECRETS.answer)]) };
    await testbed.work({ agents: [keeper], providers });
    const handle = await bed.client.start(keeper, { ...INPUT, taskQueue: bed.taskQueue });
    await until(() => providers.scripted.requests.length === 1, 'the model call');
    await testbed.stopWorkers();
    await testbed.work({ agents: [keeper], providers, codec });
    const client = await connect({ address: testbed.address, codec });
    expect(await client.handle(handle.runId).result()).toMatchObject({ status: 'completed', output: SECRETS.answer });
    const stored = await storedHistory(client, handle.runId);
    expect(stored.includes(SECRETS.prompt)).toBe(true);
    expect(stored.includes(SECRETS.answer)).toBe(false);
    expect((await client.handle(handle.runId).context()).events).toHaveLength(2);
    await client.close();
  });
});

describe('the command line', () => {
  const env = { LONGHAUL_ENCRYPTION_KEYS: keysVariable('k1', 1) };

  test('encrypts and reads with the keys of its environment', async () => {
    await using bed = await open([say(SECRETS.answer)]);
    const where = ['--address', bed.testbed.address, '--task-queue', bed.testbed.taskQueue];
    const started = await callCli(['start', 'keeper', SECRETS.prompt, '--wait', '--run-id', `codec-${bed.testbed.taskQueue}`, ...where], {
      env,
    });
    expect(started).toMatchObject({ exitCode: 0, stdout: `${SECRETS.answer}\n` });
    const runId = `codec-${bed.testbed.taskQueue}`;
    expectNoSecret(await storedHistory(bed.client, runId));
    expect((await callCli(['show', runId, ...where], { env })).stdout).toContain(SECRETS.answer);
    expect((await callCli(['events', runId, ...where], { env })).stdout).toContain(SECRETS.prompt);

    const without = await callCli(['show', runId, ...where]);
    expect(without).toMatchObject({ exitCode: 2, stdout: '' });
    expect(without.stderr).toMatch(/^longhaul: The encryption key "k1" is missing .*LONGHAUL_ENCRYPTION_KEYS\n$/);
  });

  test('compresses if the option is set, and reads compressed data without the option', async () => {
    await using testbed = await Testbed.open();
    await testbed.work({ agents: [keeper], providers: { scripted: scriptedModel([say('It is long.')]) }, codec: { compression: true } });
    const prompt = `${SECRETS.prompt} and `.repeat(3_000);
    const runId = `codec-${testbed.taskQueue}`;
    const where = ['--address', testbed.address, '--task-queue', testbed.taskQueue];
    const started = await callCli(['start', 'keeper', '-', '--wait', '--run-id', runId, '--codec', 'compression', ...where], {
      stdin: prompt,
    });
    expect(started).toMatchObject({ exitCode: 0, stdout: 'It is long.\n' });
    const stored = await storedHistory(testbed.client, runId);
    expect(stored.includes('binary/zstd')).toBe(true);
    expect(stored.length).toBeLessThan(prompt.length / 2);
    expect((await callCli(['events', runId, ...where])).stdout).toContain(SECRETS.prompt);
  });
});

test('a worker that encrypts refuses a bundle made without encryption', async () => {
  await using testbed = await Testbed.open();
  const worker = testbed.work({
    agents: [keeper],
    providers: { scripted: scriptedModel([]) },
    codec,
    worker: { workflowBundle: sharedBundle(undefined) },
  });
  await expect(worker).rejects.toThrow('its workflow bundle was made without encryption');
});
