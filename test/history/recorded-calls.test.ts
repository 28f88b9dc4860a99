import { ApplicationFailure, CancelledFailure, TimeoutFailure } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import type { EndedAttempt } from '../../src/history/recorded-execution.ts';
import { burstCallsOf, endedCallOf } from '../../src/history/recorded-trace.ts';

const ENDED = { activityId: 'a1', attempt: 1, scheduledAt: 1, startedAt: 1, endedAt: 2 };
const AGENT = { name: 'clerk', model: 'openai/a' };
const LISTED = { ...AGENT, fallback: {} };

/** Returns what a history says of an activity, as a call. */
function callOf(ended: Pick<EndedAttempt, 'name' | 'output' | 'failure'>, agent: object = AGENT): object | undefined {
  const input = ended.name === 'callModel' ? { agent: 'd', through: 1 } : { callId: 'c1', agentName: 'clerk', step: 1, at: [1, 0] };
  return endedCallOf({ ...ENDED, ...ended, input }, 'e1', () => agent as never)?.traced;
}

const partial = { id: 'e2', content: [], finishReason: 'interrupted', usage: null };
const aborted = { name: 'callModel', output: { type: 'aborted', partial } };
const failed = (type: string): Pick<EndedAttempt, 'name' | 'failure'> => ({
  name: 'read',
  failure: ApplicationFailure.nonRetryable('no', type),
});

test.each<[what: string, call: object | undefined, expected: object | undefined]>([
  ['the part of an answer is of the one model', callOf(aborted), { model: 'openai/a', asked: 1, code: 'interrupted' }],
  ['with a list of models, the model is not known', callOf(aborted, LISTED), undefined],
  [
    'also if the last one is named',
    callOf({ ...aborted, output: { type: 'aborted', partial: { ...partial, answeredBy: 'x/b' } } }, LISTED),
    undefined,
  ],
  ['an error belongs to the tool', callOf({ name: 'read', output: { isError: true } }), { toolName: 'read', code: 'tool_failed' }],
  [
    'a tool that was cancelled was interrupted',
    callOf({ name: 'read', failure: new CancelledFailure('cancelled') }),
    { code: 'interrupted' },
  ],
  [
    'a model call that was refused by the provider',
    callOf({ name: 'callModel', failure: ApplicationFailure.nonRetryable('slow down', 'model_rate_limited') }),
    { code: 'model_rate_limited' },
  ],
  [
    'is another one than a model call that was not sent',
    callOf({ name: 'callModel', failure: ApplicationFailure.nonRetryable('Not sent yet: no room', 'model_rate_limited') }),
    { code: 'not_sent' },
  ],
  ['a tool whose resource failed was not called', callOf(failed('resource_failed')), undefined],
  ['nor was one whose run did not answer', callOf(failed('server_unreachable')), undefined],
  ['of a result that could not be sent, the worker has said something else', callOf(failed('Error')), undefined],
  [
    'a model call that was cancelled without an answer had sent nothing',
    callOf({ name: 'callModel', output: { type: 'aborted' } }),
    undefined,
  ],
  [
    'nor had one that its worker did not come to make',
    callOf({ name: 'callModel', failure: new CancelledFailure('cancelled') }),
    undefined,
  ],
])('the end of an activity as a call: %s', (_, call, expected) => {
  expect([call]).toMatchObject([expected]);
});

