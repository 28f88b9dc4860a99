import { expect, test } from 'vitest';
import { AbortRegistry, RunCancelled, RunInterrupted } from '../../activities/abort-registry.ts';

test('a cancellation aborts every activity of its execution, and no other', () => {
  const aborts = new AbortRegistry();
  const model = aborts.register('e1', '');
  const tool = aborts.register('e1');
  const other = aborts.register('e2', '');
  aborts.abort('e1');
  expect(model.signal.reason).toBeInstanceOf(RunCancelled);
  expect(tool.signal.reason).toBeInstanceOf(RunCancelled);
  expect(other.signal.aborted).toBe(false);
});

test('an interruption aborts the model call of its run alone: tools and other runs of the workflow go on', () => {
  const aborts = new AbortRegistry();
  const model = aborts.register('e1', 'first');
  const tool = aborts.register('e1');
  const second = aborts.register('e1', 'second');
  const outer = aborts.register('e1', '');
  aborts.interrupt('e1', 'first');
  expect(model.signal.reason).toBeInstanceOf(RunInterrupted);
  expect([tool, second, outer].map(({ signal }) => signal.aborted)).toEqual([false, false, false]);
  aborts.interrupt('e1', '');
  expect(outer.signal.aborted).toBe(true);
});

test('an activity that has ended is forgotten, and whoever came first gave the reason', () => {
  const aborts = new AbortRegistry();
  const ended = aborts.register('e1', '');
  ended.release();
  const model = aborts.register('e1', '');
  aborts.interrupt('e1', '');
  aborts.abort('e1');
  expect(ended.signal.aborted).toBe(false);
  expect(model.signal.reason).toBeInstanceOf(RunInterrupted);
});
