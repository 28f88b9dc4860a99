import { setTimeout as sleep } from 'node:timers/promises';
import { CancelledFailure } from '@temporalio/common';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { runToolActivity } from '../../../activities/tool-calls/run-tool.ts';
import { contextUpdate, defineAgent, defineTool, withUpdate } from '../../../src/index.ts';
import type { RunToolInput } from '../../../src/core/protocol.ts';
import { activityEnvironment, type ActivityEnvironment } from '../activity-environment.ts';

type Execute = NonNullable<Parameters<typeof defineTool>[0]['execute']>;

/** Runs one call as a local activity, or as a remote one. */
function environmentOf(execute: Execute, info: { isLocal: boolean }): { environment: ActivityEnvironment; call: () => Promise<unknown> } {
  // The name of the activity in these tests.
  const tool = defineTool({ name: 'unknown', description: 'Does', parameters: z.object({}), tier: 'local', execute });
  const agent = defineAgent({ name: 'clerk', model: 'scripted/m', tools: [tool] });
  const environment = activityEnvironment({ agents: [agent], info, heartbeatMs: 1 });
  const input: RunToolInput = { agentName: 'clerk', callId: 'c1', step: 1, at: [3, 1], eventId: 'e0', arguments: {}, timeoutMs: 60_000 };
  return { environment, call: () => environment.run(runToolActivity(environment.runtime), input) };
}

test('the result of a local call has the position of the call, because its input is not in the history', async () => {
  expect(await environmentOf(() => 'seen', { isLocal: true }).call()).toMatchObject({ content: ['seen'], at: [3, 1] });
  expect(await environmentOf(() => 'seen', { isLocal: false }).call()).not.toHaveProperty('at');
});

test('heartbeats of a local call are ignored', async () => {
  const { environment, call } = environmentOf(
    async (_, { heartbeat }) => {
      heartbeat({ done: 1 });
      await new Promise((resolve) => setTimeout(resolve, 20));
      return 'done';
    },
    { isLocal: true },
  );
  expect(await call()).toMatchObject({ content: ['done'] });
  expect(environment.heartbeats).toEqual([]);
});

test('a local call that its run cancels, or a worker that forgets the run, ends as cancelled, whatever the tool throws', async () => {
  const began = Promise.withResolvers<void>();
  const { environment, call } = environmentOf(
    async (_, { signal }) => {
      began.resolve();
      await sleep(20, undefined, { signal }).catch(() => undefined);
      throw new Error('no');
    },
    { isLocal: true },
  );
  const end = call().catch((error: unknown) => error);
  await began.promise;
  environment.cancel();
  expect(await end).toBeInstanceOf(CancelledFailure);
});

test('a local call whose changes do not fit into its workflow task changes nothing, and its result says so', async () => {
  const large = 'x'.repeat(16_000);
  const problem =
    /^.*A call of a local tool may change 16000 bytes of state and deps, and this one changes 160\d\d: write "tier": "remote"\.$/;
  const setting: Execute = (_, { setState }) => setState('k', large);
  const updating: Execute = () => withUpdate('done', contextUpdate().set('k', large));
  for (const execute of [setting, updating]) {
    expect(await environmentOf(execute, { isLocal: true }).call()).toMatchObject({
      isError: true,
      content: [expect.stringMatching(problem)],
    });
    expect(await environmentOf(execute, { isLocal: true }).call()).not.toHaveProperty('state');
    expect(await environmentOf(execute, { isLocal: false }).call()).not.toHaveProperty('isError');
  }
});
