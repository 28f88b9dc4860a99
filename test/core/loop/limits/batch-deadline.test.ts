import { expect, test } from 'vitest';
import { batchDeadline } from '../../../../src/core/capabilities/batch-deadline.ts';
import type { LimitChanges } from '../../../../src/core/domain/limits.ts';
import { Inbox } from '../../../../src/core/kernel/inbox.ts';
import type { RunPorts } from '../../../../src/core/kernel/ports.ts';
import type { RunState } from '../../../../src/core/kernel/run-state.ts';
import { quietPorts } from '../fakes/fake-ports.ts';

const BEGUN = 1_000_000;

/** A run of the tier `batch` with a model call that waits, and a clock that the test sets. */
class WaitingCall {
  now = BEGUN;
  givenUpAt: number | undefined;
  isCancelled = false;
  readonly inbox = new Inbox();
  readonly #ended: (() => Promise<unknown>) | undefined;

  constructor(limits: LimitChanges & { onLimit?: 'ask' }, snapshot: { tier?: 'batch' } = { tier: 'batch' }) {
    const until: RunPorts['until'] = async (isMet, deadline) => {
      while (!isMet() && !this.isCancelled && this.now < (deadline?.at ?? Infinity)) await this.#nextTick();
    };
    const ports = {
      ...quietPorts(),
      inbox: this.inbox,
      now: () => this.now,
      until,
      abortModelCall: () => (this.givenUpAt = this.now),
    } as unknown as RunPorts;
    const state = { startedAt: BEGUN, limits: { steps: 10, ...limits }, snapshot, slices: {} } as unknown as RunState;
    const beside = batchDeadline.duringModelCall?.(state, ports);
    this.#ended = beside && (async () => beside.ended({ type: 'interrupted' }));
  }

  get isWatched(): boolean {
    return this.#ended !== undefined;
  }

  async at(time: number): Promise<void> {
    this.now = BEGUN + time;
    for (let tick = 0; tick < 5; tick += 1) await this.#nextTick();
  }

  async answered(): Promise<void> {
    await this.#ended?.();
  }

  #nextTick(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }
}

test('a call that waits is given up at the deadline, and not before', async () => {
  const call = new WaitingCall({ deadlineMs: 5_000 });
  await call.at(4_999);
  expect(call.givenUpAt).toBeUndefined();
  await call.at(5_000);
  expect(call.givenUpAt).toBe(BEGUN + 5_000);
  await call.answered();
});

test('a call that was answered in time is not given up, and its end is not waited for', async () => {
  const call = new WaitingCall({ deadlineMs: 5_000 });
  await call.at(4_000);
  await call.answered();
  await call.at(6_000);
  expect(call.givenUpAt).toBeUndefined();
});

test('a deadline that was raised while the call waits holds', async () => {
  const call = new WaitingCall({ deadlineMs: 5_000 });
  await call.at(1_000);
  call.inbox.raise({ id: 'more', limits: { deadlineMs: 9_000 }, by: null, at: new Date(BEGUN + 1_000).toISOString() });
  await call.at(8_999);
  expect(call.givenUpAt).toBeUndefined();
  await call.at(9_000);
  expect(call.givenUpAt).toBe(BEGUN + 9_000);
  await call.answered();
});

test('a wait that was cancelled ends, and does not begin again', async () => {
  const call = new WaitingCall({ deadlineMs: 5_000 });
  call.isCancelled = true;
  await call.at(10);
  await call.answered();
  expect(call.givenUpAt).toBeUndefined();
});

test.each([
  ['without a deadline', new WaitingCall({})],
  ['of a run that asks a person at its limits', new WaitingCall({ deadlineMs: 5_000, onLimit: 'ask' })],
  ['that is made at once', new WaitingCall({ deadlineMs: 5_000 }, {})],
])('a call %s has no watch', (_, call) => {
  expect(call.isWatched).toBe(false);
});
