import assert from 'node:assert/strict';
import type { StreamSinkCase } from './sink-case.ts';
import { staged, textEntries, textEntry } from './stage.ts';

/** Cases of what readers get, and in which order. */
export const READING_CASES: readonly StreamSinkCase[] = [
  staged('yields entries in the order of their publication', async (stage) => {
    const published = textEntries(300);
    stage.publish(published);
    assert.deepEqual(await stage.read().entries(published.length), published);
  }),
  staged('yields what is published while it is read', async (stage) => {
    const published = textEntries(20);
    const reading = stage.read();
    const first = reading.entries(1);
    for (const [index, entry] of published.entries()) {
      stage.publish([entry]);
      assert.deepEqual(index === 0 ? await first : await reading.entries(1), [entry]);
    }
  }),
  staged('yields what is kept to a reader that comes late, and then what is new', async (stage) => {
    const early = textEntries(5);
    stage.publish(early);
    await stage.read().entries(early.length);
    const late = stage.read();
    assert.deepEqual(await late.entries(early.length), early);
    stage.publish([textEntry(5)]);
    assert.deepEqual(await late.entries(1), [textEntry(5)]);
  }),
  staged('yields everything to each of several readers', async (stage) => {
    const published = textEntries(50);
    const readings = [stage.read(), stage.read(), stage.read({ by: stage.open('client') })];
    const read = readings.map((one) => one.entries(published.length));
    stage.publish(published);
    for (const entries of await Promise.all(read)) assert.deepEqual(entries, published);
  }),
  staged('goes on exactly behind any position, also in another channel', async (stage) => {
    const published = textEntries(12);
    stage.publish(published);
    const reads = await stage.read().reads(published.length);
    assert.equal(new Set(reads.map(({ position }) => position)).size, published.length, 'Two entries of a run have the same position');
    const by = stage.open('client');
    for (const [index, { position }] of reads.slice(0, -1).entries()) {
      const rest = published.slice(index + 1);
      const again = stage.read({ after: position, by });
      assert.deepEqual(await again.entries(rest.length), rest);
      await again.stop();
    }
  }),
  staged('yields only what is new to a reader that has read everything', async (stage) => {
    const published = textEntries(3);
    stage.publish(published);
    const after = (await stage.read().reads(published.length)).at(-1)?.position;
    assert.ok(after !== undefined);
    const again = stage.read({ after });
    const next = again.entries(1);
    stage.publish([textEntry(3)]);
    assert.deepEqual(await next, [textEntry(3)]);
  }),
  staged('keeps runs apart, also if their ids look alike', async (stage) => {
    const ids = ['', ':a', '.b', '/c', ' d', '%2F', '[e]', ' ü€😀'].map((end) => `${stage.runId}${end}`);
    for (const runId of ids) stage.publish([...textEntries(0), textEntry(0, runId)], { runId });
    for (const runId of ids) {
      const reading = stage.read({ runId });
      assert.deepEqual(await reading.entries(2), [...textEntries(0), textEntry(0, runId)]);
      stage.publish([textEntry(1, `more of ${runId}`)], { runId });
      assert.deepEqual(await reading.entries(1), [textEntry(1, `more of ${runId}`)]);
      await reading.stop();
    }
  }),
];
