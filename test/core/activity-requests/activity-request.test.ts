import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ActivityFailure, ApplicationFailure, CancelledFailure, RetryState, TimeoutFailure, TimeoutType } from '@temporalio/common';
import {
  type ActivityRequest,
  callSummary,
  missingOnWorker,
  modelSummary,
  onAnotherWorker,
  toolFailure,
  verifySummary,
} from '../../../src/core/activity-requests/activity-request.ts';
import type { ToolSnapshot } from '../../../src/core/domain/agent.ts';
import type { RecordedResponse } from '../../../src/core/domain/model.ts';
import { type MissingDetails, missingDetails } from '../../../src/core/domain/missing-definitions.ts';
import { modelFailure, modelOutcome, summaryFailure, summaryOutcome } from '../../../src/core/activity-requests/agent-requests.ts';

test('the summary of a model call has its step, its model, and the number of new events', () => {
  const call = { step: 2, through: 5, lastEventId: 'e', newEvents: 3, final: false };
  expect(modelSummary(call, 'openai/gpt-x')).toBe('step 2 · gpt-x · 3 messages new');
  expect(modelSummary({ ...call, newEvents: 1, final: true }, 'openai/gpt-x')).toBe('step 2 (final) · gpt-x · 1 message new');
});

test("the summary of a tool call has its arguments and the model's reason if there is one, but not the name of the activity", () => {
  expect(callSummary({ query: 'Kipchoge marathon record' }, null)).toBe('Kipchoge marathon record');
  expect(callSummary({ query: 'his record' }, 'I need\nhis pace first.')).toBe('his record · I need his pace first.');
  expect(callSummary({}, 'What time is it?')).toBe('What time is it?');
  expect(callSummary({}, null)).toBeUndefined();
  expect(callSummary({ a: 1, b: [2] }, null)).toBe('1, [2]');
});

test('the summary of a call begins with the label of its tool', () => {
  expect(callSummary({ order: 42 }, 'It arrived broken.', 'Refund')).toBe('Refund · 42 · It arrived broken.');
  expect(callSummary({ order: 42 }, null, 'Refund')).toBe('Refund · 42');
  expect(callSummary({}, null, 'Refund')).toBe('Refund');
});

test('the longest label leaves room for arguments and the first words of the thought', () => {
  const label = 'L'.repeat(60);
  const summary = callSummary({ text: 'a'.repeat(5_000) }, `The invoice says so, ${'and so on, '.repeat(1_000)}`, label);
  expect(summary).toMatch(/^L{60} · a{110,}… · The invoice says so[^·]*…$/);
});

test('the summary of a verification gives its reason, however long the arguments are', () => {
  const pay = { name: 'pay', arguments: { amount: 5 } };
  expect(verifySummary(pay, 'its worker was lost')).toBe('what became of pay (answer lost: its worker was lost): 5');
  expect(verifySummary({ ...pay, arguments: { text: 'x'.repeat(2_000) } }, 'its worker was lost')).toContain('its worker was lost');
});

test('long arguments leave room for the first words of the thought', () => {
  expect(callSummary({ text: 'a'.repeat(5_000) }, `The invoice says so, ${'and so on, '.repeat(1_000)}`)).toMatch(
    /^a{110,}… · The invoice says so, and so on, [^·]*…$/,
  );
});

test('every summary fits into the 400 bytes of the server, for any label, arguments and thought', () => {
  const text = fc.string({ unit: 'binary', maxLength: 2_000 });
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.oneof(text, fc.integer())), fc.option(text), text, (args, thought, label) => {
      const bytes = new TextEncoder().encode(JSON.stringify(callSummary(args, thought, label) ?? '')).length;
      expect(bytes).toBeLessThanOrEqual(400);
    }),
  );
});

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

test('a call that timed out has the usage of its last heartbeat, or of the previous failure', () => {
  const timedOut = new TimeoutFailure('late', { spent }, TimeoutType.HEARTBEAT);
  expect(modelFailure('m', failedActivity(timedOut))).toMatchObject({ type: 'failed', code: 'model_timeout', spent });
  const timeOut = new TimeoutFailure('late', undefined, TimeoutType.SCHEDULE_TO_CLOSE);
  const waiting = Object.assign(timeOut, { cause: brokenOff({ spent }) });
  expect(modelFailure('m', failedActivity(waiting))).toMatchObject({ code: 'model_timeout', spent });
});

test('a cancelled call has no usage other than the usage of its partial answer', () => {
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

describe('an activity that a worker lacks', () => {
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
});
