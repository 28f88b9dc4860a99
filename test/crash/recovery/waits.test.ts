import { describe, expect, test } from 'vitest';
import { causeOf, type OpenRun, WaitLog } from './waits.ts';

const NOW = 100_000;
const KILLED = 90_000;
const workers = { living: new Set(['new']), killedMs: KILLED };
const ofDead = { isStarted: true, identity: 'dead', dueMs: 0 };
const ofLiving = { isStarted: true, identity: 'new', dueMs: 0 };
const due = { isStarted: false, identity: 'dead', dueMs: NOW - 1 };
const later = { isStarted: false, identity: 'dead', dueMs: NOW + 1 };
const task = { isStarted: false, startedMs: 0, isSticky: false };

describe('the cause of a wait', () => {
  test.each<{ name: string; run: Omit<OpenRun, 'atMs'>; cause: string | undefined }>([
    { name: 'nothing is pending', run: { calls: [] }, cause: undefined },
    { name: 'a living worker does the call', run: { calls: [ofLiving] }, cause: undefined },
    { name: 'a dead worker had the call', run: { calls: [ofDead] }, cause: 'heartbeat' },
    { name: 'the next attempt is not due', run: { calls: [later] }, cause: 'backoff' },
    { name: 'the call is due, and no worker has taken it', run: { calls: [due] }, cause: 'slots' },
    { name: 'one call was lost, and another waits for its attempt', run: { calls: [later, ofDead] }, cause: 'heartbeat' },
    { name: 'one call was lost, and a living worker does another', run: { calls: [ofDead, ofLiving] }, cause: undefined },
    { name: 'a dead worker had the task', run: { calls: [], task: { ...task, isStarted: true, startedMs: KILLED } }, cause: 'task' },
    { name: 'a task began after the kill', run: { calls: [ofDead], task: { ...task, isStarted: true, startedMs: NOW } }, cause: undefined },
    { name: 'a task is in the queue of one worker', run: { calls: [], task: { ...task, isSticky: true } }, cause: 'sticky' },
    { name: 'a task is in the queue of all workers', run: { calls: [ofDead], task }, cause: 'slots' },
  ])('$name: $cause', ({ run, cause }) => {
    expect(causeOf({ atMs: NOW, ...run }, workers)).toBe(cause);
  });
});

describe('the log of a run', () => {
  test('counts the time until the last look that saw it wait', () => {
    const log = new WaitLog(KILLED);
    log.add(KILLED + 500, 'heartbeat');
    log.add(KILLED + 1_000, 'heartbeat');
    log.add(KILLED + 1_500, 'backoff');
    log.add(KILLED + 2_000, undefined);
    expect(log.ended(KILLED + 5_000)).toEqual({ backMs: 1_500, endedMs: 5_000, waits: { heartbeat: 1_000, backoff: 500 } });
  });

  test('does not take the way from the server to a worker, which every task has, for a wait', () => {
    const log = new WaitLog(KILLED);
    log.add(KILLED + 500, undefined);
    log.add(KILLED + 1_000, 'slots');
    log.add(KILLED + 1_500, undefined);
    log.add(KILLED + 2_000, 'slots');
    log.add(KILLED + 2_500, 'slots');
    expect(log.ended(KILLED + 5_000)).toEqual({ backMs: 2_500, endedMs: 5_000, waits: { slots: 500 } });
  });
});
