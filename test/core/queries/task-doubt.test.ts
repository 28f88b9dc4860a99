import { beforeEach, expect, test } from 'vitest';
import { TaskDoubt } from '../../../src/core/queries/task-doubt.ts';

let now: number;
let doubt: TaskDoubt;

beforeEach(() => {
  now = 1_000_000;
  doubt = new TaskDoubt(() => now);
});

/** The execution up to its last completed workflow task, as a query or a workflow task finds it on a worker that has to load it. */
function load(): void {
  doubt.activated({ isReplaying: true, historyLength: 3, taskTime: '10', hasNews: true });
  doubt.concluded(['1']);
  doubt.activated({ isReplaying: true, historyLength: 9, taskTime: '20', hasNews: true });
  doubt.concluded(['2']);
}

test('a query that finds nothing new is answered', () => {
  load();
  expect(doubt.refuses(undefined)).toBe(false);
});

test('a query whose replay brought events without a workflow task is refused, however late and whichever activity asks', () => {
  load();
  doubt.activated({ isReplaying: false, historyLength: 12, taskTime: '20', hasNews: true });
  doubt.concluded(['3']);
  now += 60_000;
  expect(doubt.refuses(undefined)).toBe(true);
  expect(doubt.refuses('3')).toBe(true);
});

test('events without a workflow task are noticed in an execution that has worked before, too', () => {
  load();
  doubt.activated({ isReplaying: false, historyLength: 15, taskTime: '30', hasNews: true });
  doubt.answered();
  doubt.activated({ isReplaying: false, historyLength: 21, taskTime: '40', hasNews: true });
  expect(doubt.refuses(undefined)).toBe(false);
  doubt.activated({ isReplaying: false, historyLength: 23, taskTime: '40', hasNews: true });
  expect(doubt.refuses(undefined)).toBe(true);
});

test('a query right after the first task since a replay is refused: its own replay may have brought that task', () => {
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

test('an activity that the task led to proves that the server has it', () => {
  load();
  doubt.activated({ isReplaying: false, historyLength: 14, taskTime: '30', hasNews: true });
  doubt.concluded(['3', '4']);
  expect(doubt.refuses('4')).toBe(false);
});

test('a second workflow task proves the first, and so does a query that came with one', () => {
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

test('two events are noticed that fill the place of a workflow task which was taken back', () => {
  load();
  // The task of an Update that was refused: its two events are never in the history.
  doubt.activated({ isReplaying: false, historyLength: 14, taskTime: '30', hasNews: true });
  doubt.answered();
  doubt.activated({ isReplaying: false, historyLength: 14, taskTime: '30', hasNews: true });
  expect(doubt.refuses(undefined)).toBe(true);
});

test('the first workflow task of all is beyond doubt', () => {
  doubt.activated({ isReplaying: false, historyLength: 3, taskTime: '10', hasNews: true });
  expect(doubt.refuses(undefined)).toBe(false);
});
