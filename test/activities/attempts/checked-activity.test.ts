import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { checkedActivity, withGrowingDelay } from '../../../activities/attempts/checked-activity.ts';
import { createActivities } from '../../../activities/create-activities.ts';
import { SecretVault } from '../../../activities/secret-vault.ts';
import { BYTE_BUDGETS } from '../../../src/core/domain/byte-budgets.ts';
import { LonghaulError } from '../../../src/core/domain/errors.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { ACTIVITIES, type VerifyCallInput } from '../../../src/core/protocol.ts';
import { activityEnvironment } from '../activity-environment.ts';
import { AbortRegistry, runAttempt, RunCancelled, RunInterrupted } from '../../../activities/attempts/attempt.ts';

const VALUE = 'v8-Kq2-x91';

const MARKER = '[secret "crm-token"]';

async function usedVault(): Promise<SecretVault> {
  const vault = new SecretVault(() => VALUE);
  await vault.resolve('crm-token');
  return vault;
}

/** Returns the failure of an activity that throws this value. */
async function failureWith(vault: SecretVault, thrown: unknown): Promise<unknown> {
  const activity = checkedActivity(vault, () => Promise.reject(thrown));
  return activity(null).then(
    () => 'nothing',
    (error: unknown) => error,
  );
}

test('secrets are removed from every part of a failure that Temporal stores, and its retry options stay the same', async () => {
  const thrown = ApplicationFailure.create({
    message: `with ${VALUE}`,
    type: 'model_rate_limited',
    nextRetryDelay: 50,
    details: [{ [VALUE]: VALUE }],
    cause: new Error(`by ${VALUE}`, { cause: new Error(VALUE) }),
  });
  const failure = await failureWith(await usedVault(), thrown);
  expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain(VALUE);
  expect(failure).toBeInstanceOf(ApplicationFailure);
  expect(failure).toMatchObject({
    message: 'with [secret "crm-token"]',
    type: 'model_rate_limited',
    nonRetryable: false,
    nextRetryDelay: 50,
    details: [{ '[secret "crm-token"]': '[secret "crm-token"]' }],
    cause: { message: 'by [secret "crm-token"]', cause: { message: '[secret "crm-token"]' } },
  });
});

test('an error without secrets is unchanged', async () => {
  const clean = ApplicationFailure.create({ message: 'm', type: 'T', details: [1], cause: new Error('c') });
  for (const vault of [await usedVault(), new SecretVault()]) {
    for (const error of [new CancelledFailure('cancelled', [2]), clean]) {
      expect(await failureWith(vault, error)).toEqual(error);
      expect(await failureWith(vault, error)).toHaveProperty('stack', error.stack);
    }
  }
});

test('a secret is removed before a text is cut, even if the cut goes through the secret', async () => {
  const vault = await usedVault();
  // The cut is at positions inside the value, and at some outside it.
  for (let before = BYTE_BUDGETS.errorMessage - 100; before < BYTE_BUDGETS.errorMessage; before += 3) {
    const message = `${'x'.repeat(before)}${VALUE}${'y'.repeat(500)}`;
    expect(inspect(await failureWith(vault, new LonghaulError('internal', message)), { maxStringLength: null })).not.toContain(
      VALUE.slice(0, 5),
    );
  }
});

test('a cancellation that the server does not accept is requested again', async () => {
  const environment = activityEnvironment();
  const request = createActivities(environment.runtime)[ACTIVITIES.requestCancel] as (input: object) => Promise<unknown>;
  await expect(environment.run(request, { reason: 'enough' })).rejects.toMatchObject({ type: 'server_unreachable', nonRetryable: false });
});

test('failures of all activities of a worker are without secrets', async () => {
  const agent = defineAgent({
    name: 'clerk',
    model: 'scripted/m',
    instructions: () => {
      throw new Error(`cannot connect with ${VALUE}`);
    },
  });
  const environment = activityEnvironment({ agents: [agent], secrets: await usedVault() });
  const resolve = createActivities(environment.runtime)[ACTIVITIES.resolveAgent] as (input: object) => Promise<unknown>;
  await expect(environment.run(resolve, { agent: 'clerk' })).rejects.toMatchObject({
    type: 'instructions_failed',
    message: expect.stringContaining('cannot connect with [secret "crm-token"]'),
  });
});

test.each([
  ['gives', (value: string) => ({ happened: true, result: { [value]: value } }) as const, { output: { content: [{ [MARKER]: MARKER }] } }],
  [
    'throws',
    (value: string) => {
      throw new Error(`cannot ask with ${value}`);
    },
    { type: 'verification_failed', message: `cannot ask with ${MARKER}` },
  ],
])('the answer of "verify" of a tool %s is without the secrets that it has read', async (_, answer, expected) => {
  const pay = defineTool({
    name: 'pay',
    description: 'Pays',
    parameters: z.object({}),
    execute: () => 'paid',
    effect: 'once',
    verify: async (_key, { secret }) => answer(await secret('crm-token')),
  });
  const agent = defineAgent({ name: 'clerk', model: 'scripted/m', tools: [pay] });
  const environment = activityEnvironment({ agents: [agent], secrets: new SecretVault(() => VALUE) });
  const verify = createActivities(environment.runtime)[ACTIVITIES.verifyCall] as (input: VerifyCallInput) => Promise<unknown>;
  const input: VerifyCallInput = { agentName: 'clerk', tool: 'pay', callId: 'c1', step: 1, at: [0, 0], eventId: 'e0', timeoutMs: 60_000 };
  const outcome = await environment.run(verify, input).catch((error: unknown) => error);
  expect(outcome).toMatchObject(expected);
  expect(inspect(outcome, { depth: 9 })).not.toContain(VALUE);
});