describe('the calls of a burst that have ended', () => {
  const answer = { id: 'e3', content: [], finishReason: 'tool_calls', usage: null };
  const modelCalls = new Map([1, 3].map((through) => [`m${through}`, { agent: 'd', through, lastEventId: 'e' }]));
  const toolCalls = new Map(
    ['t1/0', 't1/1'].map((key, index) => {
      const input = { callId: `c${index + 1}`, agentName: 'clerk', step: 1, at: [1, index] };
      return [key, { name: 'read', input: input as never }];
    }),
  );

  /** Returns what a history says of the calls of a burst. */
  function callsOf(record: object, burst: Partial<EndedAttempt> = {}): object[] {
    const ended = { ...ENDED, name: 'runBurst', input: { seed: 's' }, startedAt: 1_000, endedAt: 1_500, output: record, ...burst };
    return burstCallsOf(ended, { checkpoints: [], modelCalls, toolCalls }, () => AGENT).map(({ traced }) => traced);
  }

  const entries = [
    [100, 'm1', answer],
    [130, 't1/0', ['text'], 20, 'r1'],
    [190, 't1/1', 'tool', { type: 'result', status: 'error', content: ['no'], durationMs: 80, resultId: 'r2' }],
    [300, 'm3', answer],
  ];

  test('follow each other, with tool calls in between', () => {
    expect(callsOf({ entries })).toMatchObject([
      { call: '1', agent: 'clerk', model: 'openai/a', activity: 'a1', attempt: 1, from: 1_000, to: 1_100 },
      { call: 'c1', toolName: 'read', step: 1, activity: 'a1', from: 1_110, to: 1_130 },
      { call: 'c2', toolName: 'read', step: 1, code: 'tool_failed', from: 1_110, to: 1_190 },
      { call: '3', model: 'openai/a', from: 1_190, to: 1_300 },
    ]);
  });

  test('have the attempt that ended them, or no attempt if no worker reported it', () => {
    const calls = callsOf({ entries, attempts: { m1: 3, 't1/0': 0 } });
    expect(calls).toMatchObject([
      { call: '1', attempt: 3 },
      { call: 'c2', attempt: 1 },
      { call: '3', attempt: 1 },
    ]);
  });

  test('count from the time when the server had the burst, if it was restarted', () => {
    expect(callsOf({ entries }, { attempt: 2, scheduledAt: 500 })[0]).toMatchObject({ from: 500, to: 600 });
  });

  test('do not end after the burst, whatever its clock says', () => {
    expect(callsOf({ entries }, { endedAt: 1_200 })[3]).toMatchObject({ from: 1_190, to: 1_200 });
  });

  test('are those that the server had stored, of a burst whose workers were lost', () => {
    const details = { record: { entries: entries.slice(0, 1), attempts: { m1: 2 } }, attempt: 1 };
    const failure = new TimeoutFailure('activity Heartbeat timeout', details, 'HEARTBEAT');
    expect(callsOf({}, { output: undefined, failure })).toMatchObject([{ call: '1', attempt: 2 }]);
  });

  test('were not called, if only the run has said how they ended', () => {
    const refused = { type: 'result', status: 'error', content: ['no worker'], durationMs: null };
    expect(callsOf({ entries: [[100, 't1/0', 'tool', refused]] })).toEqual([]);
  });

  test.each(['cancelled', 'interrupted'])('do not count as asked if they were %s before any part of an answer had arrived', (type) => {
    expect(callsOf({ entries: [[100, 'm1', 'model', { type }]] })).toEqual([]);
    const part = [[100, 'm1', 'model', { type, partial }]];
    expect(callsOf({ entries: part })).toMatchObject([{ call: '1', code: 'interrupted' }]);
  });

  test('have failed as their workers report, except calls that timed out: these were interrupted', () => {
    const failing = (code: string, message = 'no'): object[] =>
      callsOf({ entries: [[100, 'm1', 'model', { type: 'failed', code, message }]] });
    expect(failing('model_server_error')).toMatchObject([{ call: '1', code: 'model_server_error' }]);
    expect(failing('model_timeout')).toEqual([]);
    expect(failing('model_rate_limited', 'Not sent yet: 2 calls wait')).toMatchObject([{ call: '1', code: 'not_sent' }]);
  });

  test('have the name of a model call that was repeated: the later call is shown', () => {
    const tooLong = [100, 'm1', 'model', { type: 'failed', code: 'context_length_exceeded', message: 'no' }];
    expect(callsOf({ entries: [tooLong, [250, 'm1', answer]] })).toMatchObject([
      { call: '1', asked: 1, earlier: 1, from: 1_100, to: 1_250 },
    ]);
  });
});
