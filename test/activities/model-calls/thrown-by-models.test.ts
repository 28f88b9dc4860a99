import { expect, test } from 'vitest';
import { callModelActivity } from '../../../activities/model-calls/call-model.ts';
import { createActivities } from '../../../activities/create-activities.ts';
import { ModelCallError } from '../../../src/core/domain/errors.ts';
import type { ModelResponse } from '../../../src/core/domain/model.ts';
import { defineAgent } from '../../../src/index.ts';
import { ACTIVITIES } from '../../../src/core/protocol.ts';
import { activityEnvironment } from '../activity-environment.ts';
import { snapshotOf } from '../../fakes/snapshot.ts';

const agent = defineAgent({ name: 'clerk', model: 'scripted/m' });

/** Returns the failure of the activity if a user's model client throws this value. */
async function failureAfter(thrown: unknown): Promise<unknown> {
  const call = (): Promise<ModelResponse> => Promise.reject<ModelResponse>(thrown);
  const environment = activityEnvironment({ agents: [agent], model: { capabilities: { structuredOutput: true }, call } });
  const snapshot = snapshotOf(agent);
  environment.runtime.snapshots.add(snapshot);
  const failing = environment.run(callModelActivity(environment.runtime), { agent: snapshot.digest, through: 1, lastEventId: 'e0' });
  return failing.then(
    () => expect.fail('it did not fail'),
    (error: unknown) => error,
  );
}

test.each([
  ['a connection that broke', Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }), 'model_unreachable'],
  ['a defect of the client', new TypeError('x is undefined'), 'model_client_failed'],
  ['a text', 'down', 'model_client_failed'],
  ['an answer of status 503', Object.assign(new Error('overloaded'), { status: 503 }), 'model_server_error'],
  ['an answer of status 429', Object.assign(new Error('slow down'), { status: 429 }), 'model_rate_limited'],
])('%s is retried', async (_, thrown, type) => {
  expect(await failureAfter(thrown)).toMatchObject({ type, nonRetryable: false });
});

test.each([
  ['an answer of status 401', Object.assign(new Error('no key'), { status: 401 }), 'model_unauthorized'],
  ['an error with a code', new ModelCallError('model_error', 'of no use'), 'model_error'],
  ['an error of a code of the table', Object.assign(new Error('filtered'), { code: 'content_filter' }), 'content_filter'],
])('%s is not', async (_, thrown, type) => {
  expect(await failureAfter(thrown)).toMatchObject({ type, nonRetryable: true });
});

test('an unreadable answer is not requested again', async () => {
  const broken = Object.defineProperty({}, 'content', { get: () => JSON.parse('{') as string }) as ModelResponse;
  const environment = activityEnvironment({
    agents: [agent],
    model: { capabilities: { structuredOutput: true }, call: () => Promise.resolve(broken) },
  });
  const snapshot = snapshotOf(agent);
  environment.runtime.snapshots.add(snapshot);
  const failing = environment.run(callModelActivity(environment.runtime), { agent: snapshot.digest, through: 1, lastEventId: 'e0' });
  await expect(failing).rejects.toMatchObject({ type: 'model_error', nonRetryable: true });
});

test('instructions that throw are retried', async () => {
  const throwing = defineAgent({
    name: 'clerk',
    model: 'scripted/m',
    instructions: () => {
      throw new Error('the prompt server is down');
    },
  });
  const environment = activityEnvironment({ agents: [throwing] });
  const resolve = createActivities(environment.runtime)[ACTIVITIES.resolveAgent] as (input: object) => Promise<unknown>;
  await expect(environment.run(resolve, { agent: 'clerk' })).rejects.toMatchObject({
    type: 'instructions_failed',
    nonRetryable: false,
    message: expect.stringContaining('the prompt server is down') as string,
  });
});
