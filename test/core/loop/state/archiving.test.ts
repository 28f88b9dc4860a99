import { expect, test } from 'vitest';
import { archiveProgress, beginArchiving, endArchiving } from '../../../../src/core/capabilities/archive.ts';
import { newRunState, type RunState } from '../../../../src/core/kernel/run-state.ts';
import { testSnapshot } from '../fakes/snapshot.ts';

const NOW = 1_700_000_000_000;

function state(): RunState {
  return newRunState({ runId: 'run-1', snapshot: testSnapshot(), input: 'Q', startedAt: NOW }, { now: () => NOW, uuid: () => 'e0' });
}

/** Hands a range to an archive that accepts it, or fails with the message. */
function archives(run: RunState, from: number, through: number, failure?: string): void {
  beginArchiving(run, { from, through }, NOW);
  expect(archiveProgress(run).archiving).toEqual({ from, through, since: '2023-11-14T22:13:20.000Z' });
  endArchiving(run, failure);
  expect(archiveProgress(run).archiving).toBeUndefined();
}

test('if the archive accepts every range, nothing is missing', () => {
  const run = state();
  archives(run, 0, 8);
  expect(archiveProgress(run).notArchived).toBeUndefined();
});

test('adjacent ranges are merged, with the newest message; others stay separate', () => {
  const run = state();
  archives(run, 0, 8, 'gone');
  archives(run, 8, 12, 'still gone');
  archives(run, 12, 20);
  archives(run, 20, 21, 'gone again');
  expect(archiveProgress(run).notArchived).toEqual([
    { from: 0, through: 12, message: 'still gone' },
    { from: 20, through: 21, message: 'gone again' },
  ]);
});

test('a range that the archive accepts the second time is no longer missing', () => {
  const run = state();
  archives(run, 0, 8, 'gone');
  archives(run, 8, 12, 'gone');
  archives(run, 8, 14);
  expect(archiveProgress(run).notArchived).toEqual([{ from: 0, through: 8, message: 'gone' }]);
  archives(run, 14, 16, 'gone again');
  archives(run, 14, 18);
  expect(archiveProgress(run).notArchived).toEqual([{ from: 0, through: 8, message: 'gone' }]);
});

test('an execution without events has no missing range', () => {
  const run = state();
  archives(run, 8, 8, 'gone');
  expect(archiveProgress(run).notArchived).toBeUndefined();
});

test('of many ranges the newest are kept, and of a long message the beginning', () => {
  const run = state();
  for (let from = 0; from < 600; from += 10) archives(run, from, from + 5, 'gone');
  expect(archiveProgress(run).notArchived).toHaveLength(50);
  expect(archiveProgress(run).notArchived?.at(-1)).toEqual({ from: 590, through: 595, message: 'gone' });
  for (let from = 600; from < 1_200; from += 10) archives(run, from, from + 5, 'x'.repeat(10_000));
  expect(archiveProgress(run).notArchived?.at(-1)).toMatchObject({
    from: 1_190,
    through: 1_195,
    message: expect.stringMatching(/^x+ \[Cut: /) as string,
  });
  expect(JSON.stringify(archiveProgress(run).notArchived).length).toBeLessThan(3_600);
});
