import type { Info } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { callModelActivity } from '../../../activities/model-calls/call-model.ts';
import { type ErrorCode, ModelCallError } from '../../../src/core/domain/errors.ts';
import type { ModelClient, ModelResponse } from '../../../src/core/domain/model.ts';
import { modelOptions } from '../../../src/core/activity-requests/agent-requests.ts';
import { defineAgent } from '../../../src/index.ts';
import { snapshotOf } from '../../fakes/snapshot.ts';
import { activityEnvironment, type ActivityEnvironment } from '../activity-environment.ts';

const DEFAULT = defineAgent({ name: 'bot', model: 'scripted/m' });

/** A refusal of the provider, or another failure. */
interface Failing {
  code?: ErrorCode;
  asks?: number;
  agent?: typeof DEFAULT;
  /** The attempt, and the milliseconds since the call was scheduled. */
  attempt?: number;
  elapsedMs?: number;
  heartbeatDetails?: unknown;
}

interface Failure {
  failure: ApplicationFailure;
  heartbeats: unknown[];
}

/** Lets one attempt of a model call fail, and returns the failure as the server gets it. */
async function failing({
  code = 'model_rate_limited',
  asks,
  agent = DEFAULT,
  attempt = 1,
  elapsedMs = 0,
  heartbeatDetails,
}: Failing): Promise<Failure> {
  const model: ModelClient = {
    capabilities: { structuredOutput: true },
    rateLimitKey: () => undefined,
    call: () => Promise.reject<ModelResponse>(new ModelCallError(code, 'not now', { retryAfterMs: asks })),
  };
  const scheduledTimestampMs = Date.now() - elapsedMs;
  const info: Partial<Info> = { attempt, scheduledTimestampMs, currentAttemptScheduledTimestampMs: scheduledTimestampMs + elapsedMs };
  const environment = activityEnvironment({ agents: [agent], model, info, heartbeatDetails });
  const snapshot = snapshotOf(agent);
  environment.runtime.snapshots.add(snapshot);
  const asked = { agent: snapshot.digest, through: 1, lastEventId: 'e0' };
  const error: unknown = await environment.run(callModelActivity(environment.runtime), asked).catch((thrown: unknown) => thrown);
  if (!(error instanceof ApplicationFailure)) throw error;
  return { failure: error, heartbeats: environment.heartbeats };
}

const refusedBefore = (count: number, queuedMs = 0): object => ({ refused: { count, queuedMs } });

