import { expect, test } from 'vitest';
import { LonghaulError } from '../../src/core/domain/errors.ts';
import { createHandler, type Handler } from '../../src/server/index.ts';
import { answer, clientWithRun } from './requests.ts';

/** A service whose timelines take until they are released, and have a number that grows with each reading. */
function slowService(): { handler: Handler; read: () => number; release: () => void; fail: (error: Error) => void } {
  let reads = 0;
  let waiting = Promise.withResolvers<void>();
  const timeline = async ({ from = 0 }: { from?: number }): Promise<object> => {
    reads += 1;
    const own = reads;
    await waiting.promise;
    return { runId: 'r', from, spans: [], ms: { own } };
  };
  const next = (): typeof waiting => {
    const before = waiting;
    waiting = Promise.withResolvers<void>();
    waiting.promise.catch(() => undefined);
    return before;
  };
  return {
    handler: createHandler(clientWithRun({ timeline }), { limits: false }),
    read: () => reads,
    release: () => next().resolve(),
    fail: (error) => next().reject(error),
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));
const ask = (handler: Handler, query = ''): Promise<{ status: number; body: { ms: { own: number }; code?: string } }> =>
  answer(handler, 'GET', `/v1/runs/r/timeline${query}`);

test('many who read a run at once are answered by two readings: that which was begun, and one that was begun after they had asked', async () => {
  const { handler, read, release } = slowService();
  const first = ask(handler);
  await turn();
  const others = Array.from({ length: 19 }, () => ask(handler));
  await turn();
  expect(read()).toBe(1);
  release();
  expect((await first).body.ms.own).toBe(1);
  await turn();
  // Who asks now does not get the answer that is being made: something may have happened since it was begun.
  const late = ask(handler);
  await turn();
  expect(read()).toBe(2);
  release();
  expect((await Promise.all(others)).map(({ body }) => body.ms.own)).toEqual(Array(19).fill(2));
  await turn();
  release();
  expect((await late).body.ms.own).toBe(3);
  await turn();
  const alone = ask(handler);
  await turn();
  release();
  expect((await alone).body.ms.own).toBe(4);
});

test('another question is another answer', async () => {
  const { handler, read, release } = slowService();
  const both = [ask(handler), ask(handler, '?from=7')];
  await turn();
  expect(read()).toBe(2);
  release();
  expect((await Promise.all(both)).map(({ status }) => status)).toEqual([200, 200]);
});

test('a failure is that of those who have asked for it, and the next ones are answered anew', async () => {
  const { handler, release, fail } = slowService();
  const first = ask(handler);
  await turn();
  const second = ask(handler);
  await turn();
  fail(new LonghaulError('history_removed', 'gone'));
  expect((await first).body.code).toBe('history_removed');
  await turn();
  release();
  expect((await second).status).toBe(200);
});
