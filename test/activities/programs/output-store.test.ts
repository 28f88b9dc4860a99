import type { Client } from '@temporalio/client';
import { defaultPayloadConverter, type Payload, type PayloadCodec } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { OutputStore } from '../../../activities/programs/step-values.ts';
import type { SpilledContent } from '../../../src/core/domain/content.ts';
import type { JsonValue } from '../../../src/core/domain/json.ts';
import { fileStore, type PayloadStore, spill } from '../../../src/stores/payload-store.ts';

const directory = await mkdtemp(path.join(tmpdir(), 'longhaul-output-store-'));
const files = fileStore({ directory });
const store = new OutputStore(files);
const converter = { payloadConverter: defaultPayloadConverter, payloadCodecs: [] };

afterAll(() => rm(directory, { recursive: true }));

/** Does something in an activity of a run. */
function inRun<Result>(
  runId: string,
  work: () => Promise<Result>,
  { namespace = 'default', codecs = [] }: { namespace?: string; codecs?: PayloadCodec[] } = {},
): Promise<Result> {
  const run = (_: unknown, inside: () => unknown): unknown => inside();
  // The only parts of a client that the store uses.
  const client = {
    options: { loadedDataConverter: { ...converter, payloadCodecs: codecs } },
    withDeadline: run,
    withAbortSignal: run,
  } as unknown as Client;
  const info = { workflowExecution: { workflowId: runId, runId: 'e' }, workflowNamespace: namespace };
  return new MockActivityEnvironment(info, { client, logger: new DefaultLogger('ERROR') }).run(work) as Promise<Result>;
}

const put = (runId: string, id: string, value: JsonValue): Promise<SpilledContent> => inRun(runId, () => store.put(id, value));

describe('an output in the payload store', () => {
  test('is read by its run and its id', async () => {
    const spilled = await put('r1', 'id-1', { a: [1] });
    expect(await inRun('r1', () => store.get({ address: 'u.A', id: 'id-1', spilled }))).toEqual({ a: [1] });
    expect(await inRun('r2', () => store.get({ address: 'u.A', id: 'id-1', spilled }, { namespace: 'default', runId: 'r1' }))).toEqual({
      a: [1],
    });
  });

  test.each([
    ['another run', 'r2', 'id-1', 'default'],
    ['another id', 'r1', 'id-2', 'default'],
    ['another namespace', 'r1', 'id-1', 'other'],
  ])('is not read by %s, although the location is right', async (_, runId, id, namespace) => {
    const spilled = await put('r1', 'id-1', 'secret');
    const reading = inRun(runId, () => store.get({ address: 'u.A', id, spilled }), { namespace });
    await expect(reading).rejects.toMatchObject({
      code: 'spilled_unavailable',
      message: expect.stringContaining('not of this step and run') as string,
    });
  });

  test('goes through the codecs of the worker', async () => {
    const inverted = (payloads: Payload[]): Promise<Payload[]> =>
      Promise.resolve(payloads.map((payload) => ({ ...payload, data: (payload.data ?? new Uint8Array()).map((byte) => byte ^ 0xff) })));
    const codecs = [{ encode: inverted, decode: inverted }];
    const spilled = await inRun('r3', () => store.put('id-1', 'a plain secret'), { codecs });
    const [file = ''] = (await readdir(directory, { recursive: true })).filter((name) => name.endsWith(spilled.claim['sha256'] ?? ''));
    expect((await readFile(path.join(directory, file))).includes('secret')).toBe(false);
    expect(await inRun('r3', () => store.get({ address: 'u.A', id: 'id-1', spilled }), { codecs })).toBe('a plain secret');
  });

  test('is not read from the result of a tool that another run has spilled', async () => {
    const spilled = await spill(files, converter, { namespace: 'default', runId: 'r2' }, ['the whole result', 'of a tool']);
    await expect(inRun('r1', () => store.get({ address: 'u.A', id: 'id-1', spilled }))).rejects.toMatchObject({
      code: 'spilled_unavailable',
    });
  });

  test('that is gone is reported with its step and its location', async () => {
    const spilled = {
      store: 'files',
      claim: { namespace: 'default', run: 'r1', sha256: '0'.repeat(64) },
      bytes: 9,
      sha256: '0'.repeat(64),
    };
    await expect(inRun('r1', () => store.get({ address: 'u.A', id: 'id-1', spilled }))).rejects.toMatchObject({
      code: 'spilled_unavailable',
      message: expect.stringContaining(
        `The output of step "u.A" is in payload store "files" (SHA-256 ${'0'.repeat(64)}), and could not be read`,
      ) as string,
    });
  });

  test('is retried on a worker without the store, and if the store fails without a reason', async () => {
    const spilled = await put('r1', 'id-1', 'a');
    const failing: PayloadStore = { ...files, retrieve: () => Promise.reject<Payload[]>(new Error('no connection')) };
    for (const [other, problem] of [
      [new OutputStore(undefined), 'has none'],
      [new OutputStore(fileStore({ directory, name: 'other' })), 'has "other"'],
      [new OutputStore(failing), 'no connection'],
    ] as const) {
      await expect(inRun('r1', () => other.get({ address: 'u.A', id: 'id-1', spilled }))).rejects.toMatchObject({
        code: 'payload_store_failed',
        message: expect.stringContaining(problem) as string,
      });
    }
    await expect(inRun('r1', () => new OutputStore(undefined).put('id-1', 'a'))).rejects.toMatchObject({ code: 'payload_store_failed' });
  });
});