describe('a refusal', () => {
  test.each<[what: string, failing: Failing]>([
    ['of the rate', {}],
    ['by a server that fails', { code: 'model_server_error' }],
    ['after more attempts than others have', { attempt: 30, heartbeatDetails: refusedBefore(29) }],
    ['shortly before the end of the patience', { attempt: 30, heartbeatDetails: refusedBefore(29), elapsedMs: 590_000 }],
    [
      'after a long wait for a worker, which does not count',
      { attempt: 9, heartbeatDetails: refusedBefore(8, 900_000), elapsedMs: 1_000_000 },
    ],
    ['that asks for less than what is left', { asks: 599_000 }],
    ['of an agent with one attempt', { agent: defineAgent({ name: 'bot', model: 'scripted/m', modelMaxAttempts: 1 }) }],
    [
      'of a patient agent',
      { agent: defineAgent({ name: 'bot', model: 'scripted/m', modelPatience: '2h' }), asks: 3_600_000, elapsedMs: 3_000_000 },
    ],
  ])('is retried: %s', async (_, options) => {
    const { failure, heartbeats } = await failing(options);
    expect(failure).toMatchObject({ nonRetryable: false, message: 'not now' });
    expect(Number(failure.nextRetryDelay)).toBeGreaterThanOrEqual(options.asks ?? 500);
    const count = options.heartbeatDetails === undefined ? 1 : (options.attempt ?? 1);
    expect(heartbeats.at(-1)).toMatchObject({ refused: { count } });
    expect(failure.details?.[0]).toMatchObject({ refused: { count, givesUpAt: expect.stringMatching(/^\d{4}-.*Z$/) as string } });
  });

  test.each<[what: string, failing: Failing, message: string]>([
    [
      'at the end of the patience',
      { attempt: 30, heartbeatDetails: refusedBefore(29), elapsedMs: 600_001 },
      'not now (given up after 30 attempts: the 10 min of "modelPatience" are over)',
    ],
    [
      'that asks for more than what is left',
      { asks: 601_000 },
      'not now (given up: the provider asks for a wait of 10 min, and 10 min are left of the 10 min of "modelPatience")',
    ],
    ['that asks for ten days', { asks: 864_000_000 }, 'asks for a wait of 10 d'],
    [
      'that asks for more than what is left by now',
      { asks: 120_000, elapsedMs: 540_000, attempt: 5, heartbeatDetails: refusedBefore(4) },
      'asks for a wait of 2 min, and 60 s are left',
    ],
    ['whose count was lost with the heartbeats', { attempt: 9, elapsedMs: 700_000 }, 'its worker was lost'],
    [
      'without patience, at the last attempt',
      { agent: defineAgent({ name: 'bot', model: 'scripted/m', modelPatience: 0, modelMaxAttempts: 1 }) },
      'not now',
    ],
  ])('is the last one: %s', async (_, options, message) => {
    const { failure } = await failing(options);
    expect(failure.nonRetryable).toBe(true);
    expect(failure.message.toLowerCase()).toContain(message.toLowerCase());
  });

  test('is waited out longer each time, by chance, and never shorter than the provider asks', async () => {
    for (const asks of [undefined, 1_000, 20_000]) {
      for (let count = 0; count < 12; count += 1) {
        const { failure } = await failing({
          ...(asks === undefined ? {} : { asks }),
          attempt: count + 1,
          heartbeatDetails: refusedBefore(count),
        });
        const growth = Math.min(30_000, 1_000 * 2 ** count);
        expect(Number(failure.nextRetryDelay)).toBeGreaterThanOrEqual(asks ?? growth / 2);
        expect(Number(failure.nextRetryDelay)).toBeLessThanOrEqual((asks ?? growth / 2) + growth + 1);
      }
    }
  });

  test('is never waited for beyond the patience', async () => {
    const { failure } = await failing({ attempt: 20, heartbeatDetails: refusedBefore(19), elapsedMs: 598_000 });
    expect(Number(failure.nextRetryDelay)).toBeLessThanOrEqual(2_000);
  });
});

describe('another failure', () => {
  test.each<[what: string, failing: Failing, isLast: boolean]>([
    ['the first', { code: 'model_unreachable' }, false],
    ['the eighth', { code: 'model_unreachable', attempt: 8 }, true],
    [
      'the eighth attempt, after two that were refused',
      { code: 'model_unreachable', attempt: 8, heartbeatDetails: refusedBefore(2) },
      false,
    ],
    ['the eighth, besides two that were refused', { code: 'model_timeout', attempt: 10, heartbeatDetails: refusedBefore(2) }, true],
    ['a bad answer, long after the patience', { code: 'model_bad_response', attempt: 3, elapsedMs: 3_600_000 }, false],
    ['one that a repetition does not cure', { code: 'model_bad_request' }, true],
  ])('counts: %s', async (_, options, isLast) => {
    expect((await failing(options)).failure.nonRetryable).toBe(isLast);
  });

  test('backs off by the attempts that count', async () => {
    const { failure } = await failing({ code: 'model_unreachable', attempt: 32, heartbeatDetails: refusedBefore(30) });
    expect(failure.nextRetryDelay).toBe(2_000);
  });
});

test.each<[what: string, error: object, waitMs: number]>([
  ['its headers', { status: 429, headers: new Headers({ 'retry-after': '70' }) }, 70_000],
  ['its headers as an object', { status: 503, headers: { 'Retry-After': '70' } }, 70_000],
  ['its body', { status: 429, error: { error: { details: [{ retryDelay: '70s' }] } } }, 70_000],
  ['its message', { status: 429, message: 'Please try again in 70s' }, 70_000],
  ['its message, which is the body', { status: 429, message: '{"error":{"message":"slow","retry_after":70}}' }, 70_000],
])('an error that a client throws asks for a wait by %s', async (_, error, waitMs) => {
  const model: ModelClient = {
    capabilities: { structuredOutput: true },
    rateLimitKey: () => undefined,
    call: () => Promise.reject<ModelResponse>(Object.assign(new Error('no'), error)),
  };
  const environment = activityEnvironment({ agents: [DEFAULT], model });
  environment.runtime.snapshots.add(snapshotOf(DEFAULT));
  const asked = { agent: snapshotOf(DEFAULT).digest, through: 1, lastEventId: 'e0' };
  const failure: unknown = await environment.run(callModelActivity(environment.runtime), asked).catch((thrown: unknown) => thrown);
  expect(Number((failure as ApplicationFailure).nextRetryDelay)).toBeGreaterThanOrEqual(waitMs);
  expect(Number((failure as ApplicationFailure).nextRetryDelay)).toBeLessThan(waitMs + 5_000);
});

