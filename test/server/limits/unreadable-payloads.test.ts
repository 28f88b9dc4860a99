import type { Payload } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { repairTraces } from '../../../activities/telemetry/repair-traces.ts';
import { connect, type LonghaulClient, type RunHandle } from '../../../src/client/index.ts';
import { type CodecOptions, ENCRYPTED_ENCODING, KEY_ID } from '../../../src/codec/encryption.ts';
import { defineAgent } from '../../../src/index.ts';
import { type ApprovalsPage, QUERIES, scopedName, SIGNALS, UPDATES } from '../../../src/core/protocol.ts';
import { idGenerator } from '../../../src/telemetry/ids.ts';
import { Telemetry } from '../../../src/telemetry/telemetry.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { plainApi, RecordingSdk } from '../../telemetry/recording-sdk.ts';
import { codecWith } from '../codec/codec-agents.ts';
import { clerk, refund } from '../approvals/decision-agents.ts';
import { plainPayload, RawCaller, rawPayload } from './raw-payloads.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

const codec = codecWith('k1', 1);

/** Valid JSON that is nested so deeply that code which walks it overflows its stack. */
const DEEP = `{"agent":"clerk","input":"x","id":"m","content":"x","deps":{"a":${'['.repeat(60_000)}${']'.repeat(60_000)}}}`;

/** Payloads that no worker can read, each with the text of its error. */
const GARBAGE: Record<string, readonly [Payload, string]> = {
  'invalid JSON': [rawPayload('json/plain', '{"agent":'), 'the data of the payload is not JSON'],
  'an unknown encoding': [rawPayload('protobuf/x', 'x'), 'the encoding "protobuf/x" of the payload is unknown'],
  'empty data': [rawPayload('json/plain', ''), 'the data of the payload is not JSON'],
  'no metadata': [rawPayload(undefined, '{}'), 'the payload does not name its encoding'],
  'too many levels': [rawPayload('json/plain', DEEP), 'nested deeper than 64 levels'],
  'a corrupt zstd frame': [rawPayload('binary/zstd', 'not a frame'), 'A compressed payload of 11 bytes does not decompress'],
  'a corrupt AES frame': [rawPayload(ENCRYPTED_ENCODING, 'x'.repeat(60), { [KEY_ID]: 'k1' }), 'does not decrypt with the key "k1"'],
  'a frame without a key': [rawPayload(ENCRYPTED_ENCODING, 'x'.repeat(60)), 'does not name the key'],
};
const KINDS = Object.keys(GARBAGE);

interface Bed extends AsyncDisposable {
  testbed: Testbed;
  client: LonghaulClient;
  raw: RawCaller;
  handle(runId: string): RunHandle;
}

/** A worker whose runs wait for a decision on their only call. */
async function open(workerCodec: CodecOptions | undefined): Promise<Bed> {
  const testbed = await Testbed.open();
  const script = KINDS.flatMap((_, index) => [callTool('refund', { amount: 5 }, `c${index}`), say('done')]);
  await testbed.work({
    agents: [clerk],
    providers: { scripted: scriptedModel(script) },
    ...(workerCodec === undefined ? {} : { codec: workerCodec }),
  });
  const client = await connect({
    address: testbed.address,
    taskQueue: testbed.taskQueue,
    ...(workerCodec === undefined ? {} : { codec: workerCodec }),
  });
  return {
    testbed,
    client,
    raw: new RawCaller(testbed, client),
    handle: (runId) => client.handle(runId),
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await testbed[Symbol.asyncDispose]();
    },
  };
}

/** Lets the worker decrypt a payload: until then, it takes a failure for a mistake in its own key. */
async function proveKey({ raw, handle }: Bed): Promise<void> {
  const sound = handle(await raw.start({ input: [plainPayload({ agent: 'clerk', input: 'pay' })] }));
  await until(async () => (await sound.status()).status === 'pending_confirmation', 'a run that can be read');
  await sound.approve('c0');
  expect(await sound.result()).toMatchObject({ status: 'completed' });
}

