import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { attempt } from '../../../activities/attempts/attempt.ts';
import { activityWorld } from '../activity-world.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const refuse = (): never => {
  throw new Error('these details always throw');
};

test.each<[string, () => unknown, unknown]>([
  ['that are JSON are sent', () => ({ done: 3 }), { done: 3 }],
  ['that are no JSON are replaced', () => 7n, '[The details of this heartbeat are not JSON]'],
  ['that throw as JSON are replaced', () => ({ toJSON: refuse }), '[The details of this heartbeat are not JSON]'],
  ['that cannot be read are replaced: what a timer throws ends the process', refuse, '[The details of this heartbeat cannot be read]'],
])('details of a heartbeat %s', async (_, details, expected) => {
  const world = activityWorld();
  const work = async (): Promise<string> => {
    await vi.advanceTimersByTimeAsync(25);
    return 'done';
  };
  const running = world.run(() => attempt(world.runtime.aborts, { heartbeatMs: 10, details }, work), null);
  expect(await running).toBe('done');
  expect(world.beats).toEqual([expected, expected]);
});
