import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { runAttempt } from '../../../activities/attempts/attempt.ts';
import { activityEnvironment } from '../activity-environment.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const refuse = (): never => {
  throw new Error('these details always throw');
};

test.each<[string, () => unknown, unknown]>([
  ['that are JSON are sent', () => ({ done: 3 }), { done: 3 }],
  ['that are no JSON are replaced', () => 7n, '[The details of this heartbeat are not JSON]'],
  ['that throw as JSON are replaced', () => ({ toJSON: refuse }), '[The details of this heartbeat are not JSON]'],
  [
    'that cannot be read are replaced: an error thrown in a timer would end the process',
    refuse,
    '[The details of this heartbeat cannot be read]',
  ],
])('details of a heartbeat %s', async (_, details, expected) => {
  const environment = activityEnvironment();
  const work = async (): Promise<string> => {
    await vi.advanceTimersByTimeAsync(25);
    return 'done';
  };
  const running = environment.run(() => runAttempt(environment.runtime.aborts, { heartbeatMs: 10, details }, work), null);
  expect(await running).toBe('done');
  expect(environment.heartbeats).toEqual([expected, expected]);
});
