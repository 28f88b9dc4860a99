import type { Context as ActivityContext } from '@temporalio/activity';
import type { SlotReserveContext } from '@temporalio/worker';
import { describe, expect, test } from 'vitest';
import { WorkflowTaskSlots } from '../../worker/create-worker.ts';

type Slot = Awaited<ReturnType<WorkflowTaskSlots['reserveSlot']>>;

const MOST = 200;
/** The server gives a task to another worker after this time. */
const TASK_LIMIT_MS = 10_000;

const poller = (isSticky: boolean): SlotReserveContext => ({
  slotType: 'workflow',
  taskQueue: 'q',
  workerIdentity: 'w',
  workerBuildId: '',
  isSticky,
});
const slotInfo = { type: 'workflow', workflowType: 'agentRun', isSticky: false } as const;

/** The slots of a worker with a separate clock. */
class Bench {
  nowMs = 0;
  readonly slots = new WorkflowTaskSlots(MOST, () => this.nowMs);

  /** Issues as many slots as there are. */
  take(isSticky = false): Slot[] {
    const taken: Slot[] = [];
    for (let slot = this.slots.tryReserveSlot(poller(isSticky)); slot !== null; slot = this.slots.tryReserveSlot(poller(isSticky))) {
      this.slots.markSlotUsed({ slotInfo, permit: slot });
      taken.push(slot);
    }
    return taken;
  }

  release(slot: Slot): void {
    this.slots.releaseSlot({ slotInfo, permit: slot });
  }
}

/** A worker whose CPU does one task after the other, and a queue of runs that it has to load. */
function playCrowd(runs: number, costMs: (run: number) => number): { longestMs: number; allMs: number; mostAtOnce: number } {
  const bench = new Bench();
  const inProgress: { slot: Slot; sinceMs: number }[] = [];
  let [waiting, longestMs, mostAtOnce, done] = [runs, 0, 0, 0];
  const take = (): void => {
    while (waiting > 0) {
      const slot = bench.slots.tryReserveSlot(poller(false));
      if (slot === null) return;
      bench.slots.markSlotUsed({ slotInfo, permit: slot });
      inProgress.push({ slot, sinceMs: bench.nowMs });
      waiting -= 1;
    }
  };
  for (take(); inProgress.length > 0; take()) {
    mostAtOnce = Math.max(mostAtOnce, inProgress.length);
    const [first] = inProgress.splice(0, 1);
    if (first === undefined) break;
    bench.nowMs += costMs(done);
    done += 1;
    longestMs = Math.max(longestMs, bench.nowMs - first.sinceMs);
    bench.release(first.slot);
  }
  return { longestMs, allMs: bench.nowMs, mostAtOnce };
}

describe('200 runs that wait for a fresh worker', () => {
  test.each([5, 20, 100, 370, 1_000, 2_000])('are all done in time if each takes %i ms of its CPU, and none later than need be', (cost) => {
    const { longestMs, allMs } = playCrowd(MOST, () => cost);
    expect(longestMs).toBeLessThan(TASK_LIMIT_MS);
    expect(allMs).toBe(MOST * cost);
  });

  test('are taken more at a time if each is short', () => {
    const [short, long] = [5, 2_000].map((cost) => playCrowd(MOST, () => cost).mostAtOnce);
    expect(short).toBeGreaterThan(long ?? Infinity);
  });

  test('are done in time if the first ones are short and the others long', () => {
    expect(playCrowd(MOST, (run) => (run < 20 ? 10 : 500)).longestMs).toBeLessThan(TASK_LIMIT_MS);
  });
});

test('a crowd after an idle time begins with few tasks, whatever the crowd before has taken', () => {
  const bench = new Bench();
  let taken = bench.take();
  const begin = taken.length;
  for (let round = 0; round < 100; round += 1) {
    for (const slot of taken) bench.release(slot);
    taken = bench.take();
  }
  expect(begin).toBeLessThan(10);
  for (const slot of taken) bench.release(slot);
  expect(bench.take()).toHaveLength(begin);
});

test('tasks of loaded runs take all slots but one, and as many of them do not stop the worker from loading a run', () => {
  const bench = new Bench();
  expect(bench.take(true)).toHaveLength(MOST - 1);
  expect(bench.take()).toHaveLength(1);
});

test('a worker that is slow takes fewer, but always one', () => {
  const bench = new Bench();
  const taken = bench.take();
  bench.nowMs += 9_000;
  const [last, ...others] = taken;
  for (const slot of others) bench.release(slot);
  expect(bench.slots.limit).toBe(1);
  expect(bench.take()).toHaveLength(0);
  if (last) bench.release(last);
  expect(bench.take().length).toBeGreaterThan(0);
});

test('a poller waits for a slot until there is one, or until it is no longer needed', async () => {
  const bench = new Bench();
  const [first] = bench.take();
  const abort = new AbortController();
  const given = bench.slots.reserveSlot(poller(false), abort.signal);
  const next = bench.slots.reserveSlot(poller(false), new AbortController().signal);
  abort.abort(new Error('not needed'));
  await expect(given).rejects.toThrow('not needed');
  if (first) bench.release(first);
  expect(await next).toBeDefined();
});

describe('local calls', () => {
  /** Runs a local or a remote call around some work. */
  async function during(bench: Bench, isLocal: boolean, work: () => Promise<void>): Promise<void> {
    const context = { info: { isLocal } } as ActivityContext;
    const { inbound } = bench.slots.countLocalCalls(context);
    const next = async (): Promise<void> => work();
    if (inbound?.execute === undefined) return next();
    await inbound.execute({ args: [], headers: {} }, next);
  }

  test('make room for the tasks that wait for them', async () => {
    const bench = new Bench();
    const { length: begin } = bench.take();
    await during(bench, false, async () => expect(bench.take()).toHaveLength(0));
    await during(bench, true, async () => expect(bench.take()).toHaveLength(1));
    expect(begin).toBeGreaterThan(0);
  });

  test('do not make their tasks count as slow', async () => {
    const bench = new Bench();
    const taken = bench.take();
    const { limit } = bench.slots;
    await during(bench, true, async () => void (bench.nowMs += 9_000));
    for (const slot of taken) bench.release(slot);
    expect(bench.slots.limit).toBe(limit);
  });
});
