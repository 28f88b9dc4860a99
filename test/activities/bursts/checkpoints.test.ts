import type { Client } from '@temporalio/client';
import { defaultDataConverter } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import { Checkpoints } from '../../../activities/bursts/checkpoints.ts';

/** Stores checkpoints on a server that answers so, one request after the other. Returns what became of what each request had taken. */
async function fatesOf(answers: (() => Promise<object>)[], work: (checkpoints: Checkpoints) => Promise<unknown>): Promise<string[]> {
  const fates: string[] = [];
  const client = {
    options: { loadedDataConverter: defaultDataConverter, identity: 'worker-1' },
    withAbortSignal: (_: AbortSignal, ask: () => Promise<unknown>) => ask(),
    withDeadline: (_: number, ask: () => Promise<unknown>) => ask(),
    connection: { workflowService: { recordActivityTaskHeartbeat: () => answers.shift()!() } },
  } as unknown as Client;
  let taken = 0;
  let read = 0;
  await new MockActivityEnvironment({}, { client }).run(async () => {
    const checkpoints = new Checkpoints({
      everyMs: 20,
      details: () => ({ read: (read += 1) }),
      storing: () => {
        // The taken entries are in the details that are read next.
        const number = (taken += 1);
        expect(read).toBeLessThanOrEqual(number);
        return { stored: () => fates.push(`${number} stored`), failed: () => fates.push(`${number} failed`) };
      },
      onCancel: () => fates.push('cancelled'),
    });
    await work(checkpoints).finally(() => checkpoints.stop());
  });
  return fates;
}

const accepts = async (): Promise<object> => ({ cancelRequested: false });
const fails = (): Promise<object> => Promise.reject(new Error('unreachable'));

function store(checkpoints: Checkpoints): Promise<void> {
  checkpoints.changed();
  return checkpoints.stored()!;
}

test('the entries of a request are stored once the server has accepted it', async () => {
  expect(await fatesOf([accepts], store)).toEqual(['1 stored']);
  expect(await fatesOf([async () => ({ cancelRequested: true })], store)).toEqual(['1 stored', 'cancelled']);
});

test('the entries of a failed request are returned, and the next request may take them', async () => {
  expect(await fatesOf([fails, accepts], store)).toEqual(['1 failed', '2 stored']);
  expect(await fatesOf([fails, fails], (checkpoints) => store(checkpoints).catch(() => undefined))).toEqual(['1 failed', '2 failed']);
});

test('the same holds for heartbeats that nobody waits for', async () => {
  const { promise: accepted, resolve } = Promise.withResolvers<void>();
  const answer = async (): Promise<object> => {
    setImmediate(resolve);
    return accepts();
  };
  expect((await fatesOf([answer, accepts, accepts, accepts], () => accepted))[0]).toBe('1 stored');
});
