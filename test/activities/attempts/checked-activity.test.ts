import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { checkedActivity } from '../../../activities/attempts/checked-activity.ts';
import { createActivities } from '../../../activities/create-activities.ts';
import { SecretVault } from '../../../activities/secret-vault.ts';
import { BYTE_BUDGETS } from '../../../src/core/domain/byte-budgets.ts';
import { LonghaulError } from '../../../src/core/domain/errors.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { ACTIVITIES, type VerifyCallInput } from '../../../src/core/protocol.ts';
import { activityEnvironment } from '../activity-environment.ts';

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
  // The cut is at every position inside the value, and at some beside it.
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
