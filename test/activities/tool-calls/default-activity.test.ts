import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { expect, test } from 'vitest';
import { defaultActivity, type DefaultActivityParts } from '../../../activities/create-activities.ts';

const mcpCall = { agentName: 'clerk', callId: 'c1', step: 1, at: [0, 0], eventId: 'e0', mcp: { server: 'crm', tool: 'get' } };

/** Calls an activity that the worker does not have, and returns the outcome. */
function called(existing: DefaultActivityParts['existing'], ...args: unknown[]): Promise<unknown> {
  const activity = defaultActivity({
    runTool: async ({ callId }) => ({ id: '', content: [`ran ${callId}`], durationMs: 1 }),
    existing,
    knownNames: () => ['resolveAgent', 'greet'],
  });
  return new MockActivityEnvironment({ activityType: 'get' }, { logger: new DefaultLogger('ERROR') }).run(
    activity as (...given: unknown[]) => Promise<unknown>,
    ...args,
  );
}

test('a call of an MCP tool runs', async () => {
  expect(await called(undefined, mcpCall)).toMatchObject({ content: ['ran c1'] });
});

test('a call of another unknown activity fails as in the SDK, and may be retried', async () => {
  await expect(called(undefined, { agentName: 'clerk' })).rejects.toMatchObject({
    type: 'NotFoundError',
    message: 'Activity function get is not registered on this Worker, available activities: ["resolveAgent","greet"]',
    nonRetryable: false,
  });
});

test("the worker's own default activity gets all other calls, with all their arguments", async () => {
  const existing = (...args: unknown[]): unknown => args;
  expect(await called(existing, 'a', 2)).toEqual(['a', 2]);
  expect(await called(existing)).toEqual([]);
  expect(await called(existing, mcpCall)).toMatchObject({ content: ['ran c1'] });
});
