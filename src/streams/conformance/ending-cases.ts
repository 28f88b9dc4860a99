import assert from 'node:assert/strict';
import type { StreamSinkCase } from './sink-case.ts';
import { staged, textEntries } from './stage.ts';

/** Cases of the end of readers and channels. */
export const ENDING_CASES: readonly StreamSinkCase[] = [
  staged('ends a reader if its signal is aborted, while it waits and before it began', async (stage) => {
    stage.publish(textEntries(1));
    const reading = stage.read();
    await reading.entries(2);
    const ended = reading.ended();
    reading.abort();
    await ended;
    const never = stage.read();
    never.abort();
    await never.ended();
  }),
  staged('ends its readers if it is closed, and no others', async (stage) => {
    const [closing, open] = [stage.open('client'), stage.open('client')];
    const [ending, going] = [stage.read({ by: closing }), stage.read({ by: open })];
    stage.publish(textEntries(0));
    await Promise.all([ending.entries(1), going.entries(1)]);
    const ended = ending.ended();
    await closing.close();
    await ended;
    await stage.read({ by: closing }).ended();
    stage.publish(textEntries(1).slice(1));
    assert.deepEqual(await going.entries(1), textEntries(1).slice(1));
  }),
  staged('sends what it keeps before it is closed', async (stage) => {
    const published = textEntries(50);
    const worker = stage.open('worker');
    stage.publish(published, { by: worker });
    await worker.close();
    assert.deepEqual(await stage.read().entries(published.length), published);
  }),
  staged('may be closed twice, and ignores what is published then', async (stage) => {
    const worker = stage.open('worker');
    await worker.close();
    await worker.close();
    stage.publish(textEntries(3), { by: worker });
    const other = textEntries(2);
    stage.publish(other);
    assert.deepEqual(await stage.read().entries(other.length), other);
  }),
  staged('is healthy while it is open', async (stage) => {
    await stage.worker.health();
    const client = stage.open('client');
    await client.health();
    await client.close();
    await assert.rejects(client.health(), 'A closed channel is healthy');
  }),
];
