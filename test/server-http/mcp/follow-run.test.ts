import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type FollowedRun, followRun } from '../../../src/server/protocols/mcp/call-agent.ts';
import { FakeRun } from './fake-runs.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = new AbortController().signal;

function followed(run: FakeRun, settings: { maxWaitMs?: number; maxDecisionWaitMs?: number }, signal = never) {
  return followRun(run as object as FollowedRun, {
    settings: { maxWaitMs: 1_000_000, maxDecisionWaitMs: 1_000_000, ...settings },
    signal,
    progress: () => undefined,
  });
}

test('each wait for a decision has its own bound, from its beginning', async () => {
  const run = new FakeRun('r');
  const following = followed(run, { maxDecisionWaitMs: 100 });
  for (let decision = 0; decision < 3; decision += 1) {
    run.shows({ type: 'status', status: 'pending_confirmation' });
    await vi.advanceTimersByTimeAsync(80);
    run.shows({ type: 'status', status: 'running' });
    await vi.advanceTimersByTimeAsync(80);
  }
  run.shows({ type: 'status', status: 'pending_confirmation' });
  await vi.advanceTimersByTimeAsync(100);
  expect(await following).toEqual({ type: 'goes_on', status: 'pending_confirmation', waitsFor: '' });
  expect(vi.getTimerCount()).toBe(0);
});

test('the whole wait has a bound, whatever the run does meanwhile', async () => {
  const run = new FakeRun('r');
  const following = followed(run, { maxWaitMs: 100 });
  run.shows({ type: 'status', status: 'running' });
  await vi.advanceTimersByTimeAsync(60);
  run.shows({ type: 'status', status: 'paused' });
  await vi.advanceTimersByTimeAsync(40);
  expect(await following).toEqual({ type: 'goes_on', status: 'paused' });
  expect(run.readers).toBe(0);
});

test('a run that ends in time leaves no timer behind', async () => {
  const run = new FakeRun('r').ends({ output: 'Done' });
  expect(await followed(run, {})).toMatchObject({ type: 'ended', result: { output: 'Done' } });
  expect(vi.getTimerCount()).toBe(0);
});

test('a run that cannot be read does not count as continuing', async () => {
  const run = new FakeRun('r');
  run.stream = () => {
    throw new Error('no server');
  };
  await expect(followed(run, {})).rejects.toThrow('no server');
});
