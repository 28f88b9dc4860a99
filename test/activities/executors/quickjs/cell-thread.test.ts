import { expect, test } from 'vitest';
import { CellThread, packImage } from '../../../../activities/executors/quickjs/cell-thread.ts';
import type { RunFrame, ThreadSettings } from '../../../../activities/executors/frames.ts';

const SETTINGS: ThreadSettings = {
  timeoutMs: 10_000,
  memoryBytes: 32 * 1_048_576,
  outputLength: 1_000,
  tools: [],
  scratchpad: false,
  allowedImports: [],
};

const RUN: RunFrame = { type: 'run', code: 'print(1)', now: 0, seed: 1, injected: [], mayCall: false };

test('a thread that has ended answers at once, whatever it is asked', async () => {
  const thread = new CellThread(SETTINGS);
  expect(await thread.run(RUN)).toMatchObject({ type: 'done' });
  await thread.terminate({ kind: 'killed', message: 'over' });
  expect(await thread.run(RUN)).toMatchObject({ type: 'failed', kind: 'protocol', message: 'The thread has ended by itself' });
  await expect(thread.checkpoint({ type: 'checkpoint', injected: [] })).rejects.toThrow('the thread made no checkpoint');
  expect(await thread.restore(await packImage(new Uint8Array(1)))).toMatchObject({ problem: 'The thread has ended by itself' });
});

test('the end of a thread settles what it was asked', async () => {
  const thread = new CellThread(SETTINGS);
  const running = thread.run({ ...RUN, code: 'for (;;);' });
  await thread.terminate({ kind: 'killed', message: 'over' });
  expect(await running).toMatchObject({ type: 'failed', kind: 'killed', message: 'over' });
});
