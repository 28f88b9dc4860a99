import { ActivityFailure, ApplicationFailure, CancelledFailure, RetryState, TimeoutFailure, TimeoutType } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import {
  modelFailure,
  modelOutcome,
  summaryFailure,
  summaryOutcome,
  toolFailure,
} from '../../../src/core/activity-requests/activity-request.ts';
import type { ToolSnapshot } from '../../../src/core/domain/agent.ts';
import type { RecordedResponse } from '../../../src/core/domain/model.ts';

const spent = { reported: { promptTokens: 3, completionTokens: 2, totalTokens: 5 } };
const partial: RecordedResponse = { id: 'e1', content: [], usage: null, finishReason: 'interrupted' };

function failedActivity(cause: Error): ActivityFailure {
  return new ActivityFailure('activity failed', 'callModel', '1', RetryState.MAXIMUM_ATTEMPTS_REACHED, 'worker', cause);
}

function brokenOff(...details: unknown[]): ApplicationFailure {
  return ApplicationFailure.create({ type: 'model_unreachable', message: 'broken', details });
}

test('the last failure of a model call gives the usage of its attempts, if it is known', () => {
  const failed = { type: 'failed', code: 'model_unreachable', message: 'broken' };
  expect(modelFailure('m', failedActivity(brokenOff({ spent })))).toEqual({ ...failed, spent });
  expect(modelFailure('m', failedActivity(brokenOff()))).toEqual(failed);
  expect(summaryFailure('m', failedActivity(brokenOff({ spent })))).toEqual({ ...failed, spent });
});

test('a call that timed out gives the usage of its last heartbeat, or that of the failure before', () => {
  const timedOut = new TimeoutFailure('late', { spent }, TimeoutType.HEARTBEAT);
  expect(modelFailure('m', failedActivity(timedOut))).toMatchObject({ type: 'failed', code: 'model_timeout', spent });
  const timeOut = new TimeoutFailure('late', undefined, TimeoutType.SCHEDULE_TO_CLOSE);
  const waiting = Object.assign(timeOut, { cause: brokenOff({ spent }) });
  expect(modelFailure('m', failedActivity(waiting))).toMatchObject({ code: 'model_timeout', spent });
});

test('a cancelled call has no usage beyond that of its partial answer', () => {
  expect(modelFailure('m', failedActivity(new CancelledFailure('x', [{ spent }])))).toEqual({ type: 'cancelled' });
  expect(modelOutcome({ type: 'aborted', partial })).toEqual({ type: 'cancelled', partial });
  expect(modelOutcome({ type: 'aborted' })).toEqual({ type: 'cancelled' });
});

test('a summary and a cancelled summary are distinguished', () => {
  const summary = { id: 'e1', text: 'short', usage: null };
  expect(summaryOutcome(summary)).toEqual({ type: 'summary', ...summary });
  expect(summaryOutcome({ type: 'aborted', partial })).toEqual({ type: 'cancelled', partial });
});

describe('the failure of a call with effect `once`', () => {
  const schema = { type: 'object' };
  const pay: ToolSnapshot = {
    name: 'pay',
    description: '',
    parameters: schema,
    strict: false,
    schema,
    parallel: true,
    timeoutMs: 1_000,
    maxAttempts: 1,
    effect: 'once',
  };

  test.each(['secret_missing', 'WorkerShutdown'])('has the outcome "not started" if it is %s', (type) => {
    const failure = failedActivity(ApplicationFailure.create({ type, message: 'not now' }));
    expect(toolFailure(pay, failure)).toMatchObject({ type: 'result', status: 'error', content: ['not now'] });
  });

  test('has the outcome "not started" if no worker had the tool: the run ends, and the model would read only the name of the tool', () => {
    const message = 'Activity function pay is not registered on this Worker, available activities: ["resolveAgent"]';
    const notFound = toolFailure(pay, failedActivity(ApplicationFailure.create({ type: 'NotFoundError', message })));
    const missing = toolFailure(pay, failedActivity(ApplicationFailure.create({ type: 'unknown_tool', message: 'No tool "pay"' })));
    for (const outcome of [notFound, missing]) {
      expect(outcome).toMatchObject({ content: ["Tool 'pay' is not executable: no worker has it at the moment."], durationMs: null });
    }
    expect(missing).toMatchObject({ noWorker: { code: 'unknown_tool', message: 'No tool "pay"' } });
    expect(JSON.stringify(notFound)).not.toContain('resolveAgent');
  });

  test.each(['Error', 'LonghaulError', 'PayloadsTooLarge'])('has another outcome if it may be about the result (%s)', (type) => {
    const failure = failedActivity(ApplicationFailure.create({ type, message: 'the result could not be encoded' }));
    expect(toolFailure(pay, failure)).toEqual({ type: 'lost', reason: 'the result could not be encoded' });
  });
});