test('a cancellation aborts every activity of its execution, and no other', () => {
  const aborts = new AbortRegistry();
  const model = aborts.register('e1', '');
  const tool = aborts.register('e1');
  const other = aborts.register('e2', '');
  aborts.abort('e1');
  expect(model.controller.signal.reason).toBeInstanceOf(RunCancelled);
  expect(tool.controller.signal.reason).toBeInstanceOf(RunCancelled);
  expect(other.controller.signal.aborted).toBe(false);
});

test('an interruption aborts the model call of its run alone: tools and other runs in the workflow continue', () => {
  const aborts = new AbortRegistry();
  const model = aborts.register('e1', 'first');
  const tool = aborts.register('e1');
  const second = aborts.register('e1', 'second');
  const outer = aborts.register('e1', '');
  aborts.interrupt('e1', 'first');
  expect(model.controller.signal.reason).toBeInstanceOf(RunInterrupted);
  expect([tool, second, outer].map(({ controller }) => controller.signal.aborted)).toEqual([false, false, false]);
  aborts.interrupt('e1', '');
  expect(outer.controller.signal.aborted).toBe(true);
});

test('an activity that has ended is forgotten, and the first abort gives the reason', () => {
  const aborts = new AbortRegistry();
  const ended = aborts.register('e1', '');
  ended.release();
  const model = aborts.register('e1', '');
  aborts.interrupt('e1', '');
  aborts.abort('e1');
  expect(ended.controller.signal.aborted).toBe(false);
  expect(model.controller.signal.reason).toBeInstanceOf(RunInterrupted);
});

test('an activity that was aborted for another reason is still notified that its run was cancelled', () => {
  const aborts = new AbortRegistry();
  const { controller, isCancelled } = aborts.register('e1');
  const reason = new Error('out of time');
  controller.abort(reason);
  expect(isCancelled()).toBe(false);
  aborts.abort('e1');
  expect(isCancelled()).toBe(true);
  expect(controller.signal.reason).toBe(reason);
});

/** Returns the failure of an attempt of an activity that throws this value. */
function failureOf(thrown: unknown, info: { attempt?: number; isLocal?: boolean } = {}): Promise<unknown> {
  return activityEnvironment({ info })
    .run(
      withGrowingDelay(() => Promise.reject(thrown)),
      null,
    )
    .catch((error: unknown) => error);
}

const down = (): ApplicationFailure =>
  ApplicationFailure.create({ message: 'down', type: 'internal', details: [1], cause: new Error('c') });

describe('an attempt that fails', () => {
  test.each([
    { attempt: 1, delay: 1_000 },
    { attempt: 2, delay: 2_000 },
    { attempt: 5, delay: 16_000 },
    { attempt: 7, delay: 60_000 },
    { attempt: 100, delay: 60_000 },
  ])('is followed by the next one after $delay ms, if it is attempt $attempt', async ({ attempt, delay }) => {
    const thrown = down();
    const failure = await failureOf(thrown, { attempt });
    expect(failure).toMatchObject({ message: 'down', type: 'internal', nonRetryable: false, nextRetryDelay: delay, details: [1] });
    expect(failure).toHaveProperty('stack', thrown.stack);
  });

  test.each([
    { what: 'a final failure', thrown: ApplicationFailure.nonRetryable('no') },
    { what: 'a failure with its own delay', thrown: ApplicationFailure.create({ message: 'later', nextRetryDelay: 50 }) },
    { what: 'a cancellation', thrown: new CancelledFailure('cancelled') },
  ])('is unchanged if it is $what', async ({ thrown }) => {
    expect(await failureOf(thrown)).toBe(thrown);
  });

  test('is unchanged if it is local', async () => {
    const thrown = down();
    expect(await failureOf(thrown, { isLocal: true })).toBe(thrown);
  });
});

describe('heartbeats', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  const refuse = (): never => {
    throw new Error('these details always throw');
  };

  test.each<[string, () => unknown, unknown]>([
    ['that are JSON are sent', () => ({ done: 3 }), { done: 3 }],
    ['that are not JSON are replaced', () => 7n, '[The details of this heartbeat are not JSON]'],
    ['that throw as JSON are replaced', () => ({ toJSON: refuse }), '[The details of this heartbeat are not JSON]'],
    [
      'that cannot be read are replaced: an error thrown in a timer would end the process',
      refuse,
      '[The details of this heartbeat cannot be read]',
    ],
  ])('details of a heartbeat %s', async (_, details, expected) => {
    const environment = activityEnvironment();
    const work = async (): Promise<string> => {
      await vi.advanceTimersByTimeAsync(25);
      return 'done';
    };
    const running = environment.run(() => runAttempt(environment.runtime.aborts, { heartbeatMs: 10, details }, work), null);
    expect(await running).toBe('done');
    expect(environment.heartbeats).toEqual([expected, expected]);
  });
});