/** The number of failed workflow tasks of a run. */
async function failedTasks(testbed: Testbed, runId: string): Promise<number> {
  return (await historyOf(testbed, runId)).filter((event) => event.workflowTaskFailedEventAttributes).length;
}

const WAYS = [
  ['a worker without a codec', undefined],
  ['a worker that compresses and encrypts', codec],
] as const;

describe.each(WAYS)('on %s', (_, workerCodec) => {
  // Without keys, a frame with a key waits for a worker that has the key.
  const kinds = KINDS.filter((kind) => workerCodec !== undefined || kind !== 'a corrupt AES frame');

  test('a start with an unreadable payload fails at once, with the reason', async () => {
    await using bed = await open(workerCodec);
    await proveKey(bed);
    for (const kind of kinds) {
      const [payload, why] = GARBAGE[kind] ?? [];
      const runId = await bed.raw.start({ input: [payload as Payload] });
      const result = await bed.handle(runId).result();
      expect([kind, result.status, result.errorCode, result.error]).toEqual([
        kind,
        'error',
        'invalid_input',
        expect.stringContaining(String(why)) as string,
      ]);
      expect(await failedTasks(bed.testbed, runId)).toBe(0);
    }
  });

  test('a run refuses unreadable Signals, Updates and queries, and continues to its end', async () => {
    await using bed = await open(workerCodec);
    const runId = await bed.raw.start({ input: [plainPayload({ agent: 'clerk', input: 'pay' })] });
    const run = bed.handle(runId);
    await until(async () => (await run.status()).status === 'pending_confirmation', 'the run waits for a decision');
    for (const kind of kinds) {
      const [payload, why] = GARBAGE[kind] ?? [];
      for (const update of [UPDATES.send, UPDATES.approve, UPDATES.pause, UPDATES.raise])
        expect([kind, update, await bed.raw.update(runId, update, payload as Payload)]).toEqual([
          kind,
          update,
          { type: 'invalid_input', message: expect.stringContaining(String(why)) as string },
        ]);
      const told = workerCodec === undefined ? String(why) : 'Encoded failure';
      expect([kind, await bed.raw.query(runId, QUERIES.context, payload as Payload)]).toEqual([kind, expect.stringContaining(told)]);
      for (const signal of [SIGNALS.send, SIGNALS.cancel, SIGNALS.cancelReason, SIGNALS.respond])
        await bed.raw.signal(runId, signal, payload as Payload);
    }
    expect(await run.status()).toMatchObject({ status: 'pending_confirmation' });
    await run.approve('c0');
    expect(await run.result()).toMatchObject({ status: 'completed', output: 'done' });
    expect(await failedTasks(bed.testbed, runId)).toBe(0);
    const record = async (): Promise<unknown[]> => (await run.context()).events;
    const told = await record();
    const text = JSON.stringify(told).replaceAll('\\', '');
    expect(kinds.filter((kind) => !text.includes(String(GARBAGE[kind]?.[1])))).toEqual([]);
    await bed.testbed.stopWorkers();
    expect(await record()).toEqual(told);
  });

  test('unreadable memos and headers block neither a run nor a list of runs, nor the repair of traces', async () => {
    await using bed = await open(workerCodec);
    const begun = Date.now();
    await proveKey(bed);
    const garbage = Object.fromEntries(kinds.map((kind, index) => [`m${index}`, GARBAGE[kind]?.[0] as Payload]));
    const runId = await bed.raw.start({ input: [plainPayload({ agent: 'clerk', input: 'pay' })], memo: garbage, headers: garbage });
    const run = bed.handle(runId);
    await until(async () => (await run.status()).status === 'pending_confirmation', 'the run waits for a decision');
    await bed.raw.signal(runId, SIGNALS.send, plainPayload({ id: 'm1', content: 'hello' }), garbage);
    expect(await bed.raw.update(runId, UPDATES.pause, plainPayload({}), garbage)).toEqual({ type: '', message: '' });
    expect(await bed.raw.update(runId, UPDATES.resume, plainPayload({}), garbage)).toEqual({ type: '', message: '' });
    await run.approve('c1');
    expect(await run.result()).toMatchObject({ status: 'completed', output: 'done' });
    expect(await failedTasks(bed.testbed, runId)).toBe(0);
    const listed: string[] = [];
    await until(async () => {
      for await (const one of bed.testbed.client.list({ query: `WorkflowId = '${runId}'` })) listed.push(one.runId);
      return listed.length > 0;
    }, 'the run is listed');
    expect(listed).toEqual([runId]);
    const sdk = new RecordingSdk(idGenerator);
    const telemetry = new Telemetry(plainApi(sdk), { tracerProvider: sdk });
    await repairTraces(telemetry, bed.client.temporal, { since: new Date(begun), calls: undefined });
    const { spanId } = await run.traceContext();
    expect(sdk.exported.map((span) => span.spanId)).toContain(spanId);
  });
});

