import { ActivityFailure, ApplicationFailure, RetryState } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { type ActivityRequest, missingOnWorker, onAnotherWorker } from '../../../src/core/activity-requests/activity-request.ts';
import { type MissingDetails, missingDetails } from '../../../src/core/domain/missing-definitions.ts';

const NOW = Date.parse('2026-01-01T00:00:00.000Z');
const call: ActivityRequest<object, unknown, unknown> = {
  name: 'tool_b',
  tier: 'remote',
  options: { startToCloseTimeout: 1_000, scheduleToCloseTimeout: '2 minutes', retry: { maximumAttempts: 3, initialInterval: 100 } },
  input: { agentName: 'clerk' },
  returned: (output) => output,
  failed: (error) => error,
};

function failed(cause: ApplicationFailure): ActivityFailure {
  return new ActivityFailure('Activity task failed', call.name, '1', RetryState.NON_RETRYABLE_FAILURE, 'worker', cause);
}

function lacking(more: object = {}): ActivityFailure {
  const thing: MissingDetails = { kind: 'tool', name: 'tool_b', known: ['tool_a'], worker: '1@old', forMs: 60_000, attempt: 1, ...more };
  return failed(ApplicationFailure.nonRetryable('No tool "tool_b"', 'unknown_tool', missingDetails(thing)));
}

const notRegistered = 'Activity function tool_b is not registered on this Worker, available activities: ["resolveAgent"]';

describe('a worker lacks something', () => {
  test('if its failure gives the missing name, the worker, and the time to wait for another', () => {
    expect(missingOnWorker(call, lacking(), undefined, NOW)).toEqual({
      kind: 'tool',
      name: 'tool_b',
      known: ['tool_a'],
      code: 'unknown_tool',
      worker: '1@old',
      since: '2026-01-01T00:00:00.000Z',
      until: '2026-01-01T00:01:00.000Z',
      attempts: 0,
    });
  });

  test('if it has no activity of the name', () => {
    const none = failed(ApplicationFailure.retryable(notRegistered, 'NotFoundError'));
    expect(missingOnWorker(call, none, undefined, NOW)).toMatchObject({ kind: 'tool', name: 'tool_b', code: 'unknown_tool' });
  });

  test.each([
    ['a tool has thrown', ApplicationFailure.retryable('down', 'tool_failed')],
    ['a model client has thrown an error of that name', ApplicationFailure.retryable('no such model', 'NotFoundError')],
    ['something else has details of the kind', ApplicationFailure.retryable('x', 'x', { missing: { kind: 'tool', name: 'x' } })],
  ])('but not if %s', (_, cause) => {
    expect(missingOnWorker(call, failed(cause), undefined, NOW)).toBeUndefined();
    expect(missingOnWorker(call, new Error('boom'), undefined, NOW)).toBeUndefined();
  });

  test('until the time is up, which counts from the first worker', () => {
    const missing = missingOnWorker(call, lacking(), undefined, NOW);
    if (missing === undefined) throw new Error('nothing is lacking');
    const waited = { missing, times: 0 };
    expect(missingOnWorker(call, lacking(), waited, NOW + 59_999)).toMatchObject({ since: missing.since, until: missing.until });
    expect(missingOnWorker(call, lacking(), waited, NOW + 60_000)).toBeUndefined();
    expect(missingOnWorker(call, lacking({ gaveUp: true }), waited, NOW)).toBeUndefined();
  });
});

describe('the activity for another worker', () => {
  const again = (more: object = {}) => {
    const lack = missingOnWorker(call, lacking(more), undefined, NOW);
    if (lack === undefined) throw new Error('nothing is lacking');
    return onAnotherWorker(call, lack, NOW + 1_000);
  };

  test('has the same input, with the remaining time and the attempts that workers have counted', () => {
    const { options, input } = again();
    expect(input).toEqual({ agentName: 'clerk', awaitsWorker: { forMs: 59_000, attempts: 3 } });
    expect(options).toEqual({
      startToCloseTimeout: 1_000,
      scheduleToCloseTimeout: '7 days',
      retry: { initialInterval: 100, nonRetryableErrorTypes: ['NotFoundError'] },
    });
  });

  test('has the remaining attempts, and the last heartbeat details', () => {
    expect(again({ attempt: 3, details: 'half' }).input).toMatchObject({ awaitsWorker: { attempts: 1, details: 'half' } });
  });

  test('may have been started before, if a worker without the activity comes after others', () => {
    const error = again().failed(failed(ApplicationFailure.retryable(notRegistered, 'NotFoundError')));
    expect(error).toMatchObject({ type: 'UnknownEnd' });
  });

  test('is remote if the first was local', () => {
    const remote = { ...call, input: { agentName: 'clerk', deps: {} } };
    const lack = missingOnWorker(call, lacking(), undefined, NOW);
    const local: typeof call = { ...call, tier: 'local', remotely: () => remote };
    expect(lack && onAnotherWorker(local, lack, NOW)).toMatchObject({ tier: 'remote', input: { deps: {} } });
  });
});
