import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { ApplicationFailure, defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import { msToTs } from '@temporalio/common/lib/time.js';
import { expect, test } from 'vitest';
import { runningCalls } from '../../../src/client/executions.ts';

type Described = Pick<WorkflowExecutionDescription, 'raw'>;

const OPTIONS: unknown = {
  options: {
    loadedDataConverter: { payloadConverter: defaultPayloadConverter, failureConverter: defaultFailureConverter, payloadCodecs: [] },
  },
};
const CLIENT = OPTIONS as Client;
const GIVES_UP = '2026-01-01T00:10:00.000Z';

/** A described run with one pending activity, whose last attempt failed with these details. */
function described(type: string, state: number, details: unknown): Described {
  const failure = ApplicationFailure.create({
    message: 'slow down',
    type: 'model_rate_limited',
    details: [details],
    nextRetryDelay: 5_000,
  });
  const lastFailure = defaultFailureConverter.errorToFailure(failure, defaultPayloadConverter);
  const pending = {
    activityType: { name: type },
    state,
    attempt: 4,
    lastFailure,
    scheduledTime: msToTs(Date.parse('2026-01-01T00:00:07Z')),
  };
  const description: unknown = { raw: { pendingActivities: [pending] } };
  return description as Described;
}

test.each(['callModel', 'summarise', 'askStep'])(
  'a refused call of %s says who refused it, when it is tried again, and when it is given up',
  async (name) => {
    const details = { spent: {}, refused: { count: 3, queuedMs: 0, givesUpAt: GIVES_UP } };
    expect(await runningCalls(CLIENT, described(name, 1, details))).toEqual([
      {
        name,
        attempt: 4,
        lastFailure: 'slow down',
        refused: { code: 'model_rate_limited', times: 3, nextAttemptAt: '2026-01-01T00:00:07.000Z', givesUpAt: GIVES_UP },
      },
    ]);
  },
);

test.each<[what: string, state: number, details: unknown]>([
  ['a call whose next attempt goes on', 2, { refused: { count: 3, queuedMs: 0, givesUpAt: GIVES_UP } }],
  ['a call that failed otherwise', 1, { spent: {} }],
  ['a call without details', 1, undefined],
  ['details that are none', 1, { refused: { count: 'many', givesUpAt: GIVES_UP } }],
  ['details without an end', 1, { refused: { count: 3, queuedMs: 0 } }],
])('%s does not wait for a provider', async (_, state, details) => {
  const [call] = await runningCalls(CLIENT, described('callModel', state, details));
  expect(call).toMatchObject({ lastFailure: 'slow down' });
  expect(call).not.toHaveProperty('refused');
});
