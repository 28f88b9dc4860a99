import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { FeedLog } from '../../../src/client/stream/record-pages.ts';

it('readers are woken once for what comes in the same turn of the event loop', async () => {
  const log = new FeedLog();
  const { signal } = new AbortController();
  const taken: number[] = [];
  const read = async (): Promise<void> => {
    for (let next = 0; next < 4; next = log.next) {
      await log.bell.next(signal);
      taken.push(log.next - next);
    }
  };
  const reading = read();
  for (let entry = 0; entry < 3; entry += 1) {
    log.push({ type: 'status', status: 'running', offset: entry });
    // As between pieces of output that a question to the run has held back.
    await Promise.resolve();
  }
  await turn();
  log.push({ type: 'status', status: 'paused', offset: 3 });
  await reading;
  expect(taken).toEqual([3, 1]);
});
