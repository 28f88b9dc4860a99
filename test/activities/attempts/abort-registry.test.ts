import { expect, test } from 'vitest';
import { AbortRegistry, RunCancelled, RunInterrupted } from '../../../activities/attempts/attempt.ts';

test('a cancellation aborts every activity of its execution, and no other', () => {
  const aborts = new AbortRegistry();
  const model = aborts.register('e1', '');
  const tool = aborts.register('e1');
  const other = aborts.register('e2', '');
  aborts.abort('e1');
  expect(model.controller.signal.reason).toBeInstanceOf(RunCancelled);
  expect(tool.controller.signal.reason).toBeInstanceOf(RunCancelled);
  expect(other.controller.signal.aborted).toBe(false);
});

test('an interruption aborts the model call of its run alone: tools and other runs in the workflow go on', () => {
  const aborts = new AbortRegistry();
  const model = aborts.register('e1', 'first');
  const tool = aborts.register('e1');
  const second = aborts.register('e1', 'second');
  const outer = aborts.register('e1', '');
  aborts.interrupt('e1', 'first');
  expect(model.controller.signal.reason).toBeInstanceOf(RunInterrupted);
  expect([tool, second, outer].map(({ controller }) => controller.signal.aborted)).toEqual([false, false, false]);
  aborts.interrupt('e1', '');
  expect(outer.controller.signal.aborted).toBe(true);
});

test('an activity that has ended is forgotten, and the first abort gives the reason', () => {
  const aborts = new AbortRegistry();
  const ended = aborts.register('e1', '');
  ended.release();
  const model = aborts.register('e1', '');
  aborts.interrupt('e1', '');
  aborts.abort('e1');
  expect(ended.controller.signal.aborted).toBe(false);
  expect(model.controller.signal.reason).toBeInstanceOf(RunInterrupted);
});

test('an activity that was aborted for another reason is still told that its run was cancelled', () => {
  const aborts = new AbortRegistry();
  const { controller, isCancelled } = aborts.register('e1');
  const reason = new Error('out of time');
  controller.abort(reason);
  expect(isCancelled()).toBe(false);
  aborts.abort('e1');
  expect(isCancelled()).toBe(true);
  expect(controller.signal.reason).toBe(reason);
});
