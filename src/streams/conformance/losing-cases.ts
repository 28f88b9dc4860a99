import assert from 'node:assert/strict';
import type { StreamSinkCase } from './sink-case.ts';
import { staged, textEntries, textEntry } from './stage.ts';

const FLOOD = 4_000;
/** Together with the number of entries more than most sinks keep of one run. */
const LONG_TEXT = 'x'.repeat(2_000);

/** Cases of entries that are missing. */
export const LOSING_CASES: readonly StreamSinkCase[] = [
  staged('yields "lost" behind a position that it does not know, and then what is kept', async (stage) => {
    const published = textEntries(2);
    stage.publish(published);
    for (const after of ['', 'unknown', '0', '-1', '99999999999999-7', 'a.b.c.1', '__proto__', '\u0000']) {
      const reading = stage.read({ after });
      await reading.lost();
      assert.deepEqual(await reading.entries(published.length), published);
      await reading.stop();
    }
  }),
  staged('yields "lost" behind a position of another run', async (stage) => {
    const other = `${stage.runId}-other`;
    stage.publish(textEntries(3), { runId: other });
    const [first] = await stage.read({ runId: other }).reads(1);
    assert.ok(first !== undefined);
    stage.publish(textEntries(2));
    const reading = stage.read({ after: first.position });
    await reading.lost();
    assert.deepEqual(await reading.entries(3), textEntries(2));
  }),
  staged('yields "lost" to a reader that does not read, wherever entries are missing, and goes on', async (stage) => {
    const reading = stage.read();
    stage.publish(textEntries(0));
    await reading.entries(1);
    // A worker publishes over time: the sink gets turns in between.
    for (let index = 0; index < FLOOD; index += 1) {
      stage.publish([textEntry(index, LONG_TEXT)]);
      if (index % 100 === 99) await new Promise((resolve) => setTimeout(resolve, 10));
    }
    let next = 0;
    let isLost = false;
    while (next < FLOOD) {
      const read = await reading.next();
      if (read.type === 'lost') {
        isLost = true;
        continue;
      }
      const { entry } = read;
      assert.ok(entry.type === 'delta' && entry.index >= next, 'The sink yielded an entry again, or in another order');
      assert.ok(entry.index === next || isLost, `Entries before ${entry.index} are missing, and the sink did not yield "lost"`);
      next = entry.index + 1;
      isLost = false;
    }
  }),
];
