import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { expect, test } from 'vitest';
import { endedCallOf } from '../../src/history/recorded-calls.ts';
import type { EndedAttempt } from '../../src/history/recorded-execution.ts';

const ENDED = { activityId: 'a1', attempt: 1, startedAt: 1, endedAt: 2 };
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
  ['that of a list of models is of one that is not known', callOf(aborted, LISTED), undefined],
  [
    'also if the last one is named',
    callOf({ ...aborted, output: { type: 'aborted', partial: { ...partial, answeredBy: 'x/b' } } }, LISTED),
    undefined,
  ],
  ['an error is that of the tool', callOf({ name: 'read', output: { isError: true } }), { toolName: 'read', code: 'tool_failed' }],
  [
    'a tool that was cancelled was interrupted',
    callOf({ name: 'read', failure: new CancelledFailure('cancelled') }),
    { code: 'interrupted' },
  ],
  ['a tool whose resource failed was not called', callOf(failed('resource_failed')), undefined],
  ['nor was one whose run did not answer', callOf(failed('server_unreachable')), undefined],
  ['of a result that could not be sent, the worker has said something else', callOf(failed('Error')), undefined],
])('the end of an activity as a call: %s', (_, call, expected) => {
  expect([call]).toMatchObject([expected]);
});