test('a run whose key the worker lacks waits, and names the key, until a worker has it', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([say('done')]);
  await testbed.work({ agents: [clerk], providers: { scripted } });
  const client = await connect({ address: testbed.address, taskQueue: testbed.taskQueue, codec });
  const run = await client.start(clerk, { input: 'wait' });
  await until(async () => (await failedTasks(testbed, run.runId)) > 0, 'a workflow task fails');
  const failures = (await historyOf(testbed, run)).flatMap((event) => event.workflowTaskFailedEventAttributes?.failure?.message ?? []);
  expect(failures).toEqual([expect.stringContaining('The encryption key "k1" is missing')]);
  expect((await client.temporal.workflow.getHandle(run.runId).describe()).status.name).toBe('RUNNING');
  await testbed.stopWorkers();
  await testbed.work({ agents: [clerk], providers: { scripted }, codec });
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'done' });
  await client.close();
});

test('an agent inside a workflow of the user refuses unreadable payloads too', async () => {
  await using testbed = await Testbed.open();
  const researcher = defineAgent({ name: 'researcher', model: 'scripted/model-1', tools: [refund] });
  const model = scriptedModel([callTool('refund', { amount: 5 }, 'c0'), say('done')]);
  await testbed.work({ agents: [researcher], providers: { scripted: model } });
  const raw = new RawCaller(testbed, testbed.client);
  const workflowId = await raw.start({ input: [plainPayload('desk')], workflowType: 'inlineOutcome' });
  const host = testbed.client.temporal.workflow.getHandle(workflowId);
  const pending = async (): Promise<ApprovalsPage['pending']> =>
    (await host.query<ApprovalsPage, [unknown]>(scopedName(QUERIES.approvals, 'desk'), { from: 0 })).pending;
  await until(async () => (await pending()).length > 0, 'the agent waits for a decision');
  for (const kind of KINDS.filter((name) => name !== 'a corrupt AES frame')) {
    const [payload, why] = GARBAGE[kind] ?? [];
    await raw.signal(workflowId, scopedName(SIGNALS.send, 'desk'), payload as Payload);
    expect([kind, await raw.update(workflowId, scopedName(UPDATES.send, 'desk'), payload as Payload)]).toEqual([
      kind,
      { type: 'invalid_input', message: expect.stringContaining(String(why)) as string },
    ]);
  }
  const [{ callId, digest } = { callId: '', digest: '' }] = await pending();
  await raw.update(workflowId, scopedName(UPDATES.approve, 'desk'), plainPayload({ callId, digest, id: 'yes' }));
  expect(await host.result()).toMatchObject({ status: 'completed', output: 'done' });
  expect(await failedTasks(testbed, workflowId)).toBe(0);
});

test('a workflow of the user never receives the marker of an unreadable value', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [clerk], providers: { scripted: scriptedModel([]) } });
  const raw = new RawCaller(testbed, testbed.client);
  const workflowId = await raw.start({ input: [rawPayload('json/plain', '{')], workflowType: 'inlineOutcome' });
  await until(async () => (await failedTasks(testbed, workflowId)) > 0, 'a workflow task fails');
  const failures = (await historyOf(testbed, workflowId)).flatMap(
    (event) => event.workflowTaskFailedEventAttributes?.failure?.message ?? [],
  );
  expect(failures).toEqual([expect.stringContaining('JSON')]);
  await testbed.client.temporal.workflow.getHandle(workflowId).terminate();
});
