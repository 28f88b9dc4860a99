import { beforeEach, expect, test } from 'vitest';
import { TaskDoubt } from '../../../src/core/queries/task-doubt.ts';

let now: number;
let doubt: TaskDoubt;

beforeEach(() => {
  now = 1_000_000;
  doubt = new TaskDoubt(() => now);
});

/** An execution up to its last completed workflow task, as a worker that has to load it finds it. */
function load(): void {
  doubt.activated({ isReplaying: true, historyLength: 3, taskTime: '10', hasNews: true });
  doubt.concluded(['1']);
  doubt.activated({ isReplaying: true, historyLength: 9, taskTime: '20', hasNews: true });
  doubt.concluded(['2']);
}

test('a query without new events is answered', () => {
  load();
  expect(doubt.refuses(undefined)).toBe(false);
});

test('a query whose replay had events without a workflow task is refused, however late it comes and from whichever activity', () => {
  load();
  doubt.activated({ isReplaying: false, historyLength: 12, taskTime: '20', hasNews: true });
  doubt.concluded(['3']);
  now += 60_000;
  expect(doubt.refuses(undefined)).toBe(true);
  expect(doubt.refuses('3')).toBe(true);
});

test('events without a workflow task are detected even if the execution has worked before', () => {
  load();
  doubt.activated({ isReplaying: false, historyLength: 15, taskTime: '30', hasNews: true });
  doubt.answered();
  doubt.activated({ isReplaying: false, historyLength: 21, taskTime: '40', hasNews: true });
  expect(doubt.refuses(undefined)).toBe(false);
  doubt.activated({ isReplaying: false, historyLength: 23, taskTime: '40', hasNews: true });
  expect(doubt.refuses(undefined)).toBe(true);
});

test('a query right after the first task since a replay is refused: the replay for the query may have run that task', () => {
  load();
  doubt.activated({ isReplaying: false, historyLength: 14, taskTime: '30', hasNews: true });
  now += 400;
  doubt.concluded(['3']);
  now += 900;
  expect(doubt.refuses(undefined)).toBe(true);
  expect(doubt.refuses('2')).toBe(true);
  now += 100;
  expect(doubt.refuses(undefined)).toBe(false);
});

test('an activity that the task scheduled proves that the server has the task', () => {
  load();
  doubt.activated({ isReplaying: false, historyLength: 14, taskTime: '30', hasNews: true });
  doubt.concluded(['3', '4']);
  expect(doubt.refuses('4')).toBe(false);
});

test('a second workflow task proves the first, and so does one with a query', () => {
  load();
  doubt.activated({ isReplaying: false, historyLength: 14, taskTime: '30', hasNews: true });
  doubt.activated({ isReplaying: false, historyLength: 20, taskTime: '40', hasNews: true });
  expect(doubt.refuses(undefined)).toBe(false);

  load();
  doubt.activated({ isReplaying: false, historyLength: 14, taskTime: '30', hasNews: true });
  doubt.answered();
  expect(doubt.refuses(undefined)).toBe(false);
});

test('a local call that ends within its workflow task changes nothing', () => {
  load();
  doubt.activated({ isReplaying: false, historyLength: 14, taskTime: '30', hasNews: true });
  doubt.answered();
  doubt.activated({ isReplaying: false, historyLength: 14, taskTime: '30', hasNews: false });
  expect(doubt.refuses(undefined)).toBe(false);
});

test('two events that take the place of a withdrawn workflow task are detected', () => {
  load();
  // The task of a refused Update: its two events are never in the history.
  doubt.activated({ isReplaying: false, historyLength: 14, taskTime: '30', hasNews: true });
  doubt.answered();
  doubt.activated({ isReplaying: false, historyLength: 14, taskTime: '30', hasNews: true });
  expect(doubt.refuses(undefined)).toBe(true);
});

test('the first workflow task of a run is never in doubt', () => {
  doubt.activated({ isReplaying: false, historyLength: 3, taskTime: '10', hasNews: true });
  expect(doubt.refuses(undefined)).toBe(false);
});

test('a workflow that has ended is ending until the worker forgets it, but not if its end comes from a replay', () => {
  load();
  expect(doubt.isEnding).toBe(false);
  doubt.activated({ isReplaying: false, historyLength: 14, taskTime: '30', hasNews: true });
  doubt.concluded([], { ends: true });
  expect(doubt.isEnding).toBe(true);

  doubt = new TaskDoubt(() => now);
  load();
  doubt.activated({ isReplaying: true, historyLength: 14, taskTime: '30', hasNews: true });
  doubt.concluded([], { ends: true });
  expect(doubt.isEnding).toBe(false);
});
