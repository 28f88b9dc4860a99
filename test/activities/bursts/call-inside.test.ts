import { ApplicationFailure } from '@temporalio/common';
import { expect, test } from 'vitest';
import { attemptInfo } from '../../../activities/attempts/attempt-info.ts';
import { callInside, HeldReports } from '../../../activities/bursts/call-inside.ts';
import type { ActivityRequest } from '../../../src/core/activity-requests/activity-request.ts';

/** Makes a call whose attempts fail as often as that. Returns what each attempt knows of itself. */
async function attemptsOf({ before, failures, held = new HeldReports() }: { before: number; failures: number; held?: HeldReports }) {
  const call = {
    name: 'work',
    input: null,
    options: { retry: { maximumAttempts: 9, initialInterval: 1 } },
    returned: (output: string) => output,
    failed: () => 'failed',
  } as unknown as ActivityRequest<null, string, string>;
  const known: { attempt: number; isRetry: boolean | undefined; since: number }[] = [];
  const work = async (): Promise<string> => {
    const { attempt, inside, scheduledTimestampMs: since } = attemptInfo();
    known.push({ attempt, isRetry: inside?.isRetry, since });
    inside?.whenStored(() => reported.push(attempt));
    if (known.length <= failures) throw ApplicationFailure.retryable('not yet');
    return 'done';
  };
  const reported: number[] = [];
  const [awaited, ending] = [new AbortController().signal, new AbortController().signal];
  const end = await callInside(call, work, { before, begunAt: 1_000, earlier: 0, held, awaited, ending });
  expect(end).toEqual({ type: 'ended', outcome: 'done' });
  return { known, reported };
}

test('an attempt knows whether the previous one was made by the same process, and when the call began', async () => {
  const { known } = await attemptsOf({ before: 1, failures: 1 });
  expect(known).toEqual([
    { attempt: 2, isRetry: false, since: 1_000 },
    { attempt: 3, isRetry: true, since: 1_000 },
  ]);
});

test('reports of attempts at a call are held until the server has its outcome, and later reports are not held', async () => {
  const held = new HeldReports();
  const { reported } = await attemptsOf({ before: 0, failures: 1, held });
  expect(reported).toEqual([]);
  held.release();
  expect(reported).toEqual([1, 2]);
  held.add(() => reported.push(3));
  expect(reported).toEqual([1, 2, 3]);
});

test('reports that are given up are not sent, and each counts, also a late one', async () => {
  const held = new HeldReports();
  const { reported } = await attemptsOf({ before: 0, failures: 1, held });
  let dropped = 0;
  held.giveUp(() => (dropped += 1));
  held.add(() => reported.push(3));
  expect([reported, dropped]).toEqual([[], 3]);
});
