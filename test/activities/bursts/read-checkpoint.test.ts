import type { Client } from '@temporalio/client';
import { defaultDataConverter, type LoadedDataConverter, METADATA_ENCODING_KEY, type Payload, type PayloadCodec } from '@temporalio/common';
import { encodeToPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger, type LogEntry } from '@temporalio/worker';
import { expect, test } from 'vitest';
import { readCheckpoint } from '../../../activities/bursts/checkpoints.ts';

const ENTRY = [6, 't1/0', ['a result'], 1, '0000000a'];

/** Encrypts nothing, but makes payloads unreadable without it. It has lost the key of some. */
const codec: PayloadCodec = {
  encode: async (payloads) =>
    payloads.map(({ metadata, data }) => ({ metadata: { ...metadata, hidden: new Uint8Array([1]) }, data: turned(data) })),
  decode: async (payloads) =>
    payloads.map(({ metadata, data }) => {
      if (metadata?.['lost'] !== undefined) throw new Error('no key');
      return { metadata: { [METADATA_ENCODING_KEY]: metadata![METADATA_ENCODING_KEY]! }, data: turned(data) };
    }),
};

function turned(data: Payload['data']): Uint8Array {
  return Uint8Array.from(data ?? [], (byte) => byte ^ 0xff);
}

const converter: LoadedDataConverter = { ...defaultDataConverter, payloadCodecs: [codec] };

/** Returns a burst that the server has stored something of. */
async function pending(seed: string, state: number, metadata: Payload['metadata'] = {}): Promise<object> {
  const stored = await encodeToPayloads(converter, { record: { entries: [ENTRY] }, attempt: 1, seed });
  const payloads = stored?.map((payload) => ({ ...payload, metadata: { ...payload.metadata, ...metadata } }));
  return { activityType: { name: 'runBurst' }, activityId: seed, state, heartbeatDetails: { payloads } };
}

/** Looks up the burst with the seed "s" while the server answers so. */
async function lookUp(answers: (() => object[])[]): Promise<{ found: Promise<unknown>; warnings: string[] }> {
  const warnings: string[] = [];
  const logger = new DefaultLogger('WARN', ({ message }: LogEntry) => void warnings.push(message));
  const client = {
    options: { loadedDataConverter: converter },
    withAbortSignal: (_: AbortSignal, ask: () => Promise<unknown>) => ask(),
    withDeadline: (_: number, ask: () => Promise<unknown>) => ask(),
    workflowService: { describeWorkflowExecution: async () => ({ pendingActivities: answers.shift()!() }) },
  } as unknown as Client;
  const found = new MockActivityEnvironment({}, { client, logger }).run(readCheckpoint, { seed: 's' });
  await found.catch(() => undefined);
  return { found, warnings };
}

const away = (): never => {
  throw new Error('away');
};

test.each([
  ['waits for its next attempt', 1, true],
  ['is with a worker', 2, false],
  ['is to be cancelled', 3, false],
  ['is paused', 4, true],
  ['is to be paused, with a worker', 5, false],
])('the stored state of a burst that %s', async (_, state, isFound) => {
  const burst = await pending('s', state);
  const { found, warnings } = await lookUp([() => [burst]]);
  expect(await found).toEqual(isFound ? { record: { entries: [ENTRY] }, attempt: 1, seed: 's' } : null);
  expect(warnings).toEqual([]);
});

test('a burst that cannot be decoded does not hide another one', async () => {
  const bursts = [await pending('other', 1, { lost: new Uint8Array() }), await pending('s', 1)];
  const { found, warnings } = await lookUp([() => bursts]);
  expect(await found).toMatchObject({ seed: 's' });
  expect(warnings).toEqual([expect.stringContaining('no key')]);
});

test('a burst whose details are in a storage that the worker does not know is left out', async () => {
  const stored = await pending('s', 1, {
    [METADATA_ENCODING_KEY]: new TextEncoder().encode('json/protobuf'),
    messageType: new TextEncoder().encode('temporal.api.sdk.v1.ExternalStorageReference'),
  });
  const { found, warnings } = await lookUp([() => [stored]]);
  expect(await found).toBeNull();
  expect(warnings).toHaveLength(1);
});

test('a server that does not answer once is asked again', async () => {
  const burst = await pending('s', 1);
  const { found, warnings } = await lookUp([away, () => [burst]]);
  expect(await found).toMatchObject({ seed: 's' });
  expect(warnings).toEqual([]);
});

test('a look-up that fails is in the log', async () => {
  const { found, warnings } = await lookUp([away, away]);
  await expect(found).rejects.toMatchObject({ type: 'server_unreachable' });
  expect(warnings).toContainEqual(expect.stringContaining('were not looked up, so its calls may be made again: away'));
});