test('no call is tried more often than the server allows, whatever the provider asks for', () => {
  const patience = fc.integer({ min: 1_000, max: 5 * 86_400_000 });
  fc.assert(
    fc.property(patience, (modelPatienceMs) => {
      const snapshot = snapshotOf(DEFAULT);
      const { retry } = modelOptions({ ...snapshot, timing: { ...snapshot.timing, modelPatienceMs } }, '');
      // The shortest waits of a call that is refused each time at once.
      let attempts = 1;
      for (let waited = 0; waited < modelPatienceMs; attempts += 1) waited += Math.min(30_000, 1_000 * 2 ** (attempts - 1)) / 2;
      expect(retry?.maximumAttempts).toBeGreaterThan(attempts);
    }),
    { numRuns: 50 },
  );
});

test.each([
  ['some text'],
  [{ refused: 3 }],
  [{ refused: { count: -1 } }],
  [{ refused: { count: 1e300, queuedMs: 1 } }],
  [{ refused: [] }],
  [null],
])('other details of heartbeats (%j) count as no refusal', async (heartbeatDetails) => {
  const { failure } = await failing({ attempt: 2, heartbeatDetails });
  expect(failure.details?.[0]).toMatchObject({ refused: { count: 1 } });
});

test('a call that is cancelled while it waits for its place sends nothing, and gives up the place', async () => {
  let calls = 0;
  const model: ModelClient = {
    capabilities: { structuredOutput: true },
    call: () => {
      calls += 1;
      return Promise.reject<ModelResponse>(new ModelCallError('model_rate_limited', 'slow down', { retryAfterMs: 2_000 }));
    },
  };
  const run = (activityId: string): { environment: ActivityEnvironment; output: Promise<unknown> } => {
    const environment = activityEnvironment({ agents: [DEFAULT], model, info: { activityId, startToCloseTimeoutMs: 600_000 } });
    environment.runtime.snapshots.add(snapshotOf(DEFAULT));
    const asked = { agent: snapshotOf(DEFAULT).digest, through: 1, lastEventId: 'e0' };
    return { environment, output: environment.run(callModelActivity(environment.runtime), asked) };
  };
  await expect(run('first').output).rejects.toMatchObject({ type: 'model_rate_limited' });
  const { environment, output } = run('second');
  setTimeout(() => environment.cancel(), 50);
  await expect(output).resolves.toEqual({ type: 'aborted' });
  expect(calls).toBe(1);
});

test('a call whose place is far away is not sent, and gives its slot back until then', async () => {
  let calls = 0;
  const model: ModelClient = {
    capabilities: { structuredOutput: true },
    call: () => {
      calls += 1;
      return Promise.reject<ModelResponse>(new ModelCallError('model_rate_limited', 'slow down', { retryAfterMs: 60_000 }));
    },
  };
  const run = (activityId: string): Promise<unknown> => {
    const environment = activityEnvironment({ agents: [DEFAULT], model, info: { activityId } });
    environment.runtime.snapshots.add(snapshotOf(DEFAULT));
    return environment.run(callModelActivity(environment.runtime), { agent: snapshotOf(DEFAULT).digest, through: 1, lastEventId: 'e0' });
  };
  await expect(run('first')).rejects.toMatchObject({ message: 'slow down' });
  await expect(run('second')).rejects.toMatchObject({
    nonRetryable: false,
    message: 'Not sent yet: 2 calls of model "m" wait, because the provider refuses some',
    nextRetryDelay: expect.toSatisfy((ms: number) => ms > 60_000 && ms < 62_000) as number,
  });
  expect(calls).toBe(1);
});
