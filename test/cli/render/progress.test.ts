import { expect, test } from 'vitest';
import { followProgress, progressText, runningLines } from '../../../src/cli/commands/show.ts';
import type { StatusView } from '../../../src/core/protocol.ts';
import { commandIo } from '../command-io.ts';

const standing = (running: StatusView['running']): StatusView =>
  ({ status: 'running', ...(running === undefined ? {} : { running }) }) as StatusView;

test('progress is shown as the tool reports it, with the attempt if it is not the first', () => {
  expect(progressText({ name: 'copy', attempt: 1, progress: '3 of 5 files' })).toBe('copy … 3 of 5 files');
  expect(progressText({ name: 'copy', attempt: 2, progress: { done: 3 } })).toBe('copy … {"done":3} (attempt 2)');
  expect(runningLines({ name: 'copy', attempt: 2, lastFailure: 'the disk is full' })).toEqual([
    'copy … no progress reported (attempt 2)',
    'the attempt before failed: the disk is full',
  ]);
});

test('a refused model call shows when it is retried, and when it is given up', () => {
  const refused = {
    code: 'model_rate_limited',
    times: 3,
    nextAttemptAt: '2026-01-01T00:00:07.000Z',
    givesUpAt: '2026-01-01T00:10:00.000Z',
  };
  expect(runningLines({ name: 'callModel', attempt: 4, lastFailure: 'slow down', refused })).toEqual([
    'callModel … no progress reported (attempt 4)',
    'the attempt before failed: slow down',
    'refused by the provider 3 times (model_rate_limited): tried again at 2026-01-01T00:00:07.000Z, given up at 2026-01-01T00:10:00.000Z',
  ]);
});

test('progress is printed when it changes, and a failed query for it does not fail the command', async () => {
  const controller = new AbortController();
  const { io, stdout } = commandIo();
  const answers = [
    () =>
      standing([
        { name: 'copy', attempt: 1, progress: 1 },
        { name: 'callModel', attempt: 1 },
      ]),
    () => {
      throw new Error('no answer');
    },
    () => standing(undefined),
  ];
  let asked = 0;
  const status = async (): Promise<StatusView> => {
    const answer = answers[asked];
    asked += 1;
    if (asked === answers.length) controller.abort();
    return answer?.() ?? standing(undefined);
  };
  await followProgress({ status }, io.output, controller.signal, 1);
  expect(stdout().trim()).toBe('copy … 1');
});
