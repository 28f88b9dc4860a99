import { beforeEach, describe, expect, test } from 'vitest';
import { JoinedTasks } from '../../../src/core/handlers/joined-tasks.ts';

let tasks: JoinedTasks;
beforeEach(() => void (tasks = new JoinedTasks()));

const UPDATE = { isReplaying: false, historyLength: 12, hasUpdate: true, hasStart: false, hasOthers: false };
const UPDATE_AND_MORE = { ...UPDATE, hasOthers: true };
const REPLAYED = { ...UPDATE, isReplaying: true, hasUpdate: false, hasOthers: true };

describe('the first activation after an execution was loaded', () => {
  test('refuses Updates that come with other events: it may replay the task before', () => {
    tasks.activated(REPLAYED, 0);
    tasks.activated(UPDATE_AND_MORE, 0);
    expect(tasks.refusesUpdates).toBe(true);
  });

  test('refuses Updates that come with the start, unless it is the first workflow task', () => {
    tasks.activated({ ...UPDATE_AND_MORE, hasStart: true, historyLength: 6 }, 0);
    expect(tasks.refusesUpdates).toBe(true);
    tasks = new JoinedTasks();
    tasks.activated({ ...UPDATE_AND_MORE, hasStart: true, historyLength: 3 }, 0);
    expect(tasks.refusesUpdates).toBe(false);
  });

  test('accepts Updates that come alone', () => {
    tasks.activated(REPLAYED, 0);
    tasks.activated(UPDATE, 0);
    expect(tasks.refusesUpdates).toBe(false);
  });
});

test('an execution that has worked since it was loaded accepts Updates with all other events', () => {
  tasks.activated({ ...REPLAYED, isReplaying: false }, 0);
  tasks.activated(UPDATE_AND_MORE, 0);
  expect(tasks.refusesUpdates).toBe(false);
});

test('an execution that another worker has worked on meanwhile is loaded again for the events that it missed', () => {
  tasks.activated({ ...REPLAYED, isReplaying: false }, 0);
  tasks.activated(REPLAYED, 0);
  tasks.activated(UPDATE_AND_MORE, 0);
  expect(tasks.refusesUpdates).toBe(true);
});

test('an Update that comes during a local call is refused, and accepted once the call has ended', () => {
  tasks.activated({ ...REPLAYED, isReplaying: false }, 0);
  tasks.concluded(2);
  tasks.activated(UPDATE, 0);
  expect(tasks.refusesUpdates).toBe(true);
  tasks.activated({ ...UPDATE, hasUpdate: false, hasOthers: true }, 1);
  tasks.activated(UPDATE_AND_MORE, 1);
  expect(tasks.refusesUpdates).toBe(true);
  tasks.activated(UPDATE, 0);
  expect(tasks.refusesUpdates).toBe(false);
});

test('nothing is refused in a replay: an accepted Update stays accepted', () => {
  tasks.concluded(1);
  tasks.activated({ ...UPDATE_AND_MORE, isReplaying: true }, 0);
  expect(tasks.refusesUpdates).toBe(false);
});
