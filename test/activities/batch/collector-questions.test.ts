import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { expect, test } from 'vitest';
import { CollectorQuestions } from '../../../activities/batch/worker-batches.ts';
import type { CallPlace } from '../../../src/core/domain/batch.ts';

const NEVER = new AbortController().signal;
const UNKNOWN: CallPlace = { state: 'unknown', isFull: false };

/** A client with one collector, and the collector's queries. */
function collector(answer: (keys: string[]) => Promise<CallPlace[]>, closeTime?: Date): { client: Client; asked: string[][] } {
  const asked: string[][] = [];
  const query = (_: string, keys: string[]): Promise<CallPlace[]> => {
    asked.push(keys);
    return answer(keys);
  };
  const parts = {
    withDeadline: (_: number, work: () => unknown) => work(),
    workflow: { getHandle: () => ({ query, describe: async () => ({ closeTime }) }) },
  };
  return { client: parts as unknown as Client, asked };
}

function placeOfKey(key: string): CallPlace {
  return { state: 'waiting', since: Number(key) };
}

test('calls that ask together share one question, and those that come meanwhile the next one', async () => {
  const questions = new CollectorQuestions();
  const answers = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { client, asked } = collector(async (keys) => {
    await answers[asked.length - 1]?.promise;
    return keys.map(placeOfKey);
  });
  const first = ['1', '2'].map((key) => questions.placeOf(client, 'c', key, NEVER));
  await expect.poll(() => asked).toEqual([['1', '2']]);
  const later = ['3', '4'].map((key) => questions.placeOf(client, 'c', key, NEVER));
  answers[0]?.resolve();
  expect(await Promise.all(first)).toEqual([placeOfKey('1'), placeOfKey('2')]);
  answers[1]?.resolve();
  expect(await Promise.all(later)).toEqual([placeOfKey('3'), placeOfKey('4')]);
  expect(asked).toEqual([
    ['1', '2'],
    ['3', '4'],
  ]);
});

test('two attempts of one call both get its place', async () => {
  const questions = new CollectorQuestions();
  const { client, asked } = collector(async (keys) => keys.map(placeOfKey));
  const attempts = ['1', '1'].map((key) => questions.placeOf(client, 'c', key, NEVER));
  expect(await Promise.all(attempts)).toEqual([placeOfKey('1'), placeOfKey('1')]);
  expect(asked).toEqual([['1']]);
});

test('an attempt that is given up stops waiting, and the others get their answer', async () => {
  const questions = new CollectorQuestions();
  const answer = Promise.withResolvers<CallPlace[]>();
  const { client, asked } = collector(() => answer.promise);
  const controller = new AbortController();
  const given = questions.placeOf(client, 'c', '1', controller.signal);
  const other = questions.placeOf(client, 'c', '2', NEVER);
  await expect.poll(() => asked.length).toBe(1);
  controller.abort(new Error('shut down'));
  await expect(given).rejects.toThrow('shut down');
  await expect(questions.placeOf(client, 'c', '1', controller.signal)).rejects.toThrow('shut down');
  answer.resolve([UNKNOWN, UNKNOWN]);
  expect(await other).toEqual(UNKNOWN);
});

test.each([
  { what: 'does not answer', found: 'silent', scene: collector(() => Promise.reject(new Error('deadline exceeded'))) },
  { what: 'does not exist', found: 'gone', scene: collector(() => Promise.reject(new WorkflowNotFoundError('none', 'c', undefined))) },
  { what: 'is closed', found: 'gone', scene: collector(async (keys) => keys.map(placeOfKey), new Date()) },
])('a collector that $what is $found', async ({ found, scene }) => {
  expect(await new CollectorQuestions().placeOf(scene.client, 'c', '1', NEVER)).toBe(found);
});
