import { expect, test } from 'vitest';
// oxlint-disable-next-line import/no-unassigned-import -- it composes the capabilities, which know what a run was given.
import '../../../../src/core/capabilities.ts';
import { DeadlineWatch } from '../../../../src/core/deadline-watch.ts';
import type { LimitChanges } from '../../../../src/core/domain/limits.ts';
import { SESSION } from '../../../../src/core/domain/sessions.ts';
import { Inbox } from '../../../../src/core/kernel/inbox.ts';
import type { RunState } from '../../../../src/core/kernel/run-state.ts';

const BEGUN = 1_000_000;

/** A run with calls in flight, and a clock that the test sets. */
class WatchedCalls {
  now = BEGUN;
  givenUpAt: number | undefined;
  isCancelled = false;
  timers = 0;
  readonly inbox = new Inbox();
  readonly state: RunState;
  readonly watch: DeadlineWatch;

  constructor(limits: LimitChanges & { onLimit?: 'ask' }, slices: Record<string, unknown> = {}) {
    this.state = { startedAt: BEGUN, limits: { steps: 10, ...limits }, slices } as unknown as RunState;
    this.watch = new DeadlineWatch({
      state: () => this.state,
      inbox: this.inbox,
      now: () => this.now,
      until: async (isMet, deadline) => {
        this.timers += 1;
        while (!isMet() && !this.isCancelled && this.now < deadline.at) await this.#nextTick();
      },
      giveUp: () => (this.givenUpAt = this.now),
    });
  }

  async at(time: number): Promise<void> {
    this.now = BEGUN + time;
    for (let tick = 0; tick < 5; tick += 1) await this.#nextTick();
  }

  #nextTick(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }
}

test('the calls in flight are given up at the deadline, and not before', async () => {
  const calls = new WatchedCalls({ deadlineMs: 5_000 });
  expect(calls.watch.begin()).toBe(true);
  await calls.at(4_999);
  expect(calls.givenUpAt).toBeUndefined();
  await calls.at(5_000);
  expect(calls.givenUpAt).toBe(BEGUN + 5_000);
});

test('one timer is enough for all calls of a run', async () => {
  const calls = new WatchedCalls({ deadlineMs: 5_000 });
  for (const time of [0, 1_000, 2_000]) {
    await calls.at(time);
    expect(calls.watch.begin()).toBe(true);
  }
  expect(calls.timers).toBe(1);
});

test('a run that has ended in time has no timer left', async () => {
  const calls = new WatchedCalls({ deadlineMs: 5_000 });
  calls.watch.begin();
  calls.inbox.closed = true;
  await calls.at(6_000);
  expect(calls.givenUpAt).toBeUndefined();
});

test('a deadline that was raised meanwhile holds', async () => {
  const calls = new WatchedCalls({ deadlineMs: 5_000 });
  calls.watch.begin();
  await calls.at(1_000);
  calls.inbox.raise({ id: 'more', limits: { deadlineMs: 9_000 }, by: null, at: new Date(BEGUN + 1_000).toISOString() });
  await calls.at(8_999);
  expect(calls.givenUpAt).toBeUndefined();
  await calls.at(9_000);
  expect(calls.givenUpAt).toBe(BEGUN + 9_000);
});

test('a wait that was cancelled ends, and does not begin again', async () => {
  const calls = new WatchedCalls({ deadlineMs: 5_000 });
  calls.watch.begin();
  calls.isCancelled = true;
  await calls.at(10);
  expect({ givenUpAt: calls.givenUpAt, timers: calls.timers }).toEqual({ givenUpAt: undefined, timers: 1 });
});

test.each([
  ['without a deadline', new WatchedCalls({})],
  ['that asks a person at its limits', new WatchedCalls({ deadlineMs: 5_000, onLimit: 'ask' })],
  ['between two turns', new WatchedCalls({ deadlineMs: 5_000 }, { [SESSION]: { turns: 1 } })],
])('a run %s starts no timer', (_, calls) => {
  expect({ isWatched: calls.watch.begin(), timers: calls.timers }).toEqual({ isWatched: false, timers: 0 });
});
